"""Headline of the home page: the best Sparsight kernel against the best cuSPARSE algorithm, matrix by matrix."""

from dataclasses import dataclass
from statistics import geometric_mean

from gpu_engine.competitors import BEST, BEST_IN_WORDS
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.formats.choices import Choices
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from gpu_engine.verdicts.verdict import Verdict
from web.plots.ratios import Ratios, ratio_plot

VERDICTS = {"faster": "faster", "slower": "slower", "same": "equal or inconclusive"}
"""Verdict on the Sparsight kernel → its name in the legend."""

REST = {verdict: word for verdict, word in VERDICTS.items() if verdict != "faster"}


@dataclass(frozen=True, slots=True)
class Point:
    """A matrix; ratio: the time of the best cuSPARSE algorithm over that of the fastest Sparsight kernel.

    verdict  a key of VERDICTS
    """

    matrix_id: str
    name: str
    kernel: str
    verdict: str
    ratio: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """The matrices that count, the largest speedup first.

    noisy  number of further matrices with timings too noisy to compare
    """

    points: tuple[Point, ...]
    noisy: int

    def count(self, verdict: str) -> int:
        """Return the number of matrices with this verdict."""
        return sum(point.verdict == verdict for point in self.points)

    @property
    def mean(self) -> float:
        """Geometric mean of the speedups."""
        return geometric_mean(point.ratio for point in self.points)


def compare(choices: Choices, data: StudyData) -> Comparison:
    """Return the comparison of the page Formats: its matrices with a time of both; none with another baseline."""
    choice = choices.sparsight if choices.baseline == BEST else None
    verdicts = choice.verdicts if choice else {}
    points = [
        Point(i, data.matrix(i).name, choice.measurements[i].kernel, _looks(verdict), verdict.ratio)
        for i, verdict in verdicts.items()
        if choice and verdict.ratio
    ]
    return Comparison(tuple(sorted(points, key=lambda point: -point.ratio)), choices.busy)


def sentence(comparison: Comparison, device: str) -> str:
    """Return on how many matrices the fastest Sparsight kernel is faster than cuSPARSE's best algorithm."""
    faster, total = comparison.count("faster"), len(comparison.points)
    return f"On the {device}, the best Sparsight kernel beats {BEST_IN_WORDS} on {faster} of {total} matrices"


def details(comparison: Comparison) -> str:
    """Return the rest of the counts, and the mean speedup."""
    rest = [f"{word} on {count}" for verdict, word in REST.items() if (count := comparison.count(verdict))]
    counts = f"{', '.join(rest)}. ".capitalize() if rest else ""
    noisy = f" {comparison.noisy} more are too noisy to compare." if comparison.noisy else ""
    return f"{counts}Geometric-mean speedup {units.ratio(comparison.mean)}.{noisy}"


def picture(comparison: Comparison) -> Ratios:
    """Return a dot per matrix, above the line of 1× if the Sparsight kernel is faster."""
    points = [
        (p.ratio, p.verdict, f"{p.name}: {p.kernel}, {units.ratio(p.ratio)}, {VERDICTS[p.verdict]}")
        for p in comparison.points
    ]
    return ratio_plot(points, f"{len(points)} matrices, the largest speedup first", details(comparison))


def table(comparison: Comparison) -> Table:
    """Return a row per matrix."""
    heads = (
        Head("matrix", numeric=False),
        Head("Sparsight kernel", numeric=False),
        Head("speedup", f"vs {BEST}"),
        Head("verdict", numeric=False),
    )
    return Table(heads, tuple((p.name, p.kernel, units.ratio(p.ratio), VERDICTS[p.verdict]) for p in comparison.points))


def _looks(verdict: Verdict) -> str:
    return verdict.kind if verdict.kind in REST or verdict.kind == "faster" else "same"
