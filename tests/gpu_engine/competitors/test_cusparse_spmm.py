"""cuSPARSE's SpMM without a GPU: a library in the place of NVIDIA's multiplies on the host, as its documents say."""

import ctypes
import functools
import gc
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from gpu_engine.competitors import cusparse, cusparse_bsr, cusparse_library, cusparse_spmm
from gpu_engine.competitors.cusparse_spmm import ALGORITHMS, KERNELS, Algorithm
from gpu_engine.competitors.spmm import LIBRARY_KERNELS
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import KernelError, ParameterError
from gpu_engine.generators import generate
from gpu_engine.spmm import ORDERS, Order, SpmmKernel, SpmmLaunch
from tests.battery import BATTERY
from tests.gpu_engine.spmm import contract

K = (0, 1, 2, 5)
MATRICES = ("zero_by_n", "n_by_zero", "all_rows_empty", "single_entry", "around_a_warp", "wide", "tall")
STRUCTURES = {"csr": {0, 4, 6, 12}, "coo": {1, 2, 3, 5}, "bsr": {14}}
"""cusparseSpMMAlg_t by format, as in cusparse.h."""

INDEX = {2: ctypes.c_int32, 3: ctypes.c_int64}
P, I32, I64 = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64
SPMM = (P, I32, I32, P, P, P, P, P, I32, I32, P)
SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cusparseCreate": (P,),
    "cusparseDestroy": (P,),
    "cusparseSetStream": (P, P),
    "cusparseGetVersion": (P, P),
    "cusparseCreateCsr": (P, I64, I64, I64, P, P, P, I32, I32, I32, I32),
    "cusparseCreateCoo": (P, I64, I64, I64, P, P, P, I32, I32, I32),
    "cusparseCreateBsr": (P, I64, I64, I64, I64, I64, P, P, P, I32, I32, I32, I32, I32),
    "cusparseCreateDnMat": (P, I64, I64, I64, P, I32, I32),
    "cusparseDnMatSetValues": (P, P),
    "cusparseDestroySpMat": (P,),
    "cusparseDestroyDnMat": (P,),
    "cusparseSpMM_bufferSize": SPMM,
    "cusparseSpMM_preprocess": SPMM,
    "cusparseSpMM": SPMM,
}


@dataclass
class Sparse:
    structure: str
    matrix: Any
    workspace: int | None = None


@dataclass
class Dense:
    shape: tuple[int, int]
    distance: int
    address: int
    order: int

    @property
    def array(self) -> Any:
        """The matrix where it lies."""
        (rows, columns), by_rows = self.shape, self.order == 2
        outer, inner = (rows, columns) if by_rows else (columns, rows)
        assert self.distance >= inner
        memory = (ctypes.c_double * (self.distance * (outer - 1) + inner)).from_address(self.address)
        strides = (8 * self.distance, 8) if by_rows else (8, 8 * self.distance)
        return np.lib.stride_tricks.as_strided(np.ctypeslib.as_array(memory), self.shape, strides)


def read(address: int, kind: Any, size: int) -> Any:
    return np.ctypeslib.as_array((kind * size).from_address(address)).copy()


