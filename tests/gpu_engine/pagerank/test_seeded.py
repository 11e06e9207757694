"""Personalized PageRank of several seed sets on the CPU: the contract, block widths, starts, and verification."""

from typing import Any

import numpy as np
import pytest

from gpu_engine.errors import KernelError, ParameterError
from gpu_engine.pagerank import PageRankParams, TransitionMatrix, Verifier, transition_matrix
from gpu_engine.pagerank.seeded import SeededRun, run_block, seeded_block, seeded_ranks, start_ranks
from gpu_engine.pagerank.seeds import Seeds, parse_seeds
from gpu_engine.parameters import parse_params
from tests.battery import coo
from tests.gpu_engine.pagerank import seeded_contract as contract
from tests.gpu_engine.pagerank.graphs import WORKED

graphs = pytest.mark.parametrize("graph", contract.GRAPHS)


def rank(graph: TransitionMatrix, params: PageRankParams, seeds: Seeds, start: Any) -> SeededRun:
    return seeded_ranks(graph, params, seeds, start)


@graphs
@pytest.mark.parametrize("k", contract.COLUMNS)
def test_columns_are_those_of_scipy(graph: str, k: int) -> None:
    contract.check_columns(rank, contract.GRAPHS[graph](), PageRankParams(), k)


@graphs
@pytest.mark.parametrize("k", contract.COLUMNS)
def test_blocked_is_one_by_one(graph: str, k: int) -> None:
    contract.check_blocked(rank, contract.GRAPHS[graph](), PageRankParams(), k)


@pytest.mark.parametrize("weights", ["ignore", "use"])
@pytest.mark.parametrize("dangling", ["teleport", "ignore", "as printed"])
@pytest.mark.parametrize("norm", ["L1", "L2", "Linf"])
def test_parameters(norm: str, dangling: str, weights: str) -> None:
    """With "as printed", the ranks of a column may grow for ever."""
    options = {"norm": norm, "dangling": dangling, "weights": weights, "iterations_max": 60}
    contract.check_columns(rank, contract.crowd(), parse_params(PageRankParams, options), 5)


@pytest.mark.parametrize("dangling", ["teleport", "ignore"])
@pytest.mark.parametrize("graph", ["stencil", "lists", "rmat"])
def test_columns_solve_the_system(graph: str, dangling: str) -> None:
    params = parse_params(PageRankParams, {"dangling": dangling, "epsilon": 1e-14})
    contract.check_solve(rank, contract.GRAPHS[graph](), params, 5)


@pytest.mark.parametrize("name", WORKED)
def test_empty_set_is_pagerank(name: str) -> None:
    worked = WORKED[name]
    graph = transition_matrix(worked.adjacency, worked.params)
    run = seeded_ranks(graph, worked.params, Seeds.of([(), ()], graph.n))
    for column in run.ranks.T:
        np.testing.assert_allclose(column, worked.ranks, rtol=0, atol=1e-14)


def test_columns_end_in_their_own_iteration() -> None:
    contract.check_ends(rank)


def test_runs_that_do_not_converge() -> None:
    contract.check_limit(rank)


@pytest.mark.parametrize("check_every", [1, 4, 50])
def test_ranks_do_not_depend_on_checks(check_every: int) -> None:
    params, matrix = PageRankParams(), contract.GRAPHS["web"]()
    graph = transition_matrix(matrix, params)
    seeds = contract.seeds_for(graph, 33)
    expected = seeded_ranks(graph, params, seeds)
    run = run_block(seeded_block(graph, params, seeds, "cpu"), params, None, check_every)
    assert run.ranks.tobytes() == expected.ranks.tobytes()
    np.testing.assert_array_equal(run.iterations, expected.iterations)


def test_block_can_run_again() -> None:
    params = PageRankParams()
    graph = transition_matrix(contract.GRAPHS["rmat"](), params)
    block = seeded_block(graph, params, contract.seeds_for(graph, 5), "cpu")
    first, second = (run_block(block, params) for _ in range(2))
    assert first.ranks.tobytes() == second.ranks.tobytes()


def test_block_is_compacted_when_half_has_ended() -> None:
    """Columns end after 1, 1, and many iterations; two of three leave, then the last one stays alone."""
    params = parse_params(PageRankParams, {"damping": 0.5, "epsilon": 1e-3})
    graph = transition_matrix(coo(5, 5, [0, 1], [1, 0], [1.0, 1.0]), params)
    run = seeded_ranks(graph, params, parse_seeds("2; 0; 3", 5))
    assert run.iterations.tolist() == [1, 11, 1]
    assert run.widths == (3, *[1] * 10)
    # One of four is not enough.
    run = seeded_ranks(graph, params, parse_seeds("2; 0; 0,1:9; 1,2", 5))
    assert run.widths[:2] == (4, 4)
    assert sum(run.widths) < 4 * len(run.widths)


@pytest.mark.parametrize(
    ("epsilon", "share", "most"), [(1e-8, 1e-3, 0.55), (1e-8, 1e-4, 0.5), (1e-5, 1e-3, 0.5), (1e-5, 1e-4, 0.4)]
)
def test_warm_start_needs_fewer_passes(epsilon: float, share: float, most: float) -> None:
    cold, warm = contract.passes_after_change(rank, epsilon, share)
    assert warm <= most * cold


