"""PEERS: alternatives to batched kernels, as cuSPARSE has no batched SpMV for different matrices.

A user can run one SpMV after the other, with cuSPARSE or the ELL kernel of Sparsight, use several streams at the
same time, or multiply all batch items as one block-diagonal matrix. On a CPU, SciPy runs one item after the other.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import scipy

from gpu_engine.batched.base import BatchKernel, BatchProduct
from gpu_engine.batched.batch import Batch
from gpu_engine.batched.ell import EllBatch, bytes_needed
from gpu_engine.competitors import BEST, cusparse, cusparse_library
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.formats import ell
from gpu_engine.formats.base import Format

BRANCHES = 8
"""Number of streams of `cusparse/branches`."""

Call = Callable[[], None]

Bind = Callable[[Any, Any, Any, bool], Call]
"""Function `(matrix, x, y, adds)` → a call of the SpMV of one matrix that allocates nothing."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One batch item: its matrix (None without nonzeros) and its slices of x and y."""

    matrix: Any
    cols: slice
    rows: slice


@dataclass(frozen=True)
class SeparateMatrices:
    """A batch as separate matrices, whose arrays are views of arrays of the batch or of a layout.

    streams  streams for parallel SpMVs; empty: one after the other on the current stream
    """

    batch: Batch
    problems: tuple[Problem, ...]
    stored_bytes: int
    streams: tuple[Any, ...] = ()
    _calls: dict[tuple[int, int, bool], tuple[Any, Any, tuple[Call, ...]]] = field(default_factory=dict)

    @staticmethod
    def of(batch: Batch, hold: Callable[[int, CsrMatrix], Any], stored_bytes: int) -> "SeparateMatrices":
        """Return the batch with one matrix per item, built by `hold(index, matrix)` if the item has nonzeros."""
        # Reading single elements on a GPU would copy each to the host.
        rows, cols, entries = (starts.tolist() for starts in (batch.rows, batch.cols, batch.entries))
        places = replace(batch, rows=rows, cols=cols, entries=entries)
        problems = (
            Problem(
                hold(p, places.problem(p)) if entries[p] < entries[p + 1] else None,
                slice(cols[p], cols[p + 1]),
                slice(rows[p], rows[p + 1]),
            )
            for p in range(len(rows) - 1)
        )
        return SeparateMatrices(batch, tuple(problems), stored_bytes)

    def to_batch(self) -> Batch:
        """Return the batch that the layout was built from."""
        return self.batch

    def calls(self, bind: Bind, x: Any, y: Any, adds: bool) -> Sequence[Call]:
        """Return one call per batch item, created once for these vectors, so that the host only launches.

        y of an item without nonzeros is set to 0, unless the SpMV adds to it.
        """
        key = id(x), id(y), adds
        if key not in self._calls:
            calls = (
                partial(y[p.rows].fill, 0.0) if p.matrix is None else bind(p.matrix, x[p.cols], y[p.rows], adds)
                for p in self.problems
                if p.matrix is not None or not adds
            )
            # The vectors are stored with their calls, so that their ids stay unique.
            self._calls[key] = x, y, tuple(calls)
        return self._calls[key][2]


@dataclass(frozen=True)
class BlockDiagonal:
    """A batch as the block-diagonal matrix of its items, in a format of a library."""

    batch: Batch
    layout: Any

    @property
    def stored_bytes(self) -> int:
        """Bytes of the arrays of the matrix."""
        return int(self.layout.stored_bytes)

    def to_batch(self) -> Batch:
        """Return the batch that the layout was built from."""
        return self.batch


def _csr_bytes(batch: Batch) -> int:
    return int(batch.indptr.nbytes + batch.indices.nbytes + batch.values.nbytes)


def _with_scipy(batch: Batch) -> SeparateMatrices:
    return SeparateMatrices.of(batch, lambda _, matrix: matrix.to_scipy(), _csr_bytes(batch))


def _with_cusparse(batch: Batch) -> SeparateMatrices:
    return SeparateMatrices.of(batch, lambda _, matrix: cusparse.csr(matrix), _csr_bytes(batch))


def _with_streams(batch: Batch) -> SeparateMatrices:
    import cupy

    streams = tuple(cupy.cuda.Stream(non_blocking=True) for _ in range(BRANCHES))
    return replace(_with_cusparse(batch), streams=streams)


def _with_ell(batch: Batch) -> SeparateMatrices:
    """Return the items in ELL, as views of the batch in ELL."""
    stored = EllBatch.store(batch)
    offsets = stored.offsets.tolist()

    def hold(p: int, matrix: CsrMatrix) -> ell.EllLayout:
        slots, shape = slice(offsets[p], offsets[p + 1]), (-1, matrix.n_rows)
        arrays = stored.columns[slots].reshape(shape), stored.values[slots].reshape(shape)
        return ell.EllLayout(matrix.n_cols, matrix.nnz, matrix.indptr.dtype, *arrays)

    return SeparateMatrices.of(batch, hold, stored.stored_bytes)


def _ell_bytes_moved(layout: SeparateMatrices) -> int:
    return sum(ell.moved_bytes(problem.matrix) for problem in layout.problems if problem.matrix is not None)


