"""The examples of docs/custom-kernels.md: the files are what they say, and the commands give what it says of them."""

import re
import shlex
import sys
from pathlib import Path

import pytest
from cupy.cuda import nvrtc

from gpu_engine.__main__ import main
from gpu_engine.cuda.compiler import FLAGS
from gpu_engine.custom_kernels.sources import imported, parse_reference
from gpu_engine.measure import bench, cpu
from tests.samples.studies import FAST

DOCUMENT = (Path(__file__).parents[3] / "docs" / "custom-kernels.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"^```python\n(.*?)^```$", DOCUMENT, re.M | re.S)
COMMANDS = [shlex.split(line) for line in re.findall(r"^python -m gpu_engine (.*)$", DOCUMENT, re.M)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the reader has written the examples; the device is one whose floors no real time is under."""
    (tmp_path / "spmv.py").write_text(PYTHON[0], encoding="utf-8")
    (tmp_path / "rows.py").write_text("".join(PYTHON[1:]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cpu, "SAMPLE_S", 4e-4)
    monkeypatch.setattr(bench.Bench, "profile", FAST)
    monkeypatch.setattr(bench.Bench, "calibrate", lambda self: iter(()))
    return tmp_path


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: list[str]) -> tuple[int, str]:
    monkeypatch.setattr(sys, "argv", ["gpu_engine", *command[:-1], f"{command[-1]},rounds=9,energy_s=0"])
    return main(), capsys.readouterr().err


def test_the_kernel_of_the_document_compiles(folder: Path) -> None:
    found, _, _ = imported(parse_reference(f"{folder / 'spmv.py'}:VECTOR"))
    source = found.cuda_source
    program = nvrtc.createProgram(source.text, source.file, (), ())
    for name in source.instantiations:
        nvrtc.addNameExpression(program, name)
    nvrtc.compileProgram(program, (*FLAGS, "-arch=sm_90"))
    assert nvrtc.getLoweredName(program, "spmv") == "spmv"


def test_the_custom_kernel_of_the_document_is_measured(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = run(monkeypatch, capsys, COMMANDS[1])
    assert code == 0
    assert re.search(r"custom:rows/rows +warm +[\d.]+ µs +[\d.]+ GFLOP/s error [\d.]+ ε", said)


def test_the_wrong_one_and_the_cheat_of_the_document_are_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = run(monkeypatch, capsys, COMMANDS[2])
    assert code == 1
    assert re.search(r"rejected: an SpMV takes .* with a new x before each call, but .* with the same x", said)
    assert re.search(r"Wrong result: row 1000 is .*; 1 of 13824 rows are off", said)
    assert re.search(r"csr/vector +warm +[\d.]+ µs", said)
