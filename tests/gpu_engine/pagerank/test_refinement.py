"""Refinement: its passes, worked out by hand and in NumPy, and that it ends where it should."""

import itertools

import numpy as np
import pytest

from gpu_engine.generators import generate
from gpu_engine.pagerank import PageRankParams, TransitionMatrix, reference, transition_matrix
from gpu_engine.pagerank.kernels import RankKernel
from gpu_engine.pagerank.refinement import Pass, Refinement, _weights, iterate, phases, replayed
from tests.gpu_engine.pagerank.refined import Refined

PARAMS = PageRankParams()
BITS = pytest.mark.parametrize("bits", [32, 64])


def grid() -> TransitionMatrix:
    return transition_matrix(generate("stencil", {"points": 9, "nx": 40, "ny": 30}), PARAMS)


def web() -> TransitionMatrix:
    return transition_matrix(generate("web", {"n": 4000, "mean": 3.0, "seed": 3, "max_length": 300}), PARAMS)


def on(graph: TransitionMatrix, bits: int, params: PageRankParams = PARAMS) -> Refined:
    return Refined(graph, params, RankKernel("sellp/thread", free=True, refined=bits))  # type: ignore[arg-type]


@BITS
@pytest.mark.parametrize("graph", [grid(), web()], ids=["undirected", "directed"])
def test_ranks_are_refined_until_another_iteration_changes_them_by_less_than_epsilon(
    graph: TransitionMatrix, bits: int
) -> None:
    ranks = on(graph, bits)
    run, (expected, gammas) = iterate(ranks, PARAMS, Refinement(bits)), reference(graph, PARAMS)  # type: ignore[arg-type]
    assert run.converged
    assert run.gammas[-1] < PARAMS.epsilon
    assert np.abs(ranks.p - expected).sum() < PARAMS.epsilon / (1 - PARAMS.damping)
    # 32 bits mend six digits at a time: one correction from 1 to 1e-6, one to 1e-10. 64 bits mend all at once.
    assert run.read.count(2) == (3 if bits == 32 else 2)
    passes = len(gammas) / 2 if graph.undirected else len(gammas) + 8
    assert len(run.gammas) <= passes


def test_the_weights_are_those_of_chebyshev() -> None:
    # ωₖ₊₁ = 2·Tₖ(1/δ) / (δ·Tₖ₊₁(1/δ)), Tₖ(x) = cosh(k·arcosh x).
    t = [np.cosh(k * np.arccosh(1 / 0.85)) for k in range(7)]
    expected = [1.0, *(2 * t[k] / (0.85 * t[k + 1]) for k in range(1, 6))]
    np.testing.assert_allclose(list(itertools.islice(_weights(True, 0.85), 6)), expected, rtol=1e-14)
    assert list(itertools.islice(_weights(False, 0.85), 3)) == [1.0, 1.0, 1.0]


def test_a_pass_is_played_phase_by_phase() -> None:
    ranks = on(grid(), 32)
    assert [phase for phase, _ in phases(ranks, Pass(2))] == ["pull", "norm"]
    assert [phase for phase, _ in phases(ranks, Pass(1, 1.25, True))] == ["pull", "norm", "correct"]


@BITS
def test_a_replay_of_the_passes_gives_the_same_ranks(bits: int) -> None:
    ranks, refinement = on(grid(), bits), Refinement(bits)  # type: ignore[arg-type]
    run = iterate(ranks, PARAMS, refinement)
    expected = ranks.p
    ranks.rewinder()()
    parts = list(replayed(ranks, refinement, run.steps))
    assert [number for number, phase, _ in parts if phase == "pull"] == list(range(len(run.gammas)))
    for _, _, act in parts:
        act()
    np.testing.assert_array_equal(ranks.p, expected)


def test_a_run_gives_up_where_no_correction_helps_and_at_the_most_passes() -> None:
    for bits in (32, 64):
        hopeless = iterate(on(grid(), bits), PageRankParams(epsilon=1e-18), Refinement(bits))
        assert not hopeless.converged
        assert hopeless.gammas[-1] > 1e-18
        assert len(hopeless.gammas) < 300
    for most in (1, 10):
        short = PageRankParams(iterations_max=most)
        run = iterate(on(grid(), 32, short), short, Refinement(32))
        assert (run.converged, len(run.gammas)) == (False, most)


@pytest.mark.parametrize("dangling", ["teleport", "ignore", "as printed"])
def test_dangling_pages_count_as_they_are_told_to(dangling: str) -> None:
    params = PageRankParams(dangling=dangling)  # type: ignore[arg-type]
    graph = transition_matrix(generate("web", {"n": 500, "mean": 2.0, "seed": 1, "max_length": 50}), params)
    ranks = on(graph, 32, params)
    assert iterate(ranks, params, Refinement(32)).converged
    assert graph.dangling.size
    np.testing.assert_allclose(ranks.p, reference(graph, params)[0], rtol=0, atol=1e-9)