def _bind_scipy(matrix: Any, x: Any, y: Any, adds: bool) -> Call:
    def multiply() -> None:
        y[:] = matrix @ x + y if adds else matrix @ x

    return multiply


def _bind_cusparse(matrix: Any, x: Any, y: Any, adds: bool) -> Call:
    return cusparse.bind(matrix, cusparse.CSR_ALG1, x, y, adds)


def _one_by_one(bind: Bind) -> BatchProduct:
    return lambda layout, x, y, adds: _run(layout.calls(bind, x, y, adds))


def _chain(layout: SeparateMatrices, x: Any, y: Any, adds: bool) -> None:
    calls = layout.calls(_bind_cusparse, x, y, adds)
    cusparse_library.shared_handle()
    _run(calls)


def _run(calls: Sequence[Call]) -> None:
    for call in calls:
        call()


def _branches(layout: SeparateMatrices, x: Any, y: Any, adds: bool) -> None:
    """Run the calls on several streams, with fork and join by events, so that a graph captures them as branches."""
    import cupy

    calls, current = layout.calls(_bind_cusparse, x, y, adds), cupy.cuda.get_current_stream()
    fork = current.record(cupy.cuda.Event(disable_timing=True))
    for number, stream in enumerate(layout.streams):
        stream.wait_event(fork)
        # Leaving `with stream` would make the default stream current, not the previous one.
        stream.use()
        try:
            cusparse_library.shared_handle()
            _run(calls[number::BRANCHES])
        finally:
            current.use()
        current.wait_event(stream.record(cupy.cuda.Event(disable_timing=True)))


def _captured(loop: BatchKernel, name: str) -> BatchKernel:
    """Return a launch loop as a kernel that replays its launches from a CUDA graph."""
    return replace(loop, name=name, summary=f"{loop.summary.partition(',')[0]}, as one CUDA graph.", captured=True)


CUSPARSE_LOOP = BatchKernel(
    "cusparse/loop",
    "cuSPARSE SpMV per batch item, launched by the host during the timing.",
    _with_cusparse,
    _csr_bytes,
    cuda=_chain,
    libraries=cusparse_library.version,
    captured=False,
)

ELL_LOOP = BatchKernel(
    "ell/loop",
    "Sparsight ELL kernel per batch item, launched by the host during the timing.",
    _with_ell,
    bytes_needed,
    cuda=_one_by_one(ell.bind),
    source=ell.SOURCE,
    moved_bytes=_ell_bytes_moved,
    captured=False,
)

PEERS: tuple[BatchKernel, ...] = (
    CUSPARSE_LOOP,
    _captured(CUSPARSE_LOOP, "cusparse/chain"),
    BatchKernel(
        "cusparse/branches",
        f"cuSPARSE SpMV per batch item, on {BRANCHES} parallel streams.",
        _with_streams,
        _csr_bytes,
        cuda=_branches,
        libraries=cusparse_library.version,
    ),
    ELL_LOOP,
    _captured(ELL_LOOP, "ell/chain"),
    BatchKernel(
        "scipy/loop",
        "SciPy SpMV per batch item.",
        _with_scipy,
        _csr_bytes,
        cpu=_one_by_one(_bind_scipy),
        libraries=lambda: {"SciPy": scipy.__version__},
    ),
)

LOOPS = tuple(kernel.name for kernel in PEERS)
"""Names of the kernels with one launch or call per batch item."""


def _diagonal_kernels(form: Format) -> tuple[BatchKernel, ...]:
    """Return all algorithms of a library format on the shared block-diagonal matrix."""

    def store(batch: Batch) -> BlockDiagonal:
        return BlockDiagonal(batch, form.from_csr(batch.block_diagonal()))

    def bytes_needed(batch: Batch) -> int:
        # Column indices within an item need equally many bytes.
        shape = batch.n_rows, batch.n_cols, batch.row_pointers()
        return form.bytes_needed(CsrMatrix(*shape, batch.indices, batch.values)) + int(batch.indices.nbytes)

    return tuple(
        BatchKernel(
            form.name_of(kernel),
            f"{kernel.summary.rstrip('.')}, on the block-diagonal matrix.",
            store,
            bytes_needed,
            cuda=_diagonal_product(cusparse.ALGORITHMS[kernel.variant]),
            libraries=cusparse_library.version,
        )
        for kernel in form.kernels
    )


def _diagonal_product(algorithm: int) -> BatchProduct:
    return lambda layout, x, y, adds: cusparse.multiply(layout.layout, algorithm, x, y, adds)


DIAGONALS: tuple[BatchKernel, ...] = tuple(kernel for form in cusparse.FORMATS for kernel in _diagonal_kernels(form))
"""All algorithms on the block-diagonal matrix; BEST is the fastest of them."""


def peers_on(backend: str) -> tuple[BatchKernel, ...]:
    """Return the PEERS and DIAGONALS that run on a back end."""
    return tuple(kernel for kernel in (*PEERS, *DIAGONALS) if kernel.product(backend) is not None)


def peer_names(backend: str) -> tuple[str, ...]:
    """Return the kernel names of a study: all PEERS of a back end, and BEST for the DIAGONALS."""
    on = peers_on(backend)
    best = (BEST,) if any(kernel in on for kernel in DIAGONALS) else ()
    return (*(kernel.name for kernel in PEERS if kernel in on), *best)
