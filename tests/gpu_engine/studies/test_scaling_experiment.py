"""The run of a matrix on device groups: what its records say, how it samples, what becomes of cases without a time."""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import DeviceMemoryError, KernelError, plain
from gpu_engine.generators import generate
from gpu_engine.measure import Bench
from gpu_engine.multigpu import pagerank_workload, workload
from gpu_engine.multigpu.virtual import VirtualDevice
from gpu_engine.multigpu.workload import Setting, WorkloadData, WorkloadName
from gpu_engine.multigpu.workloads import WORKLOADS
from gpu_engine.pagerank import PageRankParams
from gpu_engine.records import BandwidthPoint, Case, DeviceInfo, DeviceProfile, Measurement, Progress, Record, Started
from gpu_engine.sampling.run import SampleRun
from gpu_engine.studies.scaling import experiment as measuring
from gpu_engine.studies.scaling.experiment import VIRTUAL, ScalingExperiment, ScalingPlan
from gpu_engine.text import units
from tests.battery import dense
from tests.samples.studies import FAST, opened

GRID = generate("stencil", {"points": 5, "nx": 9, "ny": 8})
WIDE = dense([[1, 0, 2, 0], [0, 0, 0, 5]])

COLD = Setting("cold", "pCSC", "p*-opt", 2, "device")
RESIDENT = Setting("resident", "pCSR", "resident", 2)
ITERATED = Setting("iterate", "pCSR", "iterate", 2, exchange="all-gather", overlap=True)
RANKED = Setting("pagerank", "pCSR", "pagerank+cpms2", 3)
BY_WORK = (RESIDENT, ITERATED, RANKED, COLD)


def records(bench: Bench, settings: Sequence[Setting], matrix: CsrMatrix = GRID, nodes: int = 1) -> list[Record]:
    cases = [Case("m", setting.kernel, "warm", setting.axes) for setting in settings]
    plan = ScalingPlan({case.key: s for case, s in zip(cases, settings, strict=True)}, 9, nodes)
    return list(SampleRun(ScalingExperiment(plan, cases, matrix, bench)).records())


def measured(bench: Bench, settings: Sequence[Setting], matrix: CsrMatrix = GRID, **rest: Any) -> list[Measurement]:
    return [r for r in records(bench, settings, matrix, **rest) if isinstance(r, Measurement)]


