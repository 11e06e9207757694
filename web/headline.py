"""Headline of the home page: Sparsight against the best cuSPARSE algorithm, matrix by matrix.

It is about the advisor's choice, which is known before anything is measured; without one, about the fastest kernel.
"""

from dataclasses import dataclass
from statistics import geometric_mean

from gpu_engine.competitors import BEST, BEST_IN_WORDS
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.formats.choices import Choices
from gpu_engine.findings.overall_ranking_text import NAMED_SHORT
from gpu_engine.findings.ranking import join
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from gpu_engine.verdicts.verdict import Verdict
from web.plots.ratios import Ratios, ratio_plot

VERDICTS = {"faster": "faster", "slower": "slower", "same": "equal or inconclusive"}
"""Verdict on the Sparsight kernel → its name in the legend."""

ADVISED, FASTEST = "advisor’s choice", "best Sparsight kernel"

REST = {verdict: word for verdict, word in VERDICTS.items() if verdict != "faster"}


@dataclass(frozen=True, slots=True)
class Point:
    """A matrix; ratio: the time of the best cuSPARSE algorithm over that of the Sparsight kernel.

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

    noisy  names of further matrices with timings too noisy to compare
    what   what the kernels are: ADVISED or FASTEST
    most   largest possible geometric mean and number of matrices with a faster kernel, if the advisor chose; else None
    """

    points: tuple[Point, ...]
    noisy: tuple[str, ...] = ()
    what: str = FASTEST
    most: tuple[float, int] | None = None

    def count(self, verdict: str) -> int:
        """Return the number of matrices with this verdict."""
        return sum(point.verdict == verdict for point in self.points)

    @property
    def mean(self) -> float:
        """Geometric mean of the speedups."""
        return geometric_mean(point.ratio for point in self.points)


def compare(choices: Choices, data: StudyData) -> Comparison:
    """Return the comparison of the page Formats: its matrices with a time of both; none with another baseline."""
    best = choices.sparsight if choices.baseline == BEST else None
    choice = (choices.advised or best) if best else None
    verdicts = choice.verdicts if choice else {}
    points = [
        Point(i, data.matrix(i).name, choice.measurements[i].kernel, _looks(verdict), verdict.ratio)
        for i, verdict in verdicts.items()
        if choice and verdict.ratio
    ]
    return Comparison(
        tuple(sorted(points, key=lambda point: -point.ratio)),
        tuple(data.matrix(i).name for i in choices.busy),
        FASTEST if choice is best else ADVISED,
        (best.mean, best.wins[0]) if best and choice is not best else None,
    )


def sentence(comparison: Comparison, device: str) -> str:
    """Return on how many matrices the Sparsight kernel is faster than cuSPARSE's best algorithm."""
    faster, total = comparison.count("faster"), len(comparison.points)
    return f"On the {device}, the {comparison.what} beats {BEST_IN_WORDS} on {faster} of {total} matrices"


def details(comparison: Comparison) -> str:
    """Return the rest of the counts, the mean speedup, the largest possible one, and the noisy matrices."""
    rest = [f"{word} on {count}" for verdict, word in REST.items() if (count := comparison.count(verdict))]
    counts = f"{', '.join(rest)}. ".capitalize() if rest else ""
    most, names = comparison.most, comparison.noisy
    best = (
        f" The {FASTEST}, known only afterwards, reaches {units.ratio(most[0])}, faster on {most[1]}." if most else ""
    )
    noisy = f" {join(names, NAMED_SHORT)} {'is' if len(names) == 1 else 'are'} too noisy to compare." if names else ""
    return f"{counts}Geometric-mean speedup {units.ratio(comparison.mean)}.{best}{noisy}"


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
