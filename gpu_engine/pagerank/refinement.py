"""PageRank by iterative refinement: what is wrong is found in fp64, what mends it in 32 bits.

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
"""A correction in so many bits is good enough when its change is this share of what it mends: its rounding allows for
little more.
"""

MARGIN = 0.7
"""Of ε, which the change of the last correction has to come under: the residual after it is about as large."""

PATIENCE = 6
"""Passes without a smaller change after which a correction is as good as its bits allow."""


@dataclass(frozen=True, slots=True)
class Refinement:
    """What a refinement does; it counts passes in 32 bits as those of one segment, passes in fp64 as those of two.

    bits  of a correction; 64: all that a run gains comes from the weights of its passes
    """

    bits: Literal[32, 64]
    segments: int = 2
    first: int = 1

    def mantissa_bits(self, _: int) -> int:
        """52: what a run ends with is a pass in fp64."""
        return 52


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass over the links.

    read      1: the next correction, in `bits`; 2: the residual of the ranks is found in fp64
    weight    ω of Chebyshev's semi-iteration; 1: the plain one
    corrects  whether the ranks are mended after it
    """

    read: int
    weight: float = 1.0
    corrects: bool = False

    @property
    def write(self) -> int:
        """As read: it counts under this."""
        return self.read


class RefinedRanks(State, Protocol):
    """The state of a refinement on a device.

    undirected  whether δ·Aᵀ is similar to a symmetric matrix, so that Chebyshev's weights may be used
    """

    undirected: bool

    def residual(self) -> None:
        """r := G(p) − p and d := r."""
        ...

    def sweep(self, weight: float) -> None:
        """The next correction, with the ω of Chebyshev's semi-iteration."""
        ...

    def correct(self) -> None:
        """p := p + d."""
        ...


def iterate(
    ranks: RefinedRanks, params: PageRankParams, refinement: Refinement, lap: Lap = lambda: None, do: Do = plainly
) -> Run:
    """Refines from e/n until γ < ε, γ stands still, or iterations_max."""
    ranks.reset()
    steps: list[Pass] = []
    gammas: list[float] = []

    def done(step: Pass) -> float:
        for _, act in acts(ranks, step):
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
    """Takes changes up to one that is small enough, or while they become smaller."""
    best, since = math.inf, 0
    for change in itertools.islice(changes, most):
        best, since = (change, 0) if change < best else (best, since + 1)
        if change <= enough or since == PATIENCE:
            break


def _weights(accelerated: bool, damping: float) -> Iterator[float]:
    """ω of one pass after the other."""
    if not accelerated:
        yield from itertools.repeat(1.0)
    yield 1.0
    weight = 2.0
    while True:
        weight = 1.0 / (1.0 - damping**2 * weight / 4.0)
        yield weight


def acts(ranks: RefinedRanks, step: Pass) -> Iterator[tuple[str, Callable[[], None]]]:
    """(phase, what to do) of one pass, in order."""
    yield "pull", ranks.residual if step.read == 2 else lambda: ranks.sweep(step.weight)
    yield "norm", ranks.norm
    if step.corrects:
        yield CORRECT, ranks.correct


def replayed(ranks: RefinedRanks, _: Refinement, steps: Sequence[Pass]) -> Iterator[Part]:
    """(pass, phase, what to do) of a whole run; it asks no γ and so waits for nothing."""
    for number, step in enumerate(steps):
        for phase, act in acts(ranks, step):
            yield number, phase, act
