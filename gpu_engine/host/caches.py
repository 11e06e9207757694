"""Caches of compiled code: folders in the data directory (SPARSIGHT_HOME), instead of the user's home.

They are used only if they are private, because a user who can write into them can run code in other processes.
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
"""Default data directory, if SPARSIGHT_HOME is not set."""

CACHE_FOLDERS = {"NUMBA_CACHE_DIR": "numba", "CUPY_CACHE_DIR": "cupy"}
"""Variable that a library reads at import → its folder in the data directory."""

KERNELS = "kernels"
"""Folder for GPU kernels in the data directory."""

CACHES = (*CACHE_FOLDERS.values(), KERNELS)
"""Folders of the data directory that may be emptied at any time; their content is compiled again."""

INSTALLED_KERNELS = Path(sys.prefix, "share", "sparsight", "kernels")
"""Folder of GPU kernels that were compiled at installation, for all users."""

emptied: list[Path] = []
"""Caches that this process has emptied because other users could write into them."""


def place_caches() -> None:
    """Set the cache variables for this process and its children; variables that are already set stay."""
    # Without a data directory the libraries choose a folder themselves.
    folder = home()
    if folder is not None:
        for variable, name in CACHE_FOLDERS.items():
            os.environ.setdefault(variable, str(folder / name))


def open_caches() -> str:
    """Make the caches private before a library reads them; return why Numba's cache is unusable, or "".

    Caches in the data directory are emptied if other users could write into them. Folders named by variables stay.
    """
    numba, cupy = (Path(os.environ.get(variable, "")) for variable in CACHE_FOLDERS)
    folder = home()
    if folder is not None:
        with suppress(OSError):
            if numba.parent == folder:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _open_home_caches(folder)
    if refusal(cupy):
        # CuPy then keeps compiled code in memory.
        os.environ["CUPY_CACHE_IN_MEMORY"] = "1"
    return refusal(numba)


def refusal(folder: Path) -> str:
    """Return why code is not loaded from a cache, with the command that fixes it; "" if it is private."""
    exposure = next(exposures(folder, enclosed=True), None) if folder != Path() else None
    if exposure is None:
        return ""
    return f"{exposure.sentence}, but code is loaded from {folder}. Run `{exposure.command}`, or delete it."


def empty(folder: Path) -> None:
    """Empty a cache, but keep its folders, which libraries may already use."""
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
    """Return the data directory (SPARSIGHT_HOME); None if the user has no home."""
    with suppress(RuntimeError):
        return Path(os.environ.get("SPARSIGHT_HOME", HOME)).expanduser().absolute()
    return None


def kernel_folder() -> Path | None:
    """Return the folder of GPU kernels that this user compiles; None if the user has no home."""
    folder = home()
    return folder / KERNELS if folder is not None else None


def _open_home_caches(folder: Path) -> None:
    """Make the caches of this user's data directory private; raises OSError if there is none.

    A data directory of another user, or one that others can replace, stays as it is.
    """
    status = folder.stat()
    if status.st_uid != os.geteuid() or status.st_mode & stat.S_ISVTX or any(exposures_above(folder)):
        return
    others_wrote = bool(status.st_mode & OTHERS_MAY_WRITE)
    if others_wrote:
        log.warning("removed write permission of other users from the data directory %s", folder)
        folder.chmod(stat.S_IMODE(status.st_mode) & ~OTHERS_MAY_WRITE)
    for cache in (folder / name for name in CACHES):
        if os.path.lexists(cache) and (others_wrote or any(exposures(cache, enclosed=True))):
            log.warning("emptied the cache %s, because other users could write into it", cache)
            empty(cache)
        if not cache.is_symlink():
            cache.mkdir(mode=0o700, exist_ok=True)
