"""FORMATS × BATTERY on a GPU, and the competitors' products."""

from collections.abc import Iterator

import pytest

from gpu_engine.competitors import COMPETITORS
from gpu_engine.formats import FORMATS
from gpu_engine.formats.base import Format, Kernel
from gpu_engine.measure import Bench, open_bench
from gpu_engine.records import DeviceInfo
from tests.battery import BATTERY
from tests.gpu_engine.formats import contract

KERNELS = [pytest.param(f, k, id=f"{f.name}/{k.variant}") for f in FORMATS for k in f.kernels if k.cuda]
RIVALS = [pytest.param(f, k, id=f"{f.name}/{k.variant}") for f in COMPETITORS for k in f.kernels if k.cuda]
formats = pytest.mark.parametrize("f", FORMATS, ids=lambda f: f.name)
matrices = pytest.mark.parametrize("name", BATTERY)


@pytest.fixture(scope="module")
def bench(gpu: DeviceInfo) -> Iterator[Bench]:
    with open_bench(gpu) as opened:
        yield opened


@formats
@matrices
def test_round_trip(bench: Bench, f: Format, name: str) -> None:
    host = BATTERY[name]()
    contract.check_round_trip(f, bench.stopwatch.upload(host), host)


@formats
@matrices
def test_bytes(bench: Bench, f: Format, name: str) -> None:
    contract.check_bytes(f, bench.stopwatch.upload(BATTERY[name]()))


@pytest.mark.parametrize(("f", "kernel"), [*KERNELS, *RIVALS])
@matrices
def test_product(bench: Bench, f: Format, kernel: Kernel, name: str) -> None:
    host = BATTERY[name]()
    if f in COMPETITORS and not host.nnz:
        pytest.skip("the study skips matrices without entries before any kernel runs")
    contract.check_product(f, kernel, "cuda", bench.stopwatch.upload(host), host, bench.xp)


@pytest.mark.parametrize(("f", "kernel"), [*KERNELS, *RIVALS])
def test_corrupted_value_is_found(bench: Bench, f: Format, kernel: Kernel) -> None:
    host = BATTERY["band"]()
    assert contract.finds_corruption(f, kernel, "cuda", bench.stopwatch.upload(host), host, bench.xp)
