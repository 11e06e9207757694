"""cuGraph's PageRank through pylibcugraph: whole calls, told our ε, and then what brings its ranks under it.

A call cannot be captured in a CUDA graph: it asks the device after each iteration whether to go on. It is timed as it
is launched, on a graph that the library has renumbered and stored before.
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
"""The axis of its cases, whose values are TOLD and VERIFIED."""

TOLD, VERIFIED = "epsilon", "verified"
"""It is told ε; it is told the loosest tolerance with which the residual of its ranks is under ε."""

ASKS = {"dangling": "teleport", "norm": "L1", "weights": "ignore"}
"""The parameters of PageRank that mean the same to the library at these values alone."""

NOT_INSTALLED = "cuGraph is not installed here. Install pylibcugraph-cu13, or pylibcugraph-cu12 for CUDA 12."

TENS, HALVINGS = 8, 3
"""A tolerance is looked for so many powers of ten below ε, and then to a factor of 10^(1/2^HALVINGS)."""

POOL_BYTES = 2**32
"""What the library's pool keeps between calls: without a pool each call would wait for the driver's allocations."""


def peer_names(backend: str) -> tuple[str, ...]:
    """Other libraries that run PageRank on a backend, whether they are installed or not."""
    return (NAME,) if backend == "cuda" else ()


def refuse(params: PageRankParams) -> None:
    """Raises ParameterError where the parameters ask for something that the library does not compute."""
    for name, value in ASKS.items():
        if getattr(params, name) != value:
            raise ParameterError(f"cuGraph does not know {name}={getattr(params, name)}; take {value}.")


@functools.cache
def _library() -> Any:
    """The module, with a pool for the memory of its calls; raises ParameterError where it is not installed."""
    try:
        import pylibcugraph
        import rmm
    except ImportError as error:
        raise ParameterError(f"{NOT_INSTALLED} The reason: {error}.") from None
    rmm.mr.set_current_device_resource(rmm.mr.CudaAsyncMemoryResource(release_threshold=POOL_BYTES))
    return pylibcugraph


@contextmanager
def _asked() -> Iterator[None]:
    """Runs calls of the library: its errors become KernelError and DeviceMemoryError.

    The library waits for the default stream and for no other, so what CuPy does for it is launched there.
    """
    import cupy

    current = cupy.cuda.get_current_stream()
    cupy.cuda.Stream.null.use()
    try:
        yield
    except MemoryError as error:
        raise DeviceMemoryError(f"cuGraph has too little free memory: {error}.") from error
    except (ValueError, RuntimeError) as error:
        # An error of CUDA is a RuntimeError too; the stopwatch knows what it means.
        if type(error).__module__ != "builtins":
            raise
        raise KernelError(f"cuGraph failed: {error}.") from error
    finally:
        current.use()


class CugraphRanks:
    """A graph as cuGraph holds it on the current GPU, renumbered, in fp64.

    Raises ParameterError where the library is not installed or the parameters are none that it knows.
    """

    def __init__(self, graph: TransitionMatrix, params: PageRankParams) -> None:
        refuse(params)
        self._n, self._damping = graph.n, params.damping
        import cupy

        pages = np.arange(graph.n, dtype=np.int32)
        with _asked():
            self._library = _library()
            self._handle = self._library.ResourceHandle()
            self._graph = self._library.SGGraph(
                self._handle,
                self._library.GraphProperties(is_symmetric=False, is_multigraph=False),
                cupy.asarray(graph.pull.indices),
                cupy.asarray(np.repeat(pages, np.diff(graph.pull.indptr))),
                # The type of the ranks is that of the weights.
                weight_array=cupy.ones(graph.pull.nnz),
                vertices_array=cupy.asarray(pages),
                store_transposed=True,
                renumber=True,
                do_expensive_check=False,
            )

    @property
    def environment(self) -> dict[str, str]:
        """The release of the library: {"cuGraph": "26.10.00"}."""
        return {"cuGraph": str(self._library.__version__)}

    def run(self, tolerance: float, iterations_max: int) -> tuple[Any, Any, bool]:
        """Pages and their ranks on the device, in an order of the library's, and whether it says that it converged."""
        import cupy

        with _asked():
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
        """The ranks of a run, float64 [n] on the host in the order of the pages, and whether it converged."""
        import cupy

        pages, found, converged = self.run(tolerance, iterations_max)
        ranks = np.zeros(self._n)
        with _asked():
            ranks[cupy.asnumpy(pages)] = cupy.asnumpy(found)
        return ranks, converged

    def iterations(self, tolerance: float, most: int) -> int:
        """Iterations after which the library says that it converged, `most` where it never does.

        It says so of a run that could have gone on, and not of one that came under the tolerance in its last iteration.
        """
        return 1 + bisect_left(range(1, most), True, key=lambda count: self.run(tolerance, count + 1)[2])


def loosest_tolerance(is_right: Callable[[float], bool], epsilon: float) -> float:
    """The loosest tolerance up to ε with which ranks are right, sought as TENS and HALVINGS say.

    Raises KernelError where there is none.
    """
    powers = (epsilon * 10.0**-ten for ten in range(TENS + 1))
    right = next((tolerance for tolerance in powers if is_right(tolerance)), None)
    if right is None:
        raise KernelError(f"With no tolerance from {epsilon:g} down {TENS} powers of ten is the residual under ε.")
    if right == epsilon:
        return right
    wrong = 10 * right
    for _ in range(HALVINGS):
        middle = math.sqrt(right * wrong)
        right, wrong = (middle, wrong) if is_right(middle) else (right, middle)
    return right
