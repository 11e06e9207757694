"""What is launched for a product on a GPU, told by a stand-in of the compiled kernels."""

from typing import Any

import numpy as np
import pytest

from gpu_engine.cuda.load import CudaSource
from gpu_engine.errors import KernelError
from gpu_engine.formats import FORMATS, find_kernel
from gpu_engine.formats.base import Format, Kernel
from tests.battery import BATTERY
from tests.gpu_engine.launches import noted

KERNELS = [pytest.param(f, k, id=f"{f.name}/{k.variant}") for f in FORMATS for k in f.kernels if k.cuda]


class Vector:
    """What a launch asks of a vector on a GPU."""

    def __init__(self, name: str, launched: list[Any], size: int) -> None:
        self.name, self.launched, self.nbytes, self.data = name, launched, 8 * size, self

    def memset_async(self, value: int, nbytes: int) -> None:
        self.launched.append(("memset", self.name, value, nbytes))


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """(kernel, blocks, arguments) of every launch."""
    found: list[Any] = []

    def note(name: str, blocks: int, threads: int, arguments: tuple[Any, ...], _: int) -> None:
        found.append((name, blocks * threads, arguments))

    def bound(*arguments: Any) -> Any:
        found.append(("bound", arguments[1]))
        return noted(note)(*arguments)

    monkeypatch.setattr(CudaSource, "bound", bound)
    return found


@pytest.mark.parametrize(("f", "kernel"), KERNELS)
def test_a_bound_product_prepares_once_and_takes_other_vectors(f: Format, kernel: Kernel, launched: list[Any]) -> None:
    matrix = BATTERY["power_law"]()
    layout = f.from_csr(matrix)
    product = kernel.bound("cuda", layout)
    assert {said[0] for said in launched} == {"bound"}
    launched.clear()
    pairs = [[Vector(f"{name}{turn}", launched, matrix.n_rows) for name in "xy"] for turn in range(2)]
    for x, y in pairs:
        product(x, y)
        first, launched[:] = list(launched), []
        assert [said for said in first if said[0] == "bound"] == []
        vectors = [a for said in first if said[0] != "memset" for a in said[2] if isinstance(a, Vector)]
        assert {x, y} == set(vectors)
        assert all(said[1:] == (y.name, 0, 8 * matrix.n_rows) for said in first if said[0] == "memset")


@pytest.mark.parametrize(("f", "kernel"), KERNELS)
def test_without_rows_nothing_is_launched(f: Format, kernel: Kernel, launched: list[Any]) -> None:
    layout = f.from_csr(BATTERY["zero_by_zero"]())
    kernel.bound("cuda", layout)(Vector("x", launched, 5), Vector("y", launched, 0))
    assert [said for said in launched if said[0] != "bound" and said != ("memset", "y", 0, 0)] == []


def test_a_kernel_that_a_backend_lacks_is_refused() -> None:
    f, kernel = find_kernel("csr/vector16")
    with pytest.raises(KernelError, match="vector16 does not exist on cpu"):
        kernel.bound("cpu", f.from_csr(BATTERY["band"]()))


def test_a_product_on_a_cpu_is_bound_to_its_layout() -> None:
    matrix = BATTERY["band"]()
    f, kernel = find_kernel("csr/scalar")
    y = np.full(matrix.n_rows, np.nan)
    kernel.bound("cpu", f.from_csr(matrix))(np.ones(matrix.n_cols), y)
    np.testing.assert_allclose(y, matrix.to_scipy() @ np.ones(matrix.n_cols))
