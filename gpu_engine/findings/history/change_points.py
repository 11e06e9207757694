"""Change points of a history: where its time moved to a new level, with a verdict on the two levels.

A kernel change-point search on the logarithms of the times (PELT, library ruptures) proposes them; the verdict engine
decides. docs/measuring.md has the reasons and the error rates.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gpu_engine.findings.history.records import Change, EnvironmentChange, HistoryPoint, changes, underneath
from gpu_engine.records import Case, Measurement
from gpu_engine.verdicts.verdict import ROUNDS_MIN, SMALLEST_GAP, Verdict, VerdictKind, compare, noise_threshold

PERIOD_MIN = 3
"""Least number of measurements of a level; one or two deviating measurements are outliers."""

LOOKED_FROM = 2 * PERIOD_MIN
"""Least number of measurements of a history in which change points are searched."""

WIDTH = 2.0
"""Kernel width in units of the noise: the distance of two times at which their similarity is about one half."""

PENALTY, PENALTY_GROWTH = 2.0, 0.4
"""Penalty per change point in the shortest history, and its growth with the logarithm of the length.

A long history has more positions for a false change point. With these values a new level is detected at its third
measurement, and at its fourth from 74 measurements on.
"""

FLOOR = {backend: gap / 3 for backend, gap in SMALLEST_GAP.items()}
"""Backend → least noise (relative) that is assumed, so that negligible differences are never change points."""

TO_SIGMA = 1.4826
"""Factor from a median absolute deviation to a standard deviation."""

QUICK = 100 / (ROUNDS_MIN + 1)
"""Percentile that replaces the fastest round: about the minimum of ROUNDS_MIN rounds, for any number of rounds."""

CHANGED: tuple[VerdictKind, ...] = ("slower", "faster")
"""Verdicts that confirm a change point; with `inconclusive` it is only possible."""


@dataclass(frozen=True)
class Period:
    """Consecutive measurements of a history on one level; noise: relative, of the whole history."""

    timeline: tuple[HistoryPoint, ...]
    noise: float

    @cached_property
    def level(self) -> Measurement:
        """The period as one measurement whose rounds are the medians of its jobs.

        Its A/A gap is the noise from job to job.
        """
        medians = np.array([point.median_s for point in self.timeline])
        measurements = [point.measurement for point in self.timeline]
        half = math.exp(1.96 * math.sqrt(math.pi / 2) * self.noise / math.sqrt(len(measurements)))
        quick, first, median, third = (float(q) for q in np.percentile(medians, (QUICK, 25, 50, 75)))
        gaps = [m.aa_gap for m in measurements if m.aa_gap is not None]
        clocks = [m.clock_hz for m in measurements if m.clock_hz]
        return replace(
            measurements[0],
            median_s=median,
            ci_low_s=median / half,
            ci_high_s=median * half,
            min_s=quick,
            q1_s=first,
            q3_s=third,
            aa_gap=max(self.noise, float(np.median(gaps)) if gaps else 0.0),
            clock_hz=float(np.median(clocks)) if len(clocks) == len(measurements) else None,
            rounds=sum(m.rounds for m in measurements if m.rounds) or None,
            samples_s=(),
        )

    @property
    def level_s(self) -> float:
        """Median of its times in seconds."""
        return self.level.median_s or 0.0


@dataclass(frozen=True)
class ChangePoint:
    """Two consecutive periods, the verdict on the later one, and the changes of the environment."""

    before: Period
    after: Period

    @cached_property
    def verdict(self) -> Verdict:
        """Verdict on the level after against the level before."""
        return compare(self.before.level, self.after.level)

    @property
    def is_seen(self) -> bool:
        """Whether the difference of the levels exceeds the noise threshold."""
        sides = self.before.level, self.after.level
        return abs(self.growth) > noise_threshold(sides[1].backend, max(m.aa_gap or 0.0 for m in sides))

    @property
    def first(self) -> HistoryPoint:
        """First measurement on the new level."""
        return self.after.timeline[0]

    @property
    def growth(self) -> float:
        """Relative change of the time (0.1 is 10 % slower); negative if it became faster."""
        return self.after.level_s / self.before.level_s - 1

    @property
    def changes(self) -> tuple[Change, ...]:
        """Changes of the environment between the last measurement before and the first one after.

        If there are none, those between their neighbors, because a change point is known to one measurement only.
        """
        around = self.before.timeline[-2:], self.after.timeline[:2]
        (further, last), (first, next_one) = ([t.measurement.environment for t in side] for side in around)
        return changes(last, first) or changes(further, next_one)

    @property
    def beside(self) -> frozenset[str]:
        """Ids of the jobs around it, whose environment may be the cause."""
        return frozenset(point.job_id for point in (self.before.timeline[-1], *self.after.timeline[:2]))


@dataclass(frozen=True)
class History:
    """Measurements of a case on one device, the oldest first, with periods and change points.

    timeline    the measurements
    noise       relative standard deviation of a time between jobs
    periods     one or more, each on one level
    points      change points between the periods, confirmed or possible
    underneath  changes of the environment, with or without a change of the time
    searched    whether change points were searched; the library ruptures is missing for the newest Python
    """

    case: Case
    timeline: tuple[HistoryPoint, ...]
    noise: float
    periods: tuple[Period, ...]
    points: tuple[ChangePoint, ...]
    underneath: tuple[EnvironmentChange, ...]
    searched: bool

    @property
    def label(self) -> str:
        """Kernel and further parameters of the case: `csr/vector · op=AT`."""
        return " · ".join(filter(None, (self.case.kernel, self.case.axes_text.replace(",", ", "))))

    @property
    def changed(self) -> tuple[ChangePoint, ...]:
        """Confirmed change points."""
        return tuple(point for point in self.points if point.verdict.kind in CHANGED)


def history(visits: Sequence[HistoryPoint]) -> History:
    """Return the history of a case from at least one measurement, all with a time, the oldest first."""
    times = np.log([each.median_s for each in visits])
    noise = noise_of(times, [each.measurement for each in visits])
    searched = find_spec("ruptures") is not None
    ends = _ends(times, noise) if searched else [len(visits)]
    proposed = [Period(tuple(visits[start:end]), noise) for start, end in pairwise([0, *ends])]
    points = _points(proposed)
    periods = (points[0].before, *(point.after for point in points)) if points else (Period(tuple(visits), noise),)
    case = Case.parse(visits[0].measurement.case)
    return History(case, tuple(visits), noise, periods, points, tuple(underneath(visits)), searched)


def noise_of(times: NDArray[np.float64], measurements: Sequence[Measurement]) -> float:
    """Return the standard deviation of log(time) between jobs without a change.

    The largest of three values: from the differences of consecutive times, where a step is one of many; from the
    confidence intervals; and FLOOR.
    """
    scatter = TO_SIGMA * float(np.median(np.abs(np.diff(times)))) / math.sqrt(2) if len(times) > 1 else 0.0
    widths = [math.log(m.ci_high_s / m.ci_low_s) for m in measurements if m.ci_low_s and m.ci_high_s]
    within = float(np.median(widths)) / (2 * 1.96) if widths else 0.0
    return max(scatter, within, FLOOR[measurements[0].backend])


def _ends(times: NDArray[np.float64], noise: float) -> list[int]:
    """Return the ends of the periods that the search proposes, as indices."""
    if len(times) < LOOKED_FROM:
        return [len(times)]
    # Imported late, because it imports SciPy, which would slow the start of the server.
    from ruptures import KernelCPD

    penalty = PENALTY + PENALTY_GROWTH * math.log(len(times) / LOOKED_FROM)
    search = KernelCPD(kernel="rbf", min_size=PERIOD_MIN, params={"gamma": 0.5 / WIDTH**2})
    return [int(end) for end in search.fit_predict(times[:, None] / noise, pen=penalty)]


def _points(periods: Sequence[Period]) -> tuple[ChangePoint, ...]:
    """Return the change points after merging neighboring periods whose levels do not differ by more than the noise."""
    merged = list(periods)
    while True:
        points = [ChangePoint(before, after) for before, after in pairwise(merged)]
        unseen = [index for index, point in enumerate(points) if not point.is_seen]
        if not unseen:
            return tuple(points)
        index = min(unseen, key=lambda index: abs(points[index].growth))
        first, second = merged[index : index + 2]
        merged[index : index + 2] = [Period((*first.timeline, *second.timeline), first.noise)]
