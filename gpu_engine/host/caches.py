"""Folders of compiled code: under SPARSIGHT_HOME, so that no process needs a home of its user that it may write.

Whoever writes into them runs code in the next process that loads it: they are used only while they are private.
"""

import logging
import os
import shutil
import stat
import sys
from contextlib import suppress
from pathlib import Path

from gpu_engine.host.private_files import OTHERS_MAY_WRITE, exposures, exposures_above

log = logging.getLogger(__name__)

HOME = Path("~/.sparsight")
"""Where SPARSIGHT_HOME does not say otherwise."""

CACHE_FOLDERS = {"NUMBA_CACHE_DIR": "numba", "CUPY_CACHE_DIR": "cupy"}
"""The variable that a library reads when it is imported, and its folder in the home."""

KERNELS = "kernels"
"""The folder of a home for kernels of GPUs."""

CACHES = (*CACHE_FOLDERS.values(), KERNELS)
"""The folders of a home that may be emptied at any time: what they held is compiled again."""

INSTALLED_KERNELS = Path(sys.prefix, "share", "sparsight", "kernels")
"""Kernels for GPUs that whoever installed Sparsight has compiled for all users of that installation."""

emptied: list[Path] = []
"""The caches that this process has emptied, because other users could write them."""


def place_caches() -> None:
    """Sets these variables for this process and its children; one that is set already stays."""
    # Without a home of any kind the libraries look for a place themselves.
    folder = home()
    if folder is not None:
        for variable, name in CACHE_FOLDERS.items():
            os.environ.setdefault(variable, str(folder / name))


def open_caches() -> str:
    """Make the caches private before a library reads them; return why that of Numba cannot be used, or nothing.

    Those of the home are emptied where other users could write them. A folder that a variable names is left as it is.
    """
    numba, cupy = (Path(os.environ.get(variable, "")) for variable in CACHE_FOLDERS)
    folder = home()
    if folder is not None:
        with suppress(OSError):
            if numba.parent == folder:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _open_home_caches(folder)
    if refusal(cupy):
        # CuPy then keeps what it compiles in memory.
        os.environ["CUPY_CACHE_IN_MEMORY"] = "1"
    return refusal(numba)


def refusal(folder: Path) -> str:
    """Return why code is not loaded from a cache, with the command that mends it; empty: it is private."""
    exposure = next(exposures(folder, enclosed=True), None) if folder != Path() else None
    if exposure is None:
        return ""
    return f"{exposure.sentence}, and code is loaded from {folder}. Run `{exposure.command}`, or remove it."


def empty(folder: Path) -> None:
    """Delete a cache, and leave its folders for libraries that have found them before."""
    emptied.append(folder)
    if folder.is_symlink():
        folder.unlink()
        folder.mkdir(mode=0o700)
        return
    folders = [Path(path) for path, _, _ in os.walk(folder)]
    shutil.rmtree(folder)
    for path in folders:
        path.mkdir(mode=0o700)


def home() -> Path | None:
    """The folder that SPARSIGHT_HOME names; None where the user has no home."""
    with suppress(RuntimeError):
        return Path(os.environ.get("SPARSIGHT_HOME", HOME)).expanduser().absolute()
    return None


def kernel_folder() -> Path | None:
    """Where the kernels for GPUs are kept that this user compiles; None where the user has no home."""
    folder = home()
    return folder / KERNELS if folder is not None else None


def _open_home_caches(folder: Path) -> None:
    """Make the caches of a home of this user; raises OSError where there is none.

    A home that is another's, or that others can replace, stays as it is.
    """
    status = folder.stat()
    if status.st_uid != os.geteuid() or status.st_mode & stat.S_ISVTX or any(exposures_above(folder)):
        return
    others_wrote = bool(status.st_mode & OTHERS_MAY_WRITE)
    if others_wrote:
        log.warning("other users could write into the home folder %s; it is closed to them now", folder)
        folder.chmod(stat.S_IMODE(status.st_mode) & ~OTHERS_MAY_WRITE)
    for cache in (folder / name for name in CACHES):
        if os.path.lexists(cache) and (others_wrote or any(exposures(cache, enclosed=True))):
            log.warning("other users could write into the cache %s; it was emptied", cache)
            empty(cache)
        if not cache.is_symlink():
            cache.mkdir(mode=0o700, exist_ok=True)
