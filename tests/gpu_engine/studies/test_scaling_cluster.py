"""The scaling study on a cluster of threads: by value against what one device finds; what is said of what is lost."""

import dataclasses
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import DeviceError, DeviceLostError, DeviceMemoryError, HostLostError, ParameterError
from gpu_engine.generators import generate
from gpu_engine.host.device import find_device
from gpu_engine.measure import open_bench
from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.cluster import member
from gpu_engine.multigpu.cluster.actor_pool import Cluster, describe, find_hosts, open_actor_pool
from gpu_engine.multigpu.cluster.transport import TRANSPORTS
from gpu_engine.multigpu.exchange import EXCHANGES, ExchangeName
from gpu_engine.multigpu.pagerank import DistributedRanks
from gpu_engine.multigpu.placement import find_places
from gpu_engine.multigpu.replay import Replays
from gpu_engine.multigpu.topology import simulated
from gpu_engine.multigpu.virtual import virtual_devices
from gpu_engine.pagerank.graph import PageRankParams, transition_matrix
from gpu_engine.pagerank.run import iterate
from gpu_engine.parameters import parse_params
from gpu_engine.records import MatrixInfo, Measurement, Record
from gpu_engine.studies import scaling
from gpu_engine.studies.base import check_device
from gpu_engine.studies.formats import FormatsStudy
from gpu_engine.studies.scaling import ScalingParams, ScalingStudy
from gpu_engine.studies.scaling.experiment import VIRTUAL
from tests.gpu_engine.multigpu.cluster.members import product, ranking
from tests.gpu_engine.multigpu.cluster.test_product import StreamTransport
from tests.gpu_engine.multigpu.cluster.thread_ray import ThreadRay
from tests.gpu_engine.multigpu.devices import LoggingDevice
from tests.gpu_engine.multigpu.stored import stored
from tests.gpu_engine.multigpu.test_exchange import check, overlaps, scaled, squares
from tests.gpu_engine.multigpu.test_pagerank import schedule_of
from tests.samples.studies import FAST

OWN = find_device("cpu")
GRID = generate("stencil", {"points": 5, "nx": 9, "ny": 8})
PARAMS = PageRankParams()


def cluster_of(folder: Path, open_device: Callable[[str], Device] = LoggingDevice, **cpus: int) -> Cluster:
    """One whose matrices all lie in that folder."""
    ray = ThreadRay(**cpus)
    return Cluster(ray, find_places(ray, "CPU"), "object-store", lambda _: folder, open_device)


@overlaps
@pytest.mark.parametrize("exchange", EXCHANGES)
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("matrix", list(squares()))
def test_iterations_of_all_matrices(
    tmp_path: Path, matrix: CsrMatrix, count: int, exchange: ExchangeName, overlap: bool
) -> None:
    """In one call, from the same vector again after a sample; poisoned memory shows a read before its fetch."""
    matrix = scaled(matrix)
    cluster = cluster_of(stored(tmp_path / "matrix", matrix), a=count)
    x, found = np.random.default_rng(1).uniform(-1.0, 1.0, matrix.n_rows), np.full(matrix.n_rows, np.nan)
    with open_actor_pool(cluster, count) as pool:
        team = product(pool, matrix, count, exchange, overlap)
        team.load(x)
        for iterations in (5, 2):
            assert len(team.together("sample", "advance", 3)) == count
            team.together("run", "advance", iterations)
            team.read(found)
            check(matrix, x, iterations, found)


@overlaps
@pytest.mark.parametrize("segments", [0, 4])
def test_streams_alone_order_what_members_launch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, segments: int, overlap: bool
) -> None:
    """As with NCCL: nine iterations, two batches of them and one more, and a run, in which no host waits for a peer."""
    monkeypatch.setitem(TRANSPORTS, "nccl", StreamTransport)
    graph, schedule = transition_matrix(GRID, PARAMS), schedule_of(segments)
    matrix, found, ranks = scaled(GRID), np.full(GRID.n_rows, np.nan), np.full(GRID.n_rows, np.nan)
    x = np.random.default_rng(1).uniform(-1.0, 1.0, GRID.n_rows)
    cluster = dataclasses.replace(cluster_of(stored(tmp_path / "matrix", matrix), a=3), transport="nccl")
    with open_actor_pool(cluster, 3) as pool:
        for cut_rows in (False, True):
            team = product(pool, matrix, 3, "halo", overlap, cut_rows=cut_rows)
            team.load(x)
            for act in ("advance", "exchange", "multiply"):
                team.together("sample", act, 9)
            team.together("run", "advance", 9)
            team.read(found)
            check(matrix, x, 9, found)
            team.drop()
        team = ranking(pool, graph, 3, segments, "halo", overlap)
        run, *others = team.together("find", schedule)
        team.read(ranks)
    assert others == [run] * 2
    with virtual_devices(simulated((3,))) as devices:
        alone = DistributedRanks(graph, PARAMS, devices, segments, overlap=overlap)
        assert iterate(alone, PARAMS, schedule) == run
        np.testing.assert_array_equal(ranks, alone.ranks())


