"""StudyData: measurements, what is known of their matrices, and what the reader chose to see of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gpu_engine.records import OP, TRANSPOSED, Measurement, Trace

TRANSPOSE = "ᵀ"
"""Behind the name, and the id, of a matrix: its transpose, which findings take for a matrix like any other."""

KEPT = 4
"""Of how many StudyData findings are kept: a page and its figures ask for the same ones again."""


@dataclass(frozen=True, slots=True)
class MatrixFeatures:
    """The features of a matrix; ave, sigma and max_min are None where they are not known, as of a deleted one.

    ave, sigma, max_min  mean, standard deviation, and maximum − minimum of the row lengths
    empty_rows           of a graph: its dangling pages; None where it is not known
    stored               all that is known, as `gpu_engine.matrices.features` names it; empty of a deleted matrix
    source               of a generated one its `generator` and `params`; empty where it is not known
    """

    name: str
    n_rows: int = 0
    n_cols: int = 0
    nnz: int = 0
    ave: float | None = None
    sigma: float | None = None
    max_min: float | None = None
    empty_rows: int | None = None
    stored: Mapping[str, Any] = field(default_factory=dict, hash=False)
    source: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @staticmethod
    def of(matrix: Any) -> "MatrixFeatures":
        """Those of what has the fields of a MatrixRecord."""
        known = {name: matrix.features.get(name) for name in ("ave", "sigma", "max_min", "empty_rows")}
        known |= {"stored": matrix.features, "source": matrix.source}
        return MatrixFeatures(matrix.name, matrix.n_rows, matrix.n_cols, matrix.nnz, **known)

    def transposed(self) -> "MatrixFeatures":
        """Those of the transpose: the same where the pattern is symmetric, else what is known of the columns."""
        name = f"{self.name}{TRANSPOSE}"
        if self.stored.get("symmetric_pattern"):
            return replace(self, name=name)
        mean = self.nnz / self.n_cols if self.n_cols else None
        empty = self.stored.get("empty_cols")
        return MatrixFeatures(name, self.n_cols, self.n_rows, self.nnz, mean, empty_rows=empty)

    @property
    def compulsory_bytes(self) -> int:
        """Bytes that any product must move: CSR once, x once, y once, as in `roofline_s`."""
        return 12 * self.nnz + 4 * (self.n_rows + 1) + 8 * (self.n_cols + self.n_rows)


@dataclass(frozen=True, slots=True, eq=False)
class StudyData:
    """The records that findings and figures are made of: each of these is a pure function of one StudyData.

    One is equal to itself alone, so that what was computed of it can be kept beside it.

    matrices  features by matrix id
    kernels   that the reader chose; baseline: what others are divided by; empty: the figure's own choice
    chosen    the reader's values of parameters that only this study's page has, by name
    sort      what matrices are sorted by where they are rows under kernels; empty: ascending sigma
    traces    by device and case
    """

    measurements: Sequence[Measurement] = ()
    matrices: Mapping[str, MatrixFeatures] = field(default_factory=dict)
    kernels: tuple[str, ...] = ()
    baseline: str = ""
    traces: Mapping[tuple[str, str], Trace] = field(default_factory=dict)
    sort: str = ""
    chosen: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def choice(self, name: str, default: str = "") -> str:
        """Return the reader's value of a parameter that is given once."""
        return next(iter(self.chosen.get(name, ())), default)

    def number(self, name: str) -> int:
        """Return the reader's value of a parameter that is a whole number; 0: none is chosen."""
        return int(self.choice(name, "0"))

    def matrix(self, matrix_id: str) -> MatrixFeatures:
        """The features of a matrix, or of a `subject`; an unknown one is called by its id and has no others."""
        known = self.matrices.get(matrix_id)
        if known is None and matrix_id.endswith(TRANSPOSE):
            return self.matrix(matrix_id.removesuffix(TRANSPOSE)).transposed()
        return known or MatrixFeatures(matrix_id)

    def by_sigma(self, ids: Iterable[str]) -> list[str]:
        """The ids by ascending sigma, then nnz; those without a sigma last."""
        return sorted(ids, key=lambda i: _sigma_first(self.matrix(i)))


def subject(m: Measurement) -> str:
    """What a product is of: the id of the matrix, with TRANSPOSE behind it where it is of the transpose."""
    return f"{m.matrix_id}{TRANSPOSE}" if op_of(m) == TRANSPOSED else m.matrix_id


def op_of(m: Measurement) -> str:
    """What multiplies x: `A` or `AT`, as the parameter of the study has it."""
    return m.axes.get(OP, "A")


def _sigma_first(matrix: MatrixFeatures) -> tuple[bool, float, int]:
    return matrix.sigma is None, matrix.sigma or 0.0, matrix.nnz
