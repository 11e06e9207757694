"""TRANSPORTS: how elements of a vector get from the process that owns them to those that read them.

All members of a group come to the same exchanges, one after the other. A member that is gone lets the others wait:
whoever started them sees its end and ends them too. What is sent and where it arrives is ordered by the stream of the
device at a member's endpoint alone: other streams go on beside it.
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

MESSAGES = "messages"
"""The concurrency group of Ray, a thread of an actor, in which messages arrive while another one computes."""

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
class Endpoint:
    """One member of a group.

    number   of the member, its rank in MPI and NCCL, and that of its part
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
    """One member's end of the exchanges of a group.

    ordered  whether streams alone order what is launched, so that it can be captured; else the host waits for others
    """

    ordered: bool

    def __init__(self, endpoint: Endpoint, rendezvous_id: Any) -> None: ...

    @staticmethod
    def new_rendezvous_id() -> Any:
        """What the first member makes and all members need, to find each other."""
        ...

    def exchange(self, moves: Sequence[Move]) -> None:
        """Launches the moves of this member, which are in one order for all of the group.

        It may wait until they are done, and so for other members, but for no other stream of the device.
        """
        ...

    def launch(self, moves: Sequence[Move]) -> None:
        """The same without waiting, where it is `ordered`: only once an exchange with these members is behind it."""
        ...

    def close(self) -> None:
        """Leaves the group, as all of its members do, once nothing is left in which a launch was captured."""
        ...


class ObjectStore:
    """By calls of Ray: owners put slices into its object store, and Ray moves them to the readers of the references.

    For devices of any kind; what lies on a GPU goes by way of the host.
    """

    ordered = False

    def __init__(self, endpoint: Endpoint, rendezvous_id: None) -> None:  # noqa: ARG002
        self._endpoint = endpoint
        self._exchange = 0

    @staticmethod
    def new_rendezvous_id() -> None:
        """Nothing: the members have each other's handles."""

    def exchange(self, moves: Sequence[Move]) -> None:
        """Sends everything, then takes what others have sent; returns when all of it is there."""
        endpoint = self._endpoint
        self._exchange += 1
        messages: dict[Any, Any] = {}
        for transfer, array in moves:
            if transfer.source == endpoint.number:
                # A slice that several read is copied once.
                key = (transfer.begin, transfer.end) if transfer.positions is None else transfer
                if key not in messages:
                    messages[key] = self._message(array)
                peer = endpoint.peers[transfer.target]
                peer.deliver.options(concurrency_group=MESSAGES).remote(self._exchange, endpoint.number, messages[key])
        for transfer, array in moves:
            if transfer.target == endpoint.number:
                values = endpoint.mailbox.take(self._exchange, transfer.source)
                endpoint.device.upload(values, array)
                endpoint.device.synchronize()

    def launch(self, moves: Sequence[Move]) -> None:
        """The exchange: messages arrive on the host, which waits for them."""
        self.exchange(moves)

    def close(self) -> None:
        """Nothing: messages are taken or go with the member."""

    def _message(self, array: Any) -> Any:
        """A copy on the host, or the reference to one in the object store."""
        host = np.empty(array.size, array.dtype)
        self._endpoint.device.download(array, host)
        self._endpoint.device.synchronize()
        return self._endpoint.put(host) if host.nbytes > INLINE_BYTES else host


class NcclGroup:
    """Between GPUs of any hosts by NCCL, from memory to memory.

    Needs CuPy with NCCL (`nvidia-nccl-cu13` or `-cu12`) on every host, one GPU to a process, and ports that the hosts
    reach each other by. CuPy's own binding: `ray.util.collective` sends and receives tensors of Torch alone. Raises
    DeviceError where NCCL fails.
    """

    ordered = True

    def __init__(self, endpoint: Endpoint, rendezvous_id: Any) -> None:
        """Waits until all members are there."""
        from cupy.cuda import nccl

        self._nccl, self._endpoint = nccl, endpoint
        with self._translated():
            endpoint.device.call(self._join, rendezvous_id)

    @staticmethod
    def new_rendezvous_id() -> Any:
        """The unique id of the group."""
        from cupy.cuda import nccl

        return nccl.get_unique_id()

    def exchange(self, moves: Sequence[Move]) -> None:
        """All moves at once on the stream of the device; returns when they are done."""
        self.launch(moves)
        with self._translated():
            # CUDA may wait for all that runs before it loads a kernel: nothing is launched while a peer is awaited.
            self._endpoint.device.synchronize()

    def launch(self, moves: Sequence[Move]) -> None:
        """All moves at once on the stream of the device, possibly into a graph."""
        with self._translated():
            self._endpoint.device.call(self._launch, moves)

    def close(self) -> None:
        """Ends the communicator; waits for the others."""
        with self._translated():
            self._endpoint.device.call(self._communicator.destroy)

    def _join(self, rendezvous_id: Any) -> None:
        self._communicator = self._nccl.NcclCommunicator(
            len(self._endpoint.peers), rendezvous_id, self._endpoint.number
        )

    def _launch(self, moves: Sequence[Move]) -> None:
        import cupy

        stream, byte = cupy.cuda.get_current_stream().ptr, self._nccl.NCCL_INT8
        self._nccl.groupStart()
        for transfer, array in moves:
            if transfer.source == self._endpoint.number:
                self._communicator.send(array.data.ptr, array.nbytes, byte, transfer.target, stream)
            else:
                self._communicator.recv(array.data.ptr, array.nbytes, byte, transfer.source, stream)
        self._nccl.groupEnd()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except self._nccl.NcclError as error:
            raise DeviceError(
                f"NCCL failed on {self._endpoint.device.name}: {error}. NCCL_DEBUG=WARN says more."
            ) from error


TRANSPORTS: Mapping[TransportName, type[Transport]] = {"object-store": ObjectStore, "nccl": NcclGroup}
