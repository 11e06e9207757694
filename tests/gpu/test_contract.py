"""FORMATS × BATTERY on a GPU, and the competitors' products."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gpu_engine.competitors import COMPETITORS
from gpu_engine.errors import ParameterError
from gpu_engine.formats import FORMATS
from gpu_engine.formats.base import Format, Kernel
from gpu_engine.generators import generate
from gpu_engine.measure import Bench, open_bench
from gpu_engine.records import DeviceInfo
from tests.battery import BATTERY
from tests.gpu_engine.formats import contract

KERNELS = [pytest.param(f, k, id=f"{f.name}/{k.variant}") for f in FORMATS for k in f.kernels if k.cuda]
RIVALS = [pytest.param(f, k, id=f"{f.name}/{k.variant}") for f in COMPETITORS for k in f.kernels if k.cuda]
formats = pytest.mark.parametrize("f", FORMATS, ids=lambda f: f.name)


@pytest.fixture(scope="module")
def bench(gpu: DeviceInfo) -> Iterator[Bench]:
    with open_bench(gpu) as opened:
        yield opened


@contextmanager
def asked_of_it() -> Iterator[None]:
    """Skips what a competitor does not have of a matrix, or not in the release that is here."""
    try:
        yield
    except ParameterError as error:
        pytest.skip(error.message)


@formats
@pytest.mark.parametrize("name", BATTERY)
def test_layout_and_its_products(bench: Bench, f: Format, name: str) -> None:
    host = BATTERY[name]()
    expected = *contract.references(host), contract.not_finite(host)
    contract.check_format(f, "cuda", bench.stopwatch.upload(host), host, expected, bench.xp)


@pytest.mark.parametrize(("f", "kernel"), RIVALS)
@pytest.mark.parametrize("name", [name for name, make in BATTERY.items() if make().nnz])
def test_products_of_competitors(bench: Bench, f: Format, kernel: Kernel, name: str) -> None:
    """The study skips matrices without entries before any kernel runs."""
    host = BATTERY[name]()
    with asked_of_it():
        layout = f.from_csr(bench.stopwatch.upload(host))
    contract.check_products(f, kernel, "cuda", layout, contract.references(host), bench.xp)


@pytest.mark.parametrize(("f", "kernel"), RIVALS)
def test_products_of_competitors_on_dense_blocks(bench: Bench, f: Format, kernel: Kernel) -> None:
    """What is skipped here the library does not have."""
    host = generate("fem", {"block": 3, "nx": 5, "ny": 4, "nz": 3})
    with asked_of_it():
        layout = f.from_csr(bench.stopwatch.upload(host))
    contract.check_products(f, kernel, "cuda", layout, contract.references(host), bench.xp)


@pytest.mark.parametrize(("f", "kernel"), [*KERNELS, *RIVALS])
def test_corrupted_value_is_found(bench: Bench, f: Format, kernel: Kernel) -> None:
    host = BATTERY["band"]()
    with asked_of_it():
        assert contract.finds_corruption(f, kernel, "cuda", bench.stopwatch.upload(host), host, bench.xp)
