"""Personalized PageRank of several seed sets at once: `seeded_ranks`.

All columns share each pass over the links. A column that has converged is frozen, and once half of the columns of the
block have ended, the block is compacted to the others.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gpu_engine.errors import ParameterError
from gpu_engine.pagerank.extrapolation import REMEMBERED, WINDOW
from gpu_engine.pagerank.graph import PageRankParams, TransitionMatrix
from gpu_engine.pagerank.seeded_block import CONVERGED, GAMMA, ITERATIONS, STATUS, SeededBlock
from gpu_engine.pagerank.seeded_cpu import CpuBlock
from gpu_engine.pagerank.seeded_cuda import CudaBlock
from gpu_engine.pagerank.seeds import Seeds

CHECK_EVERY = {"cpu": 1, "cuda": 4}
"""Iterations between two looks of the host at the columns that have ended.

A column ends in the same iteration whenever the host looks. The time of a compaction may change the order of sums.
"""


@dataclass(frozen=True, slots=True)
class SeededRun:
    """Result of a run; each field by seed set.

    ranks       float64 [n, k], on the host
    iterations  iterations that changed the ranks: int64 [k]
    gammas      γ of the last of them: float64 [k]
    converged   whether γ < ε was reached: bool [k]
    widths      columns of the block in each iteration
    """

    ranks: Any
    iterations: Any
    gammas: Any
    converged: Any
    widths: tuple[int, ...]


def seeded_ranks(
    transitions: TransitionMatrix,
    params: PageRankParams,
    seeds: Seeds,
    start: Any = None,
    backend: Literal["cpu", "cuda"] = "cpu",
    extrapolate: bool | None = None,
) -> SeededRun:
    """Run until γ < ε in all columns, or iterations_max; a column whose γ stalls ends without having converged.

    start        float64 [n], or [n, k] by set, on the host: ranks of an earlier run (warm start); default: teleport
                 vectors
    extrapolate  whether to extrapolate the ranks every WINDOW iterations; default: only from a warm start

    Raise ParameterError if the seeds belong to a graph of another size, or if `start` is not a vector of ranks.
    """
    block = seeded_block(transitions, params, seeds, backend)
    extrapolates = start is not None if extrapolate is None else extrapolate
    return run_block(block, params, start_ranks(start, seeds, params), CHECK_EVERY[backend], extrapolates)


def seeded_block(
    graph: TransitionMatrix, params: PageRankParams, seeds: Seeds, backend: str, shared: SeededBlock | None = None
) -> SeededBlock:
    """Return the block of a backend, `cpu` or `cuda` (the current GPU).

    shared  block of the same graph, parameters, and backend, whose links on the device are used too
    """
    if seeds.n != graph.n:
        raise ParameterError(f"The seeds belong to a graph of {seeds.n} pages, but this one has {graph.n}.")
    if backend == "cpu":
        return CpuBlock(graph, params, seeds)
    import cupy

    return CudaBlock(graph, params, seeds, cupy, shared.links if isinstance(shared, CudaBlock) else None)


def run_block(
    block: SeededBlock, params: PageRankParams, start: Any = None, check_every: int = 1, extrapolates: bool = False
) -> SeededRun:
    """Run a block from `start`, as `start_ranks` returns it."""
    block.reset(start)
    widths = iterate_block(block, params, check_every, extrapolates)
    return result_of(block, widths)


def iterate_block(
    block: SeededBlock, params: PageRankParams, check_every: int = 1, extrapolates: bool = False
) -> tuple[int, ...]:
    """Run the iterations of a block that has been reset; return its width in each of them."""
    widths: list[int] = []
    age = 0
    while block.width and len(widths) < params.iterations_max:
        block.pull()
        block.settle()
        widths.append(block.width)
        age += 1
        if extrapolates and age in REMEMBERED:
            block.remember()
        extrapolates_now = extrapolates and age == WINDOW
        if len(widths) % check_every and len(widths) < params.iterations_max and not extrapolates_now:
            continue
        finished = block.finished()
        if finished.all():
            break
        if extrapolates_now:
            block.extrapolate()
            age = 0
        if 2 * finished.sum() >= finished.size:
            block.compact(finished)
    return tuple(widths)


def result_of(block: SeededBlock, widths: tuple[int, ...]) -> SeededRun:
    """Return the result of a block that has run, which is empty afterwards."""
    state = block.state()
    iterations = state[ITERATIONS].astype(np.int64)
    return SeededRun(block.ranks(), iterations, state[GAMMA], state[STATUS] == CONVERGED, widths)


def start_ranks(start: Any, seeds: Seeds, params: PageRankParams) -> Any:
    """Return `start` as float64 [n, k], each column with sum 1 if dangling=teleport; None for None.

    Other treatments of dangling pages do not keep the sum of the ranks at 1, and a warm start must not change it.
    Raise ParameterError if the shape is wrong, or if ranks are negative, not finite, or all zero.
    """
    if start is None:
        return None
    ranks = np.asarray(start, dtype=np.float64)
    if ranks.shape not in ((seeds.n,), (seeds.n, seeds.k)):
        raise ParameterError(
            f"The start has shape {ranks.shape}; expected ({seeds.n},) for all seed sets, or ({seeds.n}, {seeds.k})."
        )
    columns = ranks.reshape(seeds.n, -1) if ranks.size else np.zeros((seeds.n, 1))
    for number, column in enumerate(columns.T):
        _check_start(number, column)
    if params.dangling == "teleport" and seeds.n:
        columns = columns / columns.sum(axis=0)
    return np.broadcast_to(columns, (seeds.n, seeds.k))


def _check_start(number: int, ranks: Any) -> None:
    """Raise ParameterError that names set and page; sets count from 1, pages from 0."""
    wrong = ~((ranks >= 0.0) & np.isfinite(ranks))
    if wrong.any():
        page = int(np.argmax(wrong))
        raise ParameterError(
            f"The start of seed set {number + 1} is {ranks[page]} at page {page}; it must be finite and not negative."
        )
    with np.errstate(over="ignore"):
        total = float(ranks.sum())
    if ranks.size and not 0.0 < total < np.inf:
        raise ParameterError(f"The start of seed set {number + 1} has sum {total}; it must be positive and finite.")
