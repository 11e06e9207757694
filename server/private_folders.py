"""Private folders of the service, which no other user of the host can write: the data directory, and a temporary folder
per worker.
"""

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
SET_TMPDIR = "Set TMPDIR to a writable folder."
RAY = "ray"
"""Folder inside that of a worker. Ray makes it accessible to everybody."""

SECRETS = {
    "SPARSIGHT_TOKEN_FILE": "token_file",
    "SPARSIGHT_DATABASE_PASSWORD_FILE": "database_password_file",
}
"""Variables that name files with secrets, and their settings."""

JOURNALS = ("-journal", "-wal", "-shm")
EXPOSURES_TOLD = 3
"""Maximum number of exposed files and folders that a message names; the others are counted."""

SOCKET_BYTES = 107
"""Longest path of a Unix socket."""

RAY_BYTES = len(f"/{RAY}/session_2026-01-01_00-00-00_000000_4194304/sockets/plasma_store")
"""Bytes that Ray adds between its folder and the end of a socket path."""


def open_service(settings: Settings) -> None:
    """Open the data directory as `open_home` does. Raises InputError if a variable names something that other users can
    change.
    """
    open_home(settings.home)
    for variable, exposure in named_exposures(settings):
        raise InputError(f"Other users could change what {variable} names: {explain(exposure)}")


