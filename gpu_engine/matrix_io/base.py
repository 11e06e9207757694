"""What every reader of matrix files shares: its limits, its result and its contract."""

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
    """How much a file may cost before it is refused with a TooLargeError.

    decompressed_bytes  size after decompression
    nnz_max             nonzeros of the matrix, symmetric halves expanded
    ratio               decompressed bytes per compressed byte, once `ratio_after_bytes` have come out
    line_bytes          length of one line that is no comment
    comment_bytes       all comments before the entries together
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
    """A matrix that was read.

    notes       sentences for people: what was summed, mirrored or left out
    duplicates  entries of the file that were added to an earlier one of the same row and column
    """

    matrix: CsrMatrix
    notes: tuple[str, ...] = ()
    duplicates: int = 0


class Reader(Protocol):
    """A file format: decided by content, never by the file's name."""

    name: str

    def recognises(self, head: bytes) -> bool:
        """Whether a file whose decompressed content begins so is of this format."""
        ...

    def leaves_open(self, head: bytes) -> tuple[str, ...]:
        """Which fields of ReadOptions a file of this format that begins so leaves to its sender."""
        ...

    def told(self, options: ReadOptions) -> "Reader":
        """The reader that reads what is left open so."""
        ...

    def refusal(self, head: bytes) -> MatrixFileError | None:
        """The error of a file that begins so while what it leaves open is not said; its hint asks for that."""
        ...

    def read(self, path: Path, limits: ReadLimits) -> ReadResult:
        """The matrix of the file; raises TooLargeError, and MatrixFileError, whose hint asks for what is left open."""
        ...


class Complete:
    """What readers share whose files say everything themselves."""

    def leaves_open(self, head: bytes) -> tuple[str, ...]:  # noqa: ARG002
        """Nothing."""
        return ()

    def told(self, options: ReadOptions) -> Self:  # noqa: ARG002
        """The same reader."""
        return self

    def refusal(self, head: bytes) -> MatrixFileError | None:  # noqa: ARG002
        """None: nothing has to be said."""
        return None


def check_shape(n_rows: int, n_cols: int, entries: int, limits: ReadLimits, the: str = "The") -> None:
    """Raises TooLargeError for more rows or columns than so many entries may have; `the` begins the sentence."""
    longest = max(n_rows, n_cols)
    shape = f"{the} matrix is {quote(n_rows)} × {quote(n_cols)}"
    if longest > INDEX_LIMIT:
        raise TooLargeError(f"{shape}; at most {INDEX_LIMIT} rows and columns fit 32-bit indices.")
    if longest > max(limits.dimension_free, limits.dimension_per_entry * entries):
        raise TooLargeError(
            f"{shape} with {entries} entries; beyond {limits.dimension_free} rows or columns a matrix needs an "
            f"entry for every {limits.dimension_per_entry} of them."
        )
