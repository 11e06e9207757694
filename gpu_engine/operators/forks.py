"""What a fork leaves unusable in the new process: the context of a GPU, and the threads of GNU OpenMP."""

import os
import sys
from contextlib import suppress
from dataclasses import dataclass

from gpu_engine.host.jit import numba

ADVICE = "Start processes by spawn, multiprocessing.get_context('spawn'), or make operators in the new process alone."


@dataclass(slots=True)
class Forks:
    """What happened to this process.

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
