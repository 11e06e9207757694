"""What is asked of SpMVOp, and which library is loaded, without a GPU."""

import ctypes
import gc
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpu_engine.competitors import cusparse_library, cusparse_op
from gpu_engine.errors import KernelError, ParameterError
from tests.gpu_engine.competitors.test_cusparse import Array, Library, library, some_matrix

__all__ = ["library"]


def kernel(variant: str) -> Any:
    return next(kernel for kernel in cusparse_op.FORMAT.kernels if kernel.variant == variant)


@pytest.fixture
def planned(library: Library, monkeypatch: pytest.MonkeyPatch) -> Library:
    import cupy

    monkeypatch.setattr(cupy, "zeros_like", lambda array: Array(array.size), raising=False)
    return library


def test_a_product_is_planned_once_for_its_vectors(planned: Library) -> None:
    layout = cusparse_op.FORMAT.from_csr(some_matrix())
    x, y, other = Array(3), Array(3), Array(3)
    for out in (y, y, other):
        # A study asks for the product anew before it multiplies.
        kernel("op_alg1").bound("cuda", layout)(x, out)
    plan = ["bufferSize", "createDescr", "createPlan"]
    found = [call.removeprefix("cusparseSpMVOp").lstrip("_") for call in planned.calls if "SpMVOp" in call]
    assert found == [*plan, "", "", *plan, ""]


def test_a_plan_is_destroyed_before_what_it_was_made_from(planned: Library) -> None:
    layout = cusparse_op.FORMAT.from_csr(some_matrix())
    kernel("op_alg2").bound("cuda", layout)(Array(3), Array(3))
    planned.calls.clear()
    del layout
    gc.collect()
    destroyed = [call for call in planned.calls if "Destroy" in call or "destroy" in call]
    assert destroyed[:2] == ["cusparseSpMVOp_destroyPlan", "cusparseSpMVOp_destroyDescr"]
    assert sorted(destroyed[2:]) == [*["cusparseDestroyDnVec"] * 3, "cusparseDestroySpMat"]


def test_an_older_library_has_no_such_product(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cusparse_library, "library", SimpleNamespace)
    monkeypatch.setattr(cusparse_op, "library", SimpleNamespace)
    monkeypatch.setattr(cusparse_op, "version", lambda: {"cuSPARSE": "12.6.3"})
    with pytest.raises(ParameterError, match=r"cuSPARSE 12\.6\.3 has no SpMVOp. Set SPARSIGHT_CUSP"):
        cusparse_op.FORMAT.from_csr(some_matrix())


def test_the_library_that_the_variable_names_is_loaded_with_its_linker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[tuple[str, int]] = []

    def load(path: str, mode: int = ctypes.DEFAULT_MODE) -> str:
        loaded.append((Path(path).name, mode))
        return path

    monkeypatch.setenv(cusparse_library.VARIABLE, str(tmp_path / "libcusparse.so.12"))
    monkeypatch.setattr(ctypes, "CDLL", load)
    monkeypatch.setattr(cusparse_library, "_path_of_cupys", lambda: loaded.append(("that of CuPy", 0)))
    (tmp_path / "libnvJitLink.so.13").touch()
    assert cusparse_library.library.__wrapped__() == str(tmp_path / "libcusparse.so.12")
    assert loaded == [
        ("libnvJitLink.so.13", ctypes.RTLD_GLOBAL),
        ("that of CuPy", 0),
        ("libcusparse.so.12", ctypes.DEFAULT_MODE),
    ]


@pytest.mark.parametrize("content", [None, b"no library"])
def test_a_named_library_that_cannot_be_loaded_is_said(
    content: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "libcusparse.so.12"
    if content is not None:
        path.write_bytes(content)
    monkeypatch.setenv(cusparse_library.VARIABLE, str(path))
    with pytest.raises(KernelError, match=r"Cannot load .*libcusparse\.so\.12: .* Set SPARSIGHT_CUSPARSE"):
        cusparse_library.library.__wrapped__()
