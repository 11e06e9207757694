"""Transfers of one actor in an exchange: vector elements in fp64, or only the leading k segments of them.

Source of the layout of segments: CPMS PageRank paper, §IV.A.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.cluster.transport import Move
from gpu_engine.multigpu.exchange import Transfer
from gpu_engine.multigpu.peer_copies import SendBuffer

ANYONE = -1
"""Target of a packed piece that several actors receive."""


class HaloTransfers:
    """Repeated transfers of one actor; buffers for packed elements are allocated once.

    A range in fp64 is sent directly from vector to vector. Segments and lists of elements are sent packed.
    """

    def __init__(self, stream: Device, number: int, transfers: Sequence[Transfer], segments: int = 0) -> None:
        """Allocate the buffers for the transfers from and to actor `number`, in the same order for all actors.

        stream    stream of the exchanges
        segments  segments per value; 0: the vectors are always in fp64
        """
        self._stream, self._transfers, self._segments = stream, tuple(transfers), segments
        outgoing = [transfer for transfer in transfers if transfer.source == number]
        self._pieces = {transfer: _packed_piece(transfer) if segments else transfer for transfer in outgoing}
        self._send_buffer = SendBuffer(stream, tuple(dict.fromkeys(self._pieces.values())))
        self._receive_buffers = {
            transfer: stream.allocate(transfer.elements if segments else 0, np.float64)
            for transfer in transfers
            if transfer.target == number
        }

    def pack(self, vector: Any, target: Any, k: int | None = None) -> list[Move]:
        """Return the moves for a transport, from `vector` to `target`, and launch the packing.

        k  number of leading segments, which `unpack` writes to the target; None: fp64
        """
        packed: dict[Transfer, Any] = {}
        moves = []
        for transfer in self._transfers:
            if transfer in self._receive_buffers:
                array = target[transfer.here] if k is None else self._receive_buffer(transfer, target, k)
                moves.append((transfer, array))
                continue
            piece = transfer if k is None else self._pieces[transfer]
            if piece not in packed:
                packed[piece] = self._send_buffer.elements(piece, vector, k)
            moves.append((transfer, packed[piece]))
        return moves

    def unpack(self, target: Any, k: int | None = None) -> None:
        """Launch the unpacking of received segments; do nothing for fp64."""
        if k is None:
            return
        for transfer in self._receive_buffers:
            units = self._receive_buffer(transfer, target, k)
            self._stream.call(self._stream.operations.unpack, units, transfer.here, k, target)

    def _receive_buffer(self, transfer: Transfer, target: Any, k: int) -> Any:
        return self._receive_buffers[transfer].view(target.units.dtype)[: k * transfer.elements]


def _packed_piece(transfer: Transfer) -> Transfer:
    """Return the piece to pack; equal ranges for several targets become one piece, which is packed once."""
    if transfer.positions is not None:
        return transfer
    positions = np.arange(transfer.begin, transfer.end, dtype=np.int32)
    return replace(transfer, target=ANYONE, place=0, positions=positions)
