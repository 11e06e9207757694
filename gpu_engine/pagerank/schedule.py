"""The schedule of an adaptive-precision PageRank: how many segments of every value an iteration reads and writes.

Source: CPMS PageRank paper, §IV.B, which raises the precision when γ is "close to the current working precision"; the
rule that says how close is ours. Pure functions: a run asks what to do next, a stored trace is replayed.

    step = start(schedule)
    while True:
        gamma = ...                               # an iteration that reads step.read segments and writes step.write
        ...                                       # step.transition: scale p by 1/‖p‖₁, truncated to step.write segments
        step = advance(schedule, step, gamma)
        if ends(step, epsilon): break
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from gpu_engine.cpms.codes import head_bits
from gpu_engine.errors import ParameterError
from gpu_engine.parameters import parameter


@dataclass(frozen=True, slots=True)
class Schedule:
    """The parameters of the rule; γ is ‖p⁽ᵏ⁾ − p⁽ᵏ⁻¹⁾‖₁ and the rule counts on ‖p‖₁ near 1."""

    segments: Literal[2, 4] = parameter(2, "Segments of a value: two of 32 bits or four of 16.")
    start_segments: int = parameter(1, "Segments that the first iteration reads; at most all.", ge=1, le=4)
    raise_at: float = parameter(16.0, "Read more when γ ≤ raise_at · 2^(−mantissa bits read).", ge=0, le=1e6)
    stall_ratio: float = parameter(0.98, "Read more when γ > stall_ratio · γ of the iteration before.", ge=0, le=10)
    short: bool = parameter(False, "Values have short exponents and rounded heads.")

    def __post_init__(self) -> None:
        if self.start_segments > self.segments:
            raise ParameterError(
                f"start_segments is {self.start_segments}; expected at most segments = {self.segments}."
            )

    def mantissa_bits(self, read: int) -> int:
        """Those to which the first `read` segments are right: 20 and 52, or 4, 20, 36 and 52; short 27 and 52, or 11,
        27, 43 and 52.
        """
        return head_bits(self.segments, read, self.short)


@dataclass(frozen=True, slots=True)
class Step:
    """One iteration to do; it counts under the precision that it writes.

    read, write  segments of every matrix value and rank that it reads, and of every rank that it writes
    previous     γ of the iteration before; infinite before the first
    """

    read: int
    write: int
    previous: float = math.inf

    @property
    def transition(self) -> bool:
        """Whether it raises the precision: p is then scaled to ‖p‖₁ = 1 and truncated to what was written."""
        return self.write > self.read


def must_raise(schedule: Schedule, read: int, gamma: float, previous: float) -> bool:
    """The switch rule: whether `read` segments are too few to go on after a change of γ = `gamma`.

    γ ≤ raise_at · 2^(−m), m the mantissa bits read: the change is lost in what the cut takes away; or γ > stall_ratio · previous:
    the iteration makes no progress, as at the limit of a precision that the first condition missed. Never at full
    precision.
    """
    if read == schedule.segments:
        return False
    return gamma <= schedule.raise_at * 2.0 ** -schedule.mantissa_bits(read) or gamma > schedule.stall_ratio * previous


def start(schedule: Schedule) -> Step:
    """The first iteration; p⁽⁰⁾ = e/n is truncated to the segments that it reads."""
    return Step(schedule.start_segments, schedule.start_segments)


def advance(schedule: Schedule, step: Step, gamma: float) -> Step:
    """The iteration after `step`, whose change was γ = `gamma`.

    γ is the change of the values as `step` stored them, before a transition scales them: scaled, the jump of the norm
    would look like a stall.
    """
    read = step.write
    return Step(read, read + must_raise(schedule, read, gamma, step.previous), gamma)


def ends(step: Step, epsilon: float) -> bool:
    """Whether `step` need not be done: γ is under ε, and the precision that found it so can tell.

    Cut values may stand still far from the ranks: γ = 0 then asks for more precision and does not end the run.
    """
    return step.previous < epsilon and not step.transition


def converts(schedule: Schedule, step: Step) -> bool:
    """Whether the values become IEEE numbers after `step`: it is the transition to all segments."""
    return step.transition and step.write == schedule.segments


def replay(gammas: Sequence[float], schedule: Schedule) -> tuple[int, ...]:
    """The segments that each iteration of a stored trace would have written under another schedule.

    It knows only the γ that were stored: those that fewer segments would have given are not known, so stalls and
    iterations that a lower precision adds do not show. It is exact up to where it first departs from the schedule
    that wrote the trace.
    """
    written, step = [], start(schedule)
    for gamma in gammas:
        written.append(step.write)
        step = advance(schedule, step, gamma)
    return tuple(written)


class Counted(Protocol):
    """What counts its iterations by segments."""

    @property
    def segments(self) -> int:
        """How many there are."""
        ...


def iterations_by_segments(written: Sequence[int], schedule: Counted) -> tuple[int, ...]:
    """[segments]: how many iterations wrote 1, 2 … segments, a row of Table II."""
    return tuple(sum(count == k for count in written) for k in range(1, schedule.segments + 1))
