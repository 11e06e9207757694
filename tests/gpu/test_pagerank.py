"""Ranks on a GPU against those on the CPU and those worked out by hand."""

from typing import Any

import numpy as np
import pytest

from gpu_engine.generators import generate
from gpu_engine.pagerank import PageRankParams, Schedule, TransitionMatrix, reference, transition_matrix
from gpu_engine.pagerank.cpu_ranks import SegmentedRanks
from gpu_engine.pagerank.kernels import KERNELS, RankKernel
from gpu_engine.pagerank.refinement import iterate as refine
from gpu_engine.pagerank.run import iterate
from gpu_engine.parameters import parse_params
from tests.gpu_engine.pagerank.graphs import WORKED
from tests.gpu_engine.pagerank.refined import Refined

PARAMS = PageRankParams()
FP64 = [kernel for kernel in KERNELS if not kernel.segments and not kernel.single and not kernel.refined]
REFINED = [kernel for kernel in KERNELS if kernel.refined]
SEGMENTED = [kernel for kernel in KERNELS if kernel.segments]
EVERY = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)

pytestmark = pytest.mark.usefixtures("gpu")


@pytest.fixture(scope="module")
def web() -> TransitionMatrix:
    """Dangling pages, rows of thousands of links that tiles cut, and more rows than a block has threads."""
    return transition_matrix(generate("web", {"n": 50_000, "mean": 3.0, "seed": 3, "max_length": 3000}), PARAMS)


def on_gpu(graph: TransitionMatrix, params: PageRankParams, kernel: RankKernel) -> Any:
    return kernel.ranks(graph, params, pytest.importorskip("cupy"))


@pytest.mark.parametrize("kernel", FP64, ids=lambda kernel: kernel.name)
def test_fp64_goes_the_way_of_the_reference(web: TransitionMatrix, kernel: RankKernel) -> None:
    ranks = on_gpu(web, PARAMS, kernel)
    run, (expected, gammas) = iterate(ranks, PARAMS), reference(web, PARAMS)
    assert (len(run.gammas), run.converged) == (len(gammas), True)
    # Sums are counted in units of 2⁻⁶⁰, at most half a unit of error a page.
    np.testing.assert_allclose(run.gammas, gammas, rtol=1e-9, atol=web.n * 2.0**-60 + 1e-14)
    np.testing.assert_allclose(ranks.ranks(), expected, rtol=1e-12)


@pytest.mark.parametrize("kernel", SEGMENTED, ids=lambda kernel: kernel.name)
def test_segments_take_the_iterations_of_the_cpu(web: TransitionMatrix, kernel: RankKernel) -> None:
    schedule = kernel.schedule({})
    ranks = on_gpu(web, PARAMS, kernel)
    run = iterate(ranks, PARAMS, schedule)
    expected, gammas = reference(web, PARAMS)
    if kernel.free:
        # Without values there is no CPU kernel to compare with.
        assert len(run.gammas) <= len(gammas) + kernel.segments // 2
    else:
        assert (
            run.written
            == iterate(SegmentedRanks(web, PARAMS, "csr", kernel.segments, kernel.short), PARAMS, schedule).written
        )
    assert np.abs(ranks.ranks() - expected).sum() < 1.2e-9
    assert abs(ranks.ranks().sum() - 1) < 1e-12
    again = iterate(ranks, PARAMS, schedule)
    assert (again.gammas, again.written) == (run.gammas, run.written)


@EVERY
def test_a_captured_run_gives_the_same_ranks_at_every_replay(web: TransitionMatrix, kernel: RankKernel) -> None:
    cupy = pytest.importorskip("cupy")
    params, schedule = PageRankParams(epsilon=1e-5 if kernel.single else 1e-10), kernel.schedule({})
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        ranks = on_gpu(web, params, kernel)
        run = kernel.procedure.iterate(ranks, params, schedule)
        expected, rewind = ranks.ranks(), ranks.rewinder(schedule.start_segments)
        rewind()
        stream.begin_capture()
        for _, _, act in kernel.procedure.replayed(ranks, schedule, run.steps):
            act()
        graph = stream.end_capture()
        end = {} if kernel.refined else {"_stored": ranks._stored}  # where the replays leave the ranks
        for number in range(3):
            if number:
                rewind()
            graph.launch(stream)
            stream.synchronize()
            for name, value in end.items():
                setattr(ranks, name, value)
            np.testing.assert_array_equal(ranks.ranks(), expected)


