"""What a batch costs without a batched kernel: PEERS; cuSPARSE has no batched SpMV of matrices that differ.

What a user can do instead: one product after the other, by cuSPARSE or by our kernel of ELL, the same on several
streams at once, or all problems as one block-diagonal matrix. On a CPU there is SciPy, problem after problem.
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
"""Streams among which the products of `cusparse/branches` are dealt."""

Call = Callable[[], None]

Bind = Callable[[Any, Any, Any, bool], Call]
"""`(matrix, x, y, adds)`: the product of one matrix, as a BatchProduct, as a call that makes nothing anew."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem of a batch as a matrix of its own, None without entries, and its parts of x and y."""

    matrix: Any
    cols: slice
    rows: slice


@dataclass(frozen=True)
class SeparateMatrices:
    """A batch as separate matrices, whose arrays are views of those of the batch or of one layout of it.

    streams  on which the products run at once; none: one after the other on the current one
    """

    batch: Batch
    problems: tuple[Problem, ...]
    stored_bytes: int
    streams: tuple[Any, ...] = ()
    _calls: dict[tuple[int, int, bool], tuple[Any, Any, tuple[Call, ...]]] = field(default_factory=dict)

    @staticmethod
    def of(batch: Batch, hold: Callable[[int, CsrMatrix], Any], stored_bytes: int) -> "SeparateMatrices":
        """The problems with entries as `hold` makes them of their numbers and matrices."""
        # Looked up on a GPU, each place would be a copy to the host.
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
        """The batch that the layout was built from."""
        return self.batch

    def calls(self, bind: Bind, x: Any, y: Any, adds: bool) -> Sequence[Call]:
        """A call a problem, made once for these vectors: a host that loops over them does nothing but launch.

        y of a problem without entries is zeroed, unless the product adds to it.
        """
        key = id(x), id(y), adds
        if key not in self._calls:
            calls = (
                partial(y[p.rows].fill, 0.0) if p.matrix is None else bind(p.matrix, x[p.cols], y[p.rows], adds)
                for p in self.problems
                if p.matrix is not None or not adds
            )
            # The vectors are kept with their calls: while they are, nothing else has their ids.
            self._calls[key] = x, y, tuple(calls)
        return self._calls[key][2]


@dataclass(frozen=True)
class BlockDiagonal:
    """A batch as the block-diagonal matrix of its problems, in a format of a library."""

    batch: Batch
    layout: Any

    @property
    def stored_bytes(self) -> int:
        """Sum of the arrays of the matrix."""
        return int(self.layout.stored_bytes)

    def to_batch(self) -> Batch:
        """The batch that the layout was built from."""
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
    """In a batch in ELL each problem lies as the format has a matrix."""
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
    """Forks and joins by events, so that a graph captures the streams as branches."""
    import cupy

    calls, current = layout.calls(_bind_cusparse, x, y, adds), cupy.cuda.get_current_stream()
    fork = current.record(cupy.cuda.Event(disable_timing=True))
    for number, stream in enumerate(layout.streams):
        stream.wait_event(fork)
        # Leaving a `with stream` would make the default stream current, not the one that was in `use`.
        stream.use()
        try:
            cusparse_library.shared_handle()
            _run(calls[number::BRANCHES])
        finally:
            current.use()
        current.wait_event(stream.record(cupy.cuda.Event(disable_timing=True)))


def _captured(loop: BatchKernel, name: str) -> BatchKernel:
    """The same launches, replayed."""
    return replace(loop, name=name, summary="The same, captured in one CUDA graph.", captured=True)


CUSPARSE_LOOP = BatchKernel(
    "cusparse/loop",
    "cuSPARSE on one problem after the other, each launched by the host while the clock runs.",
    _with_cusparse,
    _csr_bytes,
    cuda=_chain,
    libraries=cusparse_library.version,
    captured=False,
)

ELL_LOOP = BatchKernel(
    "ell/loop",
    "Our kernel of single matrices in ELL on one problem after the other, each launched by the host.",
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
        f"The same on {BRANCHES} streams at once.",
        _with_streams,
        _csr_bytes,
        cuda=_branches,
        libraries=cusparse_library.version,
    ),
    ELL_LOOP,
    _captured(ELL_LOOP, "ell/chain"),
    BatchKernel(
        "scipy/loop",
        "SciPy on one problem after the other.",
        _with_scipy,
        _csr_bytes,
        cpu=_one_by_one(_bind_scipy),
        libraries=lambda: {"SciPy": scipy.__version__},
    ),
)

LOOPS = tuple(kernel.name for kernel in PEERS)
"""Those that launch or call something for each problem."""


def _diagonal_kernels(form: Format) -> tuple[BatchKernel, ...]:
    """Every algorithm of a format of the library, on the block-diagonal matrix that they share."""

    def store(batch: Batch) -> BlockDiagonal:
        return BlockDiagonal(batch, form.from_csr(batch.block_diagonal()))

    def bytes_needed(batch: Batch) -> int:
        # The columns do not count: those within a problem take as many bytes.
        shape = batch.n_rows, batch.n_cols, batch.row_pointers()
        return form.bytes_needed(CsrMatrix(*shape, batch.indices, batch.values)) + int(batch.indices.nbytes)

    return tuple(
        BatchKernel(
            form.name_of(kernel),
            f"{kernel.summary} On the block-diagonal matrix.",
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
"""What BEST chooses from: every algorithm on the block-diagonal matrix."""


def peers_on(backend: str) -> tuple[BatchKernel, ...]:
    """The PEERS and DIAGONALS of that backend."""
    return tuple(kernel for kernel in (*PEERS, *DIAGONALS) if kernel.product(backend) is not None)


def peer_names(backend: str) -> tuple[str, ...]:
    """What a study calls them: each of PEERS, and BEST for all of DIAGONALS."""
    on = peers_on(backend)
    best = (BEST,) if any(kernel in on for kernel in DIAGONALS) else ()
    return (*(kernel.name for kernel in PEERS if kernel in on), *best)
