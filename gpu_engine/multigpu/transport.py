"""TRANSPORTS: how elements of a vector get from the process that owns them to those that read them.

All members of a group come to the same exchanges, one after the other. A member that is gone lets the others wait:
whoever started them sees its end and ends them too. What is sent and where it arrives is ordered by the stream of the
device at a member's seat alone: other streams go on beside it.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from gpu_engine.errors import DeviceError
from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.exchange import Transfer

TransportName = Literal["object-store", "nccl"]

MAIL = "mail"
"""The thread of an actor in which messages arrive while another one computes."""

INLINE_BYTES = 100 * 2**10
"""What is larger goes through the object store, once for all its readers; Ray carries the rest in the call itself, in a
fifth of the time.
"""

Move = tuple[Transfer, Any]
"""A transfer that begins or ends here, and the elements on the device of this member: those sent, or room for them."""


class Mailbox:
    """What others have sent to an actor and it has not yet taken; `deliver` and `take` are called in two threads."""

    def __init__(self) -> None:
        self._arrived: dict[tuple[int, int], Any] = {}
        self._changed = threading.Condition()

    def deliver(self, exchange: int, source: int, values: Any) -> None:
        """Keeps what member `source` has sent for an exchange."""
        with self._changed:
            self._arrived[exchange, source] = values
            self._changed.notify_all()

    def take(self, exchange: int, source: int) -> Any:
        """What that member has sent for that exchange; waits for it."""
        key = exchange, source
        with self._changed:
            self._changed.wait_for(lambda: key in self._arrived)
            return self._arrived.pop(key)


@dataclass(frozen=True, slots=True)
class Seat:
    """Where a member sits.

    number   of this member, which is that of its part
    peers    the actors of all members; `deliver` of each fills its mailbox
    device   in whose stream the exchanges go on
    put      what `ray.put` does: a value → a reference to it in the object store
    mailbox  of its actor
    """

    number: int
    peers: Sequence[Any]
    device: Device
    put: Callable[[Any], Any]
    mailbox: Mailbox


class Transport(Protocol):
    """One member's end of the exchanges of a group."""

    def __init__(self, seat: Seat, invitation: Any) -> None: ...

    @staticmethod
    def invite() -> Any:
        """What the first member makes and all members need, to find each other."""
        ...

    def exchange(self, moves: Sequence[Move]) -> None:
        """Launches the moves of this member, which are in one order for all of the group.

        It may wait until they are done, and so for other members, but for no other stream of the device.
        """
        ...


class ObjectStore:
    """By calls of Ray: owners put slices into its object store, and Ray moves them to the readers of the references.

    For devices of any kind; what lies on a GPU goes by way of the host.
    """

    def __init__(self, seat: Seat, invitation: None) -> None:  # noqa: ARG002
        self._seat = seat
        self._exchange = 0

    @staticmethod
    def invite() -> None:
        """Nothing: the members have each other's handles."""

    def exchange(self, moves: Sequence[Move]) -> None:
        """Sends everything, then takes what others have sent; returns when all of it is there."""
        seat = self._seat
        self._exchange += 1
        messages: dict[tuple[int, int], Any] = {}
        for transfer, array in moves:
            if transfer.source == seat.number:
                # A slice that several read is copied once.
                key = transfer.begin, transfer.end
                if key not in messages:
                    messages[key] = self._message(array)
                peer = seat.peers[transfer.target]
                peer.deliver.options(concurrency_group=MAIL).remote(self._exchange, seat.number, messages[key])
        for transfer, array in moves:
            if transfer.target == seat.number:
                values = seat.mailbox.take(self._exchange, transfer.source)
                seat.device.upload(values, array)
                seat.device.synchronize()

    def _message(self, array: Any) -> Any:
        """A copy on the host, or the reference to one in the object store."""
        host = np.empty(array.size, array.dtype)
        self._seat.device.download(array, host)
        self._seat.device.synchronize()
        return self._seat.put(host) if host.nbytes > INLINE_BYTES else host


class NcclGroup:
    """Between GPUs of any hosts by NCCL, from memory to memory.

    Needs CuPy with NCCL (`nvidia-nccl-cu13` or `-cu12`) on every host, one GPU to a process, and ports that the hosts
    reach each other by. CuPy's own binding: `ray.util.collective` sends and receives tensors of Torch alone. Raises
    DeviceError where NCCL fails.
    """

    def __init__(self, seat: Seat, invitation: Any) -> None:
        """Waits until all members are there."""
        from cupy.cuda import nccl

        self._nccl, self._seat = nccl, seat
        with self._translated():
            seat.device.call(self._join, invitation)

    @staticmethod
    def invite() -> Any:
        """The unique id of the group."""
        from cupy.cuda import nccl

        return nccl.get_unique_id()

    def exchange(self, moves: Sequence[Move]) -> None:
        """All moves at once on the stream of the device; returns when they are done."""
        with self._translated():
            self._seat.device.call(self._launch, moves)
            # CUDA may wait for all that runs before it loads a kernel: nothing is launched while a peer is awaited.
            self._seat.device.synchronize()

    def _join(self, invitation: Any) -> None:
        self._communicator = self._nccl.NcclCommunicator(len(self._seat.peers), invitation, self._seat.number)

    def _launch(self, moves: Sequence[Move]) -> None:
        import cupy

        stream, double = cupy.cuda.get_current_stream().ptr, self._nccl.NCCL_FLOAT64
        self._nccl.groupStart()
        for transfer, array in moves:
            if transfer.source == self._seat.number:
                self._communicator.send(array.data.ptr, array.size, double, transfer.target, stream)
            else:
                self._communicator.recv(array.data.ptr, array.size, double, transfer.source, stream)
        self._nccl.groupEnd()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except self._nccl.NcclError as error:
            raise DeviceError(
                f"NCCL failed on {self._seat.device.name}: {error}. NCCL_DEBUG=WARN says more."
            ) from error


TRANSPORTS: Mapping[TransportName, type[Transport]] = {"object-store": ObjectStore, "nccl": NcclGroup}
