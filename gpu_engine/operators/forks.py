"""What a fork leaves unusable in the new process: the context of a GPU, and the threads of GNU OpenMP."""

import os
import sys
from contextlib import suppress
from typing import Any

from gpu_engine.jit import numba

ADVICE = "Start processes by spawn, multiprocessing.get_context('spawn'), or make operators in the new process alone."

_state: dict[str, Any] = {"count": 0, "has_lost_threads": False}


def count() -> int:
    """Return how many forks lie between this process and the first one that imported this module."""
    return int(_state["count"])


def has_lost_threads() -> bool:
    """Return whether kernels of a CPU ran before the fork, after which GNU OpenMP ends a process that runs more."""
    return bool(_state["has_lost_threads"])


def _note_fork() -> None:
    _state["count"] += 1
    # Numba raises ValueError before its first threads.
    with suppress(ValueError):
        _state["has_lost_threads"] |= sys.platform == "linux" and numba.threading_layer() == "omp"  # type: ignore[attr-defined]


os.register_at_fork(after_in_child=_note_fork)
