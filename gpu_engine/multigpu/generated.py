"""Generated matrices: each device generates its partition, so that the matrix is never complete in any memory.

The host has the row pointers, and pieces of the matrix while it computes the expected result.
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
from gpu_engine.multigpu.base import Device, call_and_wait, copy_to
from gpu_engine.multigpu.partition import Part, SharedMatrix, Span, find_partitioning, localize
from gpu_engine.multigpu.workload import ProductData, WorkloadName
from gpu_engine.parameters import parse_params
from gpu_engine.verify import products_of

T = TypeVar("T")

PIECE, PIECE_ON_GPU = 2**20, 2**24
"""Nonzeros generated at a time on the host and on a GPU, with about 100 bytes each; fewer would not fill a GPU."""

STAYING: tuple[WorkloadName, ...] = ("resident", "iterate")
"""Workloads that need no matrix on the host."""


@dataclass(frozen=True, slots=True)
class GeneratedMatrix(SharedMatrix):
    """Square matrix of a generator that can generate single rows, partitioned as pCSR; `major` lies on the host."""

    by_rows: ByRows
    params: Any

    @staticmethod
    def of(generator: str, params: Mapping[str, Any]) -> "GeneratedMatrix":
        """Return the matrix of a generator call; raise ParameterError for an invalid call.

        The generator must support single rows.
        """
        row_generator = find_generator(generator)
        if row_generator.by_rows is None:
            raise ParameterError(f"{generator} cannot generate single rows. Choose stencil or stratified.")
        parsed = parse_params(row_generator.Params, params)
        n = row_generator.by_rows.size(parsed)
        pointers = row_pointers(row_generator.by_rows.lengths(parsed, 0, n, np))
        return GeneratedMatrix(find_partitioning("pCSR"), n, n, pointers, row_generator.by_rows, parsed)

    @property
    def compulsory_bytes(self) -> int:
        """Return the compulsory bytes of one SpMV, as for a CsrMatrix."""
        return compulsory_bytes(self.n_rows, self.n_cols, self.nnz)

    def part(self, span: Span, device: Device) -> Part:
        """Return a partition that its device generates."""
        minor, values = device.allocate(span.entries, np.int32), device.allocate(span.entries, np.float64)
        call_and_wait(device, self._fill, span, minor, values)
        return Part(span, copy_to(device, localize(self, span)), minor, values)

    def each(self, use: Callable[[CsrMatrix], T], xp: Any = np) -> Iterator[tuple[slice, T]]:
        """Yield (rows, use(rows as a matrix on the host)) in order, computed by all cores.

        xp  module that generates the rows: NumPy on all cores, or CuPy on the current GPU
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
                    first, future = pending.popleft()
                    yield first, future.result()
            for rows, future in pending:
                yield rows, future.result()

    def fingerprint(self) -> str:
        """Return the fingerprint of the complete matrix."""
        indices = (part for _, part in self.each(lambda piece: piece.indices))
        values = (part for _, part in self.each(lambda piece: piece.values))
        return fingerprint_of((self.n_rows, self.n_cols), self.major, indices, values)

    def data(self, workloads: Sequence[WorkloadName], xp: Any = np) -> "GeneratedData":
        """Return the expected results for workloads, computed from pieces as in `each`.

        Raises ParameterError if a workload needs the matrix on the host.
        """
        if unsupported := [workload for workload in workloads if workload not in STAYING]:
            raise ParameterError(
                f"The workload {unsupported[0]} needs the matrix on the host, but the devices generate this one. "
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
        """Yield ranges of consecutive rows with about PIECE nonzeros."""
        size = PIECE if xp is np else PIECE_ON_GPU
        marks = np.arange(int(self.major[first]) + size, int(self.major[stop]), size)
        cuts = np.searchsorted(self.major, marks.astype(self.major.dtype))
        for begin, end in pairwise([first, *cuts.clip(first, stop).tolist(), stop]):
            yield slice(begin, end)


class GeneratedData(ProductData):
    """Expected results of a GeneratedMatrix, computed by SciPy piece by piece."""

    def __init__(self, matrix: GeneratedMatrix, xp: Any = np) -> None:
        self._matrix, self._xp = matrix, xp
        super().__init__(self._multiply, np.diff(matrix.major), matrix.n_cols)

    def stored(self, partitioning: str) -> SharedMatrix:
        """Return the matrix; raise ParameterError for a partitioning other than pCSR."""
        if partitioning != self._matrix.partitioning.name:
            raise ParameterError(f"Generated matrices do not support {partitioning}. Choose pCSR.")
        return self._matrix

    def _multiply(self, x: Any, scale: Any) -> tuple[Any, Any]:
        y, scaled = np.empty(self._matrix.n_rows), np.empty(self._matrix.n_rows)
        for rows, product in self._matrix.each(lambda piece: products_of(piece)(x, scale), self._xp):
            y[rows], scaled[rows] = product
        return y, scaled
