"""ChunkProducts of a simulated device: one thread without the interpreter lock."""

from typing import Any

import numpy as np

from gpu_engine.host.jit import numba
from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.chunk import SentChunk
from gpu_engine.multigpu.chunk_packing import STRETCH


def room(_device: Device, _chunk_entries: int, _pointer: Any) -> None:
    """Return None, because a CPU needs no workspace."""


def multiply(sent: SentChunk, _room: None, x: Any, y: Any, share: Any) -> None:
    """Multiply row by row, each in the order of its nonzeros."""
    chunk, packed = sent.chunk, sent.packed
    bases, spares, table, codes, low, high, spare = map(slice, chunk.begins, (*chunk.begins[1:], packed.size))
    code = np.uint16 if chunk.value_bytes == 2 else np.uint8
    _rows(
        *(sent.pointers, chunk.span.start, chunk.span.end, chunk.column_bytes, chunk.value_bytes),
        *(sent.columns, sent.values, packed[bases].view(np.int32), packed[spares].view(np.int32)),
        *(packed[table].view(np.float64), packed[codes].view(code), packed[low].view(np.uint16), packed[high]),
        *(packed[spare].view(np.float64), packed[spare].view(np.int32), x, y, share),
    )


def mark(device: Device) -> Any:
    """Return the event of the work launched last."""
    return device.record_event()


def wait(event: Any) -> None:
    """Wait for an event; errors of the work are raised by `Device.synchronize`."""
    event.exception()


@numba.njit(cache=True, nogil=True)
def _rows(
    indptr: Any,
    start: int,
    end: int,
    column_bytes: int,
    value_bytes: int,
    columns: Any,
    values: Any,
    bases: Any,
    spares: Any,
    table: Any,
    codes: Any,
    low: Any,
    high: Any,
    spare_values: Any,
    spare_columns: Any,
    x: Any,
    y: Any,
    share: Any,
) -> None:
    for row in range(indptr.size - 1):
        total = 0.0
        for number in range(max(indptr[row], start), min(indptr[row + 1], end)):
            entry = number - start
            # A spare block has its values first, then its columns: 12 bytes per nonzero.
            slot = spares[entry // STRETCH] if spares.size else -1
            if column_bytes == 4:
                column = np.int64(columns[entry])
            elif slot >= 0:
                column = np.int64(spare_columns[slot * STRETCH * 3 + STRETCH * 2 + entry % STRETCH])
            elif column_bytes == 3:
                column = bases[entry // STRETCH] + np.int64(low[entry]) + (np.int64(high[entry]) << 16)
            else:
                column = np.int64(bases[entry // STRETCH]) + np.int64(low[entry])
            if value_bytes == 8:
                value = values[entry]
            elif slot >= 0:
                # In units of 8-byte values, a spare block of 12 bytes per nonzero has a length of 1.5 STRETCH.
                value = spare_values[slot * STRETCH * 3 // 2 + entry % STRETCH]
            elif value_bytes == 0:
                value = table[0]
            else:
                value = table[np.int64(codes[entry])]
            total += value * x[column]
        if row == 0 and indptr[0] < start:
            share[0] = total
        else:
            y[row] = total
