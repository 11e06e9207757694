"""A run of PageRank: the iterations that the schedule asks for, and the same steps once more, to be timed."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gpu_engine.pagerank.graph import PageRankParams
from gpu_engine.pagerank.schedule import Schedule, Step, advance, converts, ends, start

PHASES = ("pull", "norm", "scale", "convert")
"""What a run is made of: the product with all that a page does for itself; γ and the base of the next iteration from
the sums, or by norms of the ranks; ‖p‖₁ = 1 at a change of precision; segments to fp64.
"""

CORRECT = "correct"
"""The phase that a refinement has beside them: ranks and what mends them are added."""


class State(Protocol):
    """The state of a run on a device, however it stores ranks and matrix values."""

    def reset(self, first: int = 1) -> None:
        """p := e/n, in the first segments where there are any."""
        ...

    def rewinder(self, first: int = 1) -> Callable[[], None]:
        """A reset to go before a run of the same steps as the one that has just ended, however it is launched."""
        ...

    def norm(self) -> None:
        """γ and the base of the next iteration, from the sums of the pull."""
        ...

    def gamma(self) -> float:
        """γ of the values as stored."""
        ...

    def ranks(self) -> Any:
        """A copy of p: float64 [n], on the host."""
        ...

    def gather(self) -> Callable[[], None] | None:
        """A probe that streams the links and gathers p at the precision of the last reset; None where there is none."""
        ...

    @property
    def stored_bytes(self) -> int:
        """The matrix and the rank vectors as stored."""
        ...


class Ranks(State, Protocol):
    """The state of Algorithm 1.

    scales  whether `scale` is work of its own; where it is not, the next pull multiplies what it reads
    """

    scales: bool

    def pull(self, read: int, write: int) -> None:
        """The new ranks of one iteration."""
        ...

    def scale(self, k: int) -> None:
        """Scales the ranks, written in k segments, to ‖p‖₁ = 1."""
        ...

    def convert(self) -> None:
        """Everything into fp64, in place."""
        ...


@dataclass(frozen=True, slots=True)
class Run:
    """What the iterations did.

    gammas     γ of each
    steps      what each read and wrote, in order
    converged  whether γ came under ε
    """

    schedule: Any
    gammas: tuple[float, ...]
    steps: tuple[Any, ...]
    converged: bool

    @property
    def outcome(self) -> dict[str, str]:
        """State and note of its measurement."""
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
        """Segments that each iteration wrote: the precision under which it counts."""
        return tuple(step.write for step in self.steps)


Lap = Callable[[], None]
"""Called after each iteration; what it raises ends the run."""

Act = Callable[[], None]
"""A part of an iteration."""

Do = Callable[[Act], None]
"""Does a part; what times it does it between two looks at a clock."""

Part = tuple[int, str, Act]
"""(iteration, phase, what to do)."""


def plainly(act: Act) -> None:
    """Does a part and nothing else."""
    act()


class Procedure(Protocol):
    """What drives the state of a run: a module with these functions."""

    def iterate(self, ranks: Any, params: PageRankParams, schedule: Any, lap: Lap = ..., do: Do = ..., /) -> Run:
        """A run from e/n until γ < ε, it gives up, or iterations_max; its parts are done in the order of `replayed`."""
        ...

    def replayed(self, ranks: Any, schedule: Any, steps: Sequence[Any], /) -> Iterator[Part]:
        """A whole run part by part; it asks no γ and so waits for nothing."""
        ...


PLAIN = Schedule(segments=2, start_segments=2)
"""The schedule of what is not stored in segments: full precision from the first iteration on."""


PATIENCE = 20
"""Iterations of one precision without a smaller γ after which a run gives up: it resolves no more."""


def iterate(
    ranks: Ranks, params: PageRankParams, schedule: Schedule = PLAIN, lap: Lap = lambda: None, do: Do = plainly
) -> Run:
    """Algorithm 1 from e/n until γ < ε, the schedule's precision allowing, γ stands still, or iterations_max."""
    ranks.reset(schedule.start_segments)
    step, gammas, steps = start(schedule), [], []  # type: Step, list[float], list[Step]
    converged, since = False, 0
    while len(steps) < params.iterations_max and not converged and not _stands_still(gammas[since:]):
        for _, act in acts(ranks, schedule, step):
            do(act)
        steps.append(step)
        gammas.append(ranks.gamma())
        lap()
        if step.transition:
            # Cut values may have stood still, with a γ that full ones reach much later.
            since = len(steps)
        # Scaling to ‖p‖₁ = 1 moves ranks whose sum is another one, and γ has not seen it.
        moved = step.transition and params.dangling != "teleport"
        step = advance(schedule, step, gammas[-1])
        converged = ends(step, params.epsilon) and not moved
    return Run(schedule, tuple(gammas), tuple(steps), converged)


def _stands_still(gammas: Sequence[float]) -> bool:
    return len(gammas) > PATIENCE and min(gammas[-PATIENCE:]) >= min(gammas[:-PATIENCE])


def acts(ranks: Ranks, schedule: Schedule, step: Step) -> Iterator[tuple[str, Act]]:
    """(phase, what to do) of one iteration, in order."""
    yield "pull", lambda: ranks.pull(step.read, step.write)
    yield "norm", ranks.norm
    if step.transition and ranks.scales:
        yield "scale", lambda: ranks.scale(step.write)
    if converts(schedule, step):
        yield "convert", ranks.convert


def replayed(ranks: Ranks, schedule: Schedule, steps: Sequence[Step]) -> Iterator[Part]:
    """(iteration, phase, what to do) of a whole run; it asks no γ and so waits for nothing."""
    for number, step in enumerate(steps):
        for phase, act in acts(ranks, schedule, step):
            yield number, phase, act
