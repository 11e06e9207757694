"""Tests of the messages of tools/package and tools.test_image if something is missing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def package(folder: Path, program: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run tools/package for the package `pack` of a program, as a user who may install nothing."""
    (folder / "id").write_text("#!/bin/sh\necho 1000\n")
    (folder / "id").chmod(0o755)
    command = ["/bin/sh", str(ROOT / "tools" / "package"), program, "pack", "the tests"]
    return subprocess.run(command, env={"PATH": str(folder), **variables}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("variables", "status"), [({}, 0), ({"CI": "true"}, 1)])
def test_a_missing_package_is_one_line_and_fails_where_ci_is_true(
    tmp_path: Path, variables: dict[str, str], status: int
) -> None:
    ended = package(tmp_path, "nowhere", **variables)
    assert ended.stderr.splitlines() == ["sparsight: the package pack is missing, so the tests cannot run; install it."]
    assert ended.returncode == status


def test_a_program_that_is_there_needs_no_package(tmp_path: Path) -> None:
    ended = package(tmp_path, "id", CI="true")
    assert (ended.returncode, ended.stderr) == (0, "")


def test_without_an_engine_the_image_is_left_out_in_a_line(tmp_path: Path) -> None:
    environment = {**os.environ, "PATH": str(tmp_path)}
    command = [sys.executable, "-m", "tools.test_image", "--check"]
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 3
    assert ended.stderr.splitlines() == ["The image is not tested: neither Docker nor Podman answers here."]
