"""A run of PageRank: `iterate` makes the iterations of a schedule, `replayed` repeats its steps to time them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gpu_engine.pagerank.graph import PageRankParams
from gpu_engine.pagerank.schedule import Schedule, Step, advance, converts, ends, start

PHASES = ("pull", "norm", "scale", "convert")
"""Phases of a run.

pull     the SpMV with all other work per page
norm     γ and the base of the next iteration, from the sums of the pull or by norms of the ranks
scale    scaling to ‖p‖₁ = 1 at a change of precision
convert  conversion of segments to fp64
"""

CORRECT = "correct"
"""Further phase of iterative refinement: adds the correction to the ranks."""


class State(Protocol):
    """State of a run on a device, for any storage of ranks and matrix values."""

    def reset(self, first: int = 1) -> None:
        """Set p := e/n, in the first segments if there are segments."""
        ...

    def rewinder(self, first: int = 1) -> Callable[[], None]:
        """Return a reset for repeating the steps of the run that has just ended, also as a CUDA graph."""
        ...

    def norm(self) -> None:
        """Compute γ and the base of the next iteration from the sums of the pull."""
        ...

    def gamma(self) -> float:
        """Return γ of the values as stored."""
        ...

    def ranks(self) -> Any:
        """Return a copy of p: float64 [n], on the host."""
        ...

    def gather(self) -> Callable[[], None] | None:
        """Return a probe that streams the links and gathers p at the precision of the last reset, or None."""
        ...

    @property
    def stored_bytes(self) -> int:
        """Bytes of the matrix and the rank vectors as stored."""
        ...


class Ranks(State, Protocol):
    """State of Algorithm 1.

    scales  whether `scale` is a separate step; if not, the next pull scales what it reads
    """

    scales: bool

    def pull(self, read: int, write: int) -> None:
        """Compute the new ranks of one iteration."""
        ...

    def scale(self, k: int) -> None:
        """Scale the ranks, written in k segments, to ‖p‖₁ = 1."""
        ...

    def convert(self) -> None:
        """Convert values and ranks to fp64, in place."""
        ...


@dataclass(frozen=True, slots=True)
class Run:
    """The iterations of a run.

    gammas     γ of each iteration
    steps      segments that each iteration read and wrote
    converged  whether γ < ε was reached
    """

    schedule: Any
    gammas: tuple[float, ...]
    steps: tuple[Any, ...]
    converged: bool

    @property
    def outcome(self) -> dict[str, str]:
        """`state` and `note` of its measurement."""
        if self.converged:
            return {"state": "ok", "note": ""}
        gamma = self.gammas[-1] if self.gammas else 0.0
        note = f"γ is {gamma:.3g} after {len(self.gammas)} iterations, not under ε"
        return {"state": "unconverged", "note": note}

    @property
    def read(self) -> tuple[int, ...]:
        """Segments that each iteration read."""
        return tuple(step.read for step in self.steps)

    @property
    def written(self) -> tuple[int, ...]:
        """Segments that each iteration wrote, the precision under which it counts."""
        return tuple(step.write for step in self.steps)


Lap = Callable[[], None]
"""Call after each iteration; an exception stops the run."""

Act = Callable[[], None]
"""One phase of an iteration, as a call."""

Do = Callable[[Act], None]
"""Function that runs a phase, possibly timing it."""

Part = tuple[int, str, Act]
"""(iteration, phase, action)."""


def plainly(act: Act) -> None:
    """Run a phase without timing it."""
    act()


class Procedure(Protocol):
    """Module that drives the state of a run."""

    def iterate(self, ranks: Any, params: PageRankParams, schedule: Any, lap: Lap = ..., do: Do = ..., /) -> Run:
        """Run from e/n until γ < ε, γ stalls, or iterations_max; phases run in the order of `replayed`."""
        ...

    def replayed(self, ranks: Any, schedule: Any, steps: Sequence[Any], /) -> Iterator[Part]:
        """Yield the phases of a complete run; it reads no γ and so never waits."""
        ...


PLAIN = Schedule(segments=2, start_segments=2)
"""Schedule without segments: full precision from the first iteration on."""


PATIENCE = 20
"""Iterations of one precision without a smaller γ after which a run gives up, because γ has stalled."""


def iterate(
    ranks: Ranks, params: PageRankParams, schedule: Schedule = PLAIN, lap: Lap = lambda: None, do: Do = plainly
) -> Run:
    """Run Algorithm 1 from e/n until γ < ε at sufficient precision, γ stalls, or iterations_max; return the run."""
    ranks.reset(schedule.start_segments)
    step, gammas, steps = start(schedule), [], []  # type: Step, list[float], list[Step]
    converged, since = False, 0
    while len(steps) < params.iterations_max and not converged and not _stands_still(gammas[since:]):
        for _, act in phases(ranks, schedule, step):
            do(act)
        steps.append(step)
        gammas.append(ranks.gamma())
        lap()
        if step.transition:
            # Truncated values may have stalled at a γ that full precision reaches much later.
            since = len(steps)
        # Scaling to ‖p‖₁ = 1 changes the ranks after γ was computed.
        moved = step.transition and params.dangling != "teleport"
        step = advance(schedule, step, gammas[-1])
        converged = ends(step, params.epsilon) and not moved
    return Run(schedule, tuple(gammas), tuple(steps), converged)


def _stands_still(gammas: Sequence[float]) -> bool:
    return len(gammas) > PATIENCE and min(gammas[-PATIENCE:]) >= min(gammas[:-PATIENCE])


def phases(ranks: Ranks, schedule: Schedule, step: Step) -> Iterator[tuple[str, Act]]:
    """Yield (phase, action) of one iteration, in order."""
    yield "pull", lambda: ranks.pull(step.read, step.write)
    yield "norm", ranks.norm
    if step.transition and ranks.scales:
        yield "scale", lambda: ranks.scale(step.write)
    if converts(schedule, step):
        yield "convert", ranks.convert


def replayed(ranks: Ranks, schedule: Schedule, steps: Sequence[Step]) -> Iterator[Part]:
    """Yield (iteration, phase, action) of a complete run; it reads no γ and so never waits."""
    for number, step in enumerate(steps):
        for phase, act in phases(ranks, schedule, step):
            yield number, phase, act