@pytest.mark.parametrize("kernel", [k for k in KERNELS if k.single], ids=lambda kernel: kernel.name)
def test_fp32_comes_as_near_as_its_bits(web: TransitionMatrix, kernel: RankKernel) -> None:
    params = PageRankParams(epsilon=1e-5)
    ranks = on_gpu(web, params, kernel)
    assert iterate(ranks, params).converged
    assert 1e-9 < np.abs(ranks.ranks() - reference(web, PARAMS)[0]).sum() < 1e-4


@pytest.mark.parametrize("norm", ["L1", "L2", "Linf"])
@pytest.mark.parametrize("kernel", FP64, ids=lambda kernel: kernel.name)
def test_each_norm_is_that_of_the_change(web: TransitionMatrix, norm: str, kernel: RankKernel) -> None:
    params = parse_params(PageRankParams, {"norm": norm, "iterations_max": 3})
    run = iterate(on_gpu(web, params, kernel), params)
    np.testing.assert_allclose(run.gammas, reference(web, params)[1], rtol=1e-9)


@pytest.mark.parametrize("name", [name for name in WORKED if name != "no pages"])
@pytest.mark.parametrize("kernel", FP64, ids=lambda kernel: kernel.name)
def test_ranks_worked_out_by_hand(name: str, kernel: RankKernel) -> None:
    worked = WORKED[name]
    if kernel.free and worked.params.weights == "use":
        return
    ranks = on_gpu(transition_matrix(worked.adjacency, worked.params), worked.params, kernel)
    assert iterate(ranks, worked.params).converged
    np.testing.assert_allclose(ranks.ranks(), worked.ranks, rtol=0, atol=1e-14)


@pytest.mark.parametrize("kernel", REFINED, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("undirected", [False, True], ids=["directed", "undirected"])
def test_refined_ranks_take_the_passes_that_numpy_takes(
    web: TransitionMatrix, kernel: RankKernel, undirected: bool
) -> None:
    grid = transition_matrix(generate("stencil", {"points": 9, "nx": 200, "ny": 150}), PARAMS)
    graph = grid if undirected else web
    ranks, schedule, emulated = on_gpu(graph, PARAMS, kernel), kernel.schedule({}), Refined(graph, PARAMS, kernel)
    run, expected = kernel.procedure.iterate(ranks, PARAMS, schedule), refine(emulated, PARAMS, schedule)
    assert (graph.undirected, run.converged, run.read.count(2)) == (undirected, True, expected.read.count(2))
    # What 32 bits round away decides about the last passes of a correction.
    exact = kernel.refined == 64
    assert abs(len(run.gammas) - len(expected.gammas)) <= (0 if exact else 2)
    first = None if exact else 8
    np.testing.assert_allclose(run.gammas[:first], expected.gammas[:first], rtol=1e-9 if exact else 1e-4, atol=1e-13)
    p = ranks.ranks()
    # δ-contraction: a residual of γ is a distance of at most γ/(1 − δ).
    assert np.abs(p - reference(graph, PARAMS)[0]).sum() < 1e-10 / (1 - PARAMS.damping) * 2
    again = kernel.procedure.iterate(ranks, PARAMS, schedule)
    assert (again.gammas, again.steps) == (run.gammas, run.steps)
    np.testing.assert_array_equal(ranks.ranks(), p)


@pytest.mark.parametrize("name", [name for name in WORKED if name != "no pages"])
@pytest.mark.parametrize("kernel", REFINED, ids=lambda kernel: kernel.name)
def test_refined_ranks_are_those_worked_out_by_hand(name: str, kernel: RankKernel) -> None:
    worked = WORKED[name]
    if worked.params.weights == "use" or worked.params.norm != "L1":
        return
    ranks = on_gpu(transition_matrix(worked.adjacency, worked.params), worked.params, kernel)
    assert kernel.procedure.iterate(ranks, worked.params, kernel.schedule({})).converged
    np.testing.assert_allclose(ranks.ranks(), worked.ranks, rtol=0, atol=8 * worked.params.epsilon)


@EVERY
def test_no_pages_have_no_ranks(kernel: RankKernel) -> None:
    worked = WORKED["no pages"]
    ranks: Any = on_gpu(transition_matrix(worked.adjacency, worked.params), worked.params, kernel)
    run = kernel.procedure.iterate(ranks, worked.params, kernel.schedule({}))
    assert (ranks.ranks().shape, run.converged) == ((0,), True)


def test_a_schedule_may_begin_with_more_segments(web: TransitionMatrix) -> None:
    kernel = next(k for k in KERNELS if k.segments == 4)
    schedule = parse_params(Schedule, {"segments": 4, "start_segments": 2})
    ranks = on_gpu(web, PARAMS, kernel)
    run = iterate(ranks, PARAMS, schedule)
    assert 1 not in run.written
    assert np.abs(ranks.ranks() - reference(web, PARAMS)[0]).sum() < 1.2e-9
