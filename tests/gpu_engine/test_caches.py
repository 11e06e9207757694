"""Compiled code lies under SPARSIGHT_HOME, whoever imports what."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpu_engine.caches import CACHE_FOLDERS

PROGRAM = "import os, gpu_engine; print(*(os.environ.get(name, 'none') for name in sys.argv[1:]), sep='\\n')"


def run(program: str, **variables: str) -> list[str]:
    """The lines that the program prints in a process with these variables and no others of ours."""
    others = {name: value for name, value in os.environ.items() if name not in (*CACHE_FOLDERS, "SPARSIGHT_HOME")}
    command = [sys.executable, "-P", "-c", f"import sys; {program}", *CACHE_FOLDERS]
    ended = subprocess.run(command, env=others | variables, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"SPARSIGHT_HOME": "/elsewhere"}, "/elsewhere"),
        ({"SPARSIGHT_HOME": "~/lab", "HOME": "/home/me"}, "/home/me/lab"),
        ({"SPARSIGHT_HOME": "lab"}, f"{Path.cwd()}/lab"),
        ({"HOME": "/home/me"}, "/home/me/.sparsight"),
    ],
)
def test_the_caches_lie_in_the_home(variables: dict[str, str], folder: str) -> None:
    assert run(PROGRAM, **variables) == [f"{folder}/{name}" for name in CACHE_FOLDERS.values()]


@pytest.mark.parametrize("name", CACHE_FOLDERS)
def test_a_folder_that_the_user_chose_stays(name: str) -> None:
    found = dict(zip(CACHE_FOLDERS, run(PROGRAM, **{"SPARSIGHT_HOME": "/elsewhere", name: "/mine"}), strict=True))
    assert found == {variable: f"/elsewhere/{folder}" for variable, folder in CACHE_FOLDERS.items()} | {name: "/mine"}


def test_numba_takes_it(tmp_path: Path) -> None:
    program = "import gpu_engine.errors; from numba.core import config; print(config.CACHE_DIR)"
    assert run(program, SPARSIGHT_HOME=str(tmp_path)) == [str(tmp_path / "numba")]
