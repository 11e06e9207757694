"""Members that iterate products on parts with cut rows: their two streams in every order in which they may run."""

import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.multigpu.cluster import ClusterMatrix
from gpu_engine.multigpu.cluster.actor_pool import Cluster, open_actor_pool
from gpu_engine.multigpu.cluster.product import ProductMember
from gpu_engine.multigpu.cluster.transport import TRANSPORTS, Endpoint, Move
from gpu_engine.multigpu.cut import cut_by_entries
from gpu_engine.multigpu.exchange import SUMS, ExchangeName, Transfer
from gpu_engine.multigpu.partition import find_partitioning
from gpu_engine.multigpu.placement import find_places
from tests.battery import coo
from tests.gpu_engine.multigpu.cluster.thread_ray import ThreadRay
from tests.gpu_engine.multigpu.devices import LoggingDevice
from tests.gpu_engine.multigpu.scheduled import Order, ScheduledDevice, seeds
from tests.gpu_engine.multigpu.stored import stored
from tests.gpu_engine.multigpu.test_exchange import ORDERED, iterated, overlaps

PATIENCE_S = 60.0


class HeldOrder(Order):
    """While it is held no stream goes on, and nobody waits for one."""

    held = False

    def device(self, name: str) -> "HeldDevice":
        return HeldDevice(name, order=self)


class HeldDevice(ScheduledDevice):
    order: HeldOrder

    def copy_stream(self) -> ScheduledDevice:
        if not isinstance(self._copy_stream, HeldDevice):
            self._copy_stream = HeldDevice(self.name, self.node, order=self.order)
        return self._copy_stream

    def synchronize(self) -> None:
        if not self.order.held:
            super().synchronize()


class StreamTransport:
    """As NCCL does it: a transfer is done when the streams of both ends have come to it; no host waits."""

    ordered = True

    def __init__(self, endpoint: Endpoint, rendezvous_id: Any) -> None:
        self.endpoint, self.ends, self.exchanges = endpoint, rendezvous_id, 0

    @staticmethod
    def new_rendezvous_id() -> dict[tuple[int, Transfer], tuple[Future[Any], Future[None]]]:
        """Of each transfer: the room that its target has for it, and that it is done."""
        return {}

    def exchange(self, moves: list[Move]) -> None:
        device, number = self.endpoint.device, self.endpoint.number
        self.exchanges += 1
        ends = [
            (transfer, array, *self.ends.setdefault((self.exchanges, transfer), (Future(), Future())))
            for transfer, array in moves
        ]
        for transfer, array, room, _ in ends:
            if transfer.target == number:
                device.call(room.set_result, array)
        for transfer, array, room, done in ends:
            if transfer.source == number:
                device.wait_event(room)
                device.call(send, array, room, done)
        for transfer, _, _, done in ends:
            if transfer.target == number:
                device.wait_event(done)

    def launch(self, moves: list[Move]) -> None:
        self.exchange(moves)

    def close(self) -> None:
        pass


def send(array: Any, room: Future[Any], done: Future[None]) -> None:
    np.copyto(room.result(), array)
    done.set_result(None)


@overlaps
@pytest.mark.parametrize("seed", seeds(60))
def test_streams_alone_keep_the_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, overlap: bool
) -> None:
    """All exchanges and nine iterations are launched before any of it runs; all sums are exact."""

    class Holding(StreamTransport):
        def __init__(self, endpoint: Endpoint, rendezvous_id: Any) -> None:
            super().__init__(endpoint, rendezvous_id)
            order.held = True

    monkeypatch.setitem(TRANSPORTS, "nccl", Holding)
    matrix, order, ray = ORDERED[seed % 3], HeldOrder(seed), ThreadRay(a=4)
    exchange: ExchangeName = "halo" if seed % 2 else "all-gather"
    spans = cut_by_entries(find_partitioning("pCSR").store(matrix), (4,))
    devices = {name: order.device(name) for name in (f"virtual:{i}" for i in range(4))}
    for device in devices.values():
        device.copy_stream()
    folder = stored(tmp_path / "matrix", matrix)
    cluster = Cluster(ray, find_places(ray, "CPU"), "nccl", lambda _: folder, devices.__getitem__, PATIENCE_S)
    x, found = np.arange(1.0, 6.0), np.empty(5)
    with open_actor_pool(cluster, 4) as pool:
        team = pool.case_actors("multiplying", 4, ProductMember)
        team.load_parts(spans, folder, exchange, overlap)
        team.load(x)
        team.together("run", "advance", 0)
        for _ in range(9):
            team.together("advance", 1)
        order.held = False
        order.random.seed(seed)
        order.run()
        team.read(found)
    np.testing.assert_array_equal(found, iterated(matrix, x, 9)[0])


class Arriving(LoggingDevice):
    """A second stream in which what arrives of the vector waits for a product."""

    meeting: threading.Barrier

    def upload(self, host: Any, array: Any) -> None:
        if array.size > SUMS:
            self._launch(self.meeting.wait, PATIENCE_S)
        super().upload(host, array)


class Meeting(LoggingDevice):
    """A device whose local products wait for what arrives; loading a part multiplies once."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.products, self.meeting = 0, threading.Barrier(2)

    def copy_stream(self) -> Arriving:
        if not isinstance(self._copy_stream, Arriving):
            self._copy_stream = Arriving(self.name)
            self._copy_stream.meeting = self.meeting
        return self._copy_stream

    def call(self, function: Any, *arguments: Any) -> None:
        if function is self.operations.multiply:
            self.products += 1
            if self.products % 2 and self.products > 2:
                self._launch(self.meeting.wait, PATIENCE_S)
        super().call(function, *arguments)


def pairs(n: int) -> CsrMatrix:
    """y = x + 2·(x from its other end): of two equal parts each reads its own half and all of the other."""
    rows = np.repeat(np.arange(n), 2)
    columns = np.stack([np.arange(n), np.arange(n)[::-1]], axis=1).ravel()
    return coo(n, n, rows, columns, np.tile([1.0, 2.0], n))


def test_the_local_part_is_multiplied_while_the_rest_arrives(tmp_path: Path) -> None:
    """Neither comes to its end without the other: in turn, or in one stream, none would."""
    matrix, x, found, ray = pairs(8), np.arange(8.0), np.empty(8), ThreadRay(a=2)
    folder, places = stored(tmp_path / "matrix", matrix), find_places(ray, "CPU")
    with ClusterMatrix(ray, folder, places, open_device=Meeting) as product:
        product.load(x)
        product.advance(3)
        product.read(found)
    np.testing.assert_array_equal(found, iterated(matrix, x, 3)[0])
