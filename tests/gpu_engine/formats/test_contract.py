"""FORMATS × BATTERY on the CPU."""

import ast
from pathlib import Path

import numpy as np
import pytest

import gpu_engine.formats
from gpu_engine.errors import KernelError, ParameterError
from gpu_engine.formats import FORMATS, find_kernel, kernel_names
from gpu_engine.formats.base import Format, Kernel
from gpu_engine.verify import check, reference
from tests.battery import BATTERY
from tests.gpu_engine.formats import contract

KERNELS = [pytest.param(f, k, id=f"{f.name}/{k.variant}") for f in FORMATS for k in f.kernels if k.cpu]
formats = pytest.mark.parametrize("f", FORMATS, ids=lambda f: f.name)
matrices = pytest.mark.parametrize("name", BATTERY)


@formats
@matrices
def test_round_trip(f: Format, name: str) -> None:
    matrix = BATTERY[name]()
    contract.check_round_trip(f, matrix, matrix)


@formats
@matrices
def test_bytes(f: Format, name: str) -> None:
    contract.check_bytes(f, BATTERY[name]())


@pytest.mark.parametrize(("f", "kernel"), KERNELS)
@matrices
def test_product(f: Format, kernel: Kernel, name: str) -> None:
    matrix = BATTERY[name]()
    contract.check_product(f, kernel, "cpu", matrix, matrix, np)


@pytest.mark.parametrize(("f", "kernel"), KERNELS)
def test_corrupted_value_is_found(f: Format, kernel: Kernel) -> None:
    matrix = BATTERY["band"]()
    assert contract.finds_corruption(f, kernel, "cpu", matrix, matrix, np)


def test_check_names_the_wrong_row() -> None:
    expected = reference(BATTERY["band"]())
    y = expected.y.copy()
    y[17] = np.nan
    with pytest.raises(KernelError, match="row 17 is nan"):
        check(expected, y)


def test_every_module_is_listed() -> None:
    """A module of formats/ that FORMATS does not reach would be measured by nobody."""
    folder = Path(gpu_engine.formats.__file__).parent
    modules = {
        p.stem if p.is_file() else p.name
        for p in folder.iterdir()
        if p.suffix == ".py" or (p / "__init__.py").is_file()
    }
    assert modules - {"__init__", "base"} == {f.name for f in FORMATS}


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


def test_kernels_do_not_share_a_loop() -> None:
    """Two kernels with the same loop would be one result under two names."""
    loops = set()
    for f in FORMATS:
        for k in f.kernels:
            if k.cpu:
                loops.add(ast.dump(ast.parse(Path(k.cpu.__code__.co_filename).read_text(encoding="utf-8"))))
    assert len(loops) == len(KERNELS)
