"""GeneratedMatrix: a matrix that is nowhere whole, of which each device makes its own part.

The host has its row pointers, and pieces of it while it computes what a product should be.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix, compulsory_bytes, fingerprint_of
from gpu_engine.errors import ParameterError
from gpu_engine.formats.base import array_module
from gpu_engine.generators import find_generator
from gpu_engine.generators.base import ByRows, row_pointers
from gpu_engine.multigpu.base import Device, copied, returned
from gpu_engine.multigpu.partition import Part, SharedMatrix, Span, find_partitioning, localize
from gpu_engine.multigpu.workload import ProductData, WorkloadName
from gpu_engine.parameters import parse_params
from gpu_engine.verify import products_of

T = TypeVar("T")

PIECE, PIECE_ON_GPU = 2**20, 2**24
"""Entries that are made at a time, for which a generator takes some 100 bytes each: a GPU is busy with no fewer."""

STAYING: tuple[WorkloadName, ...] = ("resident", "iterate")
"""What needs no matrix on the host."""


@dataclass(frozen=True, slots=True)
class GeneratedMatrix(SharedMatrix):
    """A square matrix of a family that can be made by rows, cut as pCSR; `major` lies on the host."""

    by_rows: ByRows
    params: Any

    @staticmethod
    def of(generator: str, params: Mapping[str, Any]) -> "GeneratedMatrix":
        """That of a call; raises ParameterError for one that is none, or of a family that is made as a whole."""
        chosen = find_generator(generator)
        if chosen.by_rows is None:
            raise ParameterError(f"{generator} makes no rows by themselves; choose stencil or stratified.")
        parsed = parse_params(chosen.Params, params)
        n = chosen.by_rows.size(parsed)
        pointers = row_pointers(chosen.by_rows.lengths(parsed, 0, n, np))
        return GeneratedMatrix(find_partitioning("pCSR"), n, n, pointers, chosen.by_rows, parsed)

    @property
    def compulsory_bytes(self) -> int:
        """As those of a CsrMatrix."""
        return compulsory_bytes(self.n_rows, self.n_cols, self.nnz)

    def part(self, span: Span, device: Device) -> Part:
        """The part, made by its device."""
        minor, values = device.allocate(span.entries, np.int32), device.allocate(span.entries, np.float64)
        returned(device, self._fill, span, minor, values)
        return Part(span, copied(device, localize(self, span)), minor, values)

    def each(self, use: Callable[[CsrMatrix], T], xp: Any = np) -> Iterator[tuple[slice, T]]:
        """(rows, what use makes of them on the host), from the first on, by all cores.

        xp  NumPy: the cores make the rows too; CuPy: the current GPU does
        """
        cores = os.cpu_count() or 1
        with ThreadPoolExecutor(cores) as pool:
            pending: deque[tuple[slice, Future[T]]] = deque()
            for rows in self._pieces(0, self.n_rows, xp):
                if xp is np:
                    pending.append((rows, pool.submit(lambda rows: use(self._rows(rows, np)), rows)))
                else:
                    pending.append((rows, pool.submit(use, self._rows(rows, xp).on_host())))
                if len(pending) > cores:
                    first, used = pending.popleft()
                    yield first, used.result()
            for rows, used in pending:
                yield rows, used.result()

    def fingerprint(self) -> str:
        """That of the whole."""
        indices = (part for _, part in self.each(lambda piece: piece.indices))
        values = (part for _, part in self.each(lambda piece: piece.values))
        return fingerprint_of((self.n_rows, self.n_cols), self.major, indices, values)

    def data(self, works: Sequence[WorkloadName], xp: Any = np) -> "GeneratedData":
        """What is expected of it, of pieces that are made as `each` says.

        Raises ParameterError where one of the works needs a matrix on the host.
        """
        if wrong := [work for work in works if work not in STAYING]:
            raise ParameterError(
                f"Devices make their parts of this matrix, and {wrong[0]} needs it on the host. "
                f"Choose {' or '.join(STAYING)}."
            )
        return GeneratedData(self, xp)

    def _fill(self, span: Span, minor: Any, values: Any) -> None:
        xp = array_module(minor)
        for rows in self._pieces(span.first, span.stop, xp):
            piece = self._rows(rows, xp)
            first = int(self.major[rows.start])
            begin, end = max(first, span.start), min(int(self.major[rows.stop]), span.end)
            minor[begin - span.start : end - span.start] = piece.indices[begin - first : end - first]
            values[begin - span.start : end - span.start] = piece.values[begin - first : end - first]

    def _rows(self, rows: slice, xp: Any) -> CsrMatrix:
        return self.by_rows.rows(self.params, rows.start, rows.stop, xp)

    def _pieces(self, first: int, stop: int, xp: Any) -> Iterator[slice]:
        """Consecutive rows with about PIECE entries."""
        size = PIECE if xp is np else PIECE_ON_GPU
        marks = np.arange(int(self.major[first]) + size, int(self.major[stop]), size)
        cuts = np.searchsorted(self.major, marks.astype(self.major.dtype))
        for begin, end in pairwise([first, *cuts.clip(first, stop).tolist(), stop]):
            yield slice(begin, end)


class GeneratedData(ProductData):
    """The products of a GeneratedMatrix that are expected, by SciPy, piece by piece."""

    def __init__(self, matrix: GeneratedMatrix, xp: Any = np) -> None:
        self._matrix, self._xp = matrix, xp
        super().__init__(self._multiply, np.diff(matrix.major), matrix.n_cols)

    def stored(self, partitioning: str) -> SharedMatrix:
        """The matrix; raises ParameterError for a partitioning that is not its own."""
        if partitioning != self._matrix.partitioning.name:
            raise ParameterError(f"Devices make parts of rows, not of {partitioning}; choose pCSR.")
        return self._matrix

    def _multiply(self, x: Any, scale: Any) -> tuple[Any, Any]:
        y, scaled = np.empty(self._matrix.n_rows), np.empty(self._matrix.n_rows)
        for rows, product in self._matrix.each(lambda piece: products_of(piece)(x, scale), self._xp):
            y[rows], scaled[rows] = product
        return y, scaled
