"""Personalized PageRank of several seed sets on a GPU: the contract of the CPU, equal bits, and 64-bit pointers."""

from typing import Any

import numpy as np
import pytest

from gpu_engine.generators import generate
from gpu_engine.pagerank import PageRankParams, TransitionMatrix, transition_matrix
from gpu_engine.pagerank.seeded import SeededRun, run_block, seeded_block, seeded_ranks
from gpu_engine.pagerank.seeds import Seeds
from gpu_engine.parameters import parse_params
from tests.gpu_engine.pagerank import seeded_contract as contract
from tests.gpu_engine.pagerank.graphs import WORKED

pytestmark = pytest.mark.usefixtures("gpu")

graphs = pytest.mark.parametrize("graph", contract.GRAPHS)


def rank(graph: TransitionMatrix, params: PageRankParams, seeds: Seeds, start: Any) -> SeededRun:
    return seeded_ranks(graph, params, seeds, start, "cuda")


@graphs
@pytest.mark.parametrize("k", contract.COLUMNS)
def test_columns_are_those_of_scipy(graph: str, k: int) -> None:
    contract.check_columns(rank, contract.GRAPHS[graph](), PageRankParams(), k)


@graphs
@pytest.mark.parametrize("k", [2, 5, 33])
def test_blocked_is_one_by_one(graph: str, k: int) -> None:
    contract.check_blocked(rank, contract.GRAPHS[graph](), PageRankParams(), k)


@pytest.mark.parametrize("weights", ["ignore", "use"])
@pytest.mark.parametrize("dangling", ["teleport", "ignore", "as printed"])
@pytest.mark.parametrize("norm", ["L1", "L2", "Linf"])
@pytest.mark.parametrize("k", [2, 5])
def test_parameters(k: int, norm: str, dangling: str, weights: str) -> None:
    options = {"norm": norm, "dangling": dangling, "weights": weights, "iterations_max": 60}
    contract.check_columns(rank, contract.crowd(), parse_params(PageRankParams, options), k)


@pytest.mark.parametrize("dangling", ["teleport", "ignore"])
def test_columns_solve_the_system(dangling: str) -> None:
    params = parse_params(PageRankParams, {"dangling": dangling, "epsilon": 1e-14})
    contract.check_solve(rank, contract.GRAPHS["lists"](), params, 5)


@pytest.mark.parametrize("name", WORKED)
def test_empty_set_is_pagerank(name: str) -> None:
    worked = WORKED[name]
    graph = transition_matrix(worked.adjacency, worked.params)
    run = rank(graph, worked.params, Seeds.of([(), ()], graph.n), None)
    for column in run.ranks.T:
        np.testing.assert_allclose(column, worked.ranks, rtol=0, atol=1e-14)


def test_columns_end_in_their_own_iteration() -> None:
    contract.check_ends(rank)


def test_runs_that_do_not_converge() -> None:
    contract.check_limit(rank)


@pytest.mark.parametrize("k", [1, 32, 33])
def test_every_run_gives_the_same_bits(k: int) -> None:
    """More segments than one pass of the largest grid takes, and pages of many segments."""
    params = parse_params(PageRankParams, {"iterations_max": 30})
    graph = transition_matrix(generate("rmat", {"scale": 18, "edge_factor": 8}), params)
    block = seeded_block(graph, params, contract.seeds_for(graph, k), "cuda")
    runs = [run_block(block, params, None, check_every=4) for _ in range(3)]
    for run in runs[1:]:
        assert run.ranks.tobytes() == runs[0].ranks.tobytes()
        assert run.gammas.tobytes() == runs[0].gammas.tobytes()


@pytest.mark.parametrize("k", [5, 32])
def test_large_graph_is_that_of_the_cpu(k: int) -> None:
    params = PageRankParams()
    graph = transition_matrix(generate("rmat", {"scale": 17, "edge_factor": 16}), params)
    seeds = contract.seeds_for(graph, k)
    run, expected = rank(graph, params, seeds, None), seeded_ranks(graph, params, seeds)
    np.testing.assert_array_equal(run.iterations, expected.iterations)
    assert np.abs(run.ranks - expected.ranks).sum(axis=0).max() < 1e-12


@pytest.mark.parametrize("weights", ["ignore", "use"])
def test_row_pointers_of_64_bits(weights: str) -> None:
    params = parse_params(PageRankParams, {"weights": weights})
    graph = transition_matrix(contract.crowd(), params)
    seeds = contract.seeds_for(graph, 5)
    expected = rank(graph, params, seeds, None)
    object.__setattr__(graph.pull, "indptr", graph.pull.indptr.astype(np.int64))
    assert rank(graph, params, seeds, None).ranks.tobytes() == expected.ranks.tobytes()


def test_warm_start_needs_fewer_passes() -> None:
    cold, warm = contract.passes_after_change(rank, 1e-8, 1e-3)
    assert warm <= 0.55 * cold


@graphs
@pytest.mark.parametrize("k", [1, 5, 33, 64])
def test_extrapolated_ranks(graph: str, k: int) -> None:
    contract.check_extrapolated(rank, contract.GRAPHS[graph](), PageRankParams(), k)


def test_extrapolated_runs_give_the_same_bits() -> None:
    params = PageRankParams()
    graph = transition_matrix(generate("rmat", {"scale": 15, "edge_factor": 8}), params)
    block, start = (
        seeded_block(graph, params, contract.seeds_for(graph, 33), "cuda"),
        np.full((graph.n, 33), 1 / graph.n),
    )
    runs = [run_block(block, params, start, check_every=4, extrapolates=True) for _ in range(3)]
    for run in runs[1:]:
        assert run.ranks.tobytes() == runs[0].ranks.tobytes()
        assert run.gammas.tobytes() == runs[0].gammas.tobytes()
