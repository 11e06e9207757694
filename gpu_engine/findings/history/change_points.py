"""Change points of a history: where its time went to another level that holds, and the verdict on the two levels.

A search by kernels of logarithms of times (PELT, of the library ruptures) proposes where; the verdict engine decides
what may be said. docs/measuring.md has the reasons, and how often either is wrong.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gpu_engine.findings.history.records import Change, Taken, Underneath, changes, underneath
from gpu_engine.records import Case, Measurement
from gpu_engine.verdicts.verdict import ROUNDS_MIN, SMALLEST_GAP, Verdict, VerdictKind, compare, limit_of

PERIOD_MIN = 3
"""Fewer measurements make no level: one that is off by itself is a spike, and so are two."""

LOOKED_FROM = 2 * PERIOD_MIN
"""With fewer measurements there is no room for a change point."""

WIDTH = 2.0
"""How many times the noise two times are apart that are half alike; what is much further apart counts as much."""

PENALTY, PENALTY_GROWTH = 2.0, 0.4
"""How many measurements a change point has to explain: in the shortest history, and more with its logarithm.

A long history has more places for one that is none. With these a new level is told by its third measurement, and by
its fourth from 74 measurements on.
"""

FLOOR = {backend: gap / 3 for backend, gap in SMALLEST_GAP.items()}
"""The noise is taken to be this at least: a gap that nobody would act on is no change, however quiet a machine is."""

TO_SIGMA = 1.4826
"""From a median of absolute deviations to a standard deviation."""

QUICK = 100 / (ROUNDS_MIN + 1)
"""Percentile that stands for the quickest round: about that of as many as a verdict asks for, whatever their number."""

CHANGED: tuple[VerdictKind, ...] = ("slower", "faster")
"""Verdicts by which a change point is one; with `inconclusive` it may be one."""


@dataclass(frozen=True)
class Period:
    """Consecutive measurements of a history on one level; noise: as a share of a time, of the whole history."""

    taken: tuple[Taken, ...]
    noise: float

    @cached_property
    def level(self) -> Measurement:
        """The period as one measurement, whose rounds are medians of its jobs.

        What a kernel differs from itself by is here what it differs by from job to job.
        """
        medians = np.array([taken.median_s for taken in self.taken])
        own = [taken.measurement for taken in self.taken]
        half = math.exp(1.96 * math.sqrt(math.pi / 2) * self.noise / math.sqrt(len(own)))
        quick, first, median, third = (float(q) for q in np.percentile(medians, (QUICK, 25, 50, 75)))
        gaps = [m.aa_gap for m in own if m.aa_gap is not None]
        clocks = [m.clock_hz for m in own if m.clock_hz]
        return replace(
            own[0],
            median_s=median,
            ci_low_s=median / half,
            ci_high_s=median * half,
            min_s=quick,
            q1_s=first,
            q3_s=third,
            aa_gap=max(self.noise, float(np.median(gaps)) if gaps else 0.0),
            clock_hz=float(np.median(clocks)) if len(clocks) == len(own) else None,
            rounds=sum(m.rounds for m in own if m.rounds) or None,
            samples_s=(),
        )

    @property
    def level_s(self) -> float:
        """The median of its times in seconds."""
        return self.level.median_s or 0.0


@dataclass(frozen=True)
class ChangePoint:
    """Two periods one after the other, the verdict on the later one, and what their environments say otherwise."""

    before: Period
    after: Period

    @cached_property
    def verdict(self) -> Verdict:
        """Of the verdict engine, on the level after against that before."""
        return compare(self.before.level, self.after.level)

    @property
    def is_seen(self) -> bool:
        """Whether the levels are further apart than what the kernel differs from itself by."""
        sides = self.before.level, self.after.level
        return abs(self.growth) > limit_of(sides[1].backend, max(m.aa_gap or 0.0 for m in sides))

    @property
    def first(self) -> Taken:
        """The first measurement on the new level."""
        return self.after.taken[0]

    @property
    def growth(self) -> float:
        """By how much the time grew, as a share of that before; negative where it fell."""
        return self.after.level_s / self.before.level_s - 1

    @property
    def changes(self) -> tuple[Change, ...]:
        """What changed underneath between the last measurement before and the first one after.

        Where that is nothing, between those next to them: where a step lies is known to one measurement.
        """
        around = self.before.taken[-2:], self.after.taken[:2]
        (further, last), (first, next_one) = ([t.measurement.environment for t in side] for side in around)
        return changes(last, first) or changes(further, next_one)

    @property
    def beside(self) -> frozenset[str]:
        """The jobs with whose environment it may have to do: ids."""
        return frozenset(taken.job_id for taken in (self.before.taken[-1], *self.after.taken[:2]))


@dataclass(frozen=True)
class History:
    """The measurements of a case on one device, the oldest first, and what is found in them.

    periods     on one level each, one at least
    points      between them: those that changed the time, and those that may have
    underneath  where the environment changed, whether the time did or not
    searched    whether change points were looked for: the library for it has no release for the newest Python
    """

    case: Case
    taken: tuple[Taken, ...]
    noise: float
    periods: tuple[Period, ...]
    points: tuple[ChangePoint, ...]
    underneath: tuple[Underneath, ...]
    searched: bool

    @property
    def label(self) -> str:
        """The kernel, and what else tells the case from others of it: `csr/vector · op=AT`."""
        return " · ".join(filter(None, (self.case.kernel, self.case.axes_text.replace(",", ", "))))

    @property
    def changed(self) -> tuple[ChangePoint, ...]:
        """The change points that the verdict engine is sure of."""
        return tuple(point for point in self.points if point.verdict.kind in CHANGED)


def history(taken: Sequence[Taken]) -> History:
    """What the measurements of a case say, one at least, all with a time, the oldest first."""
    times = np.log([each.median_s for each in taken])
    noise = noise_of(times, [each.measurement for each in taken])
    searched = find_spec("ruptures") is not None
    ends = _ends(times, noise) if searched else [len(taken)]
    periods = [Period(tuple(taken[start:end]), noise) for start, end in pairwise([0, *ends])]
    points = _points(periods)
    kept = (points[0].before, *(point.after for point in points)) if points else (Period(tuple(taken), noise),)
    case = Case.parse(taken[0].measurement.case)
    return History(case, tuple(taken), noise, kept, points, tuple(underneath(taken)), searched)


def noise_of(times: NDArray[np.float64], measurements: Sequence[Measurement]) -> float:
    """The standard deviation of the logarithm of a time between jobs, in which nothing changed.

    The largest of three: what consecutive times differ by, in which a step is one of many; what their intervals
    allow; and FLOOR.
    """
    scatter = TO_SIGMA * float(np.median(np.abs(np.diff(times)))) / math.sqrt(2) if len(times) > 1 else 0.0
    widths = [math.log(m.ci_high_s / m.ci_low_s) for m in measurements if m.ci_low_s and m.ci_high_s]
    within = float(np.median(widths)) / (2 * 1.96) if widths else 0.0
    return max(scatter, within, FLOOR[measurements[0].backend])


def _ends(times: NDArray[np.float64], noise: float) -> list[int]:
    """Where each period ends, as the search proposes."""
    if len(times) < LOOKED_FROM:
        return [len(times)]
    # Here, and not above: it takes SciPy with it, and a server has to start.
    from ruptures import KernelCPD

    penalty = PENALTY + PENALTY_GROWTH * math.log(len(times) / LOOKED_FROM)
    search = KernelCPD(kernel="rbf", min_size=PERIOD_MIN, params={"gamma": 0.5 / WIDTH**2})
    return [int(end) for end in search.fit_predict(times[:, None] / noise, pen=penalty)]


def _points(periods: Sequence[Period]) -> tuple[ChangePoint, ...]:
    """The change points between periods, once those are joined whose levels are not seen to differ."""
    kept = list(periods)
    while True:
        points = [ChangePoint(before, after) for before, after in pairwise(kept)]
        unseen = [place for place, point in enumerate(points) if not point.is_seen]
        if not unseen:
            return tuple(points)
        place = min(unseen, key=lambda place: abs(points[place].growth))
        kept[place : place + 2] = [Period((*kept[place].taken, *kept[place + 1].taken), kept[place].noise)]