def test_a_member_leaves_once_nothing_is_left_of_what_it_captured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NCCL waits for ever for graphs in which it was captured."""
    left, captured = list[dict[Any, Any]](), list[Replays]()

    class IndependentlyTimed(StreamTransport):
        def close(self) -> None:
            left.extend(dict(replays._captured) for replays in captured)

    class Listed(Replays):
        def __init__(self, streams: Sequence[Device]) -> None:
            super().__init__(streams)
            captured.append(self)

    monkeypatch.setitem(TRANSPORTS, "nccl", IndependentlyTimed)
    monkeypatch.setattr(member, "Replays", Listed)
    matrix = scaled(GRID)
    cluster = dataclasses.replace(cluster_of(stored(tmp_path / "matrix", matrix), a=1), transport="nccl")
    with open_actor_pool(cluster, 1) as pool:
        team = product(pool, matrix, 1, "halo", True)
        team.together("sample", "advance", 9)
        assert [len(replays._captured) for replays in captured] == [1]
        team.drop()
        team.drop()
    assert left == [{}]


class Sending(LoggingDevice):
    """Notes the bytes of what is sent in segments."""

    sent: ClassVar[set[int]]

    def download(self, array: Any, host: Any) -> None:
        if array.dtype.kind == "u":
            self.sent.add(array.nbytes)
        super().download(array, host)


@pytest.mark.parametrize(
    ("segments", "exchange", "overlap"), [(0, "halo", True), (2, "halo", False), (4, "all-gather", True)]
)
def test_members_find_the_ranks_that_one_process_finds(
    tmp_path: Path, exchange: ExchangeName, segments: int, overlap: bool
) -> None:
    """To the bit, and all of them decide alike; of segments only those cross that are read."""
    graph = transition_matrix(generate("web", {"n": 90, "mean": 3.0, "max_length": 60, "seed": 3}), PARAMS)
    schedule, ranks = schedule_of(segments), np.full(90, np.nan)
    Sending.sent = set()
    with virtual_devices(simulated((3,))) as devices:
        alone = DistributedRanks(graph, PARAMS, devices, segments, exchange, overlap)
        expected = iterate(alone, PARAMS, schedule)
        expected_ranks = alone.ranks()
    with open_actor_pool(cluster_of(tmp_path, Sending, a=1, b=2), 3) as pool:
        team = ranking(pool, graph, 3, segments, exchange, overlap)
        assert team.transfers == alone.transfers
        for run in team.together("find", schedule):
            assert run == expected
        for apart in (True, False):
            # The same steps once more.
            assert {len(found) for found in team.together("times", schedule, expected.steps, apart)} == {
                len(expected.steps)
            }
            team.read(ranks)
            np.testing.assert_array_equal(ranks, expected_ranks)
            # Whichever came before, a run exchanges.
            assert team.together("find", schedule) == [expected] * 3
    heads = {read for read in expected.read if read < segments}
    bytes_of = {t.elements * read * 8 // segments for t in alone.transfers for read in heads}
    assert Sending.sent == bytes_of


def run_study(cluster: Cluster, *matrices: CsrMatrix, **params: Any) -> list[Record]:
    """What the study says of these matrices on the cluster, with two devices if nothing else is asked for."""
    device = dataclasses.replace(describe(cluster.places, OWN), cache_bytes=2**20)
    parsed = parse_params(ScalingParams, {"devices": [2], **params})
    infos = [MatrixInfo(str(i), str(i), m.n_rows, m.n_cols, m.nnz) for i, m in enumerate(matrices)]
    found: list[Record] = []
    with open_bench(device, FAST, cluster=cluster) as bench:
        cases = list(ScalingStudy().cases(parsed, infos, device))
        try:
            found.extend(ScalingStudy().run(parsed, cases, {str(i): m for i, m in enumerate(matrices)}, bench))
        except HostLostError as error:
            raise LostError(found, error) from error
    return found


class LostError(Exception):
    """What was said before a loss, and the loss."""

    def __init__(self, records: list[Record], error: HostLostError) -> None:
        super().__init__(error.message)
        self.records, self.error = records, error


def measured(records: Sequence[Record]) -> list[Measurement]:
    return [r for r in records if isinstance(r, Measurement)]


def test_what_records_of_a_cluster_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of one host, with the places; of one device of a host, of one of each, of both of one and one more."""
    monkeypatch.setattr(scaling, "RANKS", ("pagerank+cpms2",))
    cluster = cluster_of(stored(tmp_path / "grid", GRID), a=2, b=1)
    works = ["cold", "iterate", "pagerank"]
    found = measured(run_study(cluster, GRID, devices=[1, 2, 3], workload=works, overlap=["on"], sampling="fixed"))
    assert [m.state for m in found] == ["ok"] * 6, [m.note for m in found]
    names = {1: "a/virtual:0", 2: "a/virtual:0, b/virtual:0", 3: "a/virtual:0, a/virtual:1, b/virtual:0"}
    for m in found:
        assert (m.device, m.note, m.environment["devices"]) == ("cluster", VIRTUAL, names[m.details.devices])
        assert (m.environment["hosts"], len(m.samples_s)) == ("a: 2, b: 1", 9)
        assert sum(m.details.nonzeros_by_device) == GRID.nnz
        assert set(m.details.phases_s) == {"compute", "exchange"}
    iterated, ranked = found[:3], found[3:]
    assert {m.kernel for m in iterated} == {"pCSR/iterate"}
    # Whole rows: each of two fetches the other's rows next to its own.
    assert [m.details.exchanged_bytes for m in iterated[:2]] == [0, 8 * 2 * 9]
    assert {m.kernel for m in ranked} == {"pCSR/pagerank+cpms2"}
    assert all(sum(m.details.iterations_by_segments) == m.details.iterations > 20 for m in ranked)


