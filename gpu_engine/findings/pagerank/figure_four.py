"""Statements of the CPMS PageRank paper on SpMV with leading segments (Figure 4), for runs and single SpMVs."""

from collections.abc import Callable
from typing import TypeVar

from gpu_engine.findings.conclusions import ABOUT, Statement, Trial
from gpu_engine.findings.data import StudyData
from gpu_engine.text import units

PRINTED: dict[tuple[int, int], float] = {(2, 1): 1.5, (4, 1): 2.0, (4, 2): 0.7 * 1.5}
"""(segments, read) → speedup over fp64 in the text of §V, as a mean over the graphs: about 1.5, about 2, and 30 % less
than the first. For more bits the paper says slower, without a number.
"""

Group = TypeVar("Group")
"""Type of the cases on which the statements are checked."""

Gain = Callable[[Group, int, int], float | None]
"""(case, segments, segments read) → speedup of an SpMV over fp64; None without a time."""


def figure_four(gain: Gain[Group]) -> tuple[Statement[Group], ...]:
    """Return the statements of §V on SpMV that reads fewer bits than fp64; they are about most graphs."""

    def two_of_four(case: Group, data: StudyData) -> Trial | None:  # noqa: ARG001
        one, two = gain(case, 2, 1), gain(case, 4, 2)
        return Trial(two < one, f"{units.ratio(two)} to {units.ratio(one)}") if one and two else None

    return (
        _statement("With 32 bits of two segments, SpMV is about 1.5× as fast as in fp64.", _about(gain, 2, 1)),
        _statement("With 16 bits of four segments, SpMV is about 2× as fast as in fp64.", _about(gain, 4, 1)),
        _statement("With 32 bits, the speedup of four segments is below that of two.", two_of_four),
        _statement("With 48 bits, SpMV is slower than in fp64.", _slower(gain, 4, 3)),
    )


def on_all_bits(gain: Gain[Group]) -> tuple[Statement[Group], ...]:
    """Return the statements on SpMV that reads as many bits as fp64."""
    return (
        _statement("With all 64 bits of two segments, SpMV is slower than in fp64.", _slower(gain, 2, 2)),
        _statement("With all 64 bits of four segments, SpMV is slower than in fp64.", _slower(gain, 4, 4)),
    )


def _statement(text: str, judge: Callable[[Group, StudyData], Trial | None]) -> Statement[Group]:
    return Statement(text, "graph", judge, mostly=True, source="Figure 4")


def _about(gain: Gain[Group], segments: int, read: int) -> Callable[[Group, StudyData], Trial | None]:
    least = ABOUT * PRINTED[segments, read]
    return _check(gain, segments, read, lambda speedup: speedup >= least)


def _slower(gain: Gain[Group], segments: int, read: int) -> Callable[[Group, StudyData], Trial | None]:
    return _check(gain, segments, read, lambda speedup: speedup < 1.0)


def _check(
    gain: Gain[Group], segments: int, read: int, holds: Callable[[float], bool]
) -> Callable[[Group, StudyData], Trial | None]:
    def judge(case: Group, data: StudyData) -> Trial | None:  # noqa: ARG001
        speedup = gain(case, segments, read)
        return None if speedup is None else Trial(holds(speedup), units.ratio(speedup), speedup)

    return judge
