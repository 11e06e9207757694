"""Runs on a GPU that end on the device: the test of convergence is a condition of their CUDA graph.

Evaluating a condition takes as long as a small iteration. γ falls by about the same factor in every iteration, so most
iterations run in chunks whose iterations are all needed according to γ, and only the last ones in pairs with a test
after each.
"""

from typing import Any, Protocol

import numpy as np

from gpu_engine.cuda.conditional import if_true, new_handle, supported, while_true
from gpu_engine.pagerank.convergence_kernel import CHUNKS, CONVERGE, RAISE, SHORTER_CHUNKS
from gpu_engine.pagerank.cuda_ranks import CudaRanks
from gpu_engine.pagerank.graph import PageRankParams
from gpu_engine.pagerank.run import PLAIN, Run
from gpu_engine.pagerank.schedule import Schedule

FIRST = 4
"""Iterations before the first test, because two values of γ do not give the factor accurately."""

FULL = PLAIN.segments

ABOVE = 16.0
"""Factor between γ and the resolution of a precision above which chunks are allowed; closer to it γ may stall."""

COURSE = 7
"""Words of `Course` in course.cuh: iterations, late iterations, iterations that wrote 1 to 4 segments, and a γ."""


class Converging(Protocol):
    """A run from the current ranks that needs no host."""

    def launch(self) -> None:
        """Launch the run on the current stream, which must be in capture: the CUDA graph is the run."""
        ...

    def ended(self) -> tuple[int, ...]:
        """Wait for the last run; return how many iterations wrote 1, 2 … segments, one number without segments.

        Afterwards the ranks are those of that run.
        """
        ...

    def look_always(self) -> bool:
        """Return whether the last run raised its precision too late; if so, the next runs test after each iteration."""
        ...


def converging(ranks: CudaRanks, run: Run, params: PageRankParams, xp: Any) -> Converging | None:
    """Return a run that ends on the device, or None if the driver lacks conditional nodes or it is too short."""
    if len(run.gammas) <= FIRST or not supported():
        return None
    if run.schedule is PLAIN:
        return ConvergingInNumbers(ranks, params, xp)
    return ConvergingInSegments(ranks, run.schedule, params, xp)


class ConvergingInNumbers:
    """Run in fp64 or fp32 until γ < ε or iterations_max; it can make a few extra iterations if γ falls ever faster."""

    def __init__(self, ranks: CudaRanks, params: PageRankParams, xp: Any) -> None:
        self._ranks, self._params, self._iterations = ranks, params, xp.zeros(1, np.int32)

    def ended(self) -> tuple[int, ...]:
        """Implement `Converging`."""
        iterations = int(self._iterations[0])
        self._ranks.left(iterations, FULL)
        return (iterations,)

    def look_always(self) -> bool:
        """Return False, because a few more iterations in fp64 or fp32 do no harm."""
        return False

    def launch(self) -> None:
        """Implement `Converging`."""
        self._iterations.data.memset_async(0, self._iterations.nbytes)
        many, some, pair = (new_handle(0) for _ in range(3))
        self._chunk(FIRST, many, some, pair)
        for handle, length in zip((many, some), CHUNKS, strict=True):
            with while_true(handle):
                self._chunk(length, many, some, pair)
        with while_true(pair):
            second = new_handle(0)
            self._chunk(1, 0, 0, pair, second)
            with if_true(second):
                self._chunk(1, 0, 0, pair)

    def _chunk(self, length: int, *conditions: int) -> None:
        for _ in range(length - 1):
            self._ranks.pull(FULL, FULL)
            self._ranks.norm()
        self._ranks.pull(FULL, FULL)
        rule = np.float64(self._params.epsilon), np.int32(self._params.iterations_max), np.int32(length)
        handles = (np.uint64(handle) for handle in (*conditions, 0)[:4])
        self._ranks.norm_or_end(CONVERGE.function(CONVERGE.instantiations[0]), (*rule, self._iterations, *handles))


