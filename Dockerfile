# docker build --build-arg CUDA=cuda13 .
# CUDA is none, cuda12 (driver 525 or newer) or cuda13 (driver 580 or newer). CuPy's wheels bring the CUDA libraries
# along, so that the host needs the driver and the NVIDIA container toolkit alone.
# ARCHS are the GPUs for which its kernels are compiled already: sm_80 is A100, sm_90 H100 and H200, sm_100 B200.
# PYTHON_IMAGE is another image of Debian with Python 3.11 or newer, such as a copy of this one in a registry of yours,
# or this one by its digest: python:3.12-slim@sha256:…
ARG PYTHON_IMAGE=python:3.12-slim
FROM ${PYTHON_IMAGE} AS build
ARG CUDA=none
WORKDIR /source
RUN python -m venv /opt/sparsight && python -m venv /opt/build
COPY locked locked
# What Sparsight needs changes less often than Sparsight, and is a layer of its own. Every file has a hash in locked/.
RUN case "$CUDA" in \
        none) cuda= ;; \
        cuda12 | cuda13) cuda="--requirement locked/$CUDA.txt" ;; \
        *) echo "CUDA is none, cuda12 or cuda13, not $CUDA" >&2; exit 1 ;; \
    esac \
    && install="install --no-cache-dir --no-deps --only-binary=:all: --require-hashes" \
    && /opt/build/bin/pip $install --requirement locked/build.txt \
    && /opt/sparsight/bin/pip $install --requirement locked/base.txt $cuda
COPY pyproject.toml ./
COPY README.md GLOSSARY.md ARCHITECTURE.md CHANGELOG.md ./
COPY docs docs
COPY gpu_engine gpu_engine
COPY server server
COPY web web
COPY sparsight sparsight
COPY migrations migrations
RUN /opt/build/bin/pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /opt/wheel . \
    && /opt/sparsight/bin/pip install --no-cache-dir --no-deps --no-index /opt/wheel/*.whl
# The compiler needs neither a GPU nor a driver. What is kept in /opt/sparsight is found whatever volume is the home.
ARG ARCHS="sm_80 sm_90"
RUN [ "$CUDA" = none ] \
    || /opt/sparsight/bin/sparsight compile --installation $(printf -- ' --arch %s' $ARCHS)

FROM ${PYTHON_IMAGE}
# Numba's OpenMP threads, as on a usual host.
RUN apt-get update \
    && apt-get install -y --no-install-recommends libgomp1 \
    && rm -rf /var/lib/apt/lists/*
# New volumes take over the owner of the folder that they cover.
RUN useradd --uid 10001 --create-home sparsight \
    && install -d -m 700 -o sparsight -g sparsight /var/lib/sparsight /var/lib/sparsight-matrices
COPY --from=build /opt/sparsight /opt/sparsight
ENV PATH=/opt/sparsight/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    SPARSIGHT_HOME=/var/lib/sparsight \
    SPARSIGHT_STORE=/var/lib/sparsight-matrices
USER 10001:10001
WORKDIR /home/sparsight
ENTRYPOINT ["sparsight"]
CMD ["--help"]
