"""Reader: the interface of readers of matrix files, their limits, and their result."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from gpu_engine.csr_matrix import INDEX_LIMIT, CsrMatrix
from gpu_engine.errors import MatrixFileError, TooLargeError, quote
from gpu_engine.matrix_io.options import ReadOptions

GIB = 2**30
MIB = 2**20


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Limits of a file, above which a reader raises TooLargeError.

    decompressed_bytes  size after decompression
    nnz_max             nonzeros of the matrix, symmetric halves expanded
    ratio               decompressed bytes per compressed byte, checked after `ratio_after_bytes`
    line_bytes          length of a line, except comments
    comment_bytes       total length of the comments before the entries
    dimension_free      rows or columns that any file may declare
    dimension_per_entry beyond that, rows or columns per declared entry: a short file must not cost gigabytes
    """

    decompressed_bytes: int = 16 * GIB
    nnz_max: int = 500_000_000
    ratio: int = 200
    ratio_after_bytes: int = 64 * MIB
    line_bytes: int = 4096
    comment_bytes: int = 64 * MIB
    dimension_free: int = 10_000_000
    dimension_per_entry: int = 256


@dataclass(frozen=True, slots=True)
class ReadResult:
    """A matrix from a file.

    notes       sentences for the user: what was summed, mirrored, or omitted
    duplicates  entries of the file that were added to an earlier one of the same row and column
    """

    matrix: CsrMatrix
    notes: tuple[str, ...] = ()
    duplicates: int = 0


class Reader(Protocol):
    """A reader of a file format, which is recognized by content, never by the file name."""

    name: str

    def recognizes(self, head: bytes) -> bool:
        """Return whether a file has this format, by the begin of its decompressed content."""
        ...

    def leaves_open(self, head: bytes) -> tuple[str, ...]:
        """Return the fields of ReadOptions that apply to a file with this head."""
        ...

    def with_options(self, options: ReadOptions) -> "Reader":
        """Return the reader with these options."""
        ...

    def refusal(self, head: bytes) -> MatrixFileError | None:
        """Return the error of a file whose required options are missing, with a hint; None if it is complete."""
        ...

    def read(self, path: Path, limits: ReadLimits) -> ReadResult:
        """Return the matrix of the file; raises TooLargeError or MatrixFileError, with a hint for missing options."""
        ...


class Complete:
    """Base class of readers whose files need no options."""

    def leaves_open(self, head: bytes) -> tuple[str, ...]:  # noqa: ARG002
        """Return (): no option applies."""
        return ()

    def with_options(self, options: ReadOptions) -> Self:  # noqa: ARG002
        """Return this reader, because no option applies."""
        return self

    def refusal(self, head: bytes) -> MatrixFileError | None:  # noqa: ARG002
        """Return None: no option is required."""
        return None


def check_shape(n_rows: int, n_cols: int, entries: int, limits: ReadLimits, the: str = "The") -> None:
    """Raise TooLargeError for too many rows or columns for `entries` entries; `the` begins the sentence."""
    longest = max(n_rows, n_cols)
    shape = f"{the} matrix is {quote(n_rows)} × {quote(n_cols)}"
    if longest > INDEX_LIMIT:
        raise TooLargeError(f"{shape}; at most {INDEX_LIMIT} rows and columns fit 32-bit indices.")
    if longest > max(limits.dimension_free, limits.dimension_per_entry * entries):
        raise TooLargeError(
            f"{shape} with {entries} entries; above {limits.dimension_free} rows or columns, a matrix needs one "
            f"entry per {limits.dimension_per_entry} of them."
        )
