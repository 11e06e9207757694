"""A run of PageRank: the iterations that the schedule asks for, with what each of them found and took."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from gpu_engine.pagerank.graph import PageRankParams
from gpu_engine.pagerank.schedule import Schedule, advance, ends, start


class Ranks(Protocol):
    """The state of a run on a device, however it stores ranks and matrix values."""

    def reset(self, first: int = 1) -> None:
        """p := e/n in the first segments."""
        ...

    def step(self, read: int, write: int) -> float:
        """One iteration; returns γ of the values as stored."""
        ...

    def raise_precision(self, k: int) -> None:
        """Scales the ranks, written in k segments, to ‖p‖₁ = 1; with all segments, turns everything into fp64."""
        ...

    def ranks(self) -> Any:
        """A copy of p: float64 [n], on the host."""
        ...


@dataclass(frozen=True, slots=True)
class Run:
    """What the iterations did; all tuples have one element an iteration.

    gammas      γ
    read        segments read
    written     segments written: the precision under which the iteration counts
    step_s      seconds of the iteration itself
    change_s    seconds of the change of precision after it, 0 for most
    converged   whether γ came under ε
    """

    gammas: tuple[float, ...]
    read: tuple[int, ...]
    written: tuple[int, ...]
    step_s: tuple[float, ...]
    change_s: tuple[float, ...]
    converged: bool

    @property
    def seconds(self) -> float:
        """All of it."""
        return sum(self.step_s) + sum(self.change_s)


PLAIN = Schedule(segments=2, first=2)
"""The schedule of what is not stored in segments: full precision from the first iteration on."""


def iterate(
    ranks: Ranks, params: PageRankParams, schedule: Schedule = PLAIN, clock: Callable[[], float] = time.perf_counter
) -> Run:
    """Algorithm 1 from e/n until γ < ε, the schedule's precision allowing, or iterations_max.

    clock  seconds, read when all work that was launched is done
    """
    ranks.reset(schedule.first)
    step, converged = start(schedule), False
    rows: list[tuple[float, int, int, float, float]] = []
    while len(rows) < params.iterations_max and not converged:
        begin = clock()
        gamma = ranks.step(step.read, step.write)
        middle = clock()
        end = middle
        if step.transition:
            ranks.raise_precision(step.write)
            end = clock()
        rows.append((gamma, step.read, step.write, middle - begin, end - middle))
        step = advance(schedule, step, gamma)
        converged = ends(step, params.epsilon)
    gammas, read, written, step_s, change_s = zip(*rows, strict=True) if rows else ((),) * 5
    return Run(gammas, read, written, step_s, change_s, converged)
