"""What the CPMS PageRank paper says of products on heads in its Figure 4, for runs and for products alike."""

from collections.abc import Callable
from typing import TypeVar

from gpu_engine.findings.conclusions import ABOUT, Statement, Trial
from gpu_engine.findings.data import StudyData
from gpu_engine.text import units

PRINTED: dict[tuple[int, int], float] = {(2, 1): 1.5, (4, 1): 2.0, (4, 2): 0.7 * 1.5}
"""(segments, read) → speed-up over fp64 that the text of §V gives, in the mean over the graphs: about 1.5, about twice,
about 30 % less than the first. On more bits it says slower, and gives no number.
"""

Group = TypeVar("Group")

Gain = Callable[[Group, int, int], float | None]
"""(case, segments, how many of them are read) → how many times as fast as in fp64 a product is; None without a time."""


def figure_four(gain: Gain[Group]) -> tuple[Statement[Group], ...]:
    """The statements on products that read fewer bits than fp64 has, as §V has them; they speak of most graphs."""

    def two_of_four(case: Group, data: StudyData) -> Trial | None:  # noqa: ARG001
        one, two = gain(case, 2, 1), gain(case, 4, 2)
        return Trial(two < one, f"{units.ratio(two)} to {units.ratio(one)}") if one and two else None

    return (
        _said("A product on 32 of two segments' bits is about 1.5 times as fast as in fp64.", _about(gain, 2, 1)),
        _said("A product on 16 of four segments' bits is about twice as fast as in fp64.", _about(gain, 4, 1)),
        _said("On 32 bits, four segments gain less than two.", two_of_four),
        _said("On 48 bits a product is slower than in fp64.", _slower(gain, 4, 3)),
    )


def on_all_bits(gain: Gain[Group]) -> tuple[Statement[Group], ...]:
    """The statements on products that read as many bits as fp64 has."""
    return (
        _said("On all 64 bits of two segments it is slower than in fp64.", _slower(gain, 2, 2)),
        _said("On all 64 bits of four segments it is slower than in fp64.", _slower(gain, 4, 4)),
    )


def _said(text: str, judge: Callable[[Group, StudyData], Trial | None]) -> Statement[Group]:
    return Statement(text, "graph", judge, mostly=True, source="Figure 4")


def _about(gain: Gain[Group], segments: int, read: int) -> Callable[[Group, StudyData], Trial | None]:
    least = ABOUT * PRINTED[segments, read]
    return _judged(gain, segments, read, lambda found: found >= least)


def _slower(gain: Gain[Group], segments: int, read: int) -> Callable[[Group, StudyData], Trial | None]:
    return _judged(gain, segments, read, lambda found: found < 1.0)


def _judged(
    gain: Gain[Group], segments: int, read: int, holds: Callable[[float], bool]
) -> Callable[[Group, StudyData], Trial | None]:
    def judge(case: Group, data: StudyData) -> Trial | None:  # noqa: ARG001
        found = gain(case, segments, read)
        return None if found is None else Trial(holds(found), units.ratio(found), found)

    return judge
