"""Actors with CUDA devices, which exchange by way of the host and through NCCL; threads stand for their processes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpu_engine.generators import generate
from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.cluster import ClusterMatrix
from gpu_engine.multigpu.cluster.actor_pool import Cluster, open_actor_pool
from gpu_engine.multigpu.cluster.transport import TRANSPORTS, TransportName
from gpu_engine.multigpu.exchange import EXCHANGES, ExchangeName
from gpu_engine.multigpu.placement import find_places
from gpu_engine.pagerank import PageRankParams, transition_matrix
from gpu_engine.pagerank.cpu_ranks import PlainRanks, SegmentedRanks
from gpu_engine.pagerank.run import iterate
from tests.gpu_engine.multigpu.cluster.members import product, ranking
from tests.gpu_engine.multigpu.cluster.test_solve import team_of
from tests.gpu_engine.multigpu.cluster.thread_ray import ThreadRay
from tests.gpu_engine.multigpu.stored import crossed, stored
from tests.gpu_engine.multigpu.test_exchange import iterated, overlaps
from tests.gpu_engine.multigpu.test_pagerank import schedule_of
from tests.gpu_engine.multigpu.test_solve import SYSTEMS, right_hand_side

pytestmark = pytest.mark.usefixtures("gpu")

N, COUNT = 1200, 2
PARAMS = PageRankParams()


@overlaps
@pytest.mark.parametrize("exchange", EXCHANGES)
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_iterations(tmp_path: Path, transport: TransportName, exchange: ExchangeName, overlap: bool) -> None:
    """All sums are exact; a cut row is one of those that are added up."""
    x, found = np.arange(float(N)) % 7 - 3, np.full(N, np.nan)
    cluster = cluster_of_gpus(stored(tmp_path / "matrix", crossed(N)), transport)
    with ClusterMatrix(
        cluster.ray,
        tmp_path / "matrix",
        cluster.places,
        exchange=exchange,
        overlap=overlap,
        transport=transport,
        open_device=cluster.open_device,
    ) as matrix:
        for iterations in (1, 4):
            matrix.load(x)
            matrix.advance(iterations)
            matrix.read(found)
            np.testing.assert_array_equal(found, iterated(crossed(N), x, iterations)[0])


@overlaps
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_cg_of_actors(tmp_path: Path, transport: TransportName, overlap: bool) -> None:
    matrix = SYSTEMS["stencil"]()
    folder, b = stored(tmp_path / "matrix", matrix), right_hand_side(matrix)
    with open_actor_pool(cluster_of_gpus(folder, transport), COUNT) as pool:
        solve = team_of(pool, folder, matrix, COUNT, overlap)
        first, second = solve.solve(b), solve.solve(b)
        assert solve.sample(2) > 0.0
    assert first.converged
    assert first.residual <= first.bound
    assert first.x.tobytes() == second.x.tobytes()


@overlaps
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_members_lead_themselves(tmp_path: Path, transport: TransportName, overlap: bool) -> None:
    """Nine iterations in one call: two captured batches, where NCCL exchanges, and one more; timed, then by value."""
    folder, x, found = stored(tmp_path / "matrix", crossed(N)), np.arange(float(N)) % 7 - 3, np.full(N, np.nan)
    with open_actor_pool(cluster_of_gpus(folder, transport), COUNT) as pool:
        team = product(pool, crossed(N), COUNT, "halo", overlap)
        team.load(x)
        for act in ("advance", "exchange", "multiply", "advance"):
            assert min(team.together("sample", act, 9)) > 0
        team.together("run", "advance", 9)
        team.read(found)
        np.testing.assert_array_equal(found, iterated(crossed(N), x, 9)[0])
        # With graphs that hold exchanges; and actors take part in a new team, whose graphs hold those of shares too.
        team.drop()
        again = product(pool, crossed(N), COUNT, "halo", overlap, cut_rows=True)
        again.load(x)
        again.together("run", "advance", 9)
        again.read(found)
        again.drop()
    np.testing.assert_array_equal(found, iterated(crossed(N), x, 9)[0])


@overlaps
@pytest.mark.parametrize("segments", [0, 2, 4])
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_ranks_of_members(transport: TransportName, segments: int, overlap: bool) -> None:
    """Against one device, twice the same steps; γ is the same for all members."""
    graph = transition_matrix(generate("web", {"n": 3000, "mean": 3.0, "seed": 3}), PARAMS)
    schedule, found = schedule_of(segments), np.full(graph.n, np.nan)
    single: Any = PlainRanks(graph, PARAMS, "csr", np.float64)
    if segments:
        single = SegmentedRanks(graph, PARAMS, "csr", segments)
    expected = iterate(single, PARAMS, schedule)
    with open_actor_pool(cluster_of_gpus(Path(), transport), COUNT) as pool:
        team = ranking(pool, graph, COUNT, segments, "all-gather", overlap)
        runs = team.together("find", schedule)
        for apart in (True, False):
            team.together("times", schedule, expected.steps, apart)
        team.read(found)
        # NCCL waits for all members to leave: a communicator that is collected with its thread's garbage would hang.
        team.drop()
    assert runs[0] == runs[1]
    assert [run.read for run in runs] == [expected.read] * COUNT
    assert np.abs(found - single.ranks()).sum() < 1e-12


def cluster_of_gpus(folder: Path, transport: TransportName) -> Cluster:
    """Two devices, of one GPU where there is but one and NCCL is not asked for."""
    import cupy

    from gpu_engine.multigpu.cuda_device import CudaDevice

    gpus = cupy.cuda.runtime.getDeviceCount()
    if transport == "nccl" and gpus < COUNT:
        pytest.skip("NCCL takes one member a GPU")

    def open_device(name: str) -> Device:
        return CudaDevice(int(name.rpartition(":")[2]) % gpus)

    ray = ThreadRay(a=COUNT)
    return Cluster(ray, find_places(ray, "CPU"), transport, lambda _: folder, open_device)
