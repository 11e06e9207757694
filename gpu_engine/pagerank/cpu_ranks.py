"""Ranks on a CPU: the state of a run, one class per storage of ranks and matrix values.

Usage: `reset`, then `pull` and `norm` in each iteration, with `scale` and `convert` if a step of the schedule requires
them.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from gpu_engine import cpms
from gpu_engine.formats.base import max_row_length
from gpu_engine.formats.ell import fill_slots
from gpu_engine.pagerank import cpu
from gpu_engine.pagerank.graph import PageRankParams, TransitionMatrix

NORMS = {"L1": cpu.L1, "L2": cpu.L2, "Linf": cpu.LINF}
SHIFTS = {2: 5, 4: 6}
"""log₂ of the number of values of a group, by segments per value."""


class CpuRanks(ABC):
    """Common state of all runs: dangling pages, row borders of the parts, and sums of the parts.

    New ranks are written to a second array, then the two arrays are swapped.
    """

    scales = False

    def __init__(self, graph: TransitionMatrix, params: PageRankParams) -> None:
        self._graph = graph
        self._params = params
        self._dangling = np.zeros(graph.n, bool)
        self._dangling[graph.dangling] = True
        self._borders = cpu.parts(graph.pull.indptr)
        self._sums = np.zeros((2, self._borders.size - 1))
        self._lost = self._gamma = 0.0

    def reset(self, first: int = 1) -> None:
        """Set p := e/n, as stored in its first segments."""
        start = self._fill(1.0 / max(self._graph.n, 1), first)
        self._lost = start * self._graph.dangling.size

    def rewinder(self, first: int = 1) -> Callable[[], None]:
        """Return a call of `reset`."""
        return lambda: self.reset(first)

    def pull(self, read: int, write: int) -> None:
        """Compute the new ranks of an iteration that reads and writes the given numbers of segments."""
        params = self._params
        base = (1.0 - params.damping + params.dangling_factor * self._lost) / max(self._graph.n, 1)
        self._step(read, write, cpu.Rule(self._dangling, params.damping, base, NORMS[params.norm]))

    def norm(self) -> None:
        """Compute γ and the rank of dangling pages from the sums of the parts."""
        self._lost = math.fsum(self._sums[1])
        if self._params.norm == "Linf":
            self._gamma = float(self._sums[0].max())
        else:
            gamma = math.fsum(self._sums[0])
            self._gamma = math.sqrt(gamma) if self._params.norm == "L2" else gamma

    def gamma(self) -> float:
        """Return γ of the values as stored."""
        return self._gamma

    def scale(self, k: int) -> None:  # noqa: B027 (fp64 and fp32 have no precision to raise)
        """Scale the ranks, written in k segments, to ‖p‖₁ = 1."""

    def convert(self) -> None:  # noqa: B027 (only segments are converted)
        """Convert values and ranks to fp64, in place."""

    def gather(self) -> None:
        """Return None, because a CPU has no gather probe."""
        return

    @property
    def stored_bytes(self) -> int:
        """Bytes of the matrix and of all rank vectors as stored."""
        return sum(int(array.nbytes) for array in self._arrays())

    @abstractmethod
    def _arrays(self) -> tuple[Any, ...]:
        """Return all arrays of an iteration."""

    @abstractmethod
    def ranks(self) -> Any:
        """Return a copy of p: float64 [n]."""

    @abstractmethod
    def _fill(self, value: float, first: int) -> float:
        """Set all ranks to a value; return the value as stored in its first segments."""

    @abstractmethod
    def _step(self, read: int, write: int, rule: cpu.Rule) -> None:
        """Write the new ranks and the sums of the parts."""


class PlainRanks(CpuRanks):
    """Ranks and values in fp64, or both in fp32; the matrix in CSR or ELL."""

    def __init__(self, graph: TransitionMatrix, params: PageRankParams, layout: str, dtype: Any) -> None:
        super().__init__(graph, params)
        self._p, self._new = np.zeros(graph.n, dtype), np.zeros(graph.n, dtype)
        *pattern, values = _ell(graph) if layout == "ell" else _csr(graph)
        self._matrix = (*pattern, values.astype(dtype))
        self._pull: Any = _steps(layout)[0]

    def ranks(self) -> Any:
        """Return a copy of p: float64 [n]."""
        return self._p.astype(np.float64)

    def _arrays(self) -> tuple[Any, ...]:
        return (*self._matrix, self._p, self._new)

    def _fill(self, value: float, _first: int) -> float:
        self._p[:] = value
        return float(self._p.dtype.type(value))

    def _step(self, _read: int, _write: int, rule: cpu.Rule) -> None:
        self._pull(self._borders, *self._matrix, self._p, self._new, rule, self._sums)
        self._p, self._new = self._new, self._p


class FreeRanks(CpuRanks):
    """Ranks in fp64 without matrix values: p, and p / out-degree; all links of a page must have equal weights."""

    def __init__(self, graph: TransitionMatrix, params: PageRankParams) -> None:
        super().__init__(graph, params)
        self._shares = 1.0 / np.maximum(graph.out_degrees, 1)
        self._p, self._new = np.zeros(graph.n), np.zeros(graph.n)
        self._scaled = np.zeros(graph.n), np.zeros(graph.n)

    def ranks(self) -> Any:
        """Return a copy of p: float64 [n]."""
        return self._p.copy()

    def _arrays(self) -> tuple[Any, ...]:
        pull = self._graph.pull
        return (pull.indptr, pull.indices, self._shares, self._p, self._new, *self._scaled)

    def _fill(self, value: float, _first: int) -> float:
        self._p[:] = value
        np.multiply(self._p, self._shares, out=self._scaled[0])
        return value

    def _step(self, _read: int, _write: int, rule: cpu.Rule) -> None:
        pattern = self._graph.pull.indptr, self._graph.pull.indices
        cpu.csr_step_free(self._borders, *pattern, self._shares, self._p, self._new, self._scaled, rule, self._sums)
        self._p, self._new, self._scaled = self._new, self._p, (self._scaled[1], self._scaled[0])


class SegmentedRanks(CpuRanks):
    """Ranks and values in segments, from the transition to full precision on in fp64; the matrix in CSR or ELL."""

    scales = True

    def __init__(
        self, graph: TransitionMatrix, params: PageRankParams, layout: str, segments: int, short: bool = False
    ) -> None:
        """Store the graph; short: with short exponents, in which the padding of ELL would not be zero."""
        super().__init__(graph, params)
        self._segments, self._short = segments, short
        *self._pattern, values = _ell(graph) if layout == "ell" else _csr(graph)
        self._pull_plain, self._pull = _steps(layout)
        self._values = cpms.to_cpms(cpms.padded(values, segments), values.size, segments, short)
        self._p, self._new = (cpms.allocate(graph.n, segments, short=short) for _ in range(2))
        self._read = 1
        self._plain: tuple[Any, Any, Any] | None = None

    def scale(self, k: int) -> None:
        """Scale the ranks, written in k segments, to ‖p‖₁ = 1, in two passes: Σ|p|, then the scaling."""
        (mass, lost), precision = np.empty_like(self._sums), self._precision(k, k)
        cpu.mass_of_segments(self._borders, self._p.units, precision, mass)
        total = math.fsum(mass)
        if total > 0.0:
            cpu.scale_segments(self._borders, self._dangling, self._p.units, 1.0 / total, precision, lost)
            self._lost = math.fsum(lost)

    def ranks(self) -> Any:
        """Return a copy of p: float64 [n], truncated to the segments written last."""
        return cpms.read(self._p, self._read) if self._plain is None else self._plain[1].copy()

    def _arrays(self) -> tuple[Any, ...]:
        return (*self._pattern, *(a.storage for a in (self._values, self._p, self._new)))

    def convert(self) -> None:
        """Convert values and ranks to fp64, in place; the kernels of PlainRanks take over."""
        self._plain = cpms.to_ieee(self._values), cpms.to_ieee(self._p), cpms.to_ieee(self._new)

    def _fill(self, value: float, first: int) -> float:
        if self._plain is not None:
            cpms.to_cpms(self._values.storage, self._values.n, self._segments, self._short)
            self._plain = None
        cpms.write(self._p, np.full(self._graph.n, value), first)
        first_rank = cpms.read(self._p, first)
        self._read = first
        if first == self._segments:
            self.convert()
        return float(first_rank[0]) if first_rank.size else 0.0

    def _step(self, read: int, write: int, rule: cpu.Rule) -> None:
        if self._plain is not None:
            values, p, new = self._plain
            self._pull_plain(self._borders, *self._pattern, values, p, new, rule, self._sums)
            self._plain = values, new, p
            return
        units = self._values.units, self._p.units, self._new.units
        self._pull(self._borders, *self._pattern, *units, self._precision(read, write), rule, self._sums)
        self._p, self._new, self._read = self._new, self._p, write

    def _precision(self, read: int, write: int) -> cpu.Precision:
        code = self._p.code
        return cpu.Precision(SHIFTS[self._segments], read, write, *code, code.last)


def _steps(layout: str) -> tuple[Any, Any]:
    """Return the compiled iterations of a layout: without and with segments."""
    return (cpu.ell_step, cpu.ell_step_segments) if layout == "ell" else (cpu.csr_step, cpu.csr_step_segments)


def _csr(graph: TransitionMatrix) -> tuple[Any, Any, Any]:
    return graph.pull.indptr, graph.pull.indices, graph.pull.values


def _ell(graph: TransitionMatrix) -> tuple[Any, Any]:
    """Return columns int32 and values float64 [width · n], slot by slot; padding has column 0 and value 0."""
    columns, values = fill_slots(graph.pull, max_row_length(graph.pull), None, 0)
    return columns.ravel(), values.ravel()
