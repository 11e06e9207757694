"""Moves: what one member of a group sends and takes in an exchange, in fp64 or of segments the first k alone.

Source of the layout of segments: CPMS PageRank paper, §IV.A.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.cluster.transport import Move
from gpu_engine.multigpu.exchange import Transfer
from gpu_engine.multigpu.fetches import Outbox

ANYONE = -1
"""The target of what several may take."""


class Moves:
    """The same transfers again and again; room for what is packed, or arrives packed, is allocated once.

    A range in fp64 goes from where it lies to where it belongs. Segments cross packed, and so does a list.
    """

    def __init__(self, stream: Device, number: int, transfers: Sequence[Transfer], segments: int = 0) -> None:
        """The transfers that begin or end at the member of that number, in one order for the whole group.

        stream    that of its exchanges
        segments  of a value, 0 for vectors that are in fp64 throughout
        """
        self._stream, self._transfers, self._segments = stream, tuple(transfers), segments
        self._pieces = {each: _piece(each) if segments else each for each in transfers if each.source == number}
        self._outbox = Outbox(stream, tuple(dict.fromkeys(self._pieces.values())))
        self._inboxes = {
            each: stream.allocate(each.elements if segments else 0, np.float64)
            for each in transfers
            if each.target == number
        }

    def pack(self, vector: Any, target: Any, k: int | None = None) -> list[Move]:
        """What a transport is given for elements of `vector` to go to `target`; launches the packing of some.

        k  of segments the first, which `unpack` takes apart; None: fp64
        """
        packed: dict[Transfer, Any] = {}
        moves = []
        for each in self._transfers:
            if each in self._inboxes:
                moves.append((each, target[each.here] if k is None else self._inbox(each, target, k)))
                continue
            piece = each if k is None else self._pieces[each]
            if piece not in packed:
                packed[piece] = self._outbox.sent(piece, vector, k)
            moves.append((each, packed[piece]))
        return moves

    def unpack(self, target: Any, k: int | None = None) -> None:
        """Launches the unpacking of what has arrived in segments."""
        if k is None:
            return
        for each in self._inboxes:
            self._stream.call(self._stream.operations.unpack, self._inbox(each, target, k), each.here, k, target)

    def _inbox(self, transfer: Transfer, target: Any, k: int) -> Any:
        return self._inboxes[transfer].view(target.units.dtype)[: k * transfer.elements]


def _piece(transfer: Transfer) -> Transfer:
    """What is packed: a range once, whoever takes it."""
    if transfer.positions is not None:
        return transfer
    positions = np.arange(transfer.begin, transfer.end, dtype=np.int32)
    return replace(transfer, target=ANYONE, place=0, positions=positions)
