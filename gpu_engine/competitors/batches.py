"""Other libraries on a batch: PEERS; cuSPARSE has no batched SpMV of matrices that differ.

What a user can do with it instead: one product after the other, the same on several streams at once, or all problems as
one block-diagonal matrix. On a CPU there is SciPy, problem after problem.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import scipy

from gpu_engine.batched.base import BatchKernel, BatchProduct
from gpu_engine.batched.batch import Batch
from gpu_engine.competitors import BEST, COMPETITORS, cusparse
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.formats.base import Format

BRANCHES = 8
"""Streams among which the products of `cusparse/branches` are dealt."""


@dataclass(frozen=True, slots=True)
class LibraryProblem:
    """One problem of a batch as a library holds it, None without entries, and its parts of x and y."""

    matrix: Any
    cols: slice
    rows: slice


@dataclass(frozen=True)
class SeparateMatrices:
    """A batch as separate matrices of a library, whose arrays are views of the batch's.

    streams  on which the products run at once; none: one after the other on the current one
    """

    batch: Batch
    problems: tuple[LibraryProblem, ...]
    streams: tuple[Any, ...] = ()

    @property
    def stored_bytes(self) -> int:
        """Sum of the arrays of all matrices."""
        return _csr_bytes(self.batch)

    def to_batch(self) -> Batch:
        """The batch that the layout was built from."""
        return self.batch


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


def _separate_matrices(batch: Batch, hold: Callable[[CsrMatrix], Any]) -> SeparateMatrices:
    # Looked up on a GPU, each place would be a copy to the host.
    rows, cols, entries = (starts.tolist() for starts in (batch.rows, batch.cols, batch.entries))
    places = replace(batch, rows=rows, cols=cols, entries=entries)
    problems = (
        LibraryProblem(
            hold(places.problem(p)) if entries[p] < entries[p + 1] else None,
            slice(cols[p], cols[p + 1]),
            slice(rows[p], rows[p + 1]),
        )
        for p in range(len(rows) - 1)
    )
    return SeparateMatrices(batch, tuple(problems))


def _with_scipy(batch: Batch) -> SeparateMatrices:
    return _separate_matrices(batch, CsrMatrix.to_scipy)


def _with_cusparse(batch: Batch) -> SeparateMatrices:
    return _separate_matrices(batch, cusparse.csr)


def _with_streams(batch: Batch) -> SeparateMatrices:
    import cupy

    streams = tuple(cupy.cuda.Stream(non_blocking=True) for _ in range(BRANCHES))
    return SeparateMatrices(batch, _with_cusparse(batch).problems, streams)


def _each(layout: SeparateMatrices, y: Any, adds: bool) -> Iterator[LibraryProblem]:
    """The problems with entries; y of the others is zeroed, unless the product adds to it."""
    for problem in layout.problems:
        if problem.matrix is not None:
            yield problem
        elif not adds:
            y[problem.rows].fill(0.0)


def _loop(layout: SeparateMatrices, x: Any, y: Any, adds: bool) -> None:
    for problem in _each(layout, y, adds):
        product = problem.matrix @ x[problem.cols]
        if adds:
            y[problem.rows] += product
        else:
            y[problem.rows] = product


def _chain(layout: SeparateMatrices, x: Any, y: Any, adds: bool) -> None:
    for problem in _each(layout, y, adds):
        cusparse.multiply(problem.matrix, cusparse.CSR_ALG1, x[problem.cols], y[problem.rows], adds)


def _branches(layout: SeparateMatrices, x: Any, y: Any, adds: bool) -> None:
    """Forks and joins by events, so that a graph captures the streams as branches."""
    import cupy

    current = cupy.cuda.get_current_stream()
    fork = current.record(cupy.cuda.Event(disable_timing=True))
    for number, stream in enumerate(layout.streams):
        stream.wait_event(fork)
        # Leaving a `with stream` would make the default stream current, not the one that was in `use`.
        stream.use()
        try:
            _chain(SeparateMatrices(layout.batch, layout.problems[number::BRANCHES]), x, y, adds)
        finally:
            current.use()
        current.wait_event(stream.record(cupy.cuda.Event(disable_timing=True)))


PEERS: tuple[BatchKernel, ...] = (
    BatchKernel(
        "cusparse/chain",
        "cuSPARSE on one problem after the other, captured in one CUDA graph.",
        _with_cusparse,
        _csr_bytes,
        cuda=_chain,
    ),
    BatchKernel(
        "cusparse/branches",
        f"The same on {BRANCHES} streams at once.",
        _with_streams,
        _csr_bytes,
        cuda=_branches,
        libraries=cusparse.version,
    ),
    BatchKernel(
        "scipy/loop",
        "SciPy on one problem after the other.",
        _with_scipy,
        _csr_bytes,
        cpu=_loop,
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
            libraries=cusparse.version,
        )
        for kernel in form.kernels
    )


def _diagonal_product(algorithm: int) -> BatchProduct:
    return lambda layout, x, y, adds: cusparse.multiply(layout.layout, algorithm, x, y, adds)


DIAGONALS: tuple[BatchKernel, ...] = tuple(kernel for form in COMPETITORS for kernel in _diagonal_kernels(form))
"""What BEST chooses from: every algorithm on the block-diagonal matrix."""


def peers_on(backend: str) -> tuple[BatchKernel, ...]:
    """The PEERS and DIAGONALS of that backend."""
    return tuple(kernel for kernel in (*PEERS, *DIAGONALS) if kernel.product(backend) is not None)


def peer_names(backend: str) -> tuple[str, ...]:
    """What a study calls them: each of PEERS, and BEST for all of DIAGONALS."""
    on = peers_on(backend)
    best = (BEST,) if any(kernel in on for kernel in DIAGONALS) else ()
    return (*(kernel.name for kernel in PEERS if kernel in on), *best)
