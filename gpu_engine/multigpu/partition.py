"""Partitionings of a matrix, one partition per device: pCSR, pCSC, and pCOO of the MSREP paper (PARTITIONINGS).

The lines of a partitioning are rows, or columns if the nonzeros are sorted by column. A partition has consecutive
nonzeros, as views of the arrays of the matrix, and counts lines from its first one. A line can lie in several
partitions; it belongs to the one in which it starts. Empty lines belong to the partition before them, leading empty
lines to partition 0. Source: MSREP paper, §3.2.
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
    """Rule that divides a matrix among devices.

    axis        `rows`: a partition needs all of x and computes its segment of y; segments are concatenated.
                `columns`: a partition needs its segment of x and computes all of y; results are added
    compressed  True: lines have pointers; False: every nonzero stores the number of its line
    arrays      function matrix → (major, minor, values) of a StoredMatrix
    """

    name: str
    summary: str
    axis: Axis
    compressed: bool
    arrays: Callable[[CsrMatrix], tuple[Any, Any, Any]]

    def store(self, matrix: CsrMatrix) -> "StoredMatrix":
        """Return the matrix in the order of this partitioning, on the same device."""
        return StoredMatrix(self, matrix.n_rows, matrix.n_cols, *self.arrays(matrix))


@dataclass(frozen=True, slots=True)
class SharedMatrix:
    """Matrix with its nonzeros in the order of lines, of which only the lines need to be in memory.

    major   compressed: pointers, int32 or int64 [lines + 1]; otherwise the line of each nonzero, int32 [nnz], ascending
    """

    partitioning: Partitioning
    n_rows: int
    n_cols: int
    major: Any

    @property
    def nnz(self) -> int:
        """Return the number of nonzeros."""
        return int(self.major[-1]) if self.partitioning.compressed else int(self.major.size)

    @property
    def n_lines(self) -> int:
        """Return the number of lines: rows or columns, depending on the axis."""
        return self.n_rows if self.partitioning.axis == "rows" else self.n_cols

    def major_of(self, span: "Span") -> Any:
        """Return a view of the elements of `major` that belong to a partition."""
        if self.partitioning.compressed:
            return self.major[span.first : span.stop + 1]
        return self.major[span.start : span.end]

    def part(self, span: "Span", device: Any) -> "Part":
        """Return a partition for a `Device`: in the memory of the matrix, or on the device that generates it."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class StoredMatrix(SharedMatrix):
    """Matrix sorted by line; the arrays lie on the host, possibly memory-mapped, or on one GPU.

    minor   int32 [nnz], column of each nonzero if lines are rows, row if lines are columns
    values  float64 [nnz]
    """

    minor: Any
    values: Any

    def part(self, span: "Span", device: Any) -> "Part":  # noqa: ARG002
        """Return a partition in the memory of the matrix; minor and values are views."""
        return part_of(self, span, localize(self, span))


@dataclass(frozen=True, slots=True)
class Span:
    """Position of a partition: nonzeros start … end − 1 and lines first … stop − 1 of the matrix.

    start_flag  whether the first line starts in an earlier partition
    """

    start: int
    end: int
    first: int
    stop: int
    start_flag: bool

    @property
    def entries(self) -> int:
        """Return the number of nonzeros."""
        return self.end - self.start

    @property
    def lines(self) -> slice:
        """Return all lines of the partition."""
        return slice(self.first, self.stop)

    @property
    def owned(self) -> slice:
        """Return the lines that start in the partition; exactly one partition owns each line of the matrix."""
        return slice(self.first + self.start_flag, self.stop)


@dataclass(frozen=True, slots=True)
class Part:
    """Partition of a matrix with lines counted from span.first, built in O(lines), or O(nonzeros) without pointers.

    major          compressed: pointers [lines + 1] with the dtype of the matrix; otherwise int32 [nonzeros], the lines
    minor, values  int32, float64 [nonzeros]; views of the matrix until they are copied to a device
    """

    span: Span
    major: Any
    minor: Any
    values: Any


def localize(stored: SharedMatrix, span: Span) -> Any:
    """Return `major` of a partition as a new array; of a memory-mapped matrix, only its slice of `major` is read."""
    raw = stored.major_of(span)
    local = array_module(raw).empty(raw.size, dtype=raw.dtype)
    rewrite(stored.partitioning, span, raw, local)
    return local


def rewrite(partitioning: Partitioning, span: Span, raw: Any, local: Any) -> None:
    """Write `major` of a partition from its slice of `major` of the matrix; both may be the same array of a device."""
    if partitioning.compressed:
        # Pointers lie outside the partition only at a cut line.
        array_module(raw).clip(raw, span.start, span.end, out=local)
        local -= local.dtype.type(span.start)
    else:
        array_module(raw).subtract(raw, raw.dtype.type(span.first), out=local)


def part_of(stored: StoredMatrix, span: Span, major: Any) -> Part:
    """Return the partition with the given `major` in O(1); minor and values are views."""
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
        summary="Consecutive nonzeros of CSR, with local row pointers.",
        axis="rows",
        compressed=True,
        arrays=lambda matrix: (matrix.indptr, matrix.indices, matrix.values),
    ),
    Partitioning(
        name="pCSC",
        summary="Consecutive nonzeros of CSC, with local column pointers.",
        axis="columns",
        compressed=True,
        arrays=_by_columns,
    ),
    Partitioning(
        name="pCOO",
        summary="Consecutive nonzeros of COO sorted by row.",
        axis="rows",
        compressed=False,
        arrays=_rows_and_columns,
    ),
    Partitioning(
        name="pCOO-columns",
        summary="Consecutive nonzeros of COO sorted by column.",
        axis="columns",
        compressed=False,
        arrays=_columns_and_rows,
    ),
)


def find_partitioning(name: str) -> Partitioning:
    """Return a partitioning by name; raise ParameterError listing the known ones."""
    by_name = {partitioning.name: partitioning for partitioning in PARTITIONINGS}
    return find_by_name("partitioning", name, by_name, "known partitionings")
