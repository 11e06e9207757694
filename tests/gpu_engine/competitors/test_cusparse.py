"""What is asked of cuSPARSE, by a library that writes down its calls; no GPU needed."""

import ctypes
import functools
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gpu_engine.competitors import cusparse, cusparse_library, cusparse_op
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import KernelError


class Array:
    """What of a CuPy array the library is told."""

    dtype = np.dtype(np.int32)

    def __init__(self, size: int) -> None:
        self.size = size
        self.data = SimpleNamespace(ptr=id(self))


class Library:
    """The calls by name, beta of each product, and what was made and not destroyed; `refused` is a call that fails."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.betas: list[float] = []
        self.alive: dict[int, str] = {}
        self.refused = ""

    def __getattr__(self, function: str) -> Any:
        def call(*arguments: Any) -> int:
            self.calls.append(function)
            if function == self.refused:
                return 3
            if function.startswith("cusparseSpMV") and "Op" not in function:
                self.betas.append(arguments[5]._obj.value)
            if function.startswith("cusparseCreate"):
                arguments[0]._obj.value = len(self.calls)
                self.alive[len(self.calls)] = function.removeprefix("cusparseCreate")
            if function.startswith("cusparseDestroy"):
                made = {"cusparseDestroySpMat": "Csr", "cusparseDestroyDnVec": "DnVec", "cusparseDestroy": ""}[function]
                assert self.alive.pop(arguments[0].value) == made
            return 0

        return call


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    made = Library()
    runtime, stream = SimpleNamespace(getDevice=lambda: 0), SimpleNamespace(ptr=0)
    cuda = SimpleNamespace(runtime=runtime, get_current_stream=lambda: stream)
    here = SimpleNamespace(cuda=cuda, empty=lambda size, dtype: Array(size), uint8=np.uint8)
    monkeypatch.setitem(sys.modules, "cupy", here)
    monkeypatch.setattr(cusparse_library, "library", lambda: made)
    monkeypatch.setattr(cusparse_op, "library", lambda: made)
    monkeypatch.setattr(cusparse_library, "_handle", functools.cache(lambda device: cusparse_library.new_handle()))
    return made


def some_matrix() -> CsrMatrix:
    return CsrMatrix(3, 3, Array(4), Array(4), Array(4))


def test_a_product_is_prepared_once_with_its_own_beta(library: Library) -> None:
    layout, handle, x, y = cusparse.csr(some_matrix()), cusparse_library.new_handle(), Array(3), Array(3)
    for adds in (True, True, False):
        cusparse.multiply(layout, cusparse.CSR_ALG1, x, y, adds, handle)
    prepared = ["cusparseSpMV_bufferSize", "cusparseSpMV_preprocess", "cusparseSpMV"]
    assert [call for call in library.calls if "SpMV" in call] == [*prepared, "cusparseSpMV", *prepared]
    assert library.betas == [1.0] * 4 + [0.0] * 3


def test_what_products_made_is_destroyed_with_their_layout(library: Library) -> None:
    layout, handle = cusparse.csr(some_matrix()), cusparse_library.new_handle()
    x, *several = (Array(3) for _ in range(4))
    for y in (*several, several[0]):
        cusparse.multiply(layout, cusparse.CSR_ALG1, x, y, handle=handle)
    assert sorted(library.alive.values()) == ["", "Csr", *["DnVec"] * 6]
    del layout
    assert [*library.alive.values()] == [""]
    del handle
    assert not library.alive


def test_nothing_is_destroyed_that_could_not_be_made(library: Library) -> None:
    library.refused = "cusparseCreateCsr"
    with pytest.raises(KernelError, match="cusparseCreateCsr failed with cuSPARSE status 3"):
        cusparse.csr(some_matrix())
    assert library.calls == ["cusparseCreateCsr"]


def test_more_coordinates_than_cusparse_counts_are_refused(library: Library) -> None:
    lines: Any = np.broadcast_to(np.int32(0), 2**31)
    with pytest.raises(KernelError, match="at most 2147483647 coordinates to CSR, not 2147483648"):
        cusparse.pointers(lines, 1, cusparse_library.new_handle())


def test_a_call_takes_an_object_as_its_pointer(library: Library) -> None:
    """By ctypes' own rule, with a function of the C library."""
    of_c = ctypes.CDLL(None).labs
    of_c.restype = ctypes.c_long
    assert of_c(cusparse_library.new_handle()) == len(library.calls)
