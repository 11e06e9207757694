"""Matrices of the CPMS PageRank paper and their iterations: Tables I and II, as printed."""

from dataclasses import dataclass

from gpu_engine.findings.pagerank.runs import by_segments
from gpu_engine.findings.ranking import join
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import count


@dataclass(frozen=True, slots=True)
class PaperRow:
    """A matrix of the paper; n, nnz, and empty rows of the measured matrix: the lower triangle of a symmetric one.

    two, four  iterations that wrote 1, 2 … segments; total: as printed, which is not always their sum
    """

    name: str
    family: str
    n: int
    nnz: int
    empty_rows: int
    fp64: int
    two: tuple[int, int]
    two_total: int
    four: tuple[int, int, int, int]
    four_total: int


PAPER = (
    PaperRow("adaptive", "adaptive mesh", 6_815_744, 13_624_320, 425_984, 52, (18, 34), 52, (1, 16, 34, 1), 52),
    PaperRow("delaunay_n22", "triangulation", 4_194_304, 12_582_869, 555_807, 26, (12, 14), 26, (1, 11, 13, 1), 26),
    PaperRow("europe_osm", "road network", 50_912_018, 54_054_660, 1_616_942, 112, (48, 64), 113, (1, 47, 62, 3), 113),
    PaperRow(
        "hugebubbles-00020", "mesh of bubbles", 21_198_119, 31_790_179, 3_530_509, 61, (19, 42), 61, (1, 18, 41, 1), 61
    ),
    PaperRow(
        "rgg_n_2_24_s0",
        "random geometric graph",
        16_777_216,
        132_557_200,
        7_121,
        106,
        (41, 65),
        106,
        (1, 40, 63, 2),
        106,
    ),
    PaperRow("road_usa", "road network", 23_947_347, 28_854_312, 6_392_288, 31, (14, 17), 32, (1, 13, 16, 2), 32),
    PaperRow("Stanford", "web", 281_903, 2_312_497, 20_315, 118, (51, 67), 118, (1, 50, 64, 3), 118),
    PaperRow("wb-edu", "web", 9_845_725, 57_156_537, 2_925_419, 114, (47, 67), 115, (1, 46, 65, 3), 115),
    PaperRow("web-BerkStan", "web", 685_230, 7_600_595, 4_744, 119, (50, 69), 119, (1, 49, 1, 68), 119),
    PaperRow("web-Google", "web", 916_428, 5_105_039, 176_974, 116, (47, 69), 116, (1, 46, 67, 2), 116),
)

REMARKS = (
    "These matrices are not the measured ones: compare within a family, not number by number.",
    "As printed, on an NVIDIA V100 with δ = 0.85 and ε = 10⁻¹⁰; symmetric matrices as lower triangle. The paper does "
    "not print the rule that raises the precision; Sparsight documents its own. The single 48-bit iteration of "
    "web-BerkStan suggests a rule that takes γ after scaling the ranks: the jump of their norm looks like a stall.",
)


def remarks() -> tuple[str, ...]:
    """Return notes on comparisons with the table, as sentences."""
    odd = [
        f"{row.name} ({by_segments(row.two)}, total {row.two_total})" for row in PAPER if sum(row.two) != row.two_total
    ]
    return (*REMARKS, f"With two segments, the printed totals differ from the sums of their rows for {join(odd)}.")


def table() -> Table:
    """Return the rows as printed, iterations by segments."""
    heads = tuple(Head(text, numeric=False) for text in ("matrix", "family"))
    numbers = (Head("pages"), Head("links"), Head("dangling", "pages"), Head("fp64", "iterations"))
    segments = (Head("2 segments", "32/64 bit"), Head("total"), Head("4 segments", "16/32/48/64 bit"), Head("total"))
    rows = tuple(
        (
            row.name,
            row.family,
            *(count(value) for value in (row.n, row.nnz, row.empty_rows, row.fp64)),
            by_segments(row.two),
            count(row.two_total),
            by_segments(row.four),
            count(row.four_total),
        )
        for row in PAPER
    )
    return Table((*heads, *numbers, *segments), rows)