def open_home(home: Path) -> None:
    """Create the data directory if needed, and make it and its content private.

    From now on, files that this process creates are private too. Caches that other users could write are emptied.
    Raises InputError if the folder is not writable, or if this process cannot make it private.
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
            if exposure := next(exposures(home), None):
                raise InputError(explain(exposure))
    except OSError as error:
        raise InputError(
            f"Cannot use the data directory {home}: {error.strerror}. Set SPARSIGHT_HOME to a writable folder."
        ) from error


def home_refusal(home: Path) -> str:
    """Return why an existing data directory cannot be made private, with the remedy; empty if it can or already is."""
    if exposure := next(exposures_above(home), None):
        return f"{explain(exposure)} Or set SPARSIGHT_HOME to another folder."
    state = home.stat()
    if state.st_uid != os.geteuid():
        return (
            f"The data directory {home} belongs to user {state.st_uid}, but this process runs as "
            f"user {os.geteuid()}. Run it as that user, or set SPARSIGHT_HOME to your own folder."
        )
    if state.st_mode & stat.S_ISVTX:
        return f"Everybody can write to the data directory {home} (sticky). Set SPARSIGHT_HOME to your own folder."
    for entry in home.iterdir():
        for exposure in exposures(entry) if entry.name not in CACHES else ():
            if exposure.reason is not Reason.MODE and exposure.path != home:
                return f"{explain(exposure)} Or set SPARSIGHT_HOME to your own folder."
    return ""


def home_exposures(home: Path) -> list[str]:
    """Return every way in which other users can access an existing data directory, one sentence each."""
    exposed = list(exposures(home))
    sentences = [exposure.sentence for exposure in exposed[:EXPOSURES_TOLD]]
    if len(exposed) > EXPOSURES_TOLD:
        sentences.append(f"other users can write {len(exposed) - EXPOSURES_TOLD} more files and folders in it")
    if not exposed and home.stat().st_mode & OTHERS_MAY:
        sentences.append(f"Other users can read {home}")
    return sentences


def named_exposures(settings: Settings) -> Iterator[tuple[str, Exposure]]:
    """Yield each variable that names something outside the data directory which other users can change, with a
    description.
    """
    for variable, path in _named(settings):
        if settings.home not in path.parents and (exposure := next(exposures(path), None)):
            yield variable, exposure
    for variable, file in SECRETS.items():
        # Secrets of a container belong to another user; only write permission matters.
        for exposure in exposures(Path(getattr(settings, file))) if getattr(settings, file) else ():
            if exposure.reason is Reason.MODE:
                yield variable, exposure


def _named(settings: Settings) -> Iterator[tuple[str, Path]]:
    """Yield every variable whose file or folder is loaded, with its path."""
    for variable in CACHE_FOLDERS:
        if named := os.environ.get(variable):
            yield variable, Path(named).absolute()
    if settings.cusparse:
        # The linker in the same folder is loaded too.
        yield "SPARSIGHT_CUSPARSE", Path(settings.cusparse).expanduser().absolute().parent
    store = Store(settings.resolved_store)
    if store.is_local:
        yield "SPARSIGHT_STORE", Path(store.root)
    if file := sqlite_file(settings.database_url):
        # SQLite reads a journal next to the file.
        for ending in ("", *JOURNALS):
            yield "SPARSIGHT_DATABASE_URL", Path(f"{file}{ending}").absolute()


def _close_home(home: Path) -> None:
    """Make the data directory and its content private, and empty the caches that other users could write."""
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
            "other users could write to the data directory %s; it is private now, with %d files "
            "and folders in it%s. They may have changed the database and the matrices before: "
            "restore a backup if in doubt",
            home,
            number,
            f"; emptied the caches {', '.join(cache.name for cache in open_caches)}" if open_caches else "",
        )
    elif could_read:
        log.warning("other users could read the data directory %s; it is private now", home)


def _close_folder(folder: Path, handle: int) -> int:
    """Remove write permission for others from a folder and its content, and return the number of changed entries.

    The folder is changed first, so that nobody can replace an entry afterwards.
    """
    number = _close(folder, handle, os.fstat(handle))
    for name in os.listdir(handle):
        status = os.stat(name, dir_fd=handle, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=handle)
            try:
                number += _close_folder(folder / name, inner)
            finally:
                os.close(inner)
        elif stat.S_ISREG(status.st_mode) and status.st_mode & OTHERS_MAY_WRITE:
            inner = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=handle)
            try:
                number += _close(folder / name, inner, os.fstat(inner))
            finally:
                os.close(inner)
    return number


def _close(path: Path, handle: int, status: os.stat_result) -> int:
    """Remove write permission for others. Raises InputError for a file with hard links, which may belong to anybody."""
    if not status.st_mode & OTHERS_MAY_WRITE:
        return 0
    if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
        raise InputError(
            f"Other users can write {path}, and it has {status.st_nlink} hard links. Inspect it, "
            "then delete it or replace it by a copy."
        )
    os.fchmod(handle, stat.S_IMODE(status.st_mode) & ~OTHERS_MAY_WRITE)
    return 1


def take(lock: IO[Any]) -> bool:
    """Lock an open file unless another process has locked it. The kernel releases the lock when this process ends."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def worker_folder() -> Iterator[Path]:
    """Yield a new private temporary folder, deleted afterwards. Raises UnavailableError if its path is too long for
    Ray's sockets.

    The next worker deletes the folder of a killed one.
    """
    try:
        sweep(check_temporary_folder())
        folder, lock = _locked_folder()
    except OSError as error:
        raise UnavailableError(f"Cannot use the folder for temporary files: {error.strerror}. {SET_TMPDIR}") from error
    with lock:
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def check_temporary_folder() -> Path:
    """Return the folder of temporary files.

    Raises UnavailableError if other users could change it, or if its path is too long for Ray's sockets.
    """
    try:
        parent = tempfile.gettempdir()
    except FileNotFoundError as error:
        raise UnavailableError(f"Cannot use the folder for temporary files: {error.strerror}. {SET_TMPDIR}") from error
    if exposure := next(exposures_above(Path(parent) / PREFIX), None):
        raise UnavailableError(f"{explain(exposure)} Or set TMPDIR to another folder.")
    most = SOCKET_BYTES - RAY_BYTES - len(f"/{PREFIX}12345678")
    if len(os.fsencode(parent)) > most:
        raise UnavailableError(
            f"The path of the folder for temporary files, {parent}, is too long for Ray's sockets "
            f"(limit {most} bytes). Set TMPDIR to another folder, such as /tmp."
        )
    return Path(parent)


def _locked_folder() -> tuple[Path, IO[str]]:
    """Return a new folder, and the lock in it that shows that its owner is running."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        # Before it is locked, a sweep may delete it.
        with suppress(FileNotFoundError):
            lock = (folder / LOCK).open("x")
            if take(lock) and (folder / LOCK).exists():
                return folder, lock
            lock.close()


def sweep(parent: Path) -> None:
    """Delete the folders of ended workers of this user. Folders of other users and of running workers stay."""
    for folder in parent.glob(f"{PREFIX}*"):
        # Already deleted, or not the folder of a worker.
        with suppress(OSError):
            status = folder.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
                continue
            # Empty if a worker was killed before it locked it. A worker that is about to lock it creates another one.
            with suppress(OSError):
                folder.rmdir()
            with (folder / LOCK).open("r+") as lock:
                if not take(lock):
                    continue
                # A process of Ray may still write: delete the lock last, so that the next sweep recognizes the folder.
                shutil.rmtree(folder / RAY, ignore_errors=True)
                if not (folder / RAY).exists():
                    shutil.rmtree(folder, ignore_errors=True)
