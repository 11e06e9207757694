"""Detects forks, after which a GPU context and the threads of GNU OpenMP are unusable in the new process."""

import os
import sys
from contextlib import suppress
from dataclasses import dataclass

from gpu_engine.host.jit import numba

ADVICE = "Start processes with multiprocessing.get_context('spawn'), or create operators only in the new process."


@dataclass(slots=True)
class Forks:
    """Forks in the history of this process.

    count             forks between it and the first process that imported this module
    has_lost_threads  whether kernels of a CPU ran before a fork, after which GNU OpenMP ends a process that runs more
    """

    count: int = 0
    has_lost_threads: bool = False


FORKS = Forks()


def _note_fork() -> None:
    FORKS.count += 1
    # Numba raises ValueError before its first threads.
    with suppress(ValueError):
        FORKS.has_lost_threads |= sys.platform == "linux" and numba.threading_layer() == "omp"  # type: ignore[attr-defined]


os.register_at_fork(after_in_child=_note_fork)
