# tools/install makes .venv and installs Sparsight into it; done already, it returns at once.
.DEFAULT_GOAL := help
.PHONY: help run test test-image check format chaos gpu-test gpu-bench

# A GPU host that only measures needs the engine's dependencies and pytest, and installs nothing.
PYTHON ?= python3

help:
	@echo "make run [PORT=8000]   start Sparsight on this machine"
	@echo "make test              run all tests"
	@echo "make test-image        build the image and measure with the services of the compose file, by Docker or Podman"
	@echo "make check             formatting, lint, types"
	@echo "make gpu-test          test the engine on this machine's GPU, with PYTHON as it is"
	@echo "make gpu-bench [BENCH=…] measure every format on this machine's GPU beside cuSPARSE, with PYTHON as it is"
	@echo "make chaos [KILLS=200] kill processes and dispatchers under a queue, on SQLite and Postgres"
	@echo "make format            rewrite the sources in the house style"

run:
	@tools/install
	@exec .venv/bin/sparsight serve $(if $(PORT),--port $(PORT))

test:
	@tools/install test
	@tools/package chromium chromium "the tests of the pages"
	@tools/package bwrap bubblewrap "the tests of the deployment"
	@docker compose version >/dev/null 2>&1 || tools/package docker-compose docker-compose "the tests of the deployment"
	.venv/bin/python -m pytest -n 3 --dist loadgroup

test-image:
	@tools/install test
	.venv/bin/python -m tools.test_image

check:
	@tools/install test check
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy
	find gpu_engine -name '*.cu' -o -name '*.cuh' | xargs -r .venv/bin/clang-format --dry-run -Werror

format:
	@tools/install test check
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .
	find gpu_engine -name '*.cu' -o -name '*.cuh' | xargs -r .venv/bin/clang-format -i

chaos:
	@tools/install test
	.venv/bin/python -m tools.chaos --kills $(or $(KILLS),200)

gpu-test:
	$(PYTHON) -m pytest -c /dev/null --rootdir . tests/gpu

gpu-bench:
	$(PYTHON) -m gpu_engine.gpu_bench $(BENCH)
