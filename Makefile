# tools/install makes .venv and installs Sparsight into it; done already, it returns at once.
.DEFAULT_GOAL := help
.PHONY: help run install test test-near test-all test-image check format chaos bare gpu-test gpu-sanitize gpu-bench tables page-bench load estimates lock \
	update-constraints bom reach fuzz fuzz-api

# A GPU host that only measures needs the engine's dependencies and pytest, and installs nothing.
PYTHON ?= python3

help:
	@echo "make run [PORT=8000]   start Sparsight on this machine"
	@echo "make install           what the tests and checks need, into .venv"
	@echo "make test              run the tests, but for the dearest [SINCE=COMMIT: but those of what has changed since]"
	@echo "make test-near [SINCE=COMMIT] run the tests nearest to what has changed since, in a minute or two"
	@echo "make test-all          run all tests, on all files and many more requests than make test"
	@echo "make test-image        build the image and measure with the services of the compose file, by Docker or Podman"
	@echo "make check             formatting, lint, types"
	@echo "make gpu-test [OPTIONS=-n9] test the engine on this machine's GPU, with PYTHON as it is"
	@echo "make gpu-sanitize [OPTIONS='--jobs 16'] run every kernel on this machine's GPU under CUDA's compute-sanitizer, with PYTHON as it is"
	@echo "make gpu-bench [BENCH=…] measure every format on this machine's GPU beside cuSPARSE, with PYTHON as it is"
	@echo "make tables [TABLES=h200/formats] print the tables of the reference results, or write them: TABLES='--out FOLDER'"
	@echo "make page-bench        time the page of formats in a browser, over what is recorded and over 10⁴ and 10⁵ measurements"
	@echo "make load [CLIENTS=50] [MINUTES=2] [PAUSE=1] time pages, lists, submissions and uploads of many clients at once, and watch the memory"
	@echo "make estimates [JOBS=40] what jobs were expected to take beside what they took, as a service learns it"
	@echo "make chaos [KILLS=200] kill processes, dispatchers, workers, servers and Postgres under a queue of real jobs"
	@echo "make bare [RELEASES='bookworm trixie'] run both commands of the README on Debian with nothing installed; as root"
	@echo "make reach             what listens, and what of it and of the files another user or address reaches; as root"
	@echo "make fuzz [FILES=100000 UPLOADS=3000] matrix files by grammar and mutation, read in process and sent to a service"
	@echo "make fuzz-api [REQUESTS=50000] requests made up from the description of the API, for callers of every role"
	@echo "make lock              write locked/ for the versions of constraints.txt, after a change of pyproject.toml"
	@echo "make update-constraints  take the newest versions, and test them"
	@echo "make bom [EXTRAS=cuda13] print a bill of materials"
	@echo "make format            rewrite the sources in the house style"

run:
	@tools/install
	@exec .venv/bin/sparsight serve $(if $(PORT),--port $(PORT))

# One installation for all that follows, also where make runs several at a time.
install:
	@tools/install test check

test: OPTIONS = $(if $(SINCE),--since $(SINCE))
test-all: OPTIONS = --full
test-all: export FUZZ_EXAMPLES ?= 80
test-all: export HOSTILE ?= all
test-all: export MUTATIONS ?= 20000
# Hundreds of processes import our modules: what the first one has compiled is kept, whatever the environment says.
test test-all: export PYTHONDONTWRITEBYTECODE =
test test-all: install
	@tools/package chromium chromium "the tests of the pages"
	@tools/package libatomic.so.1 libatomic1 "the browser that the tests drive"
	@tools/package g++ g++ "the tests of the kernels on a CPU"
	@tools/package bwrap bubblewrap "the tests of the deployment"
	@tools/package pdflatex texlive-science "the tests of LaTeX"
	@docker compose version >/dev/null 2>&1 || tools/package docker-compose docker-compose "the tests of the deployment"
	.venv/bin/python -m pytest -n 3 --no-loadscope-reorder --durations=40 --durations-min=1 $(OPTIONS)

test-near: install
	.venv/bin/python -m pytest -n 2 $$(.venv/bin/python -m tests.near $(SINCE))

test-image: install
	.venv/bin/python -m tools.test_image

check: install
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy
	.venv/bin/python -m tools.words
	find gpu_engine -name '*.cu' -o -name '*.cuh' | xargs -r .venv/bin/clang-format --dry-run -Werror

format: install
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .
	find gpu_engine -name '*.cu' -o -name '*.cuh' | xargs -r .venv/bin/clang-format -i

load: install
	.venv/bin/python -m tools.load --clients $(or $(CLIENTS),50) --minutes $(or $(MINUTES),2) --pause $(or $(PAUSE),1)

estimates: install
	.venv/bin/python -m tools.estimates --jobs $(or $(JOBS),40)

chaos: install
	.venv/bin/python -m tools.chaos --kills $(or $(KILLS),200)

bare:
	tools/bare $(RELEASES)

reach: install
	@tools/package ip iproute2 "what other addresses reach"
	@tools/package curl curl "what other users reach"
	.venv/bin/python -m tools.reach

fuzz: install
	.venv/bin/python -m tools.fuzz --files $(or $(FILES),100000) --uploads $(or $(UPLOADS),3000)

fuzz-api: install
	.venv/bin/python -m tools.fuzz_api --requests $(or $(REQUESTS),50000)

lock:
	@tools/install lock
	.venv/bin/python tools/lock.py

# Where a test fails: git restore constraints.txt locked
update-constraints:
	@tools/install lock
	.venv/bin/python tools/lock.py --upgrade
	git diff --stat -- constraints.txt
	$(MAKE) check test-all

bom:
	@tools/install
	@.venv/bin/python -m tools.bom $(EXTRAS)

gpu-test:
	$(PYTHON) -m pytest -c /dev/null --rootdir . tests/gpu $(OPTIONS)

gpu-sanitize:
	$(PYTHON) -m tools.gpu_sanitize $(OPTIONS)

gpu-bench:
	$(PYTHON) -m gpu_engine.gpu_bench $(BENCH)

tables: install
	@.venv/bin/python -m gpu_engine.gpu_bench tables $(TABLES)

page-bench: install
	@tools/package chromium chromium "the bench of the pages"
	.venv/bin/python -m tools.page_bench
