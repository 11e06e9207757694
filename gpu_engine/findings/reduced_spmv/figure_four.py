"""Statements of the CPMS PageRank paper on SpMV with leading segments: Figure 4, by layout."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from gpu_engine.findings.conclusions import Conclusion, Says, Scope, Statement, Trial
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import gain
from gpu_engine.findings.printed import Printed
from gpu_engine.findings.reduced_spmv.groups import FULL, ProductGroup
from gpu_engine.pagerank.products import LAYOUTS, Block, Product
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.verdicts.verdict import compare, verdict_text

PRINTED: Mapping[tuple[int, int], Printed] = {(2, 1): Printed("1.5"), (4, 1): Printed("2")}
"""(segments, read) → speedup over fp64 in the text of §V, as a mean over the graphs: about 1.5, and about 2."""

LESS = Printed("0.7")
"""Speedup on 32 bits of four segments over that on 32 bits of two: about 30 % smaller."""

PRINTED_SPEEDUPS: Mapping[tuple[int, int], float] = {
    **{key: float(printed.low) for key, printed in PRINTED.items()},
    (4, 2): float(LESS.low) * float(PRINTED[2, 1].low),
}
"""(segments, read) → the same as a number, and 32 of four segments' bits: about 30 % less than 32 of two segments'.

For more bits the paper says slower than fp64, without a number.
"""


@dataclass(frozen=True, slots=True)
class PaperProducts:
    """SpMVs of a graph as in the paper: values and ranks in segments, in one block size."""

    group: ProductGroup
    block: Block

    def timed(self, layout: str, segments: int, read: int) -> Measurement | None:
        """Return the SpMV that reads `read` of the segments, in fp64 without segments; None without a time."""
        product = Product(segments, read, "both", self.block) if segments else FULL
        return self.group.timed.get((layout, product))


Judge = Callable[[PaperProducts, StudyData], Trial | None]

Key = tuple[int, int]
"""(segments, segments read) of an SpMV; (0, 0): fp64."""

FP64: Key = (0, 0)


@dataclass(frozen=True, slots=True)
class Average(Statement[PaperProducts]):
    """Statement on the geometric mean over the graphs, which agrees or disagrees as a whole.

    holds   check of the mean
    accepts  means with which it agrees, as text
    """

    holds: Callable[[float], bool] = bool
    accepts: str = ""

    def conclusion(
        self, trials: Sequence[tuple[str, Trial]], device: str, cache: str, scope: Scope = "paper"
    ) -> Conclusion:
        """Return the conclusion from all trials of a scope, given as (name of the graph, trial)."""
        factors = {name: trial.factor for name, trial in trials if trial.factor}
        if not factors:
            return Statement.conclusion(self, trials, device, cache, scope)
        mean = geometric_mean(factors.values())
        low, high = (chosen(factors, key=lambda name: factors[name]) for chosen in (min, max))
        ends = " to ".join(f"{_exact(factors[name])} ({name})" for name in (low, high))
        numbers = f"Geometric mean {_exact(mean)} (graphs: {len(factors)}), from {ends}."
        if len(factors) == 1:
            numbers = f"Only {low} {_exact(mean)}."
        says: Says = "agrees" if self.holds(mean) else "disagrees"
        over = f"over {len(factors)} graphs" if len(factors) > 1 else f"of {low} only"
        agrees = "agrees" if self.holds(mean) else "would agree"
        why = f"Mean {_exact(mean)} {over}; {self.accepts} {agrees}."
        return Conclusion(self.text, says, numbers, device, cache, self.place, scope, len(factors), why)


def _exact(factor: float) -> str:
    """Return `1.449 ×`: three decimals show on which side of half a unit a number lies."""
    return f"{factor:.3f}{units.THIN}×"


def _speedup(layout: str, base: Key, key: Key, holds: Callable[[float], bool]) -> Judge:
    """Return the speedup of an SpMV over another one on a graph, of which an Average takes the mean."""

    def judge(products: PaperProducts, data: StudyData) -> Trial | None:  # noqa: ARG001
        speedup = gain(products.timed(layout, *base), products.timed(layout, *key))
        return None if speedup is None else Trial(holds(speedup), _exact(speedup), speedup)

    return judge


def _slower(layout: str, base: Key, key: Key) -> Judge:
    """Return a check that an SpMV is measurably slower than another one."""

    def judge(products: PaperProducts, data: StudyData) -> Trial | None:  # noqa: ARG001
        reference, m = products.timed(layout, *base), products.timed(layout, *key)
        if reference is None or m is None:
            return None
        verdict = compare(reference, m)
        number = f"{units.ratio(verdict.ratio)} ({verdict_text(verdict.kind)})"
        return Trial(verdict.kind == "slower", number, verdict.ratio)

    return judge


def _by_layout(text: str, judge: Callable[[str], Judge]) -> tuple[Statement[PaperProducts], ...]:
    """Return the statement for CSR and for ELL, which the paper draws apart."""
    return tuple(
        Statement(f"In {_name(layout)}, SpMV on {text}", "graph", judge(layout), source="Figure 4")
        for layout in LAYOUTS
    )


def _on_average(
    text: str, base: Key, key: Key, holds: Callable[[float], bool], accepts: str
) -> tuple[Statement[PaperProducts], ...]:
    """Return the statement on the mean for CSR and for ELL; base, key: SpMVs whose times are divided."""
    return tuple(
        Average(
            f"In {_name(layout)}, SpMV on {text}",
            "graph",
            _speedup(layout, base, key, holds),
            source="Figure 4",
            holds=holds,
            accepts=accepts,
        )
        for layout in LAYOUTS
    )


def _name(layout: str) -> str:
    """Return `CSR` of `csr/thread`."""
    return layout.partition("/")[0].upper()


FIGURE_FOUR: tuple[Statement[PaperProducts], ...] = (
    *_on_average(
        "32 bits of two segments is on average at least about 1.5\u202f× as fast as in fp64.",
        FP64,
        (2, 1),
        PRINTED[2, 1].is_reached,
        PRINTED[2, 1].reached_text(),
    ),
    *_on_average(
        "16 bits of four segments is on average at least about 2\u202f× as fast as in fp64.",
        FP64,
        (4, 1),
        PRINTED[4, 1].is_reached,
        PRINTED[4, 1].reached_text(),
    ),
    *_on_average(
        f"32 bits of four segments has on average 0.7\u202f× the speed of 32 bits of two (about 30{units.THIN}% less).",
        (2, 1),
        (4, 2),
        LESS.holds,
        LESS.range_text(),
    ),
    *_by_layout("48 bits of four segments is slower than in fp64.", lambda of: _slower(of, FP64, (4, 3))),
    *_by_layout("all 64 bits of two segments is slower than in fp64.", lambda of: _slower(of, FP64, (2, 2))),
    *_by_layout("all 64 bits of four segments is slower than in fp64.", lambda of: _slower(of, FP64, (4, 4))),
)
"""Statements on SpMV with both operands in segments, measured alone."""
