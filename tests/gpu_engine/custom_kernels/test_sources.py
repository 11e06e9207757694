"""What custom kernels are called, where they are looked for, and that nothing is run before it is measured."""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpu_engine.__main__ import main
from gpu_engine.custom_kernels import sources
from gpu_engine.custom_kernels.adapters import format_of
from gpu_engine.custom_kernels.sources import (
    check_reference,
    imported,
    in_folder,
    offered,
    parse_reference,
    parse_references,
)
from gpu_engine.custom_kernels.tamper_check import CORE
from gpu_engine.errors import InputError, KernelError, ParameterError
from gpu_engine.formats import kernel_names

FILE = """
from gpu_engine import custom_kernels
from gpu_engine.custom_kernels import CustomKernel

ONE = CustomKernel(print, print)
TWO: object = custom_kernels.CustomCudaKernel("", "f", )
_HIDDEN = CustomKernel(print, print)
OTHER = print("run")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "spmv.py").write_text(FILE, encoding="utf-8")
    (tmp_path / "raises.py").write_text("raise RuntimeError('run')\nX = CustomKernel(1, 2)\n", encoding="utf-8")
    (tmp_path / "broken.py").write_text("X = CustomKernel(\n", encoding="utf-8")
    (tmp_path / "_private.py").write_text("X = CustomKernel(1, 2)\n", encoding="utf-8")
    (tmp_path / "notes.txt").write_text("X = CustomKernel(1, 2)\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An installed package that offers `fast`."""
    place = tmp_path / "site"
    metadata = place / "fastspmv-1.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Name: fastspmv\nVersion: 1\n", encoding="utf-8")
    (metadata / "entry_points.txt").write_text(f"[{sources.GROUP}]\nfast = fastspmv_module:ONE\n", encoding="utf-8")
    (place / "fastspmv_module.py").write_text(FILE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(place))
    yield "fast"
    sys.modules.pop("fastspmv_module", None)


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        ("spmv.py:VECTOR", "custom:spmv/vector"),
        ("/some/where/spmv.py:Vector", "custom:spmv/vector"),
        ("spmv.py:FORMAT/warp", "custom:spmv/format.warp"),
        ("fast", "custom:fast/kernel"),
        ("fast/warp", "custom:fast/warp"),
    ],
)
def test_a_kernel_has_its_name_before_its_code_is_known(text: str, kernel: str) -> None:
    assert parse_reference(text).kernel == kernel
    assert str(parse_reference(text)) == text
    assert kernel not in kernel_names("cpu")


@pytest.mark.parametrize("text", ["", "a b.py:X", "s.py:", "s.py:1", "a|b.py:X", "x/y/z", "../fast", "a:B"])
def test_what_names_no_custom_kernel_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match=r"names no custom kernel: expected FILE\.py:NAME"):
        parse_reference(text)


def test_two_of_one_name_are_refused() -> None:
    with pytest.raises(ParameterError, match="Two custom kernels have the name custom:spmv/x"):
        parse_references(["a/spmv.py:X", "b/spmv.py:X"])


def test_what_leads_nowhere_is_said_without_running_anything(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    check_reference(parse_reference(f"{folder}/spmv.py:ONE"))
    check_reference(parse_reference(f"{folder}/raises.py:X"))
    for name, match in (
        ("spmv.py:THREE", "does not define THREE; it defines CustomKernel, ONE, OTHER, TWO, _HIDDEN, custom_kernels"),
        ("gone.py:X", "cannot be read: No such file"),
        ("broken.py:X", "is not valid Python, line 1"),
    ):
        with pytest.raises(InputError, match=match):
            check_reference(parse_reference(f"{folder}/{name}"))
    with pytest.raises(InputError, match="There is no entry point 'nobody'"):
        check_reference(parse_reference("nobody"))
    monkeypatch.setattr(sys, "argv", ["gpu_engine", "formats", "a.mtx", "--custom-kernel", f"{folder}/spmv.py:THREE"])
    assert main() == 2
    said = capsys.readouterr()
    assert "run" not in said.out
    assert "does not define THREE" in said.err


def test_a_folder_is_listed_and_not_run(folder: Path, package: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert offered(folder) == ("raises.py:X", "spmv.py:ONE", "spmv.py:TWO", "fast")
    assert "fastspmv_module" not in sys.modules
    assert capsys.readouterr().out == ""


def test_only_what_the_folder_offers_is_found_from_outside(folder: Path, package: str) -> None:
    assert in_folder(("spmv.py:ONE", "fast"), folder) == (f"{folder}/spmv.py:ONE", "fast")
    assert in_folder((), None) == ()
    for text in (f"{folder}/spmv.py:ONE", "../spmv.py:ONE", "./spmv.py:ONE", "_private.py:X", "spmv.py:OTHER", "slow"):
        with pytest.raises(ParameterError, match=r"There is no custom kernel .* known: raises\.py:X, spmv.py:ONE"):
            in_folder((text,), folder)
    with pytest.raises(ParameterError, match="This server has no custom kernels"):
        in_folder(("spmv.py:ONE",), None)


def test_code_is_run_once_when_it_is_imported(folder: Path, package: str, capsys: pytest.CaptureFixture[str]) -> None:
    found, source, file = imported(parse_reference(f"{folder}/spmv.py:ONE"))
    again, *_ = imported(parse_reference(f"{folder}/spmv.py:ONE"))
    assert again is found
    assert (len(source), file) == (16, str(folder / "spmv.py"))
    assert capsys.readouterr().out == "run\n"
    assert type(imported(parse_reference("fast"))[0]) is type(found)
    with pytest.raises(RuntimeError, match="run"):
        imported(parse_reference(f"{folder}/raises.py:X"))
    with pytest.raises(RuntimeError, match="run"):
        imported(parse_reference(f"{folder}/raises.py:X"))


def test_what_is_no_custom_kernel_of_the_backend_says_so(folder: Path) -> None:
    one, two, other = (parse_reference(f"{folder}/spmv.py:{name}") for name in ("ONE", "TWO", "OTHER"))
    assert format_of(imported(one)[0], one, "cpu")[0].name == "custom:spmv/one"
    assert format_of(imported(two)[0], two, "cuda")[1].source is not None
    for reference, backend, match in (
        (one, "cuda", "has no kernel for the backend cuda"),
        (two, "cpu", "has no kernel for the backend cpu"),
        (other, "cpu", "has the type NoneType; expected CustomKernel"),
    ):
        with pytest.raises(KernelError, match=match):
            format_of(imported(reference)[0], reference, backend)


def test_the_modules_that_time_and_check_are_sealed_by_their_names() -> None:
    """A name that no module has would seal nothing."""
    assert [name for name in CORE if importlib.util.find_spec(name) is None] == []
    assert {"gpu_engine.sampling.run", "gpu_engine.studies.formats.custom_kernel"} <= {*sys.modules}
    checked = {name for name in sys.modules if name.startswith(CORE)}
    assert {"gpu_engine.sampling.run", "gpu_engine.studies.formats.custom_kernel"} <= checked
    assert "gpu_engine.measure.cpu" in checked
