"""Iterated SpMV on one device of a cluster: x := A·x with its partition of the matrix and of x."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from gpu_engine.errors import InputError, quote
from gpu_engine.measure.stopwatch import now
from gpu_engine.multigpu.blocks import Block
from gpu_engine.multigpu.cluster.member import CaseActor, PartInfo
from gpu_engine.multigpu.exchange import ExchangeName, halo_of
from gpu_engine.multigpu.iteration import iterate, member_of
from gpu_engine.multigpu.partition import Span, StoredMatrix, find_partitioning, localize, part_of
from gpu_engine.multigpu.resident import BATCH

Act = Literal["advance", "exchange", "multiply"]
"""Iteration, or one of its two parts."""

PARTITIONING = find_partitioning("pCSR")


def open_stored(folder: Path) -> StoredMatrix:
    """Return the memory-mapped matrix of a folder with indptr.npy, indices.npy, values.npy, and meta.json.

    Raises InputError if a file is missing or the files do not match.
    """
    try:
        meta = json.loads((folder / "meta.json").read_bytes())
        n_rows, n_cols = int(meta["n_rows"]), int(meta["n_cols"])
        indptr, indices, values = (
            np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
            for name in ("indptr", "indices", "values")
        )
    except (OSError, ValueError, KeyError) as error:
        raise InputError(
            f"Cannot read a matrix from {quote(folder)}: {error}. Every host needs it at the same path."
        ) from error
    if (indptr.shape, indices.shape) != ((n_rows + 1,), values.shape) or (indices.dtype, values.dtype) != ("i4", "f8"):
        raise InputError(
            f"The arrays in {quote(folder)} do not form a CSR matrix of {n_rows} × {n_cols}. Store the matrix again."
        )
    return StoredMatrix(PARTITIONING, n_rows, n_cols, indptr, indices, values)


class ProductMember(CaseActor):
    """Partition of a square matrix and its part of the vector on one device; iterations are launched in batches.

    It owns the elements of the rows that start in its partition; its partial sum of an earlier row goes to its owner.
    """

    def load_part(
        self, spans: Sequence[Span], number: int, folder: Path, exchange: ExchangeName, overlap: bool
    ) -> PartInfo:
        """Load only its partition to its device, with `overlap` as a diagonal and an off-diagonal block.

        folder  indptr.npy, indices.npy, values.npy, and meta.json of the matrix, at the same path on all hosts
        Raises InputError, and the errors of the device.
        """
        device, owned, stored = self._device, spans[number].owned, open_stored(folder)
        part = part_of(stored, spans[number], localize(stored, spans[number]))
        halo = halo_of(spans, number, part, stored.n_rows, exchange)
        self._member = member = member_of(device, PARTITIONING, part, halo, stored.n_rows, overlap)
        self._first, self._shift, self._current = owned.start, halo.owned.start - owned.start, 0
        self._vectors = [device.allocate(halo.size, np.float64) for _ in "xy"]
        self._start = device.allocate(owned.stop - owned.start, np.float64)
        # Uninitialized memory can contain values that slow an SpMV down.
        for vector in (*self._vectors, self._start):
            device.call(vector.fill, 0.0)
        self._multiply()
        self.synchronize()
        return PartInfo(halo, member.stored_bytes)

    def connect(self, *arguments: Any) -> None:
        """Connect to the other actors; run the kernels for shares once, while no peer is waiting."""
        super().connect(*arguments)
        # The first SpMV overwrites this vector.
        y = self._vectors[1]
        self._share_transfers.pack(y, self._received_shares)
        self._add_shares(y)
        self.synchronize()

    def load(self, begin: int, values: Any) -> None:
        """Receive owned elements of the start vector, from global index `begin` on."""
        first = begin - self._first
        self._device.upload(values, self._start[first : first + values.size])
        self._device.synchronize()

    def advance(self, iterations: int) -> None:
        """Run iterations from the current vector; all actors do the same."""
        self._repeat("advance", iterations)

    def run(self, act: Act, times: int) -> None:
        """Repeat an act, `advance` from the start vector; all actors do the same.

        `multiply` uses the halo of the last exchange.
        """
        if act == "advance":
            self._current = 0
            self._device.fetch(self._start, self._vectors[0][self._member.halo.owned])
        self._repeat(act, times)

    def sample(self, act: Act, times: int) -> float:
        """Return the seconds of one of `times` repetitions, timed from the moment when all actors are ready."""
        if act == "advance":
            self.run(act, 0)
        self.meet()
        start = now()
        self._repeat(act, times)
        return (now() - start) / times

    def read(self, begin: int, end: int) -> Any:
        """Return owned elements begin … end − 1 of the vector; float64 on the host."""
        host = np.empty(end - begin, np.float64)
        self._device.download(self._vectors[self._current][begin + self._shift : end + self._shift], host)
        self._device.synchronize()
        return host

    def _repeat(self, act: Act, times: int) -> None:
        acts: Mapping[Act, Callable[[], None]] = {
            "advance": self._advance,
            "exchange": self._exchange,
            "multiply": self._multiply,
        }

        def batch() -> None:
            for _ in range(BATCH):
                acts[act]()

        batches, rest = divmod(times, BATCH)
        if batches:
            self._launch((act, self._current), batch, batches)
        for _ in range(rest):
            acts[act]()
        self.synchronize()

    def _advance(self) -> None:
        self._iterate(self._fetch, ahead=self._ahead)
        if self._shares:
            y = self._vectors[1 - self._current]
            self._move_shares(y)
            self._add_shares(y)
        self._current = 1 - self._current

    def _exchange(self) -> None:
        self._member.start()
        self._fetch()
        self._member.wait()

    def _multiply(self) -> None:
        self._iterate(None)

    def _fetch(self) -> None:
        self._move(self._vectors[self._current])

    def _iterate(self, exchange: Callable[[], None] | None, *, ahead: bool = False) -> None:
        y = self._vectors[1 - self._current][self._member.halo.lines]
        iterate([self._member], self._launch_product, [y], exchange, ahead=ahead)

    def _launch_product(self, _number: int, block: Block, y: Any) -> None:
        x = self._vectors[self._current]
        self._device.call(self._device.operations.multiply, PARTITIONING, block.part, x, y)
