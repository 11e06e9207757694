"""Workload: what is measured of a matrix that devices share; Setting names one, WorkloadData is its matrix."""

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

WorkloadName = Literal["cold", "resident", "iterate", "pagerank"]

CutName = Literal["nonzeros", "rows"]

RANK_PARAMS = PageRankParams()

Clock = Callable[[], float]
"""Seconds since any moment."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a case measures.

    variant   a strategy, `resident`, `iterate`, or `pagerank+` and how ranks are stored
    devices   how many share the matrix
    merge     where, of cold products
    cut       what parts have in equal numbers; of cold products `rows` overrides their strategy, `nonzeros` does not
    placement, affinity  of cold products: where arrays of the host lie, and whether threads stay beside their devices;
              None: as their strategy says
    product   whose kernels multiply
    exchange  of what is iterated; overlap: whether devices multiply what they have meanwhile
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
        """As records call it."""
        return f"{self.partitioning}/{self.variant}"

    @property
    def axes(self) -> tuple[tuple[str, str], ...]:
        """What tells its case from others of the same kernel."""
        axes = [("devices", str(self.devices)), ("workload", self.workload)]
        if self.merge is not None:
            axes.append(("merge", self.merge))
        if self.workload in ("iterate", "pagerank"):
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
    """What a product from the host begins with: the matrix in the order in which it is cut, x, and y of any content."""

    stored: StoredMatrix
    x: Any
    y: Any


class ProductData:
    """The products of a matrix that are expected.

    reference  of A·x with a random x
    """

    def __init__(self, products: Products, lengths: Any, n_cols: int) -> None:
        """Multiplies once; lengths: of the rows."""
        self._products, self.reference = products, reference_of(products, lengths, n_cols)

    @cached_property
    def iterated_reference(self) -> Reference:
        """Of BATCH products in turn, A square, with the scale |A|·…·|x|; each carries on the errors of those before."""
        once = self.reference
        y, scale = once.y, once.scale
        for _ in range(BATCH - 1):
            y, scale = self._products(y, scale)
        return Reference(once.x, y, scale, once.limit + (BATCH - 1) * once.limit.max(initial=0.0))

    def stored(self, partitioning: str) -> SharedMatrix:
        """The matrix in the order in which it is cut."""
        raise NotImplementedError


class WorkloadData(ProductData):
    """A matrix on the host, and the products of it that are expected.

    matrix  its arrays, and those of `stored`, are in memory that is copied to a GPU at the full rate of the link
    x       that of the reference in such memory
    """

    def __init__(
        self, matrix: CsrMatrix, allocate: Allocate | None = None, xp: Any = np, host: Sequence[Device] = ()
    ) -> None:
        """Multiplies the matrix once, which memory-mapped files are read for.

        allocate  what copies to a GPU at the full rate of the link; None: any array does
        xp        the module of the device that sorts entries: NumPy or CuPy
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
        """Of PageRank with its default parameters; raises ParameterError where the matrix is not square."""
        return transition_matrix(self.matrix, RANK_PARAMS)

    @cached_property
    def verifier(self) -> Verifier:
        """What judges the ranks of that graph."""
        return Verifier(self.matrix, RANK_PARAMS)

    def stored(self, partitioning: str) -> StoredMatrix:
        """The matrix in the order in which it is cut; only the last one is kept."""
        if self._stored is None or self._stored.partitioning.name != partitioning:
            self._stored = None
            self._placed.clear()
            self._stored = self._sorted(find_partitioning(partitioning))
        return self._stored

    def placed(self, partitioning: str, placement: Placement, devices: Sequence[Device]) -> HostArrays:
        """What products of these devices begin with, placed so; copies of the last partitioning alone are kept."""
        stored, memory = self.stored(partitioning), host_memory(placement, devices, self.host)
        if memory is None:
            return HostArrays(stored, self.x, (self._allocate or np.empty)(stored.n_rows, np.float64))
        if memory not in self._placed:
            major, minor, values, x = (
                _copied(array, memory) for array in (stored.major, stored.minor, stored.values, self.x)
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
        """The array in memory from `allocate`; never a memory-mapped file, which the clock would see being read."""
        if self._allocate is None and type(array) is np.ndarray:
            return array
        copy = (self._allocate or np.empty)(array.size, array.dtype)
        if isinstance(array, np.ndarray):
            copy[:] = array
        else:
            array.get(out=copy)
        return copy


def _copied(array: Any, memory: HostMemory) -> Any:
    copy = memory.allocate(array.size, array.dtype)
    copy[:] = array
    return copy


class Workload(Protocol):
    """One setting on its devices: checks its own result, takes its own samples.

    It is made from WorkloadData, or from ProductData where matrix and vectors stay on the devices.
    Times are those of the host's clock, which all devices have in common; nothing is flushed between calls.

    moved_bytes  what it must move, on all devices together
    """

    moved_bytes: float

    def __init__(self, data: Any, setting: Setting, devices: Sequence[Device], clock: Clock) -> None: ...

    def check(self) -> None:
        """Runs for the first time and checks the result; raises KernelError where it is wrong."""
        ...

    def turn(self) -> float:
        """Seconds per product or iteration: the median of a few samples."""
        ...

    def fields(self) -> dict[str, Any]:
        """What a record says beside the time; phases are medians over the turns."""
        ...


def stored_bytes(stored: SharedMatrix, spans: Sequence[Span]) -> int:
    """Bytes of all parts: a compressed line that is cut has pointers in each of its parts."""
    return sum(int(stored.major_of(span).nbytes) for span in spans) + ENTRY_BYTES * stored.nnz
