"""GeneratedMatrix: a matrix that is nowhere whole, of which each device makes its own part.

The host has its row pointers, and pieces of it while it computes what a product should be.
"""

import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix, compulsory_bytes, fingerprint_of
from gpu_engine.errors import ParameterError
from gpu_engine.formats.base import array_module
from gpu_engine.generators import generator
from gpu_engine.generators.base import ByRows, row_pointers
from gpu_engine.multigpu.base import Device, copied, returned
from gpu_engine.multigpu.partition import Part, SharedMatrix, Span, find_partitioning, localize
from gpu_engine.multigpu.workload import ProductData, WorkloadName
from gpu_engine.parameters import parse_params

PIECE = 2**20
"""Entries that are made at a time, for which a generator takes some 100 bytes each."""

STAYING: tuple[WorkloadName, ...] = ("resident", "iterate")
"""What needs no matrix on the host."""


@dataclass(frozen=True, slots=True)
class GeneratedMatrix(SharedMatrix):
    """A square matrix of a family that can be made by rows, cut as pCSR; `major` lies on the host."""

    by_rows: ByRows
    params: Any

    @staticmethod
    def of(family: str, params: Mapping[str, Any]) -> "GeneratedMatrix":
        """That of a call; raises ParameterError for one that is none, or of a family that is made as a whole."""
        chosen = generator(family)
        if chosen.by_rows is None:
            raise ParameterError(f"{family} makes no rows by themselves; choose stencil or stratified.")
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

    def pieces(self) -> Iterator[tuple[slice, CsrMatrix]]:
        """(rows, these rows on the host) from the first on, made by all its cores."""
        cores = os.cpu_count() or 1
        with ThreadPoolExecutor(cores) as pool:
            made: deque[Any] = deque()
            for rows in self._pieces(0, self.n_rows):
                made.append((rows, pool.submit(self.by_rows.rows, self.params, rows.start, rows.stop, np)))
                if len(made) > cores:
                    first, piece = made.popleft()
                    yield first, piece.result()
            for rows, piece in made:
                yield rows, piece.result()

    def fingerprint(self) -> str:
        """That of the whole."""
        indices = (piece.indices for _, piece in self.pieces())
        values = (piece.values for _, piece in self.pieces())
        return fingerprint_of((self.n_rows, self.n_cols), self.major, indices, values)

    def data(self, works: Sequence[WorkloadName]) -> "GeneratedData":
        """What is expected of it; raises ParameterError where one of the works needs a matrix on the host."""
        if wrong := [work for work in works if work not in STAYING]:
            raise ParameterError(
                f"Devices make their parts of this matrix, and {wrong[0]} needs it on the host. "
                f"Choose {' or '.join(STAYING)}."
            )
        return GeneratedData(self)

    def _fill(self, span: Span, minor: Any, values: Any) -> None:
        xp = array_module(minor)
        for rows in self._pieces(span.first, span.stop):
            piece = self.by_rows.rows(self.params, rows.start, rows.stop, xp)
            first = int(self.major[rows.start])
            begin, end = max(first, span.start), min(int(self.major[rows.stop]), span.end)
            minor[begin - span.start : end - span.start] = piece.indices[begin - first : end - first]
            values[begin - span.start : end - span.start] = piece.values[begin - first : end - first]

    def _pieces(self, first: int, stop: int) -> Iterator[slice]:
        """Consecutive rows with about PIECE entries."""
        marks = np.arange(int(self.major[first]) + PIECE, int(self.major[stop]), PIECE)
        cuts = np.searchsorted(self.major, marks.astype(self.major.dtype))
        for begin, end in pairwise([first, *cuts.clip(first, stop).tolist(), stop]):
            yield slice(begin, end)


class GeneratedData(ProductData):
    """The products of a GeneratedMatrix that are expected, by SciPy, piece by piece."""

    def __init__(self, matrix: GeneratedMatrix) -> None:
        self._matrix = matrix
        super().__init__(self._multiply, np.diff(matrix.major), matrix.n_cols)

    def stored(self, partitioning: str) -> SharedMatrix:
        """The matrix; raises ParameterError for a partitioning that is not its own."""
        if partitioning != self._matrix.partitioning.name:
            raise ParameterError(f"Devices make parts of rows, not of {partitioning}; choose pCSR.")
        return self._matrix

    def _multiply(self, x: Any, scale: Any) -> tuple[Any, Any]:
        y, scaled = np.empty(self._matrix.n_rows), np.empty(self._matrix.n_rows)
        for rows, piece in self._matrix.pieces():
            csr = piece.to_scipy()
            y[rows], scaled[rows] = csr @ x, abs(csr) @ scale
        return y, scaled
