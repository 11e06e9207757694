"""Statements of the CPMS PageRank paper on SpMV with leading segments: Figure 4, by layout."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gpu_engine.findings.conclusions import Statement, Trial
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

PRINTED_SPEEDUPS: Mapping[tuple[int, int], float] = {
    **{key: float(printed.low) for key, printed in PRINTED.items()},
    (4, 2): 0.7 * float(PRINTED[2, 1].low),
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


def _reaches(layout: str, key: Key) -> Judge:
    """Return a check that the speedup over fp64 rounds to at least the printed one."""

    def judge(products: PaperProducts, data: StudyData) -> Trial | None:  # noqa: ARG001
        full, m = products.timed(layout, *FP64), products.timed(layout, *key)
        speedup = gain(full, m)
        # Three decimals show on which side of half a unit a speedup lies.
        return (
            None if speedup is None else Trial(PRINTED[key].is_reached(speedup), f"{speedup:.3f}{units.THIN}×", speedup)
        )

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
    """Return the statement for CSR and for ELL, which the paper draws apart; it is about most graphs."""
    return tuple(
        Statement(
            f"In {layout.partition('/')[0].upper()}, SpMV on {text}",
            "graph",
            judge(layout),
            mostly=True,
            source="Figure 4",
        )
        for layout in LAYOUTS
    )


FIGURE_FOUR: tuple[Statement[PaperProducts], ...] = (
    *_by_layout("32 bits of two segments is at least about 1.5× as fast as in fp64.", lambda of: _reaches(of, (2, 1))),
    *_by_layout("16 bits of four segments is at least about 2× as fast as in fp64.", lambda of: _reaches(of, (4, 1))),
    *_by_layout("32 bits of four segments is slower than on 32 bits of two.", lambda of: _slower(of, (2, 1), (4, 2))),
    *_by_layout("48 bits of four segments is slower than in fp64.", lambda of: _slower(of, FP64, (4, 3))),
    *_by_layout("all 64 bits of two segments is slower than in fp64.", lambda of: _slower(of, FP64, (2, 2))),
    *_by_layout("all 64 bits of four segments is slower than in fp64.", lambda of: _slower(of, FP64, (4, 4))),
)
"""Statements on SpMV with both operands in segments, measured alone."""