class Library:
    """Objects that are alive by number, and the calls by name; a C function checks the type of every argument."""

    def __init__(self) -> None:
        self.alive: dict[int, Any] = {}
        self.calls: list[str] = []
        self.made = 0
        self.errors: list[BaseException] = []

    def __getattr__(self, name: str) -> Any:
        types = SIGNATURES[name]

        def call(*arguments: Any) -> int:
            self.calls.append(name.removeprefix("cusparse"))
            try:
                action: Callable[..., None] = getattr(self, f"do_{name.removeprefix('cusparse').lower()}")
                action(*arguments)
            except BaseException as error:
                self.errors.append(error)
                return 3
            return 0

        # Some tests keep the function longer than its library.
        function = ctypes.CFUNCTYPE(ctypes.c_int, *types)(call)
        self.__dict__[name] = function
        return function

    def make(self, out: int, made: Any) -> None:
        self.made += 1
        self.alive[self.made] = made
        ctypes.c_void_p.from_address(out).value = self.made

    def do_create(self, out: int) -> None:
        self.make(out, "handle")

    def do_setstream(self, handle: int, stream: int | None) -> None:
        assert (self.alive[handle], stream) == ("handle", 77)

    def do_getversion(self, handle: int, out: int) -> None:
        assert self.alive[handle] == "handle"
        ctypes.c_int.from_address(out).value = 12603

    def do_createcsr(self, out: int, rows: int, columns: int, nnz: int, *arrays_and_kinds: int) -> None:
        offsets, indices, values, offset_kind, index_kind, base, kind = arrays_and_kinds
        assert (index_kind, base, kind) == (2, 0, 1)
        indptr = read(offsets, INDEX[offset_kind], rows + 1)
        parts = read(values, ctypes.c_double, nnz), read(indices, ctypes.c_int32, nnz), indptr
        self.make(out, Sparse("csr", scipy.sparse.csr_array(parts, shape=(rows, columns))))

    def do_createcoo(self, out: int, rows: int, columns: int, nnz: int, *arrays_and_kinds: int) -> None:
        row, column, values, index_kind, base, kind = arrays_and_kinds
        assert (index_kind, base, kind) == (2, 0, 1)
        places = read(row, ctypes.c_int32, nnz), read(column, ctypes.c_int32, nnz)
        assert (np.diff(places[0]) >= 0).all()
        matrix = scipy.sparse.coo_array((read(values, ctypes.c_double, nnz), places), shape=(rows, columns))
        self.make(out, Sparse("coo", matrix.tocsr()))

    def do_createbsr(self, out: int, rows: int, columns: int, blocks: int, *sizes_arrays_and_kinds: int) -> None:
        height, width, offsets, indices, values, *kinds = sizes_arrays_and_kinds
        assert (height, kinds) == (width, [2, 2, 0, 1, 2])
        dense = read(values, ctypes.c_double, blocks * height * width).reshape(blocks, height, width)
        parts = dense, read(indices, ctypes.c_int32, blocks), read(offsets, ctypes.c_int32, rows + 1)
        self.make(out, Sparse("bsr", scipy.sparse.bsr_array(parts, shape=(rows * height, columns * width))))

    def do_creatednmat(self, out: int, rows: int, columns: int, distance: int, *rest: int) -> None:
        address, kind, order = rest
        assert kind == 1
        self.make(out, Dense((rows, columns), distance, address, order))

    def do_dnmatsetvalues(self, matrix: int, address: int) -> None:
        self.alive[matrix].address = address

    def do_destroy(self, handle: int) -> None:
        assert self.alive.pop(handle) == "handle"

    def do_destroyspmat(self, matrix: int) -> None:
        assert isinstance(self.alive.pop(matrix), Sparse)

    def do_destroydnmat(self, matrix: int) -> None:
        assert isinstance(self.alive.pop(matrix), Dense)

    def operands(self, *arguments: int) -> tuple[Sparse, Dense, Dense]:
        """A, B, and C, which fit each other and the algorithm."""
        handle, left, right, _, a, b, _, c, kind, algorithm, _ = arguments
        assert (self.alive[handle], left, right, kind) == ("handle", 0, 0, 1)
        matrix, read_from, written = self.alive[a], self.alive[b], self.alive[c]
        assert algorithm in STRUCTURES[matrix.structure]
        assert matrix.matrix.shape == (written.shape[0], read_from.shape[0])
        assert (read_from.shape[1], read_from.order) == (written.shape[1], written.order)
        return matrix, read_from, written

    def do_spmm_buffersize(self, *arguments: int) -> None:
        self.operands(*arguments)
        ctypes.c_size_t.from_address(arguments[-1]).value = 1000 * arguments[-2]

    def do_spmm_preprocess(self, *arguments: int) -> None:
        self.operands(*arguments)[0].workspace = arguments[-1]

    def do_spmm(self, *arguments: int) -> None:
        """Multiply; like NVIDIA's library, read X whatever α is, and keep to the workspace of the preprocessing."""
        matrix, read_from, written = self.operands(*arguments)
        assert arguments[-1]
        assert matrix.workspace in (None, arguments[-1])
        alpha, beta = (ctypes.c_double.from_address(arguments[place]).value for place in (3, 6))
        product, out = alpha * (matrix.matrix @ read_from.array), written.array
        out[...] = product if beta == 0.0 else product + beta * out


class Memory:
    """What of CuPy the kernels call, on the host: `allocated` counts arrays, `waited` the waits for the stream."""

    uint8 = np.uint8

    def __init__(self) -> None:
        self.allocated = self.waited = 0
        stream = SimpleNamespace(ptr=77, synchronize=self._wait)
        runtime = SimpleNamespace(getDevice=lambda: 0)
        self.cuda = SimpleNamespace(runtime=runtime, get_current_stream=lambda: stream)

    def _wait(self) -> None:
        self.waited += 1

    def empty(self, size: int, dtype: Any = np.float64) -> Any:
        self.allocated += 1
        return np.full(size, 0xAA if dtype is np.uint8 else np.nan, dtype)


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Memory:
    made = Memory()
    monkeypatch.setitem(sys.modules, "cupy", made)
    return made


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch, memory: Memory) -> Library:
    made = Library()
    monkeypatch.setattr(cusparse_library, "library", lambda: made)
    monkeypatch.setattr(cusparse_library, "_handle", functools.cache(lambda device: cusparse_library.new_handle()))
    for module in (cusparse, cusparse_bsr, cusparse_library, cusparse_spmm):
        monkeypatch.setattr(module, "pointer", lambda array: ctypes.c_void_p(array.ctypes.data))
    return made


BOTH = list(zip(ALGORITHMS, KERNELS, strict=True))
every = pytest.mark.parametrize(("algorithm", "kernel"), BOTH, ids=[kernel.name for kernel in KERNELS])


