"""Ranks on a CPU, by value: against SciPy in fp64, masked bits in segments, ranks worked out by hand."""

from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.generators import generate
from gpu_engine.pagerank import PageRankParams, Schedule, TransitionMatrix, reference, transition_matrix, verify
from gpu_engine.pagerank.cpu_ranks import FreeRanks, PlainRanks, SegmentedRanks
from gpu_engine.pagerank.run import PLAIN, Ranks, Run, iterate
from gpu_engine.parameters import parse_params
from tests.gpu_engine.pagerank.emulated import cut, emulate
from tests.gpu_engine.pagerank.graphs import WORKED

Make = Callable[[TransitionMatrix, PageRankParams], Ranks]

PARAMS = PageRankParams()
FP64: dict[str, Make] = {
    "csr": lambda graph, params: PlainRanks(graph, params, "csr", np.float64),
    "ell": lambda graph, params: PlainRanks(graph, params, "ell", np.float64),
    "free": FreeRanks,
}
LAYOUTS = ("csr", "ell")


def schedule(segments: int, first: int = 1) -> Schedule:
    return parse_params(Schedule, {"segments": segments, "first": first})


def web() -> CsrMatrix:
    """Dangling pages, and more rows than a strip has."""
    return generate("web", {"n": 3000, "mean": 3.0, "seed": 3})


@pytest.mark.parametrize("layout", FP64)
def test_fp64_goes_the_way_of_scipy(layout: str) -> None:
    matrix = web()
    graph = transition_matrix(matrix, PARAMS)
    assert graph.dangling.size > 100
    expected, gammas = reference(graph, PARAMS)
    ranks = FP64[layout](graph, PARAMS)
    run = iterate(ranks, PARAMS)
    np.testing.assert_allclose(run.gammas, gammas, rtol=1e-5)
    np.testing.assert_allclose(ranks.ranks(), expected, rtol=1e-13)
    assert (run.converged, set(run.read), set(run.written)) == (True, {2}, {2})


@pytest.mark.parametrize("layout", FP64)
@pytest.mark.parametrize("norm", ["L1", "L2", "Linf"])
def test_each_norm_is_that_of_the_change(layout: str, norm: str) -> None:
    params = parse_params(PageRankParams, {"norm": norm, "iterations_max": 2})
    graph = transition_matrix(web(), params)
    run = iterate(FP64[layout](graph, params), params)
    np.testing.assert_allclose(run.gammas, reference(graph, params)[1], rtol=1e-12)
    assert not run.converged


@pytest.mark.parametrize("layout", LAYOUTS)
def test_fp32_comes_as_near_as_its_bits(layout: str) -> None:
    params = PageRankParams(epsilon=1e-6)
    graph = transition_matrix(web(), params)
    ranks = PlainRanks(graph, params, layout, np.float32)
    assert iterate(ranks, params).converged
    assert 1e-9 < np.abs(ranks.ranks() - reference(graph, PARAMS)[0]).sum() < 1e-5


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("segments", "read", "write"),
    [(2, 1, 1), (2, 1, 2), (4, 1, 1), (4, 1, 2), (4, 2, 2), (4, 2, 3), (4, 3, 3), (4, 3, 4)],
)
def test_a_step_reads_and_writes_the_first_segments_and_no_more(
    layout: str, segments: int, read: int, write: int
) -> None:
    matrix = generate("stencil", {"points": 9, "nx": 37, "ny": 31})
    graph = transition_matrix(matrix, PARAMS)
    bits = 64 // segments
    start = cut(np.full(graph.n, 1.0 / graph.n), bits * read)
    pull = graph.pull
    values = cut(pull.values, bits * read)
    spread = scipy.sparse.csr_array((values, pull.indices, pull.indptr), shape=pull.shape) @ start
    expected = cut(PARAMS.damping * spread + (1.0 - PARAMS.damping) / graph.n, bits * write)
    ranks = SegmentedRanks(graph, PARAMS, layout, segments)
    ranks.reset(read)
    gamma = ranks.step(read, write)
    np.testing.assert_array_equal(ranks.ranks(), expected)
    assert gamma == pytest.approx(np.abs(expected - start).sum(), rel=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("segments", [2, 4])
def test_segments_find_the_ranks_of_fp64_by_the_emulated_schedule(layout: str, segments: int) -> None:
    matrix = web()
    graph = transition_matrix(matrix, PARAMS)
    expected, gammas = reference(graph, PARAMS)
    ranks = SegmentedRanks(graph, PARAMS, layout, segments)
    run = iterate(ranks, PARAMS, schedule(segments))
    assert run.written == emulate(graph, PARAMS, schedule(segments)).written
    assert len(run.gammas) <= len(gammas) + segments // 2
    found = verify(matrix, PARAMS, ranks.ranks(), expected)
    assert found.residual < PARAMS.epsilon
    assert found.mass_error < 1e-12
    assert found.distance is not None
    assert found.distance < 1.2e-9
    assert [change > 0 for change in run.change_s] == [r < w for r, w in zip(run.read, run.written, strict=True)]


@pytest.mark.parametrize("segments", [2, 4])
def test_a_transition_leaves_a_norm_of_one_and_counts_the_dangling_pages_anew(segments: int) -> None:
    graph = transition_matrix(web(), PARAMS)
    ranks = SegmentedRanks(graph, PARAMS, "csr", segments)
    ranks.reset(1)
    ranks.step(1, 2)
    assert ranks.ranks().sum() < 1 - 1e-9
    ranks.raise_precision(2)
    p = ranks.ranks()
    cut_away = max(2.0 ** -(128 // segments - 13), 1e-13)
    assert p.sum() == pytest.approx(1.0, abs=cut_away)
    ranks.step(2, 2)
    base = (1 - PARAMS.damping + PARAMS.damping * p[graph.dangling].sum()) / graph.n
    expected = PARAMS.damping * (graph.pull.to_scipy() @ p) + base
    np.testing.assert_allclose(ranks.ranks(), expected, rtol=4 * cut_away)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("segments", [2, 4])
def test_a_second_run_is_the_first_one_again(layout: str, segments: int) -> None:
    graph = transition_matrix(web(), PARAMS)
    ranks = SegmentedRanks(graph, PARAMS, layout, segments)
    first = iterate(ranks, PARAMS, schedule(segments))
    p = ranks.ranks()
    again = iterate(ranks, PARAMS, schedule(segments))
    assert (again.gammas, again.written) == (first.gammas, first.written)
    np.testing.assert_array_equal(ranks.ranks(), p)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_all_segments_from_the_start_are_fp64(layout: str) -> None:
    graph = transition_matrix(web(), PARAMS)
    ranks, plain = SegmentedRanks(graph, PARAMS, layout, 2), PlainRanks(graph, PARAMS, layout, np.float64)
    assert iterate(ranks, PARAMS, schedule(2, first=2)).gammas == iterate(plain, PARAMS, PLAIN).gammas
    np.testing.assert_array_equal(ranks.ranks(), plain.ranks())


@pytest.mark.parametrize("name", WORKED)
@pytest.mark.parametrize("layout", FP64)
def test_ranks_worked_out_by_hand(name: str, layout: str) -> None:
    worked = WORKED[name]
    graph = transition_matrix(worked.adjacency, worked.params)
    if layout == "free" and worked.params.weights == "use":
        return
    ranks = FP64[layout](graph, worked.params)
    run: Run = iterate(ranks, worked.params)
    np.testing.assert_allclose(ranks.ranks(), worked.ranks, rtol=0, atol=1e-14)
    assert run.converged
