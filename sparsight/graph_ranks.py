"""pagerank: PageRank of a caller's graph, personalized for one or several seed sets."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gpu_engine.operators.matrices import wrap_arrays
from gpu_engine.operators.vectors import current_device
from gpu_engine.pagerank.graph import PageRankParams, transition_matrix
from gpu_engine.pagerank.seeded import SeededRun, seeded_ranks
from gpu_engine.pagerank.seeds import Seeds, SeedSet, parse_seeds
from gpu_engine.parameters import parse_params

Set = Mapping[int, float] | Sequence[int]
"""Pages of a seed set: with a weight each, or with equal weights."""


def pagerank(
    graph: Any,
    seeds: str | Sequence[Set] = "",
    *,
    start: Any = None,
    extrapolate: bool | None = None,
    **options: Any,
) -> SeededRun:
    """Return the ranks of all pages for each seed set, computed where the graph lies: on a CPU or on its GPU.

    graph        square sparse matrix of SciPy, CuPy, or PyTorch; row i holds the links of page i
    seeds        1 to 64 sets: `[{12: 1.0}, [5, 9]]`, or text, `"12; 5, 9"`; an empty set means every page
    start        ranks of an earlier run, float64 [n] or [n, k] on the host, to continue from after links have changed
    extrapolate  whether to combine iterates, which saves iterations on most graphs; default: only with a start
    options      fields of PageRankParams: damping, epsilon, iterations_max, norm, dangling, weights, triangle,
                 self_loops

    The run has `ranks`, float64 [n, k] on the host, and per set `iterations`, `gammas`, and `converged`.
    Raise ParameterError for a matrix that is not a graph, or for seeds, a start, or options that are not valid.
    """
    params = parse_params(PageRankParams, options)
    wrapped = wrap_arrays(graph)
    values = wrapped.stored.values
    transitions = transition_matrix(replace(wrapped, stored=wrapped.stored.on_host()).by_rows(), params)
    sets = parse_seeds(seeds, transitions.n) if isinstance(seeds, str) else Seeds.of(_sets(seeds), transitions.n)
    is_on_host = isinstance(values, np.ndarray)
    with current_device(values):
        return seeded_ranks(transitions, params, sets, start, "cpu" if is_on_host else "cuda", extrapolate)


def _sets(seeds: Sequence[Set]) -> list[SeedSet]:
    """Return seed sets as pages with weights."""
    return [
        tuple((int(page), float(weight)) for page, weight in each.items())
        if isinstance(each, Mapping)
        else tuple((int(page), 1.0) for page in each)
        for each in seeds
    ]