def matrices_of(algorithm: Algorithm) -> list[CsrMatrix]:
    if algorithm.structure is cusparse_spmm.BSR:
        return [generate("fem", {"block": 3, "nx": 4, "ny": 3, "nz": 2})]
    return [BATTERY[name]() for name in MATRICES]


def bound(kernel: SpmmKernel, host: CsrMatrix, k: int, order: Order) -> SpmmLaunch:
    return kernel.bound("cuda", kernel.store(host), k, order)


@every
def test_products(library: Library, algorithm: Algorithm, kernel: SpmmKernel) -> None:
    for host in matrices_of(algorithm):
        layout = kernel.store(host)
        assert 8 * host.nnz <= layout.stored_bytes <= kernel.bytes_needed(host)
        for k in K:
            x = contract.dense_matrix(host.n_cols, k, seed=k)
            for order in ORDERS:
                launch = kernel.bound("cuda", layout, k, order)
                for before, after in ((0, 0), (0, 1), (2, 2), (1, 0)):
                    contract.check_product(launch, host, x, (1.0, 0.0), np, before, after, order)
                for scale in contract.SCALES:
                    contract.check_product(launch, host, x, scale, np, order=order)
    assert library.errors == []


@every
def test_only_what_pays_is_preprocessed(
    library: Library, memory: Memory, algorithm: Algorithm, kernel: SpmmKernel
) -> None:
    bound(kernel, matrices_of(algorithm)[-1], 3, "row")
    assert library.calls.count("SpMM_preprocess") == memory.waited == algorithm.is_preprocessed
    assert kernel.name.endswith("_pre") == algorithm.is_preprocessed


@pytest.mark.parametrize("order", ORDERS)
def test_a_launch_allocates_nothing_and_makes_a_descriptor_for_another_distance_only(
    library: Library, memory: Memory, order: Order
) -> None:
    host = BATTERY["around_a_warp"]()
    launch = bound(KERNELS[0], host, 4, order)
    x, y = (contract.within(np, np.ones((n, 4)), 0, 0, order) for n in (host.n_cols, host.n_rows))
    allocated, calls = memory.allocated, ["SetStream", "SpMM"]
    library.calls.clear()
    launch(x, y, 1.0, 0.0)
    assert library.calls == ["DnMatSetValues", "DnMatSetValues", *calls]
    launch(x, y, 2.0, 1.0)
    assert library.calls[4:] == calls
    launch(x.copy(order="K"), y, 1.0, 0.0)
    assert library.calls[6:] == ["DnMatSetValues", *calls]
    launch(contract.within(np, x, 1, 2, order), y, 1.0, 0.0)
    assert library.calls[9:] == ["CreateDnMat", "DestroyDnMat", *calls]
    assert memory.allocated == allocated
    assert library.errors == []


def test_every_bound_spmm_has_a_descriptor_of_the_matrix_and_a_workspace_of_its_own(library: Library) -> None:
    host = BATTERY["band"]()
    preprocessed = [kernel for kernel in KERNELS if kernel.name.endswith("_pre")]
    launches = [bound(kernel, host, k, order) for kernel in preprocessed for k in (2, 3) for order in ORDERS]
    workspaces = {made.workspace for made in library.alive.values() if isinstance(made, Sparse)}
    assert len(workspaces) == len(launches) == 8
    del launches
    gc.collect()
    assert list(library.alive.values()) == ["handle"]


def test_nothing_is_asked_of_the_library_without_nonzeros_or_columns(library: Library) -> None:
    for host, k in ((BATTERY["all_rows_empty"](), 3), (BATTERY["band"](), 0)):
        bound(KERNELS[1], host, k, "column")
    assert library.calls == []


def test_an_error_of_the_library_names_the_call(library: Library) -> None:
    host = BATTERY["band"]()
    launch = bound(KERNELS[0], host, 4, "row")
    with pytest.raises(KernelError, match="cusparseSpMM failed with cuSPARSE status 3"):
        launch(np.ones((host.n_cols, 3)), np.ones((host.n_rows, 4)), 1.0, 0.0)


def test_nonzeros_that_form_no_blocks_have_no_bsr() -> None:
    with pytest.raises(ParameterError):
        KERNELS[-1].store(BATTERY["band"]())


def test_the_list_of_libraries_has_all_algorithms_and_their_version(library: Library) -> None:
    assert {kernel.name for kernel in KERNELS} <= {kernel.name for kernel in LIBRARY_KERNELS}
    assert len({kernel.name for kernel in LIBRARY_KERNELS}) == len(LIBRARY_KERNELS)
    assert {algorithm.number for algorithm in ALGORITHMS} == set.union(*STRUCTURES.values())
    cusparse_library.version.cache_clear()
    assert KERNELS[0].libraries() == {"cuSPARSE": "12.6.3"}
    cusparse_library.version.cache_clear()
    assert library.errors == []


def test_the_source_of_a_library_kernel_is_its_module() -> None:
    hashes = {kernel.source_hash("cuda") for kernel in KERNELS}
    assert len(hashes) == 1
    assert "" not in hashes