def test_what_records_of_a_solve_on_a_cluster_say(tmp_path: Path) -> None:
    cluster = cluster_of(stored(tmp_path / "grid", GRID), a=2, b=1)
    found = measured(run_study(cluster, GRID, devices=[1, 3], workload=["solve"], overlap=["on"], sampling="fixed"))
    assert [(m.kernel, m.state, len(m.samples_s)) for m in found] == [("pCSR/solve", "ok", 9)] * 2
    alone, shared = (m.details for m in found)
    assert alone.iterations == shared.iterations >= 10
    assert max(alone.residual, shared.residual) <= 1e-8
    # Two lines of nine elements between neighbors, and two sums from each to the two others.
    assert (alone.exchanged_bytes, shared.exchanged_bytes) == (0, 8 * (4 * 9 + 2 * 6))


def test_more_devices_than_there_are_skip_a_case(tmp_path: Path) -> None:
    cluster = cluster_of(stored(tmp_path / "grid", GRID), a=1, b=1)
    few, many = measured(run_study(cluster, GRID, devices=[2, 3], workload=["iterate"], overlap=["on"]))
    assert (few.state, many.state) == ("ok", "skipped")
    assert "Cannot use 3 devices: the cluster has 2" in many.note


def failing(name: str, event: Callable[[], None], after: int) -> Callable[[str], Device]:
    """Opens devices of which that one has an event in each product from the so-manieth on."""

    class Failing(LoggingDevice):
        products = 0

        def call(self, function: Any, *arguments: Any) -> None:
            if function is self.operations.multiply:
                self.products += 1
                if self.name == name and self.products > after:
                    event()
            super().call(function, *arguments)

    return Failing


