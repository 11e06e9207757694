"""Linux process control: end a process with its parent, and adopt orphaned descendants."""

import ctypes
import os

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

# Loaded before any fork: before `exec`, a child may only make system calls.
_libc = ctypes.CDLL(None, use_errno=True)


def end_with_parent(parent: int, signal_number: int) -> bool:
    """Have the kernel send this process a signal when its parent ends. Return whether the parent is still running.

    Raises OSError if the kernel refuses.
    """
    _prctl(PR_SET_PDEATHSIG, signal_number)
    return os.getppid() == parent


def adopt_orphans() -> None:
    """Make this process the parent of orphaned descendants. Raises OSError if the kernel refuses."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, value, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
