"""ProductMember: x := A·x again and again on one device of a cluster, with its part of the matrix and of x."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from gpu_engine.errors import InputError, quote
from gpu_engine.measure.stopwatch import now
from gpu_engine.multigpu.blocks import Block
from gpu_engine.multigpu.cluster.member import PartInfo, TeamMember
from gpu_engine.multigpu.exchange import ExchangeName, halo_of
from gpu_engine.multigpu.iteration import iterate, member_of
from gpu_engine.multigpu.partition import Span, StoredMatrix, find_partitioning, localize, part_of
from gpu_engine.multigpu.resident import BATCH

Act = Literal["advance", "exchange", "multiply"]
"""An iteration, or one of the two things that it is made of."""

PARTITIONING = find_partitioning("pCSR")


def open_stored(folder: Path) -> StoredMatrix:
    """The matrix of a folder with indptr.npy, indices.npy, values.npy and meta.json, memory-mapped.

    Raises InputError where they are not there or do not fit each other.
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
            f"{quote(folder)} holds no matrix that can be read here: {error}. Every host needs it at the same path."
        ) from error
    if (indptr.shape, indices.shape) != ((n_rows + 1,), values.shape) or (indices.dtype, values.dtype) != ("i4", "f8"):
        raise InputError(f"The arrays in {quote(folder)} are not those of a matrix of {n_rows} × {n_cols} in CSR.")
    return StoredMatrix(PARTITIONING, n_rows, n_cols, indptr, indices, values)


class ProductMember(TeamMember):
    """A part of a square matrix, and a vector that stays; what comes often is launched by the batch.

    It owns the elements of the rows that begin in its part; of a row that began earlier its share is added elsewhere.
    """

    def load_part(
        self, spans: Sequence[Span], number: int, folder: Path, exchange: ExchangeName, overlap: bool
    ) -> PartInfo:
        """Reads its part, and no more, onto its device, with `overlap` as a diagonal and an off-diagonal block.

        folder  indptr.npy, indices.npy, values.npy and meta.json of the matrix, at this path on all hosts
        Raises InputError and what the device raises.
        """
        device, own, stored = self._device, spans[number].own, open_stored(folder)
        part = part_of(stored, spans[number], localize(stored, spans[number]))
        halo = halo_of(spans, number, part, stored.n_rows, exchange)
        self._member = member = member_of(device, PARTITIONING, part, halo, stored.n_rows, overlap)
        self._first, self._shift, self._current = own.start, halo.own.start - own.start, 0
        self._vectors = [device.allocate(halo.size, np.float64) for _ in "xy"]
        self._start = device.allocate(own.stop - own.start, np.float64)
        # Memory that nobody has written may hold what slows a product down.
        for vector in (*self._vectors, self._start):
            device.call(vector.fill, 0.0)
        self._multiply()
        self.synchronize()
        return PartInfo(halo, member.stored_bytes)

    def connect(self, *arguments: Any) -> None:
        """Joins the team; kernels that pack and add shares run once, for no peer is awaited yet."""
        super().connect(*arguments)
        # The first product overwrites it.
        y = self._vectors[1]
        self._share_moves.pack(y, self._inbox)
        self._add_shares(y)
        self.synchronize()

    def load(self, begin: int, values: Any) -> None:
        """Elements of the vector that it owns, from `begin` of the whole on: what every run starts from."""
        first = begin - self._first
        self._device.upload(values, self._start[first : first + values.size])
        self._device.synchronize()

    def advance(self, iterations: int) -> None:
        """So many iterations from where the vector is; all members do the same."""
        self._repeat("advance", iterations)

    def run(self, act: Act, times: int) -> None:
        """Does something so many times, an iteration from the vector that was loaded; all members do the same.

        `multiply` takes the elements of others that the last exchange brought.
        """
        if act == "advance":
            self._current = 0
            self._device.fetch(self._start, self._vectors[0][self._member.halo.own])
        self._repeat(act, times)

    def sample(self, act: Act, times: int) -> float:
        """Seconds of one of so many, once all members have come to it."""
        if act == "advance":
            self.run(act, 0)
        self.meet()
        begin = now()
        self._repeat(act, times)
        return (now() - begin) / times

    def read(self, begin: int, end: int) -> Any:
        """Elements begin … end − 1 of the vector, which it owns; float64 on the host."""
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
