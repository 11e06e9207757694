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
from gpu_engine.host.caches import CACHE_FOLDERS, CACHES, empty
from gpu_engine.host.private_files import (
    OTHERS_MAY,
    OTHERS_MAY_WRITE,
    Exposure,
    Reason,
    explain,
    exposures,
    exposures_above,
)
from server.db import sqlite_file
from server.settings import Settings
from server.store import Store

log = logging.getLogger(__name__)

PREFIX = "sparsight-"
LOCK = "lock"
SET_TMPDIR = "Set TMPDIR to a folder that you may write."
RAY = "ray"
"""The folder in that of a worker which Ray opens to everybody."""

SECRETS = {
    "SPARSIGHT_TOKEN_FILE": "token_file",
    "SPARSIGHT_DATABASE_PASSWORD_FILE": "database_password_file",
}
"""The variables that name files of secrets, and their settings."""

JOURNALS = ("-journal", "-wal", "-shm")
EXPOSURES_TOLD = 3
"""How many files and folders that others can write are named; the others are counted."""

SOCKET_BYTES = 107
"""Longest path of a Unix socket."""

RAY_BYTES = len(f"/{RAY}/session_2026-01-01_00-00-00_000000_4194304/sockets/plasma_store")
"""What Ray puts between its folder and the end of a socket's path."""


def open_service(settings: Settings) -> None:
    """Open the home as `open_home`; raise InputError where a variable names what other users can change as well."""
    open_home(settings.home)
    for variable, found in named_exposures(settings):
        raise InputError(f"{variable} names what others could change for this service: {explain(found)}")


def open_home(home: Path) -> None:
    """Make the home folder if need be, and close it and all that is in it to other users.

    From now on what this process makes is closed to them too. Caches that they could write are emptied.
    Raises InputError where the folder cannot be written, and where this cannot mend what others can change.
    """
    os.umask(OTHERS_MAY)
    try:
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=home):
            pass
        if home_exposures(home):
            if reason := home_refusal(home):
                raise InputError(reason)
            _close_home(home)
            if found := next(exposures(home), None):
                raise InputError(explain(found))
    except OSError as error:
        raise InputError(
            f"The home folder {home} cannot be used: {error.strerror}. "
            "Set SPARSIGHT_HOME to a folder that you may write."
        ) from error


def home_refusal(home: Path) -> str:
    """Return why an existing home cannot be made private, with the remedy; empty: it is, or the next start mends it."""
    if found := next(exposures_above(home), None):
        return f"{explain(found)} Or set SPARSIGHT_HOME to another folder."
    state = home.stat()
    if state.st_uid != os.geteuid():
        return (
            f"The home folder {home} belongs to the user {state.st_uid}, and this process to {os.geteuid()}. "
            "Run it as that user, or set SPARSIGHT_HOME to a folder of your own."
        )
    if state.st_mode & stat.S_ISVTX:
        return f"The home folder {home} is everybody's (sticky). Set SPARSIGHT_HOME to a folder of your own."
    for entry in home.iterdir():
        for found in exposures(entry) if entry.name not in CACHES else ():
            if found.reason is not Reason.MODE and found.path != home:
                return f"{explain(found)} Or set SPARSIGHT_HOME to a folder of your own."
    return ""


def home_exposures(home: Path) -> list[str]:
    """Return every way in which other users reach into an existing home, one sentence each; none: it is private."""
    found = list(exposures(home))
    sentences = [exposure.sentence for exposure in found[:EXPOSURES_TOLD]]
    if len(found) > EXPOSURES_TOLD:
        sentences.append(f"and so can {len(found) - EXPOSURES_TOLD} more files and folders in it")
    if not found and home.stat().st_mode & OTHERS_MAY:
        sentences.append(f"{home} can be read by other users")
    return sentences


def named_exposures(settings: Settings) -> Iterator[tuple[str, Exposure]]:
    """Yield each variable that names something outside the home which other users can change, and what is wrong."""
    for variable, path in _named(settings):
        if settings.home not in path.parents and (found := next(exposures(path), None)):
            yield variable, found
    for variable, file in SECRETS.items():
        # A container is given a secret by another owner: what counts is who may write it.
        for found in exposures(Path(getattr(settings, file))) if getattr(settings, file) else ():
            if found.reason is Reason.MODE:
                yield variable, found