def test_an_iteration_that_did_not_converge_has_a_time_and_says_so(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    params = PageRankParams(iterations_max=3)
    for module in (workload, pagerank_workload):
        monkeypatch.setattr(module, "RANK_PARAMS", params)
    (m,) = measured(bench, [RANKED])
    assert (m.state, m.details.iterations) == ("unconverged", 3)
    assert m.median_s is not None
    assert m.note.startswith("γ is ")
    assert m.note.endswith(f"after 3 iterations, not under ε; {VIRTUAL}")


def test_what_a_record_says(bench: Bench) -> None:
    found = measured(bench, BY_WORK)
    for m, setting in zip(found, BY_WORK, strict=True):
        assert (m.state, m.kernel, m.format) == ("ok", setting.kernel, setting.partitioning), m.note
        assert m.case == Case("m", setting.kernel, "warm", setting.axes).key
        assert (m.details.partitioning, m.details.devices, m.cache) == (setting.partitioning, setting.devices, "warm")
        assert m.note == VIRTUAL
        assert sum(m.details.nonzeros_by_device) == GRID.nnz
        assert len(m.details.nonzeros_by_device) == setting.devices
        assert len(m.samples_s) == 9
        assert m.median_s == sorted(m.samples_s)[4]
        assert m.gflops == pytest.approx(2 * GRID.nnz / m.median_s / 1e9)
        # That of one device, however many there are.
        assert m.roofline_s == GRID.compulsory_bytes / 1e13
        assert m.environment["devices"] == ", ".join(f"virtual:{i}" for i in range(setting.devices))
    resident, iterated, ranked, cold = found
    assert [m.details.strategy for m in found] == ["", "", "", "p*-opt"]
    assert list(cold.details.phases_s) == ["partition", "distribute", "compute", "merge"]
    assert resident.details.phases_s == {}
    assert set(iterated.details.phases_s) == set(ranked.details.phases_s) == {"compute", "exchange"}
    # Each fetches the other's half; the grid is symmetric, and its middle lies between two rows.
    assert iterated.details.exchanged_bytes == 8 * 72
    assert (resident.details.exchanged_bytes, cold.details.exchanged_bytes) == (None, None)
    assert ranked.details.iterations is not None
    assert ranked.details.iterations == sum(ranked.details.iterations_by_segments) > 20
    assert [m.max_error is None for m in found] == [False, False, True, False]


def test_virtual_devices_on_the_nodes_asked_for(bench: Bench) -> None:
    four = dataclasses.replace(COLD, devices=4)
    (m,) = measured(bench, [four], nodes=2)
    assert m.environment["nodes"] == "0, 0, 1, 1"


def test_placement_and_affinity_are_for_several_nodes(bench: Bench) -> None:
    off = dataclasses.replace(COLD, placement="one", affinity=False)
    (m,) = measured(bench, [off])
    assert (m.state, m.axes["placement"], m.axes["affinity"]) == ("skipped", "one", "off")
    assert "only matter with several NUMA nodes" in m.note
    found = measured(bench, [COLD, off, dataclasses.replace(COLD, placement="interleaved")], nodes=2)
    assert [(m.state, m.environment["nodes"]) for m in found] == [("ok", "0, 1")] * 3


def test_the_floor_follows_the_footprint_of_one_device_of_many() -> None:
    """Alone it works from memory, four have the matrix in their caches."""
    size = GRID.compulsory_bytes
    points = BandwidthPoint(size // 4, 8e12, 8e12), BandwidthPoint(100 * size, 2e12, 2e12)
    profile = DeviceProfile("cpu", "test", size // 2, points, "")
    with opened(profile) as bench:
        alone, four = measured(bench, [dataclasses.replace(COLD, devices=count) for count in (1, 4)])
    assert (alone.roofline_s, four.roofline_s) == (size / 2e12, size / 8e12)


def test_each_round_samples_every_case_once_in_an_order_of_its_own(bench: Bench) -> None:
    settings = [dataclasses.replace(COLD, devices=count) for count in (1, 2, 3, 4)]
    started = [r.case for r in records(bench, settings) if isinstance(r, Started)]
    cases = started[:4]
    rounds = [started[begin : begin + 4] for begin in range(4, len(started), 4)]
    assert len(rounds) == 9
    assert all(Counter(turns) == Counter(cases) for turns in rounds)
    assert len({tuple(turns) for turns in rounds}) > 3


def test_progress_never_falls_and_counts_in_shares_of_the_cases(bench: Bench) -> None:
    done = [r.done for r in records(bench, BY_WORK) if isinstance(r, Progress)]
    assert done == sorted(done)
    assert done[0] == 0.0
    assert 0.75 < done[-1] < 1.0
    # The first of four groups with a case each.
    assert max(d for d in done if d < 0.25) > 0.20


def test_a_wrong_result_fails_its_case_alone(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    right = WORKLOADS["iterate"].check

    def wrong(self: Any) -> None:
        right(self)
        raise KernelError("Wrong result: row 3 is 1.0, SciPy gives 2.0; 1 of 72 rows are off.")

    monkeypatch.setattr(WORKLOADS["iterate"], "check", wrong)
    found = measured(bench, BY_WORK)
    assert [m.state for m in found] == ["ok", "failed", "ok", "ok"]
    failed = found[1]
    assert failed.note.startswith("Wrong result: row 3")
    assert (failed.median_s, failed.samples_s, failed.details.phases_s) == (None, (), {})


@pytest.mark.parametrize("setting", BY_WORK[:2] + BY_WORK[3:], ids=lambda s: s.workload)
def test_devices_that_multiply_wrongly_get_no_time(
    setting: Setting, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = VirtualDevice.call

    def wrong(self: VirtualDevice, function: Any, *arguments: Any) -> None:
        right(self, function, *arguments)
        if function is self.operations.multiply:
            right(self, arguments[-1].fill, 0.5)

    monkeypatch.setattr(VirtualDevice, "call", wrong)
    (m,) = measured(bench, [setting])
    assert (m.state, m.median_s) == ("failed", None)
    assert "SciPy gives" in m.note


def test_a_matrix_that_is_not_square_is_only_multiplied_from_the_host(bench: Bench) -> None:
    found = measured(bench, BY_WORK, WIDE)
    assert [m.state for m in found] == ["skipped", "skipped", "skipped", "ok"]
    assert all("2 × 4" in m.note and "square" in m.note for m in found[:3])


def test_fewer_devices_than_asked_for_skip_the_case(bench: Bench) -> None:
    few, many = COLD, dataclasses.replace(COLD, devices=65)
    found = measured(bench, [few, many])
    assert [m.state for m in found] == ["ok", "skipped"]
    assert "Cannot use 65 devices: 64 " in found[1].note


def test_parts_that_need_too_much_memory_skip_the_case(bench: Bench) -> None:
    """16 bytes a nonzero and five vectors on each device, which share the memory of the host."""
    needed = {count: 16 * GRID.nnz + count * 8 * 5 * 72 for count in (1, 2)}
    tight = Bench(bench.device, bench.stopwatch, FAST, needed[1])
    found = measured(tight, [dataclasses.replace(COLD, devices=count) for count in (1, 2)])
    assert [m.state for m in found] == ["ok", "skipped"]
    assert (
        found[1].note
        == f"needs {units.number(needed[2] / 1e9)} GB of memory; the limit is {units.number(needed[1] / 1e9)} GB"
    )


def test_no_memory_for_the_reference_skips_every_case(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_arguments: Any) -> WorkloadData:
        raise MemoryError("no more")

    monkeypatch.setattr(measuring, "WorkloadData", full)
    found = measured(bench, BY_WORK)
    assert {(m.state, m.note) for m in found} == {("skipped", "The host has too little free memory: no more.")}
    assert [m.kernel for m in found] == [setting.kernel for setting in BY_WORK]


def test_a_device_without_memory_skips_its_case(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    right = VirtualDevice.allocate

    def allocate(self: VirtualDevice, size: int, dtype: Any) -> Any:
        if self.name == "virtual:2":
            raise DeviceMemoryError("The host has too little free memory for virtual:2.")
        return right(self, size, dtype)

    monkeypatch.setattr(VirtualDevice, "allocate", allocate)
    found = measured(bench, [COLD, dataclasses.replace(COLD, devices=3)])
    assert [m.state for m in found] == ["ok", "skipped"]


def test_a_time_under_the_floor_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A memory so slow that all bytes of the parts need an hour."""
    profile = DeviceProfile("cpu", "test", 1, (BandwidthPoint(2**28, 1.0, 1.0),), "")
    with opened(profile) as bench:
        monkeypatch.setattr(bench.stopwatch, "bandwidth", lambda _: (1.0, 1.0))
        found = measured(bench, BY_WORK)
    for m, setting in zip(found, BY_WORK, strict=True):
        assert (m.state, m.median_s, m.details.phases_s) == ("failed", None, {})
        assert m.note.startswith("rejected: ")
        if setting.workload != "pagerank":
            # Virtual devices share one memory: nothing is divided by their number.
            assert f"({plain(units.seconds(0.9 * ((m.stored_bytes or 0) + 8 * 72)))}" in m.note


def test_what_does_not_fit_the_memory_together_is_sampled_apart(bench: Bench) -> None:
    settings = [dataclasses.replace(RESIDENT, devices=count) for count in (1, 2)]
    started = [r.case for r in records(bench, settings) if isinstance(r, Started)]
    assert started[0] != started[1]
    stopwatch: Any = bench.stopwatch
    before, stopwatch.memory_bytes = stopwatch.memory_bytes, 4 * 16 * GRID.nnz
    try:
        apart = [
            r.case for r in records(Bench(bench.device, stopwatch, FAST, 2**30), settings) if isinstance(r, Started)
        ]
    finally:
        stopwatch.memory_bytes = before
    # The one with the most devices is the reference, and in the rounds of the other too.
    reference, other = dict.fromkeys(started)
    assert apart[:10] == [reference] * 10
    assert Counter(apart[10:]) == {reference: 10, other: 10}


def test_every_work_is_known_by_its_name() -> None:
    names: tuple[WorkloadName, ...] = ("cold", "resident", "iterate", "pagerank", "solve")
    assert tuple(WORKLOADS) == names


@pytest.mark.parametrize(("counts", "expected"), [((1, 2, 8), 2), ((8,), 1)])
def test_arrays_are_for_the_most_devices_that_there_are(
    counts: tuple[int, ...], expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cases of more devices are skipped one by one, all of them too."""
    asked: list[int] = []

    @contextmanager
    def opened(_device: DeviceInfo, count: int, _nodes: int) -> Iterator[Any]:
        asked.append(count)
        yield (SimpleNamespace(node=0, allocate_host=np.empty),) * count

    monkeypatch.setattr("gpu_engine.studies.scaling.experiment.open_devices", opened)
    both = DeviceInfo("cuda:all", "cuda", "2 × A GPU", 1, 1, "GPU-1,GPU-2")
    plan = ScalingPlan({str(count): dataclasses.replace(COLD, devices=count) for count in counts}, 9, 1)
    bench: Any = SimpleNamespace(device=both, xp=np)
    data = ScalingExperiment(plan, [], dense([[1, 2], [3, 4]]), bench)._data()
    assert data.matrix.values.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert asked == [expected]
