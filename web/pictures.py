"""Structure pictures, which the server computes when it reads a matrix; pages and figures never read its values."""

from collections.abc import Sequence
from dataclasses import dataclass

from gpu_engine.errors import NotFoundError
from server.models import MatrixRow
from server.store import Store


@dataclass(frozen=True, slots=True)
class Picture:
    """The structure of a matrix of n_rows × n_cols.

    spy          nonzeros per cell [row][column]
    row_lengths  (shortest, longest, rows) per bin, the first one not empty
    notes        messages of the file reader
    """

    spy: Sequence[Sequence[int]]
    row_lengths: tuple[tuple[int, int, int], ...]
    n_rows: int
    n_cols: int
    notes: tuple[str, ...]


def picture(store: Store, row: MatrixRow) -> Picture | None:
    """Return the picture of a matrix; None if its values are not on this server."""
    try:
        meta = store.meta(row.id)
    except NotFoundError:
        return None
    bins = [(int(low), int(high), int(rows)) for low, high, rows in meta["row_lengths"]]
    while bins and bins[0][2] == 0:
        bins.pop(0)
    return Picture(meta["spy"], tuple(bins), row.n_rows, row.n_cols, tuple(meta.get("notes", ())))


def bin_label(low: int, high: int) -> str:
    """Return a range of row lengths as text."""
    return str(low) if low == high else f"{low}–{high}"
