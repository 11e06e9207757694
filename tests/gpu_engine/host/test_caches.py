"""Compiled code lies under SPARSIGHT_HOME, whoever imports what."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from gpu_engine.host.caches import CACHE_FOLDERS, CACHES

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


JIT = """
import os
from gpu_engine.host import caches
from gpu_engine.errors import UnavailableError
from gpu_engine.pagerank import cpu
try:
    print(cpu._real(1) > 0)
except UnavailableError as error:
    print(error.message)
print(os.environ.get("CUPY_CACHE_IN_MEMORY", "0"), *(path.name for path in caches.emptied))
"""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_caches_are_made_private_whatever_the_umask(tmp_path: Path) -> None:
    home = tmp_path / "home"
    program = f"import os; os.umask(0o002)\n{JIT}"
    for _ in range(2):
        # What the library makes in them with that umask is no reason to empty them.
        assert run(program, SPARSIGHT_HOME=str(home)) == ["True", "0"]
    assert [mode(home / name) for name in (".", *CACHES)] == [0o700] * 4
    assert list(home.rglob("*.nbi"))


@pytest.mark.parametrize("opened", [".", "numba", "numba/*", "numba/*/*.nbi"])
def test_a_cache_that_others_could_write_is_emptied_before_a_library_reads_it(tmp_path: Path, opened: str) -> None:
    home = tmp_path / "home"
    run(JIT, SPARSIGHT_HOME=str(home))
    for path in (home, *home.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    for path in home.glob(opened) if opened != "." else (home,):
        path.chmod(0o777)
    (index,) = home.rglob("*.nbi")
    index.write_bytes(b"not read")
    emptied = "numba" if opened != "." else "numba cupy kernels"
    assert run(JIT, SPARSIGHT_HOME=str(home)) == ["True", f"0 {emptied}"]
    assert [path.read_bytes() != b"not read" for path in home.rglob("*.nbi")] == [True]


@pytest.mark.parametrize(("variable", "told"), [("NUMBA_CACHE_DIR", 0), ("CUPY_CACHE_DIR", 1)])
def test_a_folder_that_the_user_chose_is_not_read_while_others_can_write_it(
    tmp_path: Path, variable: str, told: int
) -> None:
    (tmp_path / "chosen").mkdir()
    (tmp_path / "chosen").chmod(0o777)
    lines = run(JIT, **{"SPARSIGHT_HOME": str(tmp_path / "home"), variable: str(tmp_path / "chosen")})
    assert f"chmod -R go-w {tmp_path}/chosen" in lines[0] if told == 0 else lines == ["True", "1"]
    assert list((tmp_path / "chosen").iterdir()) == []
