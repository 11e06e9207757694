"""Ranks on a GPU against those on the CPU and those worked out by hand."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from gpu_engine.generators import generate
from gpu_engine.pagerank import PageRankParams, Schedule, TransitionMatrix, reference, transition_matrix, verify
from gpu_engine.pagerank.cpu_ranks import CpuRanks, FreeRanks, PlainRanks, SegmentedRanks
from gpu_engine.pagerank.cuda_ranks import FP32, FP64, CudaRanks
from gpu_engine.pagerank.run import PLAIN, iterate
from gpu_engine.parameters import parse_params
from tests.gpu_engine.pagerank.graphs import WORKED

PARAMS = PageRankParams()

pytestmark = pytest.mark.usefixtures("gpu")


@pytest.fixture(scope="module")
def web() -> TransitionMatrix:
    return transition_matrix(generate("web", {"n": 50_000, "mean": 3.0, "seed": 3}), PARAMS)


def on_gpu(graph: TransitionMatrix, params: PageRankParams, layout: str, storage: Any) -> CudaRanks:
    return CudaRanks(graph, params, layout, storage, pytest.importorskip("cupy"))


def on_cpu(graph: TransitionMatrix, params: PageRankParams, layout: str, storage: Any) -> CpuRanks:
    if layout == "free":
        return FreeRanks(graph, params)
    if isinstance(storage, int):
        return SegmentedRanks(graph, params, layout, storage)
    return PlainRanks(graph, params, layout, {FP64: np.float64, FP32: np.float32}[storage])


@pytest.mark.parametrize("layout", ["csr", "ell", "free"])
def test_fp64_goes_the_way_of_the_cpu(web: TransitionMatrix, layout: str) -> None:
    gpu, cpu = (make(web, PARAMS, layout, FP64) for make in (on_gpu, on_cpu))
    run, expected = iterate(gpu, PARAMS), iterate(cpu, PARAMS)
    assert (len(run.gammas), run.converged) == (len(expected.gammas), True)
    # Sums are counted in units of 2⁻⁶⁰, half a unit of error a page.
    np.testing.assert_allclose(run.gammas, expected.gammas, rtol=1e-9, atol=web.n * 2.0**-60 + 1e-14)
    np.testing.assert_allclose(gpu.ranks(), cpu.ranks(), rtol=1e-12)


@pytest.mark.parametrize("layout", ["csr", "ell"])
@pytest.mark.parametrize("segments", [2, 4])
def test_segments_take_the_iterations_of_the_cpu(web: TransitionMatrix, layout: str, segments: int) -> None:
    schedule = parse_params(Schedule, {"segments": segments})
    gpu, cpu = (make(web, PARAMS, layout, segments) for make in (on_gpu, on_cpu))
    run = iterate(gpu, PARAMS, schedule)
    assert run.written == iterate(cpu, PARAMS, schedule).written
    expected, _ = reference(web, PARAMS)
    assert np.abs(gpu.ranks() - expected).sum() < 1.2e-9
    assert abs(gpu.ranks().sum() - 1) < 1e-12
    again = iterate(gpu, PARAMS, schedule)
    assert (again.gammas, again.written) == (run.gammas, run.written)


@pytest.mark.parametrize("layout", ["csr", "ell"])
def test_fp32_comes_as_near_as_its_bits(web: TransitionMatrix, layout: str) -> None:
    params = PageRankParams(epsilon=1e-5)
    ranks = on_gpu(web, params, layout, FP32)
    assert iterate(ranks, params).converged
    assert 1e-9 < np.abs(ranks.ranks() - reference(web, PARAMS)[0]).sum() < 1e-4


@pytest.mark.parametrize("norm", ["L1", "L2", "Linf"])
def test_each_norm_is_that_of_the_change(web: TransitionMatrix, norm: str) -> None:
    params = parse_params(PageRankParams, {"norm": norm, "iterations_max": 3})
    run = iterate(on_gpu(web, params, "csr", FP64), params)
    np.testing.assert_allclose(run.gammas, reference(web, params)[1], rtol=1e-9)


@pytest.mark.parametrize("name", [name for name in WORKED if name != "no pages"])
@pytest.mark.parametrize("layout", ["csr", "ell", "free"])
def test_ranks_worked_out_by_hand(name: str, layout: str) -> None:
    worked = WORKED[name]
    if layout == "free" and worked.params.weights == "use":
        return
    ranks = on_gpu(transition_matrix(worked.adjacency, worked.params), worked.params, layout, FP64)
    assert iterate(ranks, worked.params, PLAIN).converged
    np.testing.assert_allclose(ranks.ranks(), worked.ranks, rtol=0, atol=1e-14)


def test_iterations_after_the_last_do_nothing() -> None:
    matrix = generate("web", {"n": 5_000, "seed": 4})
    graph = transition_matrix(matrix, PARAMS)
    ranks = on_gpu(graph, PARAMS, "csr", FP64)
    launch = partial(ranks.launch, 2, 2, may_end=True)
    ranks.reset(2)
    for _ in range(200):
        launch()
    assert verify(matrix, PARAMS, ranks.ranks()).residual < PARAMS.epsilon