@pytest.mark.parametrize("work", ["iterate", "pagerank"])
def test_a_lost_host_ends_the_study_with_what_was_measured(
    tmp_path: Path, work: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of the second matrix; the other member waits for the lost one, and is not waited for."""
    monkeypatch.setattr(scaling, "RANKS", ("pagerank+cpms2",))
    folder, ray = stored(tmp_path / "grid", GRID), ThreadRay(a=1, b=2)
    places, second = find_places(ray, "CPU"), threading.Event()

    class Held(LoggingDevice):
        def call(self, function: Any, *arguments: Any) -> None:
            works = self.operations.multiply, self.operations.finish_ranks
            if second.is_set() and self.name == "virtual:1" and function in works:
                ray.lose(places[1], places[2])
            super().call(function, *arguments)

    def folder_of(matrix_id: str) -> Path:
        if matrix_id == "1":
            second.set()
        return folder

    cluster = Cluster(ray, places, "object-store", folder_of, Held)
    with pytest.raises(LostError) as lost:
        run_study(cluster, GRID, GRID, devices=[3], workload=[work], overlap=["on"])
    assert {(m.matrix_id, m.state) for m in measured(lost.value.records)} == {("0", "ok")}
    assert lost.value.error.hosts == ("b",)
    assert lost.value.error.code == "host_lost"
    words = lost.value.error.message
    assert words.startswith(f"Lost while measuring 1|pCSR/{work}")
    assert "b/virtual:0 (node id-b), b/virtual:1 (node id-b)" in words
    assert not any(actor.alive for actor in ray.actors)


@pytest.mark.parametrize(
    ("error", "kind"),
    [(DeviceLostError("An illegal access."), HostLostError), (DeviceMemoryError("Full."), DeviceError)],
)
def test_a_device_that_fails_between_others_ends_the_study(tmp_path: Path, error: Exception, kind: type) -> None:
    """Its error is no case's: the others wait for it for ever."""

    def fail() -> None:
        raise error

    cluster = cluster_of(stored(tmp_path / "grid", GRID), failing("virtual:1", fail, 1), a=2, b=1)
    with pytest.raises((kind, LostError), match=r"An illegal access|failed while measuring .*: Full\."):
        run_study(cluster, GRID, devices=[3], workload=["iterate"], overlap=["off"])


def test_a_part_that_does_not_fit_skips_its_case_alone(tmp_path: Path) -> None:
    """Nobody waits for a member that has not begun."""

    def fail() -> None:
        raise DeviceMemoryError("Full.")

    fails = iter([fail])
    cluster = cluster_of(
        stored(tmp_path / "grid", GRID), failing("virtual:1", lambda: next(fails, lambda: None)(), 0), a=2, b=1
    )
    found = measured(run_study(cluster, GRID, devices=[2, 3], workload=["iterate"], overlap=["on"]))
    assert {m.details.devices: (m.state, m.note) for m in found} == {2: ("ok", VIRTUAL), 3: ("skipped", "Full.")}


def test_what_a_cluster_does_not_measure_is_refused(tmp_path: Path) -> None:
    device = describe(cluster_of(tmp_path, a=2, b=1).places, OWN)
    info = MatrixInfo("a", "a", 3, 3, 4)
    for params in ({"workload": ["cold", "resident"]}, {"partitionings": ["pCOO"]}, {"kernel_library": ["cusparse"]}):
        with pytest.raises(ParameterError, match="cluster measures iterate, pagerank, solve, partitioned as pCSR"):
            list(ScalingStudy().cases(parse_params(ScalingParams, params), [info], device))
    with pytest.raises(ParameterError, match="cluster is 3 devices of 2 hosts together"):
        check_device(FormatsStudy(), device)
    cases = [dict(case.axes) for case in ScalingStudy().cases(ScalingParams(), [info], device)]
    assert {(axes["workload"], axes["devices"]) for axes in cases} == {("iterate", "1"), ("iterate", "2")}


def test_a_cluster_is_of_two_hosts_or_of_groups_of_one() -> None:
    both = find_hosts(ThreadRay(a=2, b=3), "CPU")
    device = describe(both, OWN)
    assert (device.id, device.name, device.hosts) == ("cluster", "5 × virtual device on 2 hosts", (2, 3))
    assert device.details["hosts"] == "a: 2, b: 3"
    assert find_hosts(ThreadRay(a=2, b=-3), "CPU") == ()
    ray: Any = ThreadRay(a=5, b=3)
    ray.get_runtime_context = lambda: SimpleNamespace(get_node_id=lambda: "id-a")
    groups = find_hosts(ray, "CPU", 2)
    assert [(place.host, place.device) for place in groups] == [
        (f"a.{number // 2}", f"virtual:{number}") for number in range(4)
    ]
    assert find_hosts(ray, "CPU", 9) == ()
