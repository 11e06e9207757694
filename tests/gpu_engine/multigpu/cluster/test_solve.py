"""CG by actors: the bits of the devices of one process, with transports that wait and with those that streams order."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.multigpu.cluster.actor_pool import Cluster, open_actor_pool
from gpu_engine.multigpu.cluster.solve import ClusterSolve, SolveMember
from gpu_engine.multigpu.cluster.transport import TRANSPORTS
from gpu_engine.multigpu.graph_shards import PARTITIONING, whole_rows
from gpu_engine.multigpu.placement import find_places
from gpu_engine.multigpu.solve import SharedSolve
from gpu_engine.multigpu.solve_run import CHECK_EVERY
from gpu_engine.solvers.base import Status
from tests.gpu_engine.multigpu.cluster.test_product import StreamTransport
from tests.gpu_engine.multigpu.cluster.thread_ray import ThreadRay
from tests.gpu_engine.multigpu.devices import LoggingDevice
from tests.gpu_engine.multigpu.scheduled import scheduled_devices
from tests.gpu_engine.multigpu.stored import stored
from tests.gpu_engine.multigpu.test_exchange import overlaps
from tests.gpu_engine.multigpu.test_solve import SYSTEMS, right_hand_side


def pool_of(folder: Path, count: int, transport: Any = "object-store") -> Any:
    ray = ThreadRay(a=count)
    cluster = Cluster(ray, find_places(ray, "CPU"), transport, lambda _: folder, LoggingDevice)
    return open_actor_pool(cluster, count)


def team_of(pool: Any, folder: Path, matrix: CsrMatrix, count: int, overlap: bool) -> ClusterSolve:
    team = pool.case_actors("solving", count, SolveMember)
    team.load_parts(whole_rows(PARTITIONING.store(matrix), count), folder, "halo", overlap)
    return ClusterSolve(matrix, team)


@overlaps
@pytest.mark.parametrize("transport", ["object-store", "nccl"])
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("name", SYSTEMS)
def test_actors_find_the_bits_of_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, count: int, transport: Any, overlap: bool
) -> None:
    monkeypatch.setitem(TRANSPORTS, "nccl", StreamTransport)
    matrix = SYSTEMS[name]()
    folder, b = stored(tmp_path / name, matrix), right_hand_side(matrix)
    expected = SharedSolve(matrix, scheduled_devices(count), overlap=overlap).solve(b, 1e-9)
    with pool_of(folder, count, transport) as pool:
        solve = team_of(pool, folder, matrix, count, overlap)
        for _ in range(2):
            solution = solve.solve(b, 1e-9)
            assert (solution.status, solution.iterations) == (expected.status, expected.iterations)
            assert solution.residuals == expected.residuals
            assert solution.x.tobytes() == expected.x.tobytes()


def test_a_sample_is_timed_from_the_start_vector_on(tmp_path: Path) -> None:
    matrix = SYSTEMS["stencil"]()
    folder, b = stored(tmp_path / "stencil", matrix), right_hand_side(matrix)
    alone = SharedSolve(matrix, scheduled_devices(2))
    alone.begin(b)
    alone.advance(2 * CHECK_EVERY)
    expected, x = np.empty_like(b), np.empty_like(b)
    alone.read(expected)
    with pool_of(folder, 2) as pool:
        solve = team_of(pool, folder, matrix, 2, overlap=True)
        solve.begin(b)
        for _ in range(2):
            assert solve.sample(2) > 0.0
            solve.read(x)
            assert x.tobytes() == expected.tobytes()


def test_an_indefinite_matrix_is_told_by_all_actors(tmp_path: Path) -> None:
    stencil = SYSTEMS["stencil"]()
    matrix = CsrMatrix.from_scipy(sp.csr_array(stencil.to_scipy() - sp.eye_array(stencil.n_rows)))
    folder = stored(tmp_path / "shifted", matrix)
    with pool_of(folder, 2) as pool:
        solve = team_of(pool, folder, matrix, 2, overlap=False)
        assert solve.solve(right_hand_side(matrix)).status is Status.INDEFINITE
