"""Headline of the home page: the fastest Sparsight kernel against cuSPARSE, for every matrix that has both."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import geometric_mean

from gpu_engine.competitors import BEST
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import Finding, Row
from gpu_engine.findings.formats import findings
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
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


def compare(data: StudyData) -> Comparison:
    """Return the comparison of the matrices with a time on both sides."""
    points = [(point, finding) for finding in findings(data) for point in _points(finding)]
    quiet = sorted((point for point, finding in points if not finding.busy), key=lambda point: -point.ratio)
    return Comparison(tuple(quiet), len(points) - len(quiet))


def sentence(comparison: Comparison, device: str) -> str:
    """Return on how many matrices the fastest Sparsight kernel is faster than cuSPARSE."""
    faster, total = comparison.count("faster"), len(comparison.points)
    return f"On the {device}, the best Sparsight kernel beats cuSPARSE on {faster} of {total} matrices"


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


def _points(finding: Finding) -> Iterator[Point]:
    """Yield the point of a finding, or nothing if one side has no time."""
    ours = next((row for row in finding.rows if row.measurement.format != BEST.partition("/")[0]), None)
    if finding.baseline == BEST and ours is not None and ours.ratio and any(row.label == BEST for row in finding.rows):
        yield Point(finding.matrix_id, finding.title, ours.measurement.kernel, _verdict(finding, ours), ours.ratio)


def _verdict(finding: Finding, row: Row) -> str:
    """Return the verdict of a row; on timings too noisy to name a fastest kernel, it is inconclusive."""
    return row.word if finding.leaders and row.word in ("faster", "slower") else "same"