def _named(settings: Settings) -> Iterator[tuple[str, Path]]:
    """Yield every variable whose file or folder is loaded, with what it names."""
    for variable in CACHE_FOLDERS:
        if named := os.environ.get(variable):
            yield variable, Path(named).absolute()
    if settings.cusparse:
        # The linker beside it is loaded too.
        yield "SPARSIGHT_CUSPARSE", Path(settings.cusparse).expanduser().absolute().parent
    store = Store(settings.resolved_store)
    if store.is_local:
        yield "SPARSIGHT_STORE", Path(store.root)
    if file := sqlite_file(settings.database_url):
        # SQLite reads a journal beside the file.
        for ending in ("", *JOURNALS):
            yield "SPARSIGHT_DATABASE_URL", Path(f"{file}{ending}").absolute()


def _close_home(home: Path) -> None:
    """Take the home and all in it from other users, and empty the caches that they could write."""
    was_open = bool(home.stat().st_mode & OTHERS_MAY_WRITE)
    could_read = bool(home.stat().st_mode & OTHERS_MAY)
    home.chmod(0o700)
    caches = [cache for name in CACHES if os.path.lexists(cache := home / name)]
    open_caches = [cache for cache in caches if was_open or any(exposures(cache))]
    for cache in open_caches:
        empty(cache)
    handle = os.open(home, os.O_RDONLY | os.O_DIRECTORY)
    try:
        number = _close_folder(home, handle)
    finally:
        os.close(handle)
    if was_open or number or open_caches:
        log.warning(
            "other users could write into the home folder %s: it is closed to them now, with %d files and folders in "
            "it%s. What they may have changed in the database and the matrices before stays: restore a backup if in "
            "doubt",
            home,
            number,
            f"; emptied the caches {', '.join(cache.name for cache in open_caches)}" if open_caches else "",
        )
    elif could_read:
        log.warning("other users could read the home folder %s: it is closed to them now", home)


def _close_folder(folder: Path, handle: int) -> int:
    """Take from others the right to write in an open folder and beneath; return of how many entries.

    The folder goes first: after that nobody can put something else in place of an entry.
    """
    number = _close(folder, handle, os.fstat(handle))
    for name in os.listdir(handle):
        found = os.stat(name, dir_fd=handle, follow_symlinks=False)
        if stat.S_ISDIR(found.st_mode):
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=handle)
            try:
                number += _close_folder(folder / name, inner)
            finally:
                os.close(inner)
        elif stat.S_ISREG(found.st_mode) and found.st_mode & OTHERS_MAY_WRITE:
            inner = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=handle)
            try:
                number += _close(folder / name, inner, os.fstat(inner))
            finally:
                os.close(inner)
    return number


def _close(path: Path, handle: int, found: os.stat_result) -> int:
    """Take the right to write from others; raise InputError for a file with a second name, which may be anybody's."""
    if not found.st_mode & OTHERS_MAY_WRITE:
        return 0
    if stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
        raise InputError(
            f"{path} can be written by other users, and has {found.st_nlink} names (hard links). Look at it, then "
            "delete it or replace it by a copy."
        )
    os.fchmod(handle, stat.S_IMODE(found.st_mode) & ~OTHERS_MAY_WRITE)
    return 1


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
        sweep(check_temporary_folder())
        folder, lock = _locked_folder()
    except OSError as error:
        raise UnavailableError(f"There is no place for temporary files: {error.strerror}. {SET_TMPDIR}") from error
    with lock:
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def check_temporary_folder() -> Path:
    """Return the folder of temporary files.

    Raises UnavailableError where others could change it, and for a path that is too long for Ray's sockets.
    """
    try:
        parent = tempfile.gettempdir()
    except FileNotFoundError as error:
        raise UnavailableError(f"There is no place for temporary files: {error.strerror}. {SET_TMPDIR}") from error
    if found := next(exposures_above(Path(parent) / PREFIX), None):
        raise UnavailableError(f"{explain(found)} Or set TMPDIR to another folder.")
    most = SOCKET_BYTES - RAY_BYTES - len(f"/{PREFIX}12345678")
    if len(os.fsencode(parent)) > most:
        raise UnavailableError(
            f"The folder of temporary files {parent} has too long a path for Ray's sockets: at most {most} bytes. "
            "Set TMPDIR to another one, such as /tmp."
        )
    return Path(parent)


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
