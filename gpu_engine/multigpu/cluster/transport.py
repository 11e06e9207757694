"""Transports: how vector elements get from the actor that owns them to those that read them (TRANSPORTS).

All actors of a case take part in the same exchanges in the same order. If an actor ends, the others wait, and the
driver ends them. The stream of the endpoint's device orders what is sent and received; other streams are not affected.
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
"""Concurrency group of Ray: a thread of an actor that receives messages while another thread computes."""

INLINE_BYTES = 100 * 2**10
"""Maximum size of a message that is part of a call, in a fifth of the time of the object store.

A larger message goes through the object store, once for all its readers.
"""

Move = tuple[Transfer, Any]
"""Transfer from or to this actor, with the device array of the elements to send, or the buffer that receives them."""


class Mailbox:
    """Messages that an actor has received and not yet read; `deliver` and `take` run in two threads."""

    def __init__(self) -> None:
        self._arrived: dict[tuple[int, int], Any] = {}
        self._changed = threading.Condition()

    def deliver(self, exchange: int, source: int, values: Any) -> None:
        """Store a message of actor `source` for an exchange."""
        with self._changed:
            self._arrived[exchange, source] = values
            self._changed.notify_all()

    def take(self, exchange: int, source: int) -> Any:
        """Wait for the message of actor `source` for an exchange, and return it."""
        key = exchange, source
        with self._changed:
            self._changed.wait_for(lambda: key in self._arrived)
            return self._arrived.pop(key)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One actor of a group that exchanges elements.

    number   rank of the actor and number of its partition
    peers    handles of all actors; `deliver` of each fills its mailbox
    device   device whose stream runs the exchanges
    put      `ray.put`: value → reference to it in the object store
    mailbox  messages for this actor
    """

    number: int
    peers: Sequence[Any]
    device: Device
    put: Callable[[Any], Any]
    mailbox: Mailbox


class Transport(Protocol):
    """Exchanges of one actor with its group.

    ordered  True: streams order the exchanges, so that they can be captured; False: the host waits for other actors
    """

    ordered: bool

    def __init__(self, endpoint: Endpoint, rendezvous_id: Any) -> None: ...

    @staticmethod
    def new_rendezvous_id() -> Any:
        """Return an id that the first actor creates and all actors use to connect."""
        ...

    def exchange(self, moves: Sequence[Move]) -> None:
        """Launch the moves of this actor, which all actors list in the same order.

        It may wait for their completion and for other actors, but not for other streams of the device.
        """
        ...

    def launch(self, moves: Sequence[Move]) -> None:
        """Launch the moves as `exchange` does; if `ordered`, return without waiting.

        Call it only after an exchange with the same actors.
        """
        ...

    def close(self) -> None:
        """Leave the group, as all actors do, after everything in which a launch was captured is freed."""
        ...


class ObjectStore:
    """Transport by Ray calls: owners put slices into the object store, and Ray moves them to the readers.

    It works for all devices; elements on a GPU are copied through the host.
    """

    ordered = False

    def __init__(self, endpoint: Endpoint, rendezvous_id: None) -> None:  # noqa: ARG002
        self._endpoint = endpoint
        self._exchange = 0

    @staticmethod
    def new_rendezvous_id() -> None:
        """Return None, because the actors have handles of each other."""

    def exchange(self, moves: Sequence[Move]) -> None:
        """Send all elements, then receive those of other actors; return when everything has arrived."""
        endpoint = self._endpoint
        self._exchange += 1
        messages: dict[Any, Any] = {}
        for transfer, array in moves:
            if transfer.source == endpoint.number:
                # A slice with several readers is copied only once.
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
        """Exchange the elements; the host waits for the messages."""
        self.exchange(moves)

    def close(self) -> None:
        """Do nothing, because the mailbox ends with the actor."""

    def _message(self, array: Any) -> Any:
        """Return a copy on the host, or a reference to a copy in the object store."""
        host = np.empty(array.size, array.dtype)
        self._endpoint.device.download(array, host)
        self._endpoint.device.synchronize()
        return self._endpoint.put(host) if host.nbytes > INLINE_BYTES else host


class NcclGroup:
    """Transport by NCCL between the memories of GPUs, on the same or different hosts.

    It needs CuPy with NCCL (`nvidia-nccl-cu13` or `-cu12`) on every host, one GPU per process, and open ports between
    the hosts. It uses the binding of CuPy, because `ray.util.collective` supports only tensors of PyTorch. Raises
    DeviceError if NCCL fails.
    """

    ordered = True

    def __init__(self, endpoint: Endpoint, rendezvous_id: Any) -> None:
        """Wait until all actors have joined."""
        from cupy.cuda import nccl

        self._nccl, self._endpoint = nccl, endpoint
        with self._translated():
            endpoint.device.call(self._join, rendezvous_id)

    @staticmethod
    def new_rendezvous_id() -> Any:
        """Return the unique id of the group."""
        from cupy.cuda import nccl

        return nccl.get_unique_id()

    def exchange(self, moves: Sequence[Move]) -> None:
        """Run all moves together on the stream of the device, and wait for them."""
        self.launch(moves)
        with self._translated():
            # CUDA may wait for running work before it loads a kernel, so nothing is launched while waiting for a peer.
            self._endpoint.device.synchronize()

    def launch(self, moves: Sequence[Move]) -> None:
        """Launch all moves together on the stream of the device; a graph can capture them."""
        with self._translated():
            self._endpoint.device.call(self._launch, moves)

    def close(self) -> None:
        """Destroy the communicator; this waits for the other actors."""
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
                f"NCCL failed on {self._endpoint.device.name}: {error}. Set NCCL_DEBUG=WARN for details."
            ) from error


TRANSPORTS: Mapping[TransportName, type[Transport]] = {"object-store": ObjectStore, "nccl": NcclGroup}
