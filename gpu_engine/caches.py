"""Folders of compiled code: under SPARSIGHT_HOME, so that no process needs a home of its user that it may write."""

import os
import sys
from contextlib import suppress
from pathlib import Path

HOME = Path("~/.sparsight")
"""Where SPARSIGHT_HOME does not say otherwise."""

CACHE_FOLDERS = {"NUMBA_CACHE_DIR": "numba", "CUPY_CACHE_DIR": "cupy"}
"""The variable that a library reads when it is imported, and its folder in the home."""

INSTALLED_KERNELS = Path(sys.prefix, "share", "sparsight", "kernels")
"""Kernels for GPUs that whoever installed Sparsight has compiled for all users of that installation."""


def place_caches() -> None:
    """Sets these variables for this process and its children; one that is set already stays."""
    # Without a home of any kind the libraries look for a place themselves.
    folder = home()
    if folder is not None:
        for variable, name in CACHE_FOLDERS.items():
            os.environ.setdefault(variable, str(folder / name))


def home() -> Path | None:
    """The folder that SPARSIGHT_HOME names; None where the user has no home."""
    with suppress(RuntimeError):
        return Path(os.environ.get("SPARSIGHT_HOME", HOME)).expanduser().absolute()
    return None


def kernel_folder() -> Path | None:
    """Where the kernels for GPUs are kept that this user compiles; None where the user has no home."""
    folder = home()
    return folder / "kernels" if folder is not None else None
