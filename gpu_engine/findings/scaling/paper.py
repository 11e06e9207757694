"""Matrices of the MSREP paper: what Table 2 prints, and which matrices of a recording stand for them."""

from collections.abc import Iterator
from dataclasses import dataclass

from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.printed import Printed
from gpu_engine.generators import two_level
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table

STAND_IN = " ("
"""Beginning of the suffix in the name of a stand-in: `wb-edu (stand-in)`."""

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class PaperMatrix:
    """Row of Table 2 of the MSREP paper, with the size of the file in the SuiteSparse Matrix Collection.

    collected     name in the collection: `Gleich/wb-edu`
    n_rows, nnz   rows and nonzeros of the file; Table 2 prints them cut to thousands or millions
    exponent      R of P(nonzeros per column = k) ~ k^−R, with the printed digits
    """

    collected: str
    n_rows: int
    nnz: int
    exponent: Printed

    @property
    def name(self) -> str:
        """Name in the paper: `wb-edu`."""
        return self.collected.partition("/")[2]


TABLE_2: tuple[PaperMatrix, ...] = (
    PaperMatrix("Belcastro/mouse_gene", 45_101, 28_967_291, Printed("1.03")),
    PaperMatrix("Gleich/wb-edu", 9_845_725, 57_156_537, Printed("2.13")),
    PaperMatrix("SNAP/com-LiveJournal", 3_997_962, 69_362_378, Printed("2.40")),
    PaperMatrix("LAW/hollywood-2009", 1_139_905, 113_891_327, Printed("1.92")),
    PaperMatrix("SNAP/com-Orkut", 3_072_441, 234_370_166, Printed("2.13")),
    PaperMatrix("Fluorem/HV15R", 2_017_169, 283_073_458, Printed("3.09")),
)
"""Matrices of the paper, by ascending nonzeros."""

NAMES = tuple(matrix.name for matrix in TABLE_2)

FIGURE_19 = NAMES[-1]
"""Matrix of Figure 19, on which §5.5 reports the merge."""

SMALLEST_NNZ = 28 * MILLION
"""Nonzeros of the smallest matrix of Table 2, as printed: shares of the time on smaller ones are not compared."""

HEADS = (
    Head("matrix", numeric=False),
    Head("share", "of the rows"),
    Head("rows", "in the file"),
    Head("rows", "here"),
    Head("nonzeros", "in the file"),
    Head("nonzeros", "here"),
    Head("nonzeros", "here / share"),
    Head("R", "printed"),
    Head("R", "here"),
)


def paper_matrix(name: str) -> PaperMatrix | None:
    """Return the row of Table 2 for the name of a matrix or of its stand-in; None for other matrices."""
    return next((matrix for matrix in TABLE_2 if matrix.name == name.partition(STAND_IN)[0]), None)


def is_papers(matrix: MatrixFeatures) -> bool:
    """Return whether a matrix is of Figure 6, or of Table 2 or a stand-in of it with at least SMALLEST_NNZ."""
    return (is_large(matrix) and paper_matrix(matrix.name) is not None) or ratio_of(matrix) is not None


def is_large(matrix: MatrixFeatures) -> bool:
    """Return whether a matrix has as many nonzeros as the smallest of Table 2."""
    return matrix.nnz >= SMALLEST_NNZ


def ratio_of(matrix: MatrixFeatures) -> float | None:
    """Return long rows / short rows of a matrix of the generator `two_level`; None for other matrices."""
    if matrix.source.get("generator") != two_level.GENERATOR.name:
        return None
    params = matrix.source.get("params", {})
    return float(params.get("ratio", two_level.TwoLevelParams().ratio))


def stand_ins(data: StudyData) -> Table:
    """Return a table with one row per matrix of Table 2 or its stand-in: its size and R beside those of the paper."""
    return Table(HEADS, tuple(_rows(data)))


def _rows(data: StudyData) -> Iterator[tuple[str, ...]]:
    measured = dict.fromkeys(m.matrix_id for m in data.measurements)
    matrices = {matrix.name: matrix for matrix in map(data.matrix, measured)}
    for printed in TABLE_2:
        for matrix in matrices.values():
            if paper_matrix(matrix.name) is printed:
                share = matrix.n_rows / printed.n_rows
                yield (
                    matrix.name,
                    units.percent(share),
                    units.count(printed.n_rows),
                    units.count(matrix.n_rows),
                    units.count(printed.nnz),
                    units.count(matrix.nnz),
                    units.percent(matrix.nnz / (share * printed.nnz) if share else None),
                    printed.exponent.low,
                    units.number(matrix.stored.get("power_law_exponent_cols")),
                )
