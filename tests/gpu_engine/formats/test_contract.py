"""FORMATS × BATTERY on the CPU."""

import ast
import functools
import importlib
import pkgutil
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import gpu_engine.formats
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import KernelError, ParameterError
from gpu_engine.formats import FORMATS, find_kernel, kernel_names
from gpu_engine.formats.base import Format, Kernel
from gpu_engine.verify import Reference, check, reference
from tests.battery import BATTERY, mirrored
from tests.gpu_engine.formats import contract

KERNELS = [pytest.param(f, k, id=f"{f.name}/{k.variant}") for f in FORMATS for k in f.kernels if k.cpu]
formats = pytest.mark.parametrize("f", FORMATS, ids=lambda f: f.name)


@functools.cache
def of_battery(name: str, is_symmetric: bool) -> tuple[CsrMatrix, tuple[Reference, ...]]:
    """The matrix and its products by SciPy, made once for all formats; none may write to them."""
    matrix = mirrored(BATTERY[name]()) if is_symmetric else BATTERY[name]()
    return matrix, (*contract.references(matrix), contract.not_finite(matrix))


def check_format(f: Format, name: str) -> None:
    matrix, expected = of_battery(name, f.symmetric_only)
    contract.check_format(f, "cpu", matrix, matrix, expected, np)


@formats
@pytest.mark.parametrize("name", BATTERY)
def test_layout_and_its_products(f: Format, name: str) -> None:
    check_format(f, name)


@formats
@pytest.mark.parametrize("name", ["empty_rows_and_columns", "one_dense_row", "power_law"])
def test_conversion_in_several_blocks(monkeypatch: pytest.MonkeyPatch, f: Format, name: str) -> None:
    monkeypatch.setattr("gpu_engine.formats.base.ENTRIES_PER_BLOCK", 97)
    check_format(f, name)


@formats
def test_conversion_holds_little_beside_the_layout(monkeypatch: pytest.MonkeyPatch, f: Format) -> None:
    monkeypatch.setattr("gpu_engine.formats.base.ENTRIES_PER_BLOCK", 1000)
    matrix = contract.suited(f, BATTERY["wide"]())
    f.from_csr(matrix)
    tracemalloc.start()
    layout = f.from_csr(matrix)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2 * (matrix.stored_bytes + layout.stored_bytes)


@formats
@pytest.mark.parametrize("name", ["all_rows_empty", "single_entry", "one_dense_row", "one_dense_column", "power_law"])
def test_products_of_many_threads(monkeypatch: pytest.MonkeyPatch, f: Format, name: str) -> None:
    """Parts are cut for the threads there are; more of them than cores, and than entries."""
    monkeypatch.setattr("numba.get_num_threads", lambda: 7)
    check_format(f, name)


@pytest.mark.parametrize(("f", "kernel"), KERNELS)
def test_corrupted_value_is_found(f: Format, kernel: Kernel) -> None:
    matrix = contract.suited(f, BATTERY["band"]())
    assert contract.finds_corruption(f, kernel, "cpu", matrix, matrix, np)


def test_check_names_the_wrong_row() -> None:
    expected = reference(BATTERY["band"]())
    y = expected.y.copy()
    y[17] = np.nan
    with pytest.raises(KernelError, match="row 17 is nan"):
        check(expected, y)


def test_every_format_is_listed() -> None:
    """A format of a module of formats/ that is not in FORMATS would be measured by nobody."""
    names = [module.name for module in pkgutil.iter_modules(gpu_engine.formats.__path__, "gpu_engine.formats.")]
    modules = [importlib.import_module(name) for name in names]
    found = [value.title for module in modules for value in vars(module).values() if isinstance(value, Format)]
    assert sorted(found) == sorted(f.title for f in FORMATS)
    assert len(set(found)) == len(found)


def test_every_kernel_source_is_beside_its_module() -> None:
    folder = Path(gpu_engine.formats.__file__).parent
    listed = {k.source.file for f in FORMATS for k in f.kernels if k.source}
    assert {p.name for p in folder.rglob("*.cu")} == listed


def test_names_find_their_kernels() -> None:
    for name in {*kernel_names("cpu"), *kernel_names("cuda")}:
        f, kernel = find_kernel(name)
        assert f"{f.name}/{kernel.variant}" == name
    with pytest.raises(ParameterError, match="csr/scalar"):
        find_kernel("csr/unheard-of")


def test_kernels_of_a_layout_do_not_share_a_loop() -> None:
    """Two kernels with the same loop over the same arrays would be one result under two names."""
    for f in FORMATS:
        files = [Path(k.cpu.__code__.co_filename) for k in f.kernels if k.cpu]
        loops = {ast.dump(ast.parse(file.read_text(encoding="utf-8"))) for file in files}
        assert len(loops) == len(files), f.name


def test_formats_do_not_share_a_layout() -> None:
    """Each stores rows of unlike length in its own way: other arrays, or the same in another order."""
    matrix = mirrored(BATTERY["power_law"]())
    assert len({repr(f.from_csr(matrix)) for f in FORMATS}) == len(FORMATS)
