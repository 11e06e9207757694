"""What is launched for a product on a GPU, told by a stand-in of the compiled kernels."""

import re
from typing import Any

import numpy as np
import pytest

from gpu_engine.cuda.load import CudaSource
from gpu_engine.errors import KernelError
from gpu_engine.formats import FORMATS, coo, find_kernel
from gpu_engine.formats.base import Format, Kernel
from tests.battery import BATTERY
from tests.gpu_engine.formats.contract import suited
from tests.gpu_engine.launches import noted

FUNCTION = re.compile(r"__(?:device|global)__[^;{}]*?\b(?P<name>(?!__)\w+)\([^;{}]*\)(?:\s*const)?\s*\{")
WORD = re.compile(r"\w+")

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

    def bound(*arguments: Any, **named: Any) -> Any:
        found.append(("bound", arguments[1], (*arguments[6:], *named.values())))
        return noted(note)(*arguments, **named)

    monkeypatch.setattr(CudaSource, "bound", bound)
    return found


@pytest.mark.parametrize(("f", "kernel"), KERNELS)
def test_a_bound_product_prepares_once_and_takes_other_vectors(f: Format, kernel: Kernel, launched: list[Any]) -> None:
    matrix = suited(f, BATTERY["power_law"]())
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


def test_a_large_part_of_hyb_starts_when_the_other_has_ended(
    launched: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coo, "SMALL", 1)
    f, kernel = find_kernel("hyb/segmented")
    kernel.bound("cuda", f.from_csr(BATTERY["power_law"]()))
    assert [bool(said[2][-1]) for said in launched] == [True, False]


SOURCES = {source.file: source for f in FORMATS for k in f.kernels for source in k.sources}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_every_kernel_waits_for_the_one_before_it(source: CudaSource) -> None:
    """What is launched to follow, and does not wait, reads an x that is still being written."""
    functions = {m["name"]: _body(source.text, m.end()) for m in FUNCTION.finditer(source.text)}
    waiting = {"await_previous"}
    while more := {n for n, body in functions.items() if n not in waiting and waiting & set(WORD.findall(body))}:
        waiting |= more
    assert {name.partition("<")[0] for name in source.instantiations} <= waiting


def _body(text: str, begin: int) -> str:
    """What stands between the braces that open at `begin`."""
    depth, end = 1, begin
    while depth:
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
    return text[begin:end]


@pytest.mark.parametrize(("f", "kernel"), KERNELS)
def test_without_rows_nothing_is_launched(f: Format, kernel: Kernel, launched: list[Any]) -> None:
    layout = f.from_csr(BATTERY["zero_by_zero"]())
    kernel.bound("cuda", layout)(Vector("x", launched, 5), Vector("y", launched, 0))
    assert [said for said in launched if said[0] != "bound" and said != ("memset", "y", 0, 0)] == []


def test_a_kernel_that_a_backend_lacks_is_refused() -> None:
    f, kernel = find_kernel("csr/vector16")
    with pytest.raises(KernelError, match="vector16 does not run on cpu"):
        kernel.bound("cpu", f.from_csr(BATTERY["band"]()))


def test_a_product_on_a_cpu_is_bound_to_its_layout() -> None:
    matrix = BATTERY["band"]()
    f, kernel = find_kernel("csr/scalar")
    y = np.full(matrix.n_rows, np.nan)
    kernel.bound("cpu", f.from_csr(matrix))(np.ones(matrix.n_cols), y)
    np.testing.assert_allclose(y, matrix.to_scipy() @ np.ones(matrix.n_cols))
