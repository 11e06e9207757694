"""PageRank by iterative refinement: residuals in fp64, corrections in 32 or 64 bits.

    p := e/n
    repeat
        r := G(p) − p, γ := ‖r‖₁                        a pass in fp64; the run ends with γ < ε
        d := r
        repeat d := δ·Aᵀ·d + δ·s(d)/n + r               passes in 32 bits, s the sum over dangling pages
        p := p + d

Source: Carson and Higham, Accelerating the solution of linear systems by iterative refinement in three precisions, SIAM
J. Sci. Comput. 40, 2018; of an undirected graph the passes are those of Chebyshev's semi-iteration, Golub and Varga,
Numer. Math. 3, 1961: δ·Aᵀ is similar to a symmetric matrix then, whose eigenvalues lie in [−δ, δ].
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from gpu_engine.pagerank.graph import PageRankParams
from gpu_engine.pagerank.run import CORRECT, Do, Lap, Part, Run, State, plainly

GAIN = {32: 2.0**-20, 64: 0.0}
"""Relative change, by bits, below which a correction is accurate enough; rounding allows for little more."""

MARGIN = 0.7
"""Factor of ε for the change of the last correction, because the residual after it is about as large."""

PATIENCE = 6
"""Passes without a smaller change after which a correction is as accurate as its bits allow."""


@dataclass(frozen=True, slots=True)
class Refinement:
    """Parameters of iterative refinement; correction passes count as one segment, residual passes in fp64 as two.

    bits  bits of a correction; with 64 all speedup comes from the weights of the passes
    """

    bits: Literal[32, 64]
    segments: int = 2
    start_segments: int = 1

    def mantissa_bits(self, _: int) -> int:
        """Return 52, because a run ends with a pass in fp64."""
        return 52


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass over the links.

    read      1: compute the next correction, in `bits`; 2: compute the residual of the ranks, in fp64
    weight    ω of Chebyshev's semi-iteration; 1: plain iteration
    corrects  whether the ranks are corrected after it
    """

    read: int
    weight: float = 1.0
    corrects: bool = False

    @property
    def write(self) -> int:
        """Precision under which the pass counts, equal to `read`."""
        return self.read


class RefinedRanks(State, Protocol):
    """The state of a refinement on a device.

    undirected  whether δ·Aᵀ is similar to a symmetric matrix, so that Chebyshev's weights may be used
    """

    undirected: bool

    def residual(self) -> None:
        """Compute r := G(p) − p and d := r."""
        ...

    def sweep(self, weight: float) -> None:
        """Compute the next correction, with the weight ω of Chebyshev's semi-iteration."""
        ...

    def correct(self) -> None:
        """Compute p := p + d."""
        ...


def iterate(
    ranks: RefinedRanks, params: PageRankParams, refinement: Refinement, lap: Lap = lambda: None, do: Do = plainly
) -> Run:
    """Refine from e/n until γ < ε, γ stalls, or iterations_max; return the run."""
    ranks.reset()
    steps: list[Pass] = []
    gammas: list[float] = []

    def done(step: Pass) -> float:
        for _, act in phases(ranks, step):
            do(act)
        steps.append(step)
        gammas.append(ranks.gamma())
        lap()
        return gammas[-1]

    gamma, converged = math.inf, False
    while len(steps) < params.iterations_max:
        last, gamma = gamma, done(Pass(2))
        converged = gamma < params.epsilon
        if converged or gamma >= last or len(steps) == params.iterations_max:
            break
        enough = max(GAIN[refinement.bits] * gamma, MARGIN * params.epsilon)
        changes = (done(Pass(1, weight)) for weight in _weights(ranks.undirected, params.damping))
        _until(changes, enough, params.iterations_max - len(steps))
        steps[-1] = replace(steps[-1], corrects=True)
        do(ranks.correct)
    return Run(refinement, tuple(gammas), tuple(steps), converged)


def _until(changes: Iterator[float], enough: float, most: int) -> None:
    """Consume changes until one is small enough or they stop shrinking."""
    best, since = math.inf, 0
    for change in itertools.islice(changes, most):
        best, since = (change, 0) if change < best else (best, since + 1)
        if change <= enough or since == PATIENCE:
            break


def _weights(accelerated: bool, damping: float) -> Iterator[float]:
    """Yield the weight ω of each pass."""
    if not accelerated:
        yield from itertools.repeat(1.0)
    yield 1.0
    weight = 2.0
    while True:
        weight = 1.0 / (1.0 - damping**2 * weight / 4.0)
        yield weight


def phases(ranks: RefinedRanks, step: Pass) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield (phase, action) of one pass, in order."""
    yield "pull", ranks.residual if step.read == 2 else lambda: ranks.sweep(step.weight)
    yield "norm", ranks.norm
    if step.corrects:
        yield CORRECT, ranks.correct


def replayed(ranks: RefinedRanks, _: Refinement, steps: Sequence[Pass]) -> Iterator[Part]:
    """Yield (pass, phase, action) of a complete run; it reads no γ and so never waits."""
    for number, step in enumerate(steps):
        for phase, act in phases(ranks, step):
            yield number, phase, act
