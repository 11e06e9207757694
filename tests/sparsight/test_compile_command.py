"""`sparsight compile`: what is compiled for which GPUs, where it is kept, and what is said where it fails."""

import re
import stat
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from gpu_engine import kernel_sources as listed
from gpu_engine.cuda.kernel_cache import KernelCache
from gpu_engine.cuda.load import CudaSource
from gpu_engine.errors import InputError, ParameterError
from gpu_engine.formats import coo, ellr
from gpu_engine.host import device
from gpu_engine.records import DeviceInfo
from gpu_engine.studies import STUDIES
from sparsight import cli, compile_command
from sparsight.exit_codes import Exit

WRONG = CudaSource("gpu_engine.formats", "coo.cu", ("no_such_kernel",))


def gpu(number: int, capability: str) -> DeviceInfo:
    return DeviceInfo(f"cuda:{number}", "cuda", "GPU", 2**30, 0, details={"compute capability": capability})


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("SPARSIGHT_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(compile_command, "INSTALLED_KERNELS", tmp_path / "installed")
    monkeypatch.setattr(listed, "kernel_sources", lambda: (coo.SOURCE, ellr.SOURCE))
    return tmp_path / "home"


def compile_for(*arguments: str) -> Result:
    ended = CliRunner().invoke(cli.app, ["compile", *arguments])
    assert ended.stdout == ""
    return ended


def said(ended: Result) -> str:
    return re.sub(r"[\d.]+ s;", "_ s;", ended.stderr)


def test_what_is_there_is_not_compiled_again(home: Path) -> None:
    first, second = compile_for("--arch", "sm_80", "--arch", "sm_90"), compile_for("--arch", "sm_90", "--jobs", "1")
    folder = home / "kernels"
    assert said(first) == f"{folder}: 4 sources compiled for sm_80, sm_90 in _ s; 0 already in the cache; 0 failed.\n"
    assert said(second) == f"{folder}: 0 sources compiled for sm_90 in _ s; 2 already in the cache; 0 failed.\n"
    assert (first.exit_code, second.exit_code) == (Exit.DONE, Exit.DONE)
    assert KernelCache(folder).find(coo.SOURCE.compilation("sm_80")) is not None
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


def test_an_installation_has_a_folder_of_its_own(home: Path) -> None:
    assert compile_for("--arch", "sm_90", "--installation").exit_code == Exit.DONE
    installed = KernelCache(home.parent / "installed")
    assert installed.find(coo.SOURCE.compilation("sm_90")) is not None
    assert not (home / "kernels").exists()


def test_what_does_not_compile_is_told_with_the_log(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listed, "kernel_sources", lambda: (WRONG, ellr.SOURCE))
    ended = compile_for("--arch", "sm_90")
    assert ended.exit_code == Exit.FAILED
    assert "gpu_engine.formats, coo.cu: A kernel does not compile for sm_90: " in ended.stderr
    assert "no_such_kernel" in ended.stderr
    assert said(ended).endswith(": 1 sources compiled for sm_90 in _ s; 0 already in the cache; 1 failed.\n")


def test_the_default_are_the_gpus_of_this_machine_on_which_every_study_is_rehearsed(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = (DeviceInfo("cpu", "cpu", "CPU", 2**30, 0), gpu(0, "9.0"), gpu(1, "8.0"), gpu(2, "9.0"))
    monkeypatch.setattr(device, "list_devices", lambda: here)
    run = set[tuple[str, ...]]()

    def engine(command: Sequence[str], **_: Any) -> subprocess.CompletedProcess[str]:
        study, gpu_id = command[4], command[-1]
        run.add(tuple(command[4:]))
        if study == "batched" and gpu_id == "cuda:1":
            return subprocess.CompletedProcess(command, 1, "", "a kernel failed")
        if study == "scaling" and gpu_id == "cuda:1":
            raise subprocess.TimeoutExpired(command, 300)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", engine)
    ended = compile_for()
    assert "4 sources compiled for sm_90, sm_80 in" in ended.stderr
    every = {(study.name, *compile_command.REHEARSED) for study in STUDIES} | {("formats", compile_command.WIDE)}
    assert run == {(*each, "--device", gpu_id) for each in every for gpu_id in ("cuda:0", "cuda:1")}
    assert ended.stderr.endswith(
        "batched on cuda:1 failed: a kernel failed\nscaling on cuda:1 did not end within 300 s.\n"
    )
    assert ended.exit_code == Exit.FAILED


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ((), InputError, "This machine has no GPU. Give a target architecture, such as --arch sm_90."),
        (("--arch", "9.0"), ParameterError, "Unknown GPU architecture '9.0'. Use a name such as sm_80 or sm_90."),
    ],
)
def test_without_an_architecture_nothing_is_compiled(
    home: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], error: type[InputError], sentence: str
) -> None:
    monkeypatch.setattr(device, "list_devices", lambda: (DeviceInfo("cpu", "cpu", "CPU", 2**30, 0),))
    ended = compile_for(*arguments)
    assert type(ended.exception) is error
    assert ended.exception.message == sentence
    assert not (home / "kernels").exists()
