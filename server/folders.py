"""The folders of the service, into which no other user of the host writes: the home, a temporary one of each worker."""

import fcntl
import logging
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from gpu_engine.errors import InputError, UnavailableError

log = logging.getLogger(__name__)

PREFIX = "sparsight-"
LOCK = "lock"
RAY = "ray"
"""The folder in that of a worker which Ray opens to everybody."""

OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
OTHERS_MAY = stat.S_IRWXG | stat.S_IRWXO
SOCKET_BYTES = 107
"""Longest path of a Unix socket."""

RAY_BYTES = len(f"/{RAY}/session_2026-01-01_00-00-00_000000_4194304/sockets/plasma_store")
"""What Ray puts between its folder and the end of a socket's path."""


def open_home(home: Path) -> None:
    """Makes the home folder if need be; from now on what this process makes is closed to other users.

    Raises InputError where the folder cannot be written, or other users can write into it and that cannot be mended.
    """
    os.umask(OTHERS_MAY)
    try:
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=home):
            pass
        if home.stat().st_mode & OTHERS_MAY_WRITE:
            _close(home)
    except OSError as error:
        raise InputError(
            f"The home folder {home} cannot be used: {error.strerror}. "
            "Set SPARSIGHT_HOME to a folder that you may write."
        ) from error
    if finding := exposure(home):
        log.warning(finding)


def _close(home: Path) -> None:
    """Takes from other users what lets them run code as the service; raises InputError where that is not ours to do."""
    found = home.stat()
    foreign = [path for path in home.iterdir() if path.lstat().st_uid != os.geteuid()]
    if found.st_uid != os.geteuid() or found.st_mode & stat.S_ISVTX or foreign:
        raise InputError(
            f"Other users of this machine can write into the home folder {home}, and would run code as this service. "
            "Set SPARSIGHT_HOME to a folder of your own."
        )
    home.chmod(stat.S_IMODE(found.st_mode) & ~OTHERS_MAY_WRITE)
    log.warning("other users could write into the home folder %s; they no longer can", home)


def exposure(home: Path) -> str:
    """What other users can do with an existing home, and the remedy; empty: nothing."""
    if home.stat().st_mode & OTHERS_MAY_WRITE:
        return f"{home} can be written by other users, who could run code as the service. Run `chmod 700 {home}`."
    for parent in home.parents:
        found = parent.stat()
        if found.st_mode & OTHERS_MAY_WRITE and not found.st_mode & stat.S_ISVTX:
            return (
                f"{home} can be replaced by other users, who may write {parent}. Set SPARSIGHT_HOME to another folder."
            )
    if home.stat().st_mode & OTHERS_MAY:
        return f"{home} can be read by other users. Run `chmod 700 {home}`."
    return ""


def take(lock: IO[Any]) -> bool:
    """Takes the lock of an open file unless another process has it; the kernel gives it back when ours ends."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def worker_folder() -> Iterator[Path]:
    """A new temporary folder that only this user enters, gone afterwards; raises UnavailableError where its path would
    be too long for Ray's sockets.

    The folder of a worker that was killed is removed by the next one.
    """
    try:
        parent = tempfile.gettempdir()
        most = SOCKET_BYTES - RAY_BYTES - len(f"/{PREFIX}12345678")
        if len(os.fsencode(parent)) > most:
            raise UnavailableError(
                f"The folder of temporary files {parent} has too long a path for Ray's sockets: at most {most} bytes. "
                "Set TMPDIR to another one, such as /tmp."
            )
        sweep(Path(parent))
        folder, lock = _locked_folder()
    except OSError as error:
        raise UnavailableError(
            f"There is no place for temporary files: {error.strerror}. Set TMPDIR to a folder that you may write."
        ) from error
    with lock:
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _locked_folder() -> tuple[Path, IO[str]]:
    """A new folder, and the lock in it that says that its owner lives."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        # A sweep may take it until it is locked.
        with suppress(FileNotFoundError):
            lock = (folder / LOCK).open("x")
            if take(lock) and (folder / LOCK).exists():
                return folder, lock
            lock.close()


def sweep(parent: Path) -> None:
    """Removes the folders here of workers that have ended. Those of others, and of living ones, stay."""
    for folder in parent.glob(f"{PREFIX}*"):
        # Gone by now, or no folder of a worker.
        with suppress(OSError):
            found = folder.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
                continue
            # Empty, where a worker was killed before it could lock it; one that is about to makes another.
            with suppress(OSError):
                folder.rmdir()
            with (folder / LOCK).open("r+") as lock:
                if not take(lock):
                    continue
                # An agent of Ray may still write: the lock goes last, so that the next sweep knows the folder.
                shutil.rmtree(folder / RAY, ignore_errors=True)
                if not (folder / RAY).exists():
                    shutil.rmtree(folder, ignore_errors=True)
