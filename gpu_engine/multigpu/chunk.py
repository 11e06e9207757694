"""Chunks: consecutive nonzeros of a matrix in the form in which they are sent to a device, packed or unpacked."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.multigpu.partition import Span

WHOLE_COLUMN, WHOLE_VALUE = 4, 8
"""Bytes of an unpacked column and of an unpacked value."""

ENTRY_BYTES = WHOLE_COLUMN + WHOLE_VALUE
"""Bytes of an unpacked nonzero."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive nonzeros of a matrix on the host, in packing blocks of STRETCH nonzeros.

    column_bytes  2 or 3: columns are offsets; 4: columns are unpacked
    value_bytes   0: all values are the first of the table; 1 or 2: bytes of a code; 8: values are unpacked
    packed        uint8, consecutive sections; empty for an unpacked chunk
    begins        byte offsets of the sections: bases int32 [blocks]; spares int32 [blocks], −1 or the number of the
                  spare block; table float64; codes [nonzeros]; offsets low uint16, high uint8 [nonzeros]; spare blocks,
                  each float64 [STRETCH], int32 [STRETCH]: packing blocks that are sent unpacked
    """

    span: Span
    column_bytes: int
    value_bytes: int
    packed: Any
    begins: tuple[int, ...]

    @property
    def is_whole(self) -> bool:
        """Return whether nothing is packed."""
        return not self.packed.size

    @property
    def nbytes(self) -> int:
        """Return the bytes sent, without row pointers."""
        return int(self.packed.nbytes) + whole_bytes(self.column_bytes, self.value_bytes) * self.span.entries


def whole_bytes(column_bytes: int, value_bytes: int) -> int:
    """Return the bytes per nonzero that are sent unpacked."""
    return (column_bytes == WHOLE_COLUMN) * WHOLE_COLUMN + (value_bytes == WHOLE_VALUE) * WHOLE_VALUE


def whole_chunk(span: Span) -> Chunk:
    """Return an unpacked chunk."""
    return Chunk(span, WHOLE_COLUMN, WHOLE_VALUE, np.empty(0, np.uint8), (0,) * 7)


@dataclass(frozen=True, slots=True)
class SentChunk:
    """Chunk on a device.

    pointers         int32 or int64 [rows + 1], row pointers of the whole matrix from the first row of the chunk
    packed           uint8, copy of `Chunk.packed`
    columns, values  int32, float64 [nonzeros] if they are sent unpacked, otherwise empty
    """

    chunk: Chunk
    pointers: Any
    packed: Any
    columns: Any
    values: Any
