"""What the schedule costs and gives: an emulated run of Algorithm 1 in segments against fp64."""

from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from gpu_engine.generators import generate
from gpu_engine.pagerank import PageRankParams, Schedule, check, reference, replay, transition_matrix, verify
from gpu_engine.pagerank.schedule import iterations_by_segments
from gpu_engine.parameters import parse_params
from tests.gpu_engine.pagerank.emulated import cut, emulate
from tests.gpu_engine.pagerank.graphs import NO_LINKS, WORKED

PARAMS = PageRankParams()
GRAPHS: dict[str, tuple[str, dict[str, Any]]] = {
    "web": ("web", {"n": 5000}),
    "sparse web": ("web", {"n": 5000, "mean": 2.0}),
    "rmat": ("rmat", {"scale": 12}),
    "delaunay": ("delaunay", {"n": 8000, "part": "lower"}),
    "road": ("road", {"length": 200, "width": 50, "part": "lower"}),
    "stencil": ("stencil", {"nx": 90, "ny": 70}),
}

NEAR = ("stencil", 4)
"""The ranks of a stencil are nearly equal: its start is too near the solution for a step in four mantissa bits."""


@lru_cache
def solved(name: str) -> Any:
    """(adjacency, transition matrix, fp64 ranks, fp64 γ)."""
    generator, params = GRAPHS[name]
    matrix = generate(generator, params)
    graph = transition_matrix(matrix, PARAMS)
    return matrix, graph, *reference(graph, PARAMS)


def test_cut_keeps_the_first_bits() -> None:
    assert cut(np.array([1.75]), 13).tolist() == [1.5]
    assert cut(np.array([1 / 3]), 16).tolist() == [0x15 / 64]
    assert cut(np.array([0.1, -0.1]), 64).tolist() == [0.1, -0.1]
    assert cut(np.array([-1 - 2.0**-20, 1 + 2.0**-21]), 32).tolist() == [-1 - 2.0**-20, 1.0]


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize(("segments", "more"), [(2, 1), (4, 2)])
def test_segments_cost_hardly_an_iteration_and_no_accuracy(name: str, segments: int, more: int) -> None:
    matrix, graph, p, gammas = solved(name)
    schedule = parse_params(Schedule, {"segments": segments, "start_segments": 2 if (name, segments) == NEAR else 1})
    run = emulate(graph, PARAMS, schedule)
    assert len(run.gammas) <= len(gammas) + more
    found = verify(matrix, PARAMS, run.p, p)
    assert found.residual < PARAMS.epsilon
    assert found.mass_error < 1e-12
    assert found.distance is not None
    assert found.distance < 1.2e-9
    assert found.top_k_agreement is not None
    assert found.top_k_agreement > 0.98


@pytest.mark.parametrize("name", GRAPHS)
def test_a_good_part_of_the_iterations_reads_half_the_bytes(name: str) -> None:
    _, graph, _, _ = solved(name)
    run = emulate(graph, PARAMS, Schedule())
    assert iterations_by_segments(run.written, Schedule())[0] >= len(run.written) // 5


@pytest.mark.parametrize("name", ["web", "rmat", "delaunay", "road"])
def test_the_first_of_four_segments_serves_one_iteration(name: str) -> None:
    # Table II: "the algorithm switches to reading 2 segments after the very first iteration".
    _, graph, _, _ = solved(name)
    schedule = Schedule(segments=4)
    run = emulate(graph, PARAMS, schedule)
    assert iterations_by_segments(run.written, schedule)[0] == 1


def test_one_step_in_four_bits_ruins_a_start_near_the_solution() -> None:
    matrix, graph, p, gammas = solved(NEAR[0])
    run = emulate(graph, PARAMS, Schedule(segments=4))
    assert len(run.gammas) > len(gammas) + 10
    assert verify(matrix, PARAMS, run.p, p).residual < PARAMS.epsilon


@pytest.mark.parametrize("segments", [2, 4])
def test_a_trace_replayed_with_its_own_schedule_gives_its_segments(segments: int) -> None:
    _, graph, _, _ = solved("web")
    schedule = parse_params(Schedule, {"segments": segments})
    run = emulate(graph, PARAMS, schedule)
    assert replay(run.gammas, schedule) == run.written


def test_the_trace_of_fp64_foretells_the_switch_of_two_segments() -> None:
    _, graph, _, gammas = solved("web")
    foretold = iterations_by_segments(replay(gammas, Schedule()), Schedule())
    run = iterations_by_segments(emulate(graph, PARAMS, Schedule()).written, Schedule())
    assert abs(foretold[0] - run[0]) <= 1


def test_all_segments_from_the_start_are_fp64() -> None:
    _, graph, p, gammas = solved("delaunay")
    run = emulate(graph, PARAMS, Schedule(start_segments=2))
    assert run.gammas == gammas
    np.testing.assert_array_equal(run.p, p)


def test_a_loose_threshold_never_reads_the_tails() -> None:
    loose = PageRankParams(epsilon=1e-3)
    matrix, graph, *_ = solved("web")
    run = emulate(graph, loose, Schedule())
    assert set(run.written) == {1}
    np.testing.assert_array_equal(run.p, cut(run.p, 32))
    check(matrix, loose, run.p, run.gammas[-1], mantissa_bits=20)


@pytest.mark.parametrize("segments", [2, 4])
@pytest.mark.parametrize("name", ["triangle", "two parts, teleport", "path", "one page", "no links", "no pages"])
def test_segments_find_the_ranks_worked_out_by_hand(name: str, segments: int) -> None:
    worked = WORKED[name]
    params = parse_params(PageRankParams, {"damping": 0.5})
    schedule = parse_params(Schedule, {"segments": segments})
    run = emulate(transition_matrix(worked.adjacency, params), params, schedule)
    np.testing.assert_allclose(run.p, worked.ranks, rtol=0, atol=1e-10)
    assert run.written[-1] == segments


def test_ranks_that_are_cut_short_do_not_end_a_run() -> None:
    # 1/5 cut to four bits is 0.1875: it stands still from the second iteration on, with a norm of 0.94.
    run = emulate(transition_matrix(NO_LINKS, PARAMS), PARAMS, Schedule(segments=4))
    np.testing.assert_allclose(run.p, 0.2, rtol=1e-15)
    assert run.written[-1] == 4
