"""Chunk: consecutive entries of a matrix as they are sent to a device, packed or as they are."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.multigpu.partition import Span

WHOLE_COLUMN, WHOLE_VALUE = 4, 8
"""Bytes of what is sent as it is."""

ENTRY_BYTES = WHOLE_COLUMN + WHOLE_VALUE


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive entries of a matrix on the host, as they are sent.

    column_bytes  2 or 3 where columns are offsets; 4: they are sent as they are
    value_bytes   0 where all values are the first of the table, 1 or 2 of a code; 8: they are sent as they are
    packed        uint8, sections one behind the other; empty for a chunk that is sent as it is
    begins        bytes where they begin: bases int32 [stretches]; spares int32 [stretches], −1 or the number
                  of its spare; table float64; codes [entries]; low uint16 [entries], high uint8 [entries] of offsets;
                  spares, each float64 [STRETCH], int32 [STRETCH]: stretches as they are
    """

    span: Span
    column_bytes: int
    value_bytes: int
    packed: Any
    begins: tuple[int, ...]

    @property
    def is_whole(self) -> bool:
        """Whether nothing is packed."""
        return not self.packed.size

    @property
    def nbytes(self) -> int:
        """Bytes that are sent, but for row pointers."""
        return int(self.packed.nbytes) + whole_bytes(self.column_bytes, self.value_bytes) * self.span.entries


def whole_bytes(column_bytes: int, value_bytes: int) -> int:
    """Bytes an entry of what is sent as it is."""
    return (column_bytes == WHOLE_COLUMN) * WHOLE_COLUMN + (value_bytes == WHOLE_VALUE) * WHOLE_VALUE


def whole_chunk(span: Span) -> Chunk:
    """A chunk that is sent as it is."""
    return Chunk(span, WHOLE_COLUMN, WHOLE_VALUE, np.empty(0, np.uint8), (0,) * 7)


@dataclass(frozen=True, slots=True)
class SentChunk:
    """A chunk on a device.

    pointers  int32 or int64 [rows + 1], those of the whole matrix from the chunk's first row on
    packed    uint8, as `Chunk.packed`; columns int32 [entries], values float64 [entries]: where they are sent as they
              are, else empty
    """

    chunk: Chunk
    pointers: Any
    packed: Any
    columns: Any
    values: Any