@pytest.mark.parametrize(
    ("name", "options"),
    [("delaunay", {"n": 5000}), ("web", {"n": 8000, "local": 0.95, "stars": 0.05}), ("rgg", {"n": 5000})],
)
def test_warm_start_needs_half_of_the_passes(name: str, options: dict[str, Any]) -> None:
    cold, warm = contract.passes_after_change(rank, 1e-8, 1e-3, name, **options)
    assert warm <= 0.5 * cold


@graphs
@pytest.mark.parametrize("k", [1, 5, 33])
def test_extrapolated_ranks(graph: str, k: int) -> None:
    contract.check_extrapolated(rank, contract.GRAPHS[graph](), PageRankParams(), k)


@pytest.mark.parametrize("weights", ["ignore", "use"])
@pytest.mark.parametrize("dangling", ["teleport", "ignore"])
@pytest.mark.parametrize("norm", ["L1", "L2", "Linf"])
def test_parameters_of_extrapolated_ranks(norm: str, dangling: str, weights: str) -> None:
    options = {"norm": norm, "dangling": dangling, "weights": weights}
    contract.check_extrapolated(rank, contract.crowd(), parse_params(PageRankParams, options), 5)


def test_extrapolation_is_an_option() -> None:
    params = PageRankParams()
    graph = transition_matrix(contract.GRAPHS["stencil"](), params)
    seeds = contract.seeds_for(graph, 3)
    plain, fast = (seeded_ranks(graph, params, seeds, extrapolate=each) for each in (None, True))
    assert max(fast.iterations) < 0.7 * max(plain.iterations)
    assert np.abs(fast.ranks - plain.ranks).sum(axis=0).max() < 2e-9
    start = np.ones(graph.n)
    slow = seeded_ranks(graph, params, seeds, start, extrapolate=False)
    assert max(slow.iterations) > max(seeded_ranks(graph, params, seeds, start).iterations)


def test_start_for_all_sets() -> None:
    params = PageRankParams()
    graph = transition_matrix(contract.GRAPHS["rmat"](), params)
    seeds = Seeds.of([(), ((3, 1.0),)], graph.n)
    cold = seeded_ranks(graph, params, seeds)
    run = seeded_ranks(graph, params, seeds, 5.0 * cold.ranks[:, 0])
    assert run.iterations[0] == 1
    assert run.iterations[1] > 3
    assert np.abs(run.ranks - cold.ranks).sum() < 1e-8


def test_start_keeps_its_sum_where_runs_do_not() -> None:
    params = parse_params(PageRankParams, {"dangling": "ignore"})
    seeds = Seeds.of([(), ()], 3)
    np.testing.assert_array_equal(start_ranks([1, 2, 3], seeds, params)[:, 1], [1, 2, 3])
    np.testing.assert_allclose(start_ranks([1, 2, 3], seeds, PageRankParams())[:, 1], [1 / 6, 2 / 6, 3 / 6])


@pytest.mark.parametrize(
    ("start", "parts"),
    [
        (np.ones(4), ("(4,)", "(3,)", "(3, 2)")),
        (np.ones((3, 3)), ("(3, 3)", "(3, 2)")),
        (np.ones((2, 3)), ("(2, 3)",)),
        (np.array([1, -1e-300, 0]), ("set 1", "page 1")),
        (np.array([[1, 1], [1, np.nan], [1, 1]]), ("set 2", "page 1", "nan")),
        (np.array([[1, 1], [1, 1], [1, np.inf]]), ("set 2", "page 2", "inf")),
        (np.array([[1, 0], [1, 0], [1, 0]]), ("set 2", "sum 0.0")),
        (np.full(3, 1e308), ("set 1", "inf")),
    ],
)
def test_errors_of_a_start(start: Any, parts: tuple[str, ...]) -> None:
    with pytest.raises(ParameterError) as error:
        start_ranks(start, Seeds.of([(), ()], 3), PageRankParams())
    assert all(part in error.value.message for part in parts)


def test_seeds_of_another_graph() -> None:
    params = PageRankParams()
    graph = transition_matrix(coo(5, 5, [0], [1], [1.0]), params)
    with pytest.raises(ParameterError, match="4"):
        seeded_ranks(graph, params, Seeds.of([()], 4))


def test_verification_finds_wrong_ranks() -> None:
    """Ranks of one set are not those of another, and a millionth counts."""
    params, matrix = PageRankParams(), contract.GRAPHS["web"]()
    graph = transition_matrix(matrix, params)
    seeds = contract.seeds_for(graph, 5)
    run, vectors = seeded_ranks(graph, params, seeds), seeds.vectors()
    verifier = Verifier(matrix, params).with_teleport(vectors[:, 0])
    assert verifier.check(run.ranks[:, 0], run.gammas[0]).mass_error < 1e-12
    wrong = run.ranks[:, 0].copy()
    wrong[3] += 1e-6
    for ranks in (run.ranks[:, 4], wrong):
        with pytest.raises(KernelError):
            verifier.check(ranks, run.gammas[0])
