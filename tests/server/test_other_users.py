"""What another user of the host puts into the folders of a service is not run by it: the attack, as that user."""

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.users import needs_root

NOBODY = 65534

pytestmark = needs_root

SERVICE = """
import sys
from gpu_engine.errors import SparsightError
from server.private_folders import open_service
from server.settings import Settings

try:
    open_service(Settings())
    from gpu_engine.pagerank import cpu
    print(cpu._real(1))
except SparsightError as error:
    sys.exit(error.message)
"""
"""Starts as a service does, and runs what Numba has compiled before."""


class Evil:
    """Makes a file when it is unpickled."""

    def __init__(self, proof: Path) -> None:
        self.proof = proof

    def __reduce__(self) -> tuple[object, ...]:
        return os.system, (f"id > {self.proof}",)


class Host:
    """A folder that every user may enter, with the home of a service in it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home, self.proof = folder, folder / "home", folder / "proof" / "of-attack"
        self.pickle = folder / "evil"
        self.pickle.write_bytes(pickle.dumps(Evil(self.proof)))
        self.pickle.chmod(0o644)
        self.proof.parent.mkdir()
        self.variables: dict[str, str] = {}

    def start(self) -> subprocess.CompletedProcess[str]:
        """A start of the service, which has run what it could of the attack."""
        ours = ("SPARSIGHT_", "NUMBA_", "CUPY_")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        variables = {**inherited, "SPARSIGHT_HOME": str(self.home), **self.variables}
        command = [sys.executable, "-P", "-c", SERVICE]
        return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300, check=False)

    def as_nobody(self, script: str, *arguments: Path) -> None:
        """A shell of another user, who may not be let do some of it."""
        command = ["/bin/sh", "-c", script, "sh", *map(str, arguments)]
        subprocess.run(command, user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, check=False)

    def attack(self) -> int:
        """Has the other user put a pickle in place of every index of Numba; returns how many he could, or has."""
        places = {self.folder, (self.home / "numba").resolve()} if (self.home / "numba").is_symlink() else {self.home}
        places |= {Path(named) for named in self.variables.values()}
        indexes = sorted(index for place in places for index in place.rglob("*.nbi"))
        for index in indexes:
            self.as_nobody('cp "$1" "$2" || { rm -f "$2"; cp "$1" "$2"; }', self.pickle, index)
        return sum(index.read_bytes() == self.pickle.read_bytes() for index in indexes)


@pytest.fixture(scope="module")
def compiled() -> Iterator[Path]:
    """The folder of a host whose service has run before."""
    with tempfile.TemporaryDirectory(prefix="others-") as place:
        host = Host(Path(place))
        host.home.mkdir(mode=0o700)
        ended = host.start()
        assert ended.returncode == 0, ended.stderr
        assert list(host.home.rglob("*.nbi"))
        yield Path(place)


@pytest.fixture
def host(compiled: Path) -> Iterator[Host]:
    with tempfile.TemporaryDirectory(prefix="others-") as place:
        Path(place).chmod(0o755)
        subprocess.run(["cp", "-a", str(compiled / "home"), place], check=True)
        found = Host(Path(place))
        found.proof.parent.chmod(0o777)
        # As an earlier release left it.
        for path in (found.home, *found.home.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        yield found


def group_writable(host: Host) -> None:
    """What an earlier release made under the umask of a project whose group shares a cluster."""
    script = f"chgrp -R {NOBODY} {host.home} && chmod -R g+rwX,o+rX {host.home}"
    subprocess.run(script, shell=True, check=True)


def modes(folder: int = 0o755, file: int = 0o644) -> Callable[[Host], None]:
    def change(host: Host) -> None:
        for path in (host.home / "numba", *(host.home / "numba").rglob("*")):
            path.chmod(folder if path.is_dir() else file)

    return change


def owned(host: Host) -> None:
    for path in host.home.rglob("*.nbi"):
        os.chown(path, NOBODY, NOBODY)


def linked(host: Host) -> None:
    """The other user replaces the cache by a link while the home is open."""
    host.home.chmod(0o777)
    subprocess.run(["cp", "-a", str(host.home / "numba"), str(host.folder / "theirs")], check=True)
    subprocess.run(["chown", "-R", str(NOBODY), str(host.folder / "theirs")], check=True)
    host.as_nobody('mv "$1/numba" "$1/gone" && ln -s "$2" "$1/numba"', host.home, host.folder / "theirs")
    host.home.chmod(0o755)


def hard_linked(host: Host) -> None:
    """A file of the other user has a name in the cache."""
    for path in host.home.rglob("*.nbi"):
        theirs = host.folder / "theirs"
        theirs.unlink(missing_ok=True)
        theirs.write_bytes(path.read_bytes())
        os.chown(theirs, NOBODY, NOBODY)
        path.unlink()
        os.link(theirs, path)


def elsewhere(variable: str) -> Callable[[Host], None]:
    """A variable names a folder that everybody may write."""

    def change(host: Host) -> None:
        target = host.folder / "elsewhere"
        subprocess.run(["mv", str(host.home / "numba"), str(target)], check=True)
        for path in (target, *target.rglob("*")):
            path.chmod(0o777 if path.is_dir() else 0o666)
        host.variables[variable] = str(target)

    return change


def parent_writable(host: Host) -> None:
    host.folder.chmod(0o777)
    host.as_nobody('mv "$1" "$1-was" && cp -r "$1-was" "$1" && chmod -R a+w "$1"', host.home)


MENDED: dict[str, Callable[[Host], None]] = {
    "a home of a group": group_writable,
    "folders of the cache": modes(folder=0o777),
    "folders of the cache, to a group": modes(folder=0o775),
    "files of the cache": modes(file=0o666),
    "files of the cache, to a group": modes(file=0o664),
    "files of the other user": owned,
    "a cache that is a link": linked,
    "hard links": hard_linked,
}
REFUSED: dict[str, Callable[[Host], None]] = {
    "NUMBA_CACHE_DIR": elsewhere("NUMBA_CACHE_DIR"),
    "CUPY_CACHE_DIR": elsewhere("CUPY_CACHE_DIR"),
    "a folder above": parent_writable,
}


@pytest.mark.parametrize("opened", MENDED)
def test_a_cache_that_others_could_write_is_emptied_and_the_service_starts(host: Host, opened: str) -> None:
    MENDED[opened](host)
    if "group" in opened:
        for path in (host.home, *host.home.rglob("*")):
            os.chown(path, -1, NOBODY)
    assert host.attack() > 0
    ended = host.start()
    assert ended.returncode == 0, ended.stderr
    assert not host.proof.exists()
    assert all(path.read_bytes() != host.pickle.read_bytes() for path in host.home.rglob("*.nbi"))
    open_to_others = [path for path in (host.home, *host.home.rglob("*")) if path.lstat().st_mode & 0o022]
    assert [path for path in open_to_others if not path.is_symlink()] == []
    assert (host.home.stat().st_mode & 0o777, host.attack()) == (0o700, 0)


@pytest.mark.parametrize("opened", REFUSED)
def test_what_is_not_the_services_to_mend_is_refused_with_the_command(host: Host, opened: str) -> None:
    REFUSED[opened](host)
    host.attack()
    ended = host.start()
    assert ended.returncode == 1
    assert "Run `ch" in ended.stderr
    assert not host.proof.exists()
    command = ended.stderr.partition("Run `")[2].partition("`")[0]
    subprocess.run(command, shell=True, check=True)


def test_kernels_and_data_are_closed_too(host: Host) -> None:
    names = ("kernels/a.cubin", "matrices/m/values.npy", "uploads/u", "downloads/g/d.part", "sparsight.db")
    for name in names:
        (host.home / name).parent.mkdir(parents=True, exist_ok=True)
        (host.home / name).touch()
        (host.home / name).chmod(0o666)
        (host.home / name).parent.chmod(0o777)
    ended = host.start()
    assert ended.returncode == 0, ended.stderr
    left = [name for name in names if (host.home / name).exists()]
    assert left == list(names[1:])
    assert [name for name in left if (host.home / name).stat().st_mode & 0o022] == []
    assert "emptied" in ended.stderr


@pytest.mark.parametrize("name", ["matrices", "sparsight.db", "uploads"])
def test_data_of_another_user_is_refused_and_stays(host: Host, name: str) -> None:
    path = host.home / name
    path.mkdir() if name != "sparsight.db" else path.touch()
    os.chown(path, NOBODY, NOBODY)
    ended = host.start()
    assert (ended.returncode, f"chown -R 0 {path}" in ended.stderr) == (1, True)
    assert path.stat().st_uid == NOBODY
