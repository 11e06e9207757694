"""Workload protocol: what is measured on a shared matrix, its setting, and its data."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.chunk import ENTRY_BYTES
from gpu_engine.multigpu.device_group import ProductName
from gpu_engine.multigpu.exchange import ExchangeName
from gpu_engine.multigpu.merge import MergePlace
from gpu_engine.multigpu.numa import Allocate, HostMemory, Placement, host_memory
from gpu_engine.multigpu.partition import Partitioning, SharedMatrix, Span, StoredMatrix, find_partitioning
from gpu_engine.multigpu.resident import BATCH
from gpu_engine.pagerank.graph import PageRankParams, TransitionMatrix, transition_matrix
from gpu_engine.pagerank.verify import Verifier
from gpu_engine.verify import Products, Reference, products_of, reference_of

WorkloadName = Literal["cold", "resident", "iterate", "pagerank", "solve"]

CutName = Literal["nonzeros", "rows"]
"""Quantity that all partitions have in equal numbers."""

RANK_PARAMS = PageRankParams()
"""PageRank parameters of the workload pagerank: the defaults."""

Clock = Callable[[], float]
"""Function that returns monotonic seconds."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Parameters of a case.

    variant         a strategy, `resident`, `iterate`, or `pagerank+` with the storage of ranks, or `solve`
    devices         number of devices that share the matrix
    merge           merge place of the workload cold; None: that of the strategy
    balance         quantity that all partitions have in equal numbers; for cold, only `rows` overrides the strategy
    placement, affinity  of the workload cold: NUMA nodes of host arrays; whether threads stay on the nodes of their
                    devices; None: as the strategy says
    kernel_library  library whose kernels multiply the partitions
    exchange        exchange of iterated vectors; overlap: whether devices multiply diagonal blocks meanwhile
    """

    workload: WorkloadName
    partitioning: str
    variant: str
    devices: int
    merge: MergePlace | None = None
    exchange: ExchangeName = "halo"
    overlap: bool = False
    balance: CutName = "nonzeros"
    kernel_library: ProductName = "sparsight"
    placement: Placement | None = None
    affinity: bool | None = None

    @property
    def kernel(self) -> str:
        """Return the kernel name in records."""
        return f"{self.partitioning}/{self.variant}"

    @property
    def axes(self) -> tuple[tuple[str, str], ...]:
        """Return the further parameters of the case, as in records."""
        axes = [("devices", str(self.devices)), ("workload", self.workload)]
        if self.merge is not None:
            axes.append(("merge", self.merge))
        if self.workload in ("iterate", "pagerank", "solve"):
            axes += [("exchange", self.exchange), ("overlap", "on" if self.overlap else "off")]
        if self.workload == "resident" or (self.workload == "cold" and self.balance == "rows"):
            axes.append(("balance", self.balance))
        if self.placement is not None:
            axes.append(("placement", self.placement))
        if self.affinity is not None:
            axes.append(("affinity", "on" if self.affinity else "off"))
        if self.kernel_library != "sparsight":
            axes.append(("kernel_library", self.kernel_library))
        return tuple(axes)


@dataclass(frozen=True, slots=True)
class HostArrays:
    """Host arrays of an SpMV: the matrix in the order of its partitioning, x, and an uninitialized y."""

    stored: StoredMatrix
    x: Any
    y: Any


class ProductData:
    """Expected results of SpMVs with a matrix.

    reference  expected result of A·x with a random x
    """

    def __init__(self, products: Products, lengths: Any, n_cols: int) -> None:
        """Compute the reference; lengths: row lengths."""
        self._products, self.reference = products, reference_of(products, lengths, n_cols)

    @cached_property
    def iterated_reference(self) -> Reference:
        """Return the expected result of BATCH iterations of a square matrix, with the scale |A|·…·|x|.

        The error limit grows per iteration, because each one propagates the errors of those before.
        """
        once = self.reference
        y, scale = once.y, once.scale
        for _ in range(BATCH - 1):
            y, scale = self._products(y, scale)
        return Reference(once.x, y, scale, once.limit + (BATCH - 1) * once.limit.max(initial=0.0))

    def stored(self, partitioning: str) -> SharedMatrix:
        """Return the matrix in the order of a partitioning."""
        raise NotImplementedError


class WorkloadData(ProductData):
    """Matrix on the host with the expected results of SpMVs.

    matrix  matrix in memory that is copied to a GPU at the full rate of the link, as are the arrays of `stored`
    x       x of the reference in such memory
    """

    def __init__(
        self, matrix: CsrMatrix, allocate: Allocate | None = None, xp: Any = np, host: Sequence[Device] = ()
    ) -> None:
        """Copy the matrix, reading memory-mapped files, and compute the reference.

        allocate  function for memory that is copied to a GPU at the full rate of the link; None: any memory
        xp        module that sorts nonzeros: NumPy or CuPy
        host      all devices that may share the matrix
        """
        self._allocate, self._xp, self.host = allocate, xp, tuple(host)
        arrays = (matrix.indptr, matrix.indices, matrix.values)
        self.matrix = CsrMatrix(matrix.n_rows, matrix.n_cols, *map(self._copy, arrays))
        super().__init__(products_of(self.matrix), np.diff(self.matrix.indptr), matrix.n_cols)
        self.x = self._copy(self.reference.x)
        self._stored: StoredMatrix | None = None
        self._placed: dict[HostMemory, HostArrays] = {}

    @cached_property
    def graph(self) -> TransitionMatrix:
        """Return the graph for PageRank with default parameters; raise ParameterError if the matrix is not square."""
        return transition_matrix(self.matrix, RANK_PARAMS)

    @cached_property
    def verifier(self) -> Verifier:
        """Return the verifier for the ranks of the graph."""
        return Verifier(self.matrix, RANK_PARAMS)

    def stored(self, partitioning: str) -> StoredMatrix:
        """Return the matrix in the order of a partitioning; only the last one is cached."""
        if self._stored is None or self._stored.partitioning.name != partitioning:
            self._stored = None
            self._placed.clear()
            self._stored = self._sorted(find_partitioning(partitioning))
        return self._stored

    def placed(self, partitioning: str, placement: Placement, devices: Sequence[Device]) -> HostArrays:
        """Return the host arrays for these devices and a placement; only the last partitioning is cached."""
        stored, memory = self.stored(partitioning), host_memory(placement, devices, self.host)
        if memory is None:
            return HostArrays(stored, self.x, (self._allocate or np.empty)(stored.n_rows, np.float64))
        if memory not in self._placed:
            major, minor, values, x = (
                _copy_to_memory(array, memory) for array in (stored.major, stored.minor, stored.values, self.x)
            )
            placed = replace(stored, major=major, minor=minor, values=values)
            self._placed[memory] = HostArrays(placed, x, memory.allocate(stored.n_rows, np.float64))
        return self._placed[memory]

    def _sorted(self, partitioning: Partitioning) -> StoredMatrix:
        if partitioning.compressed and partitioning.axis == "rows":
            return partitioning.store(self.matrix)
        stored = partitioning.store(self.matrix.on(self._xp))
        arrays = (stored.major, stored.minor, stored.values)
        return StoredMatrix(partitioning, stored.n_rows, stored.n_cols, *map(self._copy, arrays))

    def _copy(self, array: Any) -> Any:
        """Return the array in memory from `allocate`; never memory-mapped, because reading a file would be timed."""
        if self._allocate is None and type(array) is np.ndarray:
            return array
        copy = (self._allocate or np.empty)(array.size, array.dtype)
        if isinstance(array, np.ndarray):
            copy[:] = array
        else:
            array.get(out=copy)
        return copy


def _copy_to_memory(array: Any, memory: HostMemory) -> Any:
    copy = memory.allocate(array.size, array.dtype)
    copy[:] = array
    return copy


class Workload(Protocol):
    """Benchmark of one setting on its devices; it verifies the result and takes the samples.

    It is created from WorkloadData, or from ProductData if matrix and vectors stay on the devices. Times are from the
    clock of the host, which all devices share; caches are not flushed between calls.

    moved_bytes  minimum bytes that it moves, summed over all devices
    """

    moved_bytes: float

    def __init__(self, data: Any, setting: Setting, devices: Sequence[Device], clock: Clock) -> None: ...

    def check(self) -> None:
        """Run for the first time and verify the result; raise KernelError if it is wrong."""
        ...

    def turn(self) -> float:
        """Return the seconds per SpMV or iteration, the median of a few samples."""
        ...

    def fields(self) -> dict[str, Any]:
        """Return the fields of the record except the time; phases are medians over all samples."""
        ...


def stored_bytes(stored: SharedMatrix, spans: Sequence[Span]) -> int:
    """Return the bytes of all partitions; a cut line with pointers has them in each of its partitions."""
    return sum(int(stored.major_of(span).nbytes) for span in spans) + ENTRY_BYTES * stored.nnz
