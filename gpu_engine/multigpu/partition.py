"""PARTITIONINGS: the ways to cut a matrix into parts, one for each device; pCSR, pCSC and pCOO of the MSREP paper.

The lines of a partitioning are rows, or columns where entries are sorted by column. A part is consecutive entries:
views of the arrays of the whole, and lines counted from its own first one. A line may lie in many parts and belongs to
the one in which it begins. Empty lines belong to the part before them, leading ones to part 0.
Source: MSREP paper, §3.2.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.formats.base import array_module, row_of_entries
from gpu_engine.formats.csc import CscLayout
from gpu_engine.parameters import find_by_name

Axis = Literal["rows", "columns"]


@dataclass(frozen=True, slots=True)
class Partitioning:
    """A way to cut.

    axis        `rows`: a part needs all of x and gives its segment of y, and segments are joined;
                `columns`: a part needs its segment of x and gives all of y, and these are added up
    compressed  whether lines have pointers; else every entry has the number of its line
    arrays      matrix → (major, minor, values) of a StoredMatrix
    """

    name: str
    summary: str
    axis: Axis
    compressed: bool
    arrays: Callable[[CsrMatrix], tuple[Any, Any, Any]]

    def store(self, matrix: CsrMatrix) -> "StoredMatrix":
        """The matrix in the order in which it is cut, on the same device."""
        return StoredMatrix(self, matrix.n_rows, matrix.n_cols, *self.arrays(matrix))


@dataclass(frozen=True, slots=True)
class SharedMatrix:
    """A matrix whose entries are in the order of lines; these are known, wherever the entries are.

    major   compressed: pointers, int32 or int64 [lines + 1]; else the line of each entry, int32 [nnz], ascending
    """

    partitioning: Partitioning
    n_rows: int
    n_cols: int
    major: Any

    @property
    def nnz(self) -> int:
        """Number of entries."""
        return int(self.major[-1]) if self.partitioning.compressed else int(self.major.size)

    @property
    def n_lines(self) -> int:
        """Rows or columns, whichever are cut."""
        return self.n_rows if self.partitioning.axis == "rows" else self.n_cols

    def major_of(self, span: "Span") -> Any:
        """The slice of `major` from which a part makes its own; a view."""
        if self.partitioning.compressed:
            return self.major[span.first : span.stop + 1]
        return self.major[span.start : span.end]

    def part(self, span: "Span", device: Any) -> "Part":
        """The part on its way to a `Device`: where the matrix lies, or on the device itself, which makes it."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class StoredMatrix(SharedMatrix):
    """A matrix whose entries are sorted by line; the arrays lie on the host, possibly memory-mapped, or on one GPU.

    minor   int32 [nnz], the column of each entry where lines are rows, the row where they are columns
    values  float64 [nnz]
    """

    minor: Any
    values: Any

    def part(self, span: "Span", device: Any) -> "Part":  # noqa: ARG002
        """The part where the matrix lies; minor and values are views."""
        return part_of(self, span, localize(self, span))


@dataclass(frozen=True, slots=True)
class Span:
    """Where a part lies: entries start … end − 1 and lines first … stop − 1 of the whole.

    start_flag  whether the first line began in an earlier part
    """

    start: int
    end: int
    first: int
    stop: int
    start_flag: bool

    @property
    def entries(self) -> int:
        """Number of entries."""
        return self.end - self.start

    @property
    def lines(self) -> slice:
        """All lines of the part."""
        return slice(self.first, self.stop)

    @property
    def own(self) -> slice:
        """The lines that begin in the part: each line of the whole is in exactly one."""
        return slice(self.first + self.start_flag, self.stop)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a matrix, its lines counted from span.first; made in O(lines), or in O(entries) without pointers.

    major          compressed: pointers [lines + 1], as wide as the whole's; else int32 [entries], the line of each
    minor, values  int32, float64 [entries]; views of the whole until they are copied to a device
    """

    span: Span
    major: Any
    minor: Any
    values: Any


def localize(stored: SharedMatrix, span: Span) -> Any:
    """`major` of a part, a new array; what is read of a memory-mapped matrix is its slice of `major` alone."""
    raw = stored.major_of(span)
    local = array_module(raw).empty(raw.size, dtype=raw.dtype)
    rewrite(stored.partitioning, span, raw, local)
    return local


def rewrite(partitioning: Partitioning, span: Span, raw: Any, local: Any) -> None:
    """Writes `major` of a part from its slice of the whole's; both arrays lie on one device and may be the same."""
    if partitioning.compressed:
        # Only at a cut line do pointers lie outside the part.
        array_module(raw).clip(raw, span.start, span.end, out=local)
        local -= local.dtype.type(span.start)
    else:
        array_module(raw).subtract(raw, raw.dtype.type(span.first), out=local)


def part_of(stored: StoredMatrix, span: Span, major: Any) -> Part:
    """The part with that `major`; O(1), minor and values are views."""
    return Part(span, major, stored.minor[span.start : span.end], stored.values[span.start : span.end])


def _by_columns(matrix: CsrMatrix) -> tuple[Any, Any, Any]:
    layout = CscLayout.from_csr(matrix)
    return layout.indptr, layout.rows, layout.values


def _columns_and_rows(matrix: CsrMatrix) -> tuple[Any, Any, Any]:
    transposed = CsrMatrix(matrix.n_cols, matrix.n_rows, *_by_columns(matrix))
    return row_of_entries(transposed), transposed.indices, transposed.values


def _rows_and_columns(matrix: CsrMatrix) -> tuple[Any, Any, Any]:
    return row_of_entries(matrix), matrix.indices, matrix.values


PARTITIONINGS: tuple[Partitioning, ...] = (
    Partitioning(
        name="pCSR",
        summary="Consecutive entries of CSR, with row pointers of their own.",
        axis="rows",
        compressed=True,
        arrays=lambda matrix: (matrix.indptr, matrix.indices, matrix.values),
    ),
    Partitioning(
        name="pCSC",
        summary="Consecutive entries of CSC, with column pointers of their own.",
        axis="columns",
        compressed=True,
        arrays=_by_columns,
    ),
    Partitioning(
        name="pCOO",
        summary="Consecutive entries of COO sorted by row.",
        axis="rows",
        compressed=False,
        arrays=_rows_and_columns,
    ),
    Partitioning(
        name="pCOO-columns",
        summary="Consecutive entries of COO sorted by column.",
        axis="columns",
        compressed=False,
        arrays=_columns_and_rows,
    ),
)


def find_partitioning(name: str) -> Partitioning:
    """The partitioning of that name; raises ParameterError naming the known ones."""
    return find_by_name("partitioning", name, {own.name: own for own in PARTITIONINGS}, "known partitionings")
