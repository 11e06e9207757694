"""What the kernel is told of a process: to end it with its parent, to hand it the orphans among its descendants."""

import ctypes
import os

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

# Loaded before any fork: a child that has not yet executed its program may only make system calls.
_libc = ctypes.CDLL(None, use_errno=True)


def end_with_parent(parent: int, signal_number: int) -> bool:
    """Has the kernel send this process that signal when its parent ends; whether the parent is still there.

    Raises OSError where the kernel refuses.
    """
    _prctl(PR_SET_PDEATHSIG, signal_number)
    return os.getppid() == parent


def adopt_orphans() -> None:
    """Makes this process the parent of descendants whose own has ended; raises OSError where the kernel refuses."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, value, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
