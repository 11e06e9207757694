"""StudyData: measurements, features of their matrices, and the selection of the user."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gpu_engine.records import OP, TRANSPOSED, Measurement, Trace

TRANSPOSE = "ᵀ"
"""Suffix of the name and id of a matrix for its transpose, which findings treat as another matrix."""

FINDINGS_CACHED = 4
"""Number of StudyData whose findings are cached: a page and its figures ask for the same ones repeatedly."""


@dataclass(frozen=True, slots=True)
class MatrixFeatures:
    """Features of a matrix; None or empty if unknown, such as for a deleted matrix.

    ave, sigma, max_min  mean, standard deviation, and maximum − minimum of the row lengths
    empty_rows           number of empty rows: the dangling pages of a graph
    stored               all known features, named as in `gpu_engine.matrices.features`
    source               `generator` and `params` of a generated matrix
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
        """Return the features of an object with the fields of a MatrixRecord."""
        known = {name: matrix.features.get(name) for name in ("ave", "sigma", "max_min", "empty_rows")}
        known |= {"stored": matrix.features, "source": matrix.source}
        return MatrixFeatures(matrix.name, matrix.n_rows, matrix.n_cols, matrix.nnz, **known)

    def transposed(self) -> "MatrixFeatures":
        """Return the features of the transpose: unchanged for a symmetric pattern, else from the columns."""
        name = f"{self.name}{TRANSPOSE}"
        if self.stored.get("symmetric_pattern"):
            return replace(self, name=name)
        mean = self.nnz / self.n_cols if self.n_cols else None
        empty = self.stored.get("empty_cols")
        return MatrixFeatures(name, self.n_cols, self.n_rows, self.nnz, mean, empty_rows=empty)

    @property
    def compulsory_bytes(self) -> int:
        """Bytes that every SpMV must move: CSR, x, and y once each, as in `roofline_s`."""
        return 12 * self.nnz + 4 * (self.n_rows + 1) + 8 * (self.n_cols + self.n_rows)


@dataclass(frozen=True, slots=True, eq=False)
class StudyData:
    """Records of a study with the selection of the user: the input of all findings and figures.

    Compared by identity, so that results can be cached by it.

    matrices  features by matrix id
    kernels   kernels chosen by the user; baseline: kernel to compare with; empty: the default of each figure
    chosen    values chosen by the user for parameters of this study's page, by name
    sort      feature that the rows of matrices are sorted by; empty: ascending sigma
    traces    traces by (device, case)
    """

    measurements: Sequence[Measurement] = ()
    matrices: Mapping[str, MatrixFeatures] = field(default_factory=dict)
    kernels: tuple[str, ...] = ()
    baseline: str = ""
    traces: Mapping[tuple[str, str], Trace] = field(default_factory=dict)
    sort: str = ""
    chosen: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def choice(self, name: str, default: str = "") -> str:
        """Return the user's value of a parameter with a single value."""
        return next(iter(self.chosen.get(name, ())), default)

    def number(self, name: str) -> int:
        """Return the user's value of an integer parameter; 0 if none is chosen."""
        return int(self.choice(name, "0"))

    def matrix(self, matrix_id: str) -> MatrixFeatures:
        """Return the features of a matrix or `subject`; an unknown one has its id as name and no features."""
        known = self.matrices.get(matrix_id)
        if known is None and matrix_id.endswith(TRANSPOSE):
            return self.matrix(matrix_id.removesuffix(TRANSPOSE)).transposed()
        return known or MatrixFeatures(matrix_id)

    def by_sigma(self, ids: Iterable[str]) -> list[str]:
        """Return the ids by ascending sigma, then nnz; those without a sigma last."""
        return sorted(ids, key=lambda i: _sigma_first(self.matrix(i)))


def subject(m: Measurement) -> str:
    """Return the id of the matrix of an SpMV, with the suffix TRANSPOSE if it multiplies with the transpose."""
    return f"{m.matrix_id}{TRANSPOSE}" if op_of(m) == TRANSPOSED else m.matrix_id


def op_of(m: Measurement) -> str:
    """Return the operand that multiplies x: `A` or `AT`."""
    return m.axes.get(OP, "A")


def _sigma_first(matrix: MatrixFeatures) -> tuple[bool, float, int]:
    return matrix.sigma is None, matrix.sigma or 0.0, matrix.nnz
