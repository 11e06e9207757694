"""FORMATS × BATTERY on a GPU, and the competitors' products."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from gpu_engine.competitors import COMPETITORS
from gpu_engine.errors import ParameterError
from gpu_engine.formats import FORMATS, cache_blocked, propagation_blocked, symmetric
from gpu_engine.formats.base import Format, Kernel
from gpu_engine.generators import generate
from gpu_engine.measure import Bench, open_bench
from gpu_engine.records import DeviceInfo
from tests.battery import BATTERY, mirrored
from tests.gpu_engine.formats import contract
from tests.gpu_engine.formats.test_cache_blocked import both, of_width

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
    host = contract.suited(f, BATTERY[name]())
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
    host = contract.suited(f, BATTERY["band"]())
    with asked_of_it():
        assert contract.finds_corruption(f, kernel, "cuda", bench.stopwatch.upload(host), host, bench.xp)


@both
@pytest.mark.parametrize("width", [7, 100])
@pytest.mark.parametrize("name", ["empty_rows_and_columns", "one_dense_row", "long_row_last", "power_law", "tall"])
def test_column_blocks_of_few_columns(bench: Bench, f: Format, name: str, width: int) -> None:
    """The default width holds every matrix of the battery in one block."""
    host = BATTERY[name]()
    width = max(width, host.n_cols // 50)
    expected = *contract.references(host), contract.not_finite(host)
    contract.check_format(of_width(f, width), "cuda", bench.stopwatch.upload(host), host, expected, bench.xp)


@pytest.mark.parametrize("name", ["band", "one_dense_row", "power_law", "around_a_block"])
def test_skew_symmetric_matrices(bench: Bench, name: str) -> None:
    host = mirrored(BATTERY[name](), sign=-1.0)
    expected = *contract.references(host), contract.not_finite(host)
    contract.check_format(symmetric.FORMAT, "cuda", bench.stopwatch.upload(host), host, expected, bench.xp)


def test_half_storage_and_column_blocks_are_bitwise_reproducible(bench: Bench) -> None:
    host = mirrored(generate("rows", {"n": 60_000, "lengths": "lognormal", "mean": 24, "values": "random"}))
    matrix, x = bench.stopwatch.upload(host), bench.xp.asarray(np.random.default_rng(1).random(host.n_cols))
    for f in (of_width(cache_blocked.FORMAT, 5000), of_width(propagation_blocked.FORMAT, 5000), symmetric.FORMAT):
        layout = f.from_csr(matrix)
        for kernel in f.kernels:
            product = kernel.bound("cuda", layout)
            results = []
            for _ in range(50):
                y = bench.xp.full(host.n_rows, np.nan)
                product(x, y)
                results.append(y.get().tobytes())
            assert len(set(results)) == 1, f.name_of(kernel)
