"""The precision schedule of PageRank: how many segments per value an iteration reads and writes.

Source: CPMS PageRank paper, §IV.B, which raises the precision when γ is "close to the current working precision"; it
does not define how close, so `must_raise` does. Pure functions, used by runs and to replay stored traces.

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
    """Parameters of the schedule; γ is ‖p⁽ᵏ⁾ − p⁽ᵏ⁻¹⁾‖₁, and the rule assumes ‖p‖₁ near 1."""

    segments: Literal[2, 4] = parameter(2, "Segments per value: two of 32 bits or four of 16 bits.")
    start_segments: int = parameter(1, "Segments that the first iteration reads, at most all.", ge=1, le=4)
    raise_at: float = parameter(
        16.0, "Read one more segment when γ ≤ raise_at · 2^(−mantissa bits read).", ge=0, le=1e6
    )
    stall_ratio: float = parameter(
        0.98, "Read one more segment when γ > stall_ratio · γ of the previous iteration.", ge=0, le=10
    )
    short: bool = parameter(False, "Values have short exponents and are rounded to nearest.")

    def __post_init__(self) -> None:
        if self.start_segments > self.segments:
            raise ParameterError(
                f"start_segments is {self.start_segments}, but segments is {self.segments}. Choose a smaller value."
            )

    def mantissa_bits(self, read: int) -> int:
        """Return the mantissa bits that the first `read` segments represent.

        Two segments: 20, 52. Four: 4, 20, 36, 52. With short exponents 27, 52, and 11, 27, 43, 52.
        """
        return head_bits(self.segments, read, self.short)


@dataclass(frozen=True, slots=True)
class Step:
    """One iteration; it counts under the precision that it writes.

    read, write  segments that it reads per matrix value and rank, and that it writes per rank
    previous     γ of the previous iteration; infinite before the first
    reference    γ that the stall test compares its own with: `previous`, but infinite after a transition
    """

    read: int
    write: int
    previous: float = math.inf
    reference: float = math.inf

    @property
    def transition(self) -> bool:
        """True if it raises the precision; p is then scaled to ‖p‖₁ = 1 and truncated to the written segments."""
        return self.write > self.read


def must_raise(schedule: Schedule, read: int, gamma: float, reference: float) -> bool:
    """Return whether the precision must be raised after an iteration that wrote `read` segments and had γ = `gamma`.

    True if γ ≤ raise_at · 2^(−m), with m the mantissa bits of `read` segments, because truncation hides the change; or
    if γ > stall_ratio · reference, because the iteration makes no progress at the limit of its precision. False at full
    precision.
    """
    if read == schedule.segments:
        return False
    return gamma <= schedule.raise_at * 2.0 ** -schedule.mantissa_bits(read) or gamma > schedule.stall_ratio * reference


def start(schedule: Schedule) -> Step:
    """Return the first iteration; p⁽⁰⁾ = e/n is truncated to the segments that it reads."""
    return Step(schedule.start_segments, schedule.start_segments)


def advance(schedule: Schedule, step: Step, gamma: float) -> Step:
    """Return the iteration after `step`, which had γ = `gamma`.

    γ is the change of the values before a transition scales them; after scaling, the change of the norm would look like
    a stall. The γ of a transition contains the repair of the truncation, so that it is compared with no other γ.
    """
    read = step.write
    reference = math.inf if step.transition else step.reference
    raised = must_raise(schedule, read, gamma, reference)
    return Step(read, read + raised, gamma, math.inf if step.transition else gamma)


def ends(step: Step, epsilon: float) -> bool:
    """Return whether the run ends before `step`: γ is below ε at a sufficient precision.

    Truncated values may stall far from the exact ranks; γ = 0 then raises the precision instead of ending the run.
    """
    return step.previous < epsilon and not step.transition


def converts(schedule: Schedule, step: Step) -> bool:
    """Return whether values are converted to fp64 after `step`, because it is the transition to full precision."""
    return step.transition and step.write == schedule.segments


def replay(gammas: Sequence[float], schedule: Schedule) -> tuple[int, ...]:
    """Return the segments that each iteration of a stored trace would have written under another schedule.

    The result is exact up to the first difference from the schedule of the trace. Afterwards the γ of another precision
    are unknown, so that stalls and additional iterations do not appear.
    """
    written, step = [], start(schedule)
    for gamma in gammas:
        written.append(step.write)
        step = advance(schedule, step, gamma)
    return tuple(written)


class HasSegments(Protocol):
    """Schedule whose iterations are counted by segments."""

    @property
    def segments(self) -> int:
        """Number of segments per value."""
        ...


def iterations_by_segments(written: Sequence[int], schedule: HasSegments) -> tuple[int, ...]:
    """Return [segments]: numbers of iterations that wrote 1, 2 … segments, a row of Table II."""
    return tuple(sum(count == k for count in written) for k in range(1, schedule.segments + 1))
