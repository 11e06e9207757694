"""Tests of tools/install: its messages if something is missing, and the CuPy that it chooses."""

import importlib.util
import os
import re
import subprocess
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tools import bom

TOOLS = Path(__file__).parent.parent.parent / "tools"
LOCKED = TOOLS.parent / "locked"


def install(folder: Path, python: str, script: str) -> subprocess.CompletedProcess[str]:
    """Run a copy of tools/install with a `python` that is this shell script."""
    (folder / "tools").mkdir()
    (folder / "tools" / "install").write_bytes((TOOLS / "install").read_bytes())
    program = folder / python
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    environment = {**os.environ, "PYTHON": str(program)}
    return subprocess.run(
        ["sh", str(folder / "tools" / "install")], env=environment, capture_output=True, text=True, check=False
    )


def test_a_python_that_is_too_old_is_one_line_that_names_the_packages(tmp_path: Path) -> None:
    ended = install(tmp_path, "python3", "exit 1")
    assert ended.returncode == 1
    assert ended.stderr.splitlines() == [
        "sparsight: Python 3.11 or newer is missing; install the packages python3 and python3-venv."
    ]


def test_a_missing_venv_is_one_line_that_names_the_package(tmp_path: Path) -> None:
    ended = install(tmp_path, "python3.12", 'case "$2" in *ensurepip*) exit 1 ;; esac')
    assert ended.returncode == 1
    assert ended.stderr.splitlines() == ["sparsight: the package python3.12-venv is missing; install it."]


@pytest.fixture(scope="module")
def cuda_extra() -> ModuleType:
    spec = importlib.util.spec_from_file_location("cuda_extra", TOOLS / "cuda_extra.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class FakeDriver:
    """libcuda of a driver that offers a CUDA version, with or without a device."""

    def __init__(self, version: int, status: int = 0) -> None:
        self.version = version
        self.status = status

    def cuInit(self, _: int) -> int:  # noqa: N802 (the driver's name)
        return self.status

    def cuDriverGetVersion(self, out: Any) -> int:  # noqa: N802
        out._obj.value = self.version
        return 0


@pytest.mark.parametrize(("version", "extra"), [(12040, "cuda12"), (13000, "cuda13"), (14010, "cuda13"), (11080, "")])
def test_the_extra_fits_the_driver(
    monkeypatch: pytest.MonkeyPatch, cuda_extra: ModuleType, version: int, extra: str
) -> None:
    monkeypatch.setattr(cuda_extra.ctypes, "CDLL", lambda _: FakeDriver(version))
    assert cuda_extra.cuda_extra() == extra


def test_a_driver_without_a_device_takes_no_extra(monkeypatch: pytest.MonkeyPatch, cuda_extra: ModuleType) -> None:
    monkeypatch.setattr(cuda_extra.ctypes, "CDLL", lambda _: FakeDriver(13000, status=100))
    assert cuda_extra.cuda_extra() == ""


def test_no_driver_takes_no_extra(monkeypatch: pytest.MonkeyPatch, cuda_extra: ModuleType) -> None:
    def missing(_: str) -> None:
        raise OSError("libcuda.so.1: cannot open shared object file")

    monkeypatch.setattr(cuda_extra.ctypes, "CDLL", missing)
    assert cuda_extra.cuda_extra() == ""


def test_every_constraint_is_an_exact_version_without_a_host() -> None:
    lines = (TOOLS.parent / "constraints.txt").read_text().splitlines()
    assert [line for line in lines if line.count("==") != 1 or "/" in line or "@" in line] == []


def locked(name: str) -> dict[str, list[str]]:
    """Return the hashes by pin of a file of locked/."""
    text = (LOCKED / f"{name}.txt").read_text()
    found = re.findall(r"^([^\s#]\S*).*((?:\n +--hash.*)+)", text, re.M)
    # Nothing but comments, pins and hashes.
    assert len(found) == sum(1 for line in text.splitlines() if not line.startswith((" ", "#")))
    return {pin: re.findall(r"--hash=(sha256:[0-9a-f]{64})\b", hashes) for pin, hashes in found}


@pytest.mark.parametrize("name", [path.stem for path in sorted(LOCKED.iterdir())])
def test_what_is_installed_has_the_constrained_version_and_hashes(name: str) -> None:
    pins = locked(name)
    constrained = (TOOLS.parent / "constraints.txt").read_text().splitlines()
    assert {pin for pin in pins if not pin.startswith("cuda-toolkit==")} - set(constrained) == set()
    assert [pin for pin, hashes in pins.items() if not hashes] == []


def test_the_locked_extras_are_those_of_the_project_and_hold_all_that_it_names() -> None:
    project = tomllib.loads((TOOLS.parent / "pyproject.toml").read_text())["project"]
    # Never installed by itself; what `test` needs as well; what `base` has.
    extras = project["optional-dependencies"].keys() - {"cugraph", "pandas", "server"}
    assert {path.stem for path in LOCKED.iterdir()} == {"base", "build", *extras}
    base = {pin.partition("==")[0] for pin in locked("base")}
    for name, needed in {"base": project["dependencies"], **project["optional-dependencies"]}.items():
        if name in {"base", "server", *extras}:
            names = {re.split(r"[\[>=<;]", requirement)[0] for requirement in needed}
            assert (
                names - base - {pin.partition("==")[0] for pin in locked("base" if name == "server" else name)} == set()
            )


def test_the_bill_of_materials_names_every_package_that_is_installed() -> None:
    bill = bom.document(["cuda13"])
    found = {(part["name"], part["version"], part["purl"]) for part in bill["components"]}
    pins = [pin.split("==") for pin in (*locked("base"), *locked("cuda13"))]
    assert found == {(name, version, f"pkg:pypi/{name}@{version}") for name, version in pins}
    licenses = {part["name"]: part.get("licenses") for part in bill["components"]}
    assert licenses["fastapi"] == [{"expression": "MIT"}]
