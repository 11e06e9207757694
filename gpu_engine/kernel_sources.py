"""kernel_sources: all CUDA sources, collected from formats, SpMM, studies, probes, operators, and solvers."""

from collections.abc import Iterator

from gpu_engine import batched, solvers, spmm
from gpu_engine.cuda.load import CudaSource
from gpu_engine.errors import UnavailableError
from gpu_engine.formats import FORMATS
from gpu_engine.formats.base import POINTERS
from gpu_engine.operators import scaling
from gpu_engine.pagerank import seeded_cuda
from gpu_engine.pagerank.kernels import KERNELS
from gpu_engine.pagerank.products import LAYOUTS
from gpu_engine.studies.reduced_spmv import experiment as reduced_spmv


def kernel_sources() -> tuple[CudaSource, ...]:
    """Return every CUDA source once; raises UnavailableError if CuPy is not installed."""
    return tuple(dict.fromkeys(_sources()))


def _sources() -> Iterator[CudaSource]:
    try:
        from gpu_engine.measure.cuda import PROBES
        from gpu_engine.multigpu import cuda_chunks, cuda_operations
    except ModuleNotFoundError as error:
        raise UnavailableError(
            f"Kernels for GPUs need {error.name}, which is missing. Install Sparsight with the extra cuda13 or cuda12."
        ) from error
    yield PROBES
    yield from (source for f in FORMATS for kernel in f.kernels for source in kernel.sources)
    yield from (source for kernel in batched.KERNELS for source in kernel.sources)
    yield from (source for kernel in KERNELS for pointer in POINTERS for source in kernel.sources(pointer))
    yield from (reduced_spmv.source_of(layout, pointer) for layout in LAYOUTS for pointer in POINTERS)
    yield from (scaling.SOURCE, seeded_cuda.SOURCE, *solvers.SOURCES, *spmm.SOURCES)
    yield from (*cuda_operations.SOURCES, cuda_chunks.SOURCE)