class ConvergingInSegments:
    """Run of a schedule until it ends: one precision after the other, each a part of the CUDA graph.

    An iteration overwrites the ranks of the previous one. Each precision except the first therefore has two parts, one
    for an even and one for an odd number of preceding iterations; γ selects one. Loops contain an even number of
    iterations.
    """

    def __init__(self, ranks: CudaRanks, schedule: Schedule, params: PageRankParams, xp: Any) -> None:
        self._ranks, self._schedule, self._params = ranks, schedule, params
        self._course = xp.zeros(COURSE, np.int64)
        self._chunks: tuple[int, ...] = SHORTER_CHUNKS
        self._raises: dict[int, tuple[int, int]] = {}
        self._odd = 0

    def ended(self) -> tuple[int, ...]:
        """Implement `Converging`."""
        iterations, _, *written = (int(count) for count in self._course[:-1].tolist())
        self._ranks.left(iterations, max(k for k, count in enumerate(written, 1) if count))
        return tuple(written[: self._schedule.segments])

    def look_always(self) -> bool:
        """Implement `Converging`."""
        late = bool(int(self._course[1]))
        if late:
            self._chunks = ()
        return late

    def launch(self) -> None:
        """Implement `Converging`."""
        self._course.data.memset_async(0, self._course.nbytes)
        first, last = self._schedule.start_segments, self._schedule.segments
        self._raises = {k: (new_handle(0), new_handle(0)) for k in range(first + 1, last + 1)}
        self._precision(first, first, 0)
        for k, handles in self._raises.items():
            for odd, handle in enumerate(handles):
                with if_true(handle):
                    self._precision(k - 1, k, odd)

    def _precision(self, read: int, write: int, odd: int) -> None:
        """Add all iterations that write `write` segments; the first of them reads `read`."""
        self._ranks.left(odd, read)
        self._odd = odd
        more = new_handle(0)
        self._iterate(read, write, 0, 0, more)
        if read < write == self._schedule.segments:
            self._ranks.convert()
        with if_true(more):
            self._stay(write, write > read)

    def _stay(self, k: int, after_raise: bool) -> None:
        """Add one iteration and the following ones, which read and write k segments."""
        loops = [(new_handle(0), length) for length in self._chunks]
        pair = new_handle(0)
        conditions = (*([handle for handle, _ in loops] or (0, 0)), pair)
        self._iterate(k, k, *conditions, after_raise=after_raise)
        for handle, length in loops:
            with while_true(handle):
                for _ in range(length - 1):
                    self._iterate(k, k)
                self._iterate(k, k, *conditions)
        with while_true(pair):
            second = new_handle(0)
            self._iterate(k, k, 0, 0, pair, second)
            with if_true(second):
                self._iterate(k, k, 0, 0, pair)

    def _iterate(self, read: int, write: int, *conditions: int, after_raise: bool = False) -> None:
        """Add an iteration; with conditions (many, some, stay, second) the graph tests γ after it.

        after_raise  the previous iteration raised the precision, so that there is no γ to compare with
        """
        self._ranks.pull(read, write)
        self._odd ^= 1
        looks = bool(conditions)
        raises = self._raises[write + 1][self._odd] if looks and write < self._schedule.segments else 0
        handles = (*(*conditions, 0, 0, 0, 0)[:4], raises)
        # Scaling to ‖p‖₁ = 1 changes the ranks after γ was computed.
        moved = write > read and self._params.dangling != "teleport"
        compares = read == write and not after_raise
        rule = np.int32(write > read), np.int32(write), *self._rule(write), np.int32(compares), np.int32(moved)
        course = self._course, np.int32(looks), *map(np.uint64, handles)
        self._ranks.norm_or_end(RAISE.function(RAISE.instantiations[0]), (*rule, self._until(write), *course))

    def _rule(self, k: int) -> tuple[Any, ...]:
        """Return ε, the γ and the growth of γ from which on k segments are too few, and the most iterations."""
        near, stall = self._schedule.raise_at * 2.0 ** -self._schedule.mantissa_bits(k), self._schedule.stall_ratio
        if k == self._schedule.segments:
            near, stall = -1.0, np.inf
        return *map(np.float64, (self._params.epsilon, near, stall)), np.int32(self._params.iterations_max)

    def _until(self, k: int) -> Any:
        """Return the γ down to which iterations on k segments may run in chunks."""
        if k == self._schedule.segments:
            return np.float64(self._params.epsilon)
        bound = max(self._schedule.raise_at, ABOVE) * 2.0 ** -self._schedule.mantissa_bits(k)
        return np.float64(max(self._params.epsilon, bound))
