"""SharedSolve: CG on the devices of one process; see solve_run.py.

The host only launches, and reads the sums after every CHECK_EVERY iterations.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.exchange import SUMS, ExchangeName, halo_of, plan_sums, plan_transfers
from gpu_engine.multigpu.graph_shards import PARTITIONING, whole_rows
from gpu_engine.multigpu.iteration import member_of
from gpu_engine.multigpu.partition import localize, part_of
from gpu_engine.multigpu.peer_copies import PeerCopies
from gpu_engine.multigpu.replay import Replays
from gpu_engine.multigpu.solve_part import N_STATE, SolvePart, multiply_all
from gpu_engine.multigpu.solve_run import CHECK_EVERY, SolveRun, Stretch, stretch_until


class SharedSolve(SolveRun):
    """System A·x = b on several devices: the matrix, and six vectors per device.

    spans      positions of the nonzeros of each device
    transfers  halo transfers of each iteration
    """

    def __init__(
        self,
        matrix: CsrMatrix,
        devices: Sequence[Device],
        exchange: ExchangeName = "halo",
        overlap: bool = True,
    ) -> None:
        """Copy partitions of whole rows to the devices.

        overlap  multiply the diagonal blocks during the exchange

        Raises ParameterError for a matrix that is not square, or without devices.
        """
        super().__init__(matrix)
        if not devices:
            raise ParameterError("CG needs at least one device.")
        stored = PARTITIONING.store(matrix)
        self.spans = whole_rows(stored, len(devices))
        parts = [part_of(stored, span, localize(stored, span)) for span in self.spans]
        halos = [halo_of(self.spans, i, part, self._n, exchange) for i, part in enumerate(parts)]
        self.transfers = plan_transfers(self.spans, halos)
        self._parts = [
            SolvePart(member_of(device, PARTITIONING, part, halo, self._n, overlap))
            for device, part, halo in zip(devices, parts, halos, strict=True)
        ]
        self._sums = [[device.allocate(SUMS * len(devices), np.float64) for device in devices] for _ in range(2)]
        self._writes_to_peers = all(one.reaches(other) for one in devices for other in devices)
        self._targets = [
            [part.targets(self._places(i, sums)) for i, part in enumerate(self._parts)] for sums in self._sums
        ]
        self._seen = devices[0].allocate_host(SUMS * len(devices) + N_STATE, np.float64)
        copy_streams = [part.member.copy_stream for part in self._parts]
        self._copies = PeerCopies(copy_streams, self.transfers)
        self._sum_copies = PeerCopies(devices, plan_sums(len(devices)))
        self._replays = Replays([*devices, *copy_streams])

    @property
    def exchanged_bytes(self) -> int:
        """Return the bytes transferred between devices per iteration."""
        return self._copies.exchanged_bytes() + self._sum_copies.exchanged_bytes()

    @property
    def stored_bytes(self) -> int:
        """Return the bytes of all partitions."""
        return sum(part.member.stored_bytes for part in self._parts)

    def begin(self, b: Any) -> None:
        """Implement `SolveRun`."""
        for part in self._parts:
            part.clear()
        self.restart(b)

    def restart(self, r: Any) -> None:
        """Implement `SolveRun`."""
        self.synchronize()
        for part, span in zip(self._parts, self.spans, strict=True):
            part.forget()
            part.member.device.upload(r[span.owned], part.rows.r)
        self._project(0, squares=True)
        self.synchronize()
        self._renew()

    def converge(self, bound: float, most: int) -> Stretch:
        """Implement `SolveRun`."""
        return stretch_until(self._look, lambda: self.advance(CHECK_EVERY), bound, most)

    def advance(self, iterations: int) -> None:
        """Launch iterations, of which complete batches of CHECK_EVERY are captured."""
        batches, rest = divmod(iterations, CHECK_EVERY)
        if batches:
            self._replays.launch("advance", self._batch, batches)
            self._renew()
        for number in range(rest):
            self._iterate(number % 2)
        for part, before, after in zip(self._parts, *self._sums, strict=True):
            part.end_at(rest)
            if rest % 2:
                part.member.device.fetch(after, before)

    def read(self, x: Any) -> None:
        """Implement `SolveRun`."""
        for part, span in zip(self._parts, self.spans, strict=True):
            part.member.device.download(part.rows.x, x[span.owned])
        self.synchronize()

    def synchronize(self) -> None:
        """Wait for all launched work and raise its first error."""
        for part in self._parts:
            part.member.synchronize()

    def _look(self) -> tuple[float, bool]:
        """Wait, and return ‖r‖₂ of the recurrence and whether it has broken down."""
        device, sums = self._parts[0].member.device, self._seen[:-N_STATE]
        device.download(self._sums[0][0], sums)
        device.download(self._parts[0].states[0], self._seen[-N_STATE:])
        self.synchronize()
        return float(np.sqrt(sums[::SUMS].sum())), bool(self._seen[-1])

    def _batch(self) -> None:
        # Captured work must not wait for events from before the capture.
        self._renew()
        for number in range(CHECK_EVERY):
            self._iterate(number % 2)

    def _renew(self) -> None:
        self._copies.renew()
        self._sum_copies.renew()

    def _iterate(self, parity: int) -> None:
        """Launch an iteration, which reads one of two states and writes the other."""
        # The sums of the peers, which each device has, follow their exchange: nobody reads r any more.
        for part, sums in zip(self._parts, self._sums[parity], strict=True):
            part.advance(sums, parity)
        self._project(1 - parity, squares=False)

    def _project(self, parity: int, *, squares: bool) -> None:
        """Launch the exchange of r, w := A·r, and the sums of all devices, one of two sets that take turns."""
        multiply_all(self._parts, lambda: self._copies.launch([part.local for part in self._parts]))
        devices = [part.member.device for part in self._parts]
        for i, (part, targets) in enumerate(zip(self._parts, self._targets[parity], strict=True)):
            self._sum_copies.release(i, devices[i])
            part.project(targets, squares=squares)
        if not self._writes_to_peers:
            self._sum_copies.launch(self._sums[parity])
            return
        # A peer reads the other set until it has written its numbers of this one, so that nobody writes too early.
        written = [device.record_event() for device in devices]
        for device in devices:
            for event in written:
                device.wait_event(event)

    def _places(self, number: int, sums: Sequence[Any]) -> list[Any]:
        """Return where a device writes its sums: on all devices, or on itself if peers fetch them."""
        readers = sums if self._writes_to_peers else sums[number : number + 1]
        return [each[SUMS * number : SUMS * (number + 1)] for each in readers]
