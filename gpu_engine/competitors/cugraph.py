"""cuGraph's PageRank through pylibcugraph: complete calls with the tolerance ε, or with a verified tolerance.

A call cannot be captured in a CUDA graph, because the host reads the convergence after each iteration. It is timed
including its launches, on a graph that the library has renumbered and stored before.
"""

import functools
import math
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gpu_engine.errors import DeviceMemoryError, KernelError, ParameterError
from gpu_engine.pagerank.graph import PageRankParams, TransitionMatrix

NAME = "cugraph"

TOLERANCE = "tolerance"
"""Parameter of its cases, with the values TOLERANCE_EPSILON and TOLERANCE_VERIFIED."""

TOLERANCE_EPSILON, TOLERANCE_VERIFIED = "epsilon", "verified"
"""Tolerance ε; the loosest tolerance for which the verified residual of the ranks is below ε."""

ASKS = {"dangling": "teleport", "norm": "L1", "weights": "ignore"}
"""Parameters of PageRank with the only values that the library supports."""

NOT_INSTALLED = "cuGraph is not installed. Install pylibcugraph-cu13, or pylibcugraph-cu12 for CUDA 12."

TENS, HALVINGS = 8, 3
"""Range of the tolerance search in powers of ten below ε, and its refinement, to a factor of 10^(1/2^HALVINGS)."""

POOL_BYTES = 2**32
"""Bytes that the memory pool keeps between calls; without a pool each call would wait for allocations."""


def peer_names(backend: str) -> tuple[str, ...]:
    """Return the libraries that support PageRank on a back end, installed or not."""
    return (NAME,) if backend == "cuda" else ()


def refuse(params: PageRankParams) -> None:
    """Raise ParameterError for parameters that the library does not support."""
    for name, value in ASKS.items():
        if getattr(params, name) != value:
            raise ParameterError(f"cuGraph does not support {name}={getattr(params, name)}. Use {name}={value}.")


@functools.cache
def _library() -> Any:
    """Return pylibcugraph with a memory pool; raises ParameterError if it is not installed."""
    try:
        import pylibcugraph
        import rmm
    except ImportError as error:
        raise ParameterError(f"{NOT_INSTALLED} Reason: {error}.") from None
    rmm.mr.set_current_device_resource(rmm.mr.CudaAsyncMemoryResource(release_threshold=POOL_BYTES))
    return pylibcugraph


@contextmanager
def _library_call() -> Iterator[None]:
    """Convert errors of library calls in the block to KernelError and DeviceMemoryError.

    The library waits only for the default stream, so CuPy's work for it is launched there.
    """
    import cupy

    current = cupy.cuda.get_current_stream()
    cupy.cuda.Stream.null.use()
    try:
        yield
    except MemoryError as error:
        raise DeviceMemoryError(f"cuGraph has too little free GPU memory: {error}.") from error
    except (ValueError, RuntimeError) as error:
        # The stopwatch converts errors of CUDA, which are also of type RuntimeError.
        if type(error).__module__ != "builtins":
            raise
        raise KernelError(f"cuGraph failed: {error}.") from error
    finally:
        current.use()


class CugraphRanks:
    """A graph in cuGraph on the current GPU, renumbered, in fp64.

    Raises ParameterError if the library is not installed or does not support the parameters.
    """

    def __init__(self, graph: TransitionMatrix, params: PageRankParams) -> None:
        refuse(params)
        self._n, self._damping = graph.n, params.damping
        import cupy

        pages = np.arange(graph.n, dtype=np.int32)
        with _library_call():
            self._library = _library()
            self._handle = self._library.ResourceHandle()
            self._graph = self._library.SGGraph(
                self._handle,
                self._library.GraphProperties(is_symmetric=False, is_multigraph=False),
                cupy.asarray(graph.pull.indices),
                cupy.asarray(np.repeat(pages, np.diff(graph.pull.indptr))),
                # The weights determine the type of the ranks.
                weight_array=cupy.ones(graph.pull.nnz),
                vertices_array=cupy.asarray(pages),
                store_transposed=True,
                renumber=True,
                do_expensive_check=False,
            )

    @property
    def environment(self) -> dict[str, str]:
        """Version of the library: {"cuGraph": "26.10.00"}."""
        return {"cuGraph": str(self._library.__version__)}

    def run(self, tolerance: float, iterations_max: int) -> tuple[Any, Any, bool]:
        """Return (pages, ranks, converged) of a run; arrays on the device, in the order of the library."""
        import cupy

        with _library_call():
            pages, ranks, converged = self._library.pagerank(
                self._handle,
                self._graph,
                None,
                None,
                None,
                None,
                alpha=self._damping,
                epsilon=tolerance,
                max_iterations=iterations_max,
                do_expensive_check=False,
                fail_on_nonconvergence=False,
            )
            cupy.cuda.Stream.null.synchronize()
            return pages, ranks, bool(converged)

    def ranks(self, tolerance: float, iterations_max: int) -> tuple[Any, bool]:
        """Return the ranks of a run, float64 [n] on the host, in the order of the pages, and whether it converged."""
        import cupy

        pages, page_ranks, converged = self.run(tolerance, iterations_max)
        ranks = np.zeros(self._n)
        with _library_call():
            ranks[cupy.asnumpy(pages)] = cupy.asnumpy(page_ranks)
        return ranks, converged

    def iterations(self, tolerance: float, most: int) -> int:
        """Return the iterations after which the library reports convergence; `most` if it never does.

        It does not report convergence that occurs in the last allowed iteration, so one more is allowed.
        """
        return 1 + bisect_left(range(1, most), True, key=lambda count: self.run(tolerance, count + 1)[2])


def loosest_tolerance(is_right: Callable[[float], bool], epsilon: float) -> float:
    """Return the loosest tolerance ≤ ε with verified ranks, by a search with TENS and HALVINGS.

    Raises KernelError if there is none.
    """
    powers = (epsilon * 10.0**-ten for ten in range(TENS + 1))
    right = next((tolerance for tolerance in powers if is_right(tolerance)), None)
    if right is None:
        raise KernelError(
            f"The residual stays above ε = {epsilon:g} for all tolerances down to {TENS} powers of ten below ε."
        )
    if right == epsilon:
        return right
    wrong = 10 * right
    for _ in range(HALVINGS):
        middle = math.sqrt(right * wrong)
        right, wrong = (middle, wrong) if is_right(middle) else (right, middle)
    return right
