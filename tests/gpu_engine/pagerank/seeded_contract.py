"""What runs of several seed sets must do, by value, on either backend: against SciPy, dense solves, and single runs."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.generators import generate
from gpu_engine.pagerank import PageRankParams, TransitionMatrix, Verifier, reference, transition_matrix
from gpu_engine.pagerank.run import PATIENCE
from gpu_engine.pagerank.seeded import SeededRun
from gpu_engine.pagerank.seeds import Seeds, SeedSet
from gpu_engine.parameters import parse_params
from tests.battery import coo
from tests.gpu_engine.multigpu.test_exchange import scattered

Rank = Callable[[TransitionMatrix, PageRankParams, Seeds, Any], SeededRun]
"""Run of a backend: `(graph, params, seeds, start)`."""


def crowd() -> CsrMatrix:
    """Page 0 has 1,499 incoming links and page 1 has 499, more than a segment of SpMM; most pages dangle."""
    sources = np.concatenate([np.arange(1, 1500), np.arange(1000, 1499), np.zeros(40, int)])
    targets = np.concatenate([np.zeros(1499, int), np.ones(499, int), np.arange(1480, 1520)])
    return coo(1600, 1600, sources, targets, np.linspace(0.5, 2.0, sources.size))


GRAPHS: dict[str, Callable[[], CsrMatrix]] = {
    "web": lambda: generate("web", {"n": 1200, "mean": 3.0, "seed": 3}),
    "stencil": lambda: generate("stencil", {"points": 9, "nx": 17, "ny": 13}),
    "lists": lambda: scattered(400),
    "rmat": lambda: generate("rmat", {"scale": 9, "edge_factor": 8, "seed": 2}),
    "crowd": crowd,
}

COLUMNS = (1, 2, 5, 33, 64)


def seeds_for(graph: TransitionMatrix, k: int) -> Seeds:
    """k sets: every page, one that dangles, one page twice, and random pages."""
    rng, last = np.random.default_rng(k), graph.n - 1
    dangling = int(graph.dangling[0]) if graph.dangling.size else 0
    sets: list[SeedSet] = [
        ((last, 1.0), (last // 2, 2.0), (last, 0.5)),
        ((dangling, 3.0),),
        (),
        ((dangling, 1.0), (7, 1.0)),
    ]
    while len(sets) < k:
        pages = rng.integers(0, graph.n, rng.integers(1, 20))
        sets.append(
            tuple((int(page), float(weight)) for page, weight in zip(pages, rng.random(pages.size) + 0.1, strict=True))
        )
    return Seeds.of(sets[:k], graph.n)


def check_columns(rank: Rank, matrix: CsrMatrix, params: PageRankParams, k: int) -> SeededRun:
    """Each column is the power iteration of SciPy, passes the verification, and takes as many iterations.

    A column that has not converged has done all iterations, or γ has not fallen for PATIENCE of them.
    """
    graph = transition_matrix(matrix, params)
    seeds = seeds_for(graph, k)
    run, vectors, verifier = rank(graph, params, seeds, None), seeds.vectors(), Verifier(matrix, params)
    assert run.ranks.shape == (graph.n, k)
    for j in range(k):
        most = replace(params, iterations_max=int(run.iterations[j]))
        expected, gammas = reference(graph, most, vectors[:, j])
        assert run.iterations[j] == len(gammas)
        assert run.converged[j] == (gammas[-1] < params.epsilon)
        assert run.converged[j] or len(gammas) == params.iterations_max or min(gammas[-PATIENCE:]) > 0.99 * min(gammas)
        assert np.abs(run.ranks[:, j] - expected).sum() < 1e-12
        np.testing.assert_allclose(run.gammas[j], gammas[-1], rtol=1e-4, atol=1e-13)
        verifier.with_teleport(vectors[:, j]).check(run.ranks[:, j], run.gammas[j])
    return run


def check_blocked(rank: Rank, matrix: CsrMatrix, params: PageRankParams, k: int) -> None:
    """Each column is what a run of its set alone gives, also where others made the block narrower."""
    graph = transition_matrix(matrix, params)
    seeds = seeds_for(graph, k)
    run = rank(graph, params, seeds, None)
    for j in range(k):
        single = rank(graph, params, seeds.only(j), None)
        assert single.iterations[0] == run.iterations[j]
        assert np.abs(single.ranks[:, 0] - run.ranks[:, j]).sum() < 1e-14


def check_solve(rank: Rank, matrix: CsrMatrix, params: PageRankParams, k: int) -> None:
    """Each column solves (I − δ·Pᵀ − s·v·dᵀ)·p = (1 − δ)·v, with s the factor of dangling pages d."""
    graph = transition_matrix(matrix, params)
    seeds = seeds_for(graph, k)
    run, links, dangling = rank(graph, params, seeds, None), graph.pull.to_scipy().toarray(), np.zeros(graph.n)
    dangling[graph.dangling] = 1.0
    for j, v in enumerate(seeds.vectors().T):
        system = np.eye(graph.n) - params.damping * links - params.dangling_factor * np.outer(v, dangling)
        assert np.abs(run.ranks[:, j] - np.linalg.solve(system, (1.0 - params.damping) * v)).sum() < 1e-12


def check_ends(rank: Rank) -> None:
    """One column converges in the first iteration, another in the 200th, and both stay as they are from there on.

    The seed of the first dangles. The other one's neighbor gives all that it gets back: γ = 2·δᵗ.
    """
    params = parse_params(PageRankParams, {"damping": 0.9, "epsilon": 2.0 * 0.9**199.5})
    matrix = coo(3, 3, [0, 1], [1, 0], [1.0, 1.0])
    graph = transition_matrix(matrix, params)
    run = rank(graph, params, Seeds.of([((2, 1.0),), ((0, 1.0),), ((2, 4.0),)], 3), None)
    assert run.iterations.tolist() == [1, 200, 1]
    assert run.converged.all()
    np.testing.assert_array_equal(run.ranks[:, [0, 2]], [[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    np.testing.assert_allclose(run.ranks[:, 1], [1 / 1.9, 0.9 / 1.9, 0.0], atol=1e-9)
    assert abs(run.gammas[1] / (2.0 * 0.9**200) - 1.0) < 1e-6


def check_limit(rank: Rank) -> None:
    """A run ends with the last iteration that it may do, or when no γ falls; neither is convergence."""
    matrix = GRAPHS["web"]()
    for options, fewest, most in (({"iterations_max": 7}, 1, 7), ({"epsilon": 0.0}, 50, 400)):
        params = parse_params(PageRankParams, options)
        graph = transition_matrix(matrix, params)
        run = rank(graph, params, seeds_for(graph, 3), None)
        assert fewest <= run.iterations[0] <= most
        assert not run.converged[0]
        assert run.converged[1] == (params.epsilon > 0.0)


def relinked(matrix: CsrMatrix, share: float) -> CsrMatrix:
    """The matrix, all links of weight 1, with a share of them to other pages."""
    rng, links = np.random.default_rng(5), matrix.to_scipy().tocoo()
    chosen = rng.choice(matrix.nnz, round(share * matrix.nnz), replace=False)
    targets = links.col.copy()
    targets[chosen] = rng.integers(0, matrix.n_cols, chosen.size)
    return CsrMatrix.from_scipy(scipy.sparse.coo_array((np.ones(matrix.nnz), (links.row, targets)), shape=matrix.shape))


def passes_after_change(rank: Rank, epsilon: float, share: float, name: str = "web", **options: Any) -> tuple[int, int]:
    """Passes from the teleport vectors, and from earlier ranks, after a share of the links has changed."""
    matrix = generate(name, options or {"n": 20_000, "mean": 8.0, "seed": 3})
    params = parse_params(PageRankParams, {"epsilon": epsilon})
    before, after = (transition_matrix(each, params) for each in (matrix, relinked(matrix, share)))
    seeds = seeds_for(before, 5)
    earlier = rank(before, params, seeds, None).ranks
    cold, warm = rank(after, params, seeds, None), rank(after, params, seeds, earlier)
    assert np.abs(cold.ranks - warm.ranks).sum(axis=0).max() < 2 * epsilon * params.damping / (1 - params.damping)
    return max(cold.iterations), max(warm.iterations)


def check_extrapolated(rank: Rank, matrix: CsrMatrix, params: PageRankParams, k: int) -> None:
    """Each column of a warm start is as exact as γ says, with ranks that are not negative.

    `rank` extrapolates from a start. The start is the same for all sets, so that no column is near its ranks.
    """
    graph = transition_matrix(matrix, params)
    seeds = seeds_for(graph, k)
    start = np.random.default_rng(k).random(graph.n)
    run, vectors, verifier = rank(graph, params, seeds, start / start.sum()), seeds.vectors(), Verifier(matrix, params)
    assert run.ranks.min() >= 0.0
    for j in range(k):
        checked = verifier.with_teleport(vectors[:, j]).check(run.ranks[:, j], run.gammas[j])
        assert checked.residual < 1e-6
        assert run.converged[j] == (run.gammas[j] < params.epsilon)
