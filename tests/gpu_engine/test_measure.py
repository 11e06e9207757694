"""The bench on a CPU: what a record holds, and that a kernel is the same as itself."""

import dataclasses
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError, UnknownDeviceError
from gpu_engine.formats import csr
from gpu_engine.formats.csr.layout import CsrLayout
from gpu_engine.host.device import find_device
from gpu_engine.measure import Bench, Rounds, Timed, open_bench
from gpu_engine.measure.cpu import PLACEABLE_BYTES, CpuStopwatch
from gpu_engine.measure.placements import Placement
from gpu_engine.pagerank.details import PageRankDetails
from gpu_engine.records import (
    BandwidthPoint,
    Cache,
    Case,
    Details,
    DeviceProfile,
    MatrixInfo,
    Measurement,
    Progress,
    Record,
    Started,
    as_json,
    dumps,
    profile_from_json,
)
from gpu_engine.studies import STUDIES, parse_measurement, study
from gpu_engine.studies.formats import FormatsParams, FormatsStudy
from gpu_engine.verdicts.verdict import compare
from tests.battery import BATTERY, mirrored, with_row_lengths

FAST = DeviceProfile("cpu", "test", 2**20, (BandwidthPoint(2**18, 1e13, 1e13), BandwidthPoint(2**28, 1e13, 1e13)), "")
"""A profile so fast that no real time can be under a floor."""


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    device = dataclasses.replace(find_device("cpu"), cache_bytes=2**20)
    with open_bench(device, FAST) as opened:
        yield opened


def run(bench: Bench, matrix: CsrMatrix, params: FormatsParams) -> list[Record]:
    info = MatrixInfo("m", "m", matrix.n_rows, matrix.n_cols, matrix.nnz)
    cases = tuple(FormatsStudy().cases(params, [info], bench.device))
    return list(FormatsStudy().run(params, cases, {"m": matrix}, bench))


def measurements(records: list[Record]) -> dict[tuple[str, str], Measurement]:
    return {(r.kernel, r.cache): r for r in records if isinstance(r, Measurement)}


def test_every_case_is_started_then_measured(bench: Bench) -> None:
    matrix = mirrored(with_row_lengths(np.full(2000, 9), 2000, seed=1))
    params = FormatsParams(rounds=9, sampling="fixed")
    records = run(bench, matrix, params)
    cases = tuple(FormatsStudy().cases(params, [MatrixInfo("m", "m", 2000, 2000, matrix.nnz)], bench.device))
    assert [r.case for r in records if isinstance(r, Measurement)] == [case.key for case in cases]
    assert {r.case for r in records if isinstance(r, Started)} == {case.key for case in cases}
    progress = [r.done for r in records if isinstance(r, Progress)]
    assert progress == sorted(progress)
    assert 0 <= progress[0] <= progress[-1] <= len(cases)
    for m in measurements(records).values():
        assert m.state == "ok", m.note
        assert m.median_s is not None
        assert m.gflops == pytest.approx(2 * matrix.nnz / m.median_s / 1e9)
        assert m.roofline_s == pytest.approx(matrix.compulsory_bytes / 1e13)
        assert m.ci_low_s is not None
        assert m.ci_high_s is not None
        assert m.ci_low_s <= m.median_s <= m.ci_high_s
        assert len(m.samples_s) == 9
        assert m.environment["source"]
    assert matrix.compulsory_bytes == 12 * matrix.nnz + 4 * 2001 + 8 * 2000 + 8 * 2000


def test_a_resumed_run_measures_only_what_it_owes(bench: Bench) -> None:
    matrix = BATTERY["band"]()
    owed = [Case("m", "coo/segmented", "warm")]
    records = list(FormatsStudy().run(FormatsParams(rounds=9), owed, {"m": matrix}, bench))
    assert [r.case for r in records if isinstance(r, Measurement)] == ["m|coo/segmented|warm|"]


def test_a_kernel_is_the_same_as_itself(bench: Bench) -> None:
    """Two entries of one kernel in the same interleaved rounds: the gap between them is what `same` allows."""
    matrix = with_row_lengths(np.full(20_000, 15), 20_000, seed=2)
    found = measurements(run(bench, matrix, FormatsParams(kernels=("csr/vector",), rounds=31)))
    for m in found.values():
        assert m.aa_gap is not None
        assert m.median_s is not None
        again = dataclasses.replace(m, median_s=m.median_s * (1 + m.aa_gap))
        # On a host with other work to do nothing may be called the same.
        assert compare(m, again).kind in ("same", "inconclusive")


def test_a_wrong_kernel_is_a_failed_case(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(layout: CsrLayout, x: Any, y: Any) -> None:
        right = layout.matrix.to_scipy() @ x
        right[3] += 1e-9
        y[:] = right

    broken = dataclasses.replace(csr.FORMAT.kernels[0], cpu=wrong)
    monkeypatch.setattr(
        "gpu_engine.studies.formats.experiment.FORMATS",
        (dataclasses.replace(csr.FORMAT, kernels=(broken, *csr.FORMAT.kernels[1:])),),
    )
    found = measurements(run(bench, BATTERY["band"](), FormatsParams(kernels=("csr/scalar", "csr/vector"), rounds=9)))
    assert found["csr/scalar", "warm"].state == "failed"
    assert found["csr/scalar", "warm"].median_s is None
    assert "row 3" in found["csr/scalar", "warm"].note
    assert found["csr/vector", "warm"].state == "ok"


SLOW = dataclasses.replace(FAST, bandwidth=(BandwidthPoint(2**18, 1.0, 1.0), BandwidthPoint(2**28, 1.0, 1.0)))
"""What a probe says that is held up."""


def test_a_probe_that_was_held_up_is_asked_again(bench: Bench) -> None:
    with open_bench(bench.device, SLOW) as opened:
        records = run(opened, BATTERY["band"](), FormatsParams(kernels=("csr/vector",), rounds=9))
        assert {m.state for m in measurements(records).values()} == {"ok"}
        (better,) = [r for r in records if isinstance(r, DeviceProfile)]
        assert better == opened.profile
        assert min(point.copy for point in better.bandwidth) > 1e6
        assert list(opened.calibrate_again()) == []


def test_a_time_under_the_floor_is_refused(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_bench(bench.device, SLOW) as opened:
        monkeypatch.setattr(opened.stopwatch, "bandwidth", lambda _: (0.5, 2.0))
        found = measurements(run(opened, BATTERY["band"](), FormatsParams(kernels=("csr/vector",), rounds=9)))
        assert (opened.profile.memory.copy, opened.profile.memory.read) == (1.0, 2.0)
    for m in found.values():
        assert (m.state, m.median_s) == ("failed", None)
        assert m.note.startswith("rejected")


def test_a_layout_over_the_budget_is_skipped_before_it_is_made(bench: Bench) -> None:
    matrix = BATTERY["one_dense_row"]()
    with open_bench(bench.device, FAST, layout_bytes=100_000) as opened:
        found = measurements(run(opened, matrix, FormatsParams(rounds=9)))
    ell = found["ell/thread", "warm"]
    assert ell.state == "skipped"
    assert ell.note.startswith("needs 0.0")
    assert ell.note.endswith("the limit is 0.000100 GB")
    assert found["csr/vector", "warm"].state == "ok"


def test_a_matrix_without_entries_is_skipped(bench: Bench) -> None:
    empty = CsrMatrix.from_scipy(np.zeros((3, 4)))
    found = measurements(run(bench, empty, FormatsParams(rounds=9)))
    assert {(m.state, m.note) for m in found.values()} == {("skipped", "the matrix has no nonzeros")}


def test_kernels_of_one_matrix_are_sampled_in_groups_that_fit(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = BATTERY["band"]()
    # Room for about one format beside the matrix itself.
    monkeypatch.setattr(bench.stopwatch, "memory_bytes", round((2 * matrix.stored_bytes + 20 * matrix.nnz) / 0.6))
    kernels = ("csr/vector", "csri/warp", "coo/segmented", "ell/thread", "jad/thread")
    found = measurements(run(bench, matrix, FormatsParams(kernels=kernels, rounds=9)))
    assert {m.state for m in found.values()} == {"ok"}
    assert {kernel for kernel, _ in found} == set(kernels)


def test_rounds_interleave_all_entries(bench: Bench) -> None:
    calls: list[str] = []
    timed = [Timed(name, bench.turns(lambda name=name: calls.append(name))) for name in "abc"]  # type: ignore[misc]
    rounds = Rounds(bench.stopwatch, timed, ("warm", "cold"), 9)
    turns = [(t.round, t.cache, t.name) for t in rounds]
    assert len(turns) == len(rounds) == 9 * 2 * 3
    assert sorted(turns) == sorted((r, c, e) for r in range(9) for c in ("warm", "cold") for e in "abc")
    assert len({tuple(e for r, c, e in turns if (r, c) == (n, "warm")) for n in range(9)}) > 1
    assert len(rounds.timing("a", "cold").samples_s) == 9


def test_a_case_is_read_from_its_key() -> None:
    case = Case("a|b.mtx", "csr/scalar", "warm", (("batch", "3"), ("operation", "y=Ax+y")))
    assert case.key == "a|b.mtx|csr/scalar|warm|batch=3,operation=y=Ax+y"
    assert Case.parse(case.key) == case
    assert Case.parse("m|ell/thread|cold|") == Case("m", "ell/thread", "cold")
    m = Measurement.of(case, "cpu", Details)
    assert m.axes == {"batch": "3", "operation": "y=Ax+y"}


def test_unknown_kernels_and_devices_are_named() -> None:
    cpu = find_device("cpu")
    info = [MatrixInfo("m", "m", 1, 1, 1)]
    with pytest.raises(ParameterError, match=r"csr/vectr.*csr/vector"):
        FormatsStudy().cases(FormatsParams(kernels=("csr/vectr",)), info, cpu)
    with pytest.raises(ParameterError, match="cusparse"):
        FormatsStudy().cases(FormatsParams(kernels=("cusparse/best",)), info, cpu)
    with pytest.raises(UnknownDeviceError, match="Available devices: cpu"):
        find_device("cuda:99")
    with pytest.raises(ParameterError, match="formats"):
        study("no-such-study")


def test_studies_have_distinct_names_and_finite_estimates() -> None:
    assert len({s.name for s in STUDIES}) == len(STUDIES)
    for s in STUDIES:
        info = MatrixInfo("m", "m", 300_000, 300_000, 3_000_000)
        assert 0 < s.estimate_s(s.Params(), [info], find_device("cpu")) < 150


def test_calibration_is_a_record_and_is_not_repeated(bench: Bench) -> None:
    with open_bench(dataclasses.replace(bench.device, cache_bytes=2**19)) as opened:
        profiles = [r for r in opened.calibrate() if isinstance(r, DeviceProfile)]
        assert [p.footprint_bytes for p in profiles[0].bandwidth] == [2**18, 2**19, 2**28]
        assert all(p.copy > 0 and p.read > 0 for p in profiles[0].bandwidth)
        assert list(opened.calibrate()) == []


def test_rate_depends_on_cache_and_footprint() -> None:
    points = BandwidthPoint(100, 5.0, 4.0), BandwidthPoint(1000, 9.0, 3.0), BandwidthPoint(10_000, 2.0, 1.0)
    profile = DeviceProfile("cpu", "test", 1000, points, "")
    assert profile.rate(50, "cold") == 2.0
    assert profile.rate(50, "warm") == 5.0
    assert profile.rate(600, "warm") == 9.0
    assert profile.rate(1001, "warm") == 2.0


def test_records_survive_json() -> None:
    case = Case("m", "csr/vector", "warm")
    fields = {"median_s": 1.0, "samples_s": (1.0, 2.0), "iterations": 7, "top_pages": (3, 1), "phases_s": {"pull": 0.5}}
    m = Measurement.of(case, "cpu", PageRankDetails, "unconverged", **fields)
    assert (m.study, m.details.top_pages) == ("pagerank", (3, 1))
    assert parse_measurement(json.loads(dumps(as_json(m, samples=True)))) == m
    assert "samples_s" not in as_json(m)
    assert as_json(dataclasses.replace(m, median_s=float("nan")))["median_s"] is None
    assert profile_from_json(json.loads(dumps(as_json(FAST)))) == FAST


class Clock:
    """A clock of its own: work takes the seconds that it says, nothing else takes any."""

    def __init__(self) -> None:
        self.now = 0
        self.done: list[str] = []

    def perf_counter_ns(self) -> int:
        return self.now

    def work(self, name: str, seconds: float) -> Callable[[], None]:
        def call() -> None:
            self.done.append(name)
            self.now += round(seconds * 1e9)

        return call


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("gpu_engine.measure.cpu.time", clock)
    return clock


def test_parts_are_timed_one_by_one_after_what_goes_before(bench: Bench, clock: Clock) -> None:
    parts = [clock.work("a", 2.0), clock.work("b", 0.5), clock.work("a", 2.0)]
    assert bench.stopwatch.time_parts(parts, clock.work("before", 100.0)) == [2.0, 0.5, 2.0]
    assert clock.done == ["before", "a", "b", "a"]


def test_what_goes_before_a_call_runs_before_every_sample_and_is_not_timed(bench: Bench, clock: Clock) -> None:
    take = bench.stopwatch.prepare(clock.work("call", 3.0), "warm", clock.work("before", 100.0))
    clock.done.clear()
    samples = [sample for _ in range(4) for sample in take()]
    assert set(samples) == {3.0}
    assert clock.done == ["before", "call"] * len(samples)


def test_a_warm_sample_is_the_time_of_one_of_many_calls(bench: Bench, clock: Clock) -> None:
    take = bench.stopwatch.prepare(clock.work("call", 1e-3), "warm")
    clock.done.clear()
    assert take() == pytest.approx([1e-3] * 3)
    assert len(clock.done) == 1 + 3 * 4


def test_a_call_that_is_placed_has_new_arrays_in_each_turn_and_others_a_second_copy(bench: Bench, clock: Clock) -> None:
    def placement(nbytes: float) -> Placement:
        return Placement(lambda: clock.done.append("made") or clock.work("copy", 2.0), nbytes)  # type: ignore[func-returns-value]

    call, small, large = clock.work("call", 1.0), placement(8.0), placement(PLACEABLE_BYTES + 1)
    placed, fixed = (bench.turns(call, placement=each)("warm") for each in (small, large))
    assert [placed(), placed(), fixed(), fixed()] == [2.0, 2.0, 1.0, 1.0]
    assert clock.done.count("made") == 2
    assert bench.turns_elsewhere(small) is None
    assert bench.turns_elsewhere(None) is None
    assert bench.turns_elsewhere(placement(bench.stopwatch.memory_bytes)) is None
    second = bench.turns_elsewhere(large)
    assert second is not None
    assert [second("warm")(), second("cold")()] == [2.0, 2.0]
    assert clock.done.count("made") == 3


def test_rounds_time_each_entry_from_the_state_that_it_asks_for(bench: Bench, clock: Clock) -> None:
    timed = [
        Timed(name, bench.turns(clock.work(name, s), clock.work(f"-{name}", 50.0)))
        for name, s in (("a", 1.0), ("b", 2.0))
    ]
    rounds = bench.rounds(timed, ("warm",), 9)
    assert len(list(rounds)) == 18
    assert {name: rounds.timing(name, "warm").samples_s for name in "ab"} == {"a": (1.0,) * 9, "b": (2.0,) * 9}
    assert clock.done[::2] == [f"-{name}" for name in clock.done[1::2]]


@pytest.mark.parametrize(
    ("moved", "cache", "seconds"),
    [
        # Warm and within four times the cache of 1000 bytes: the fastest rate of all; else the best of memory.
        (4000, "warm", 0.9 * 4000 / 9.0),
        (4001, "warm", 0.9 * 4001 / 2.0),
        (4000, "cold", 0.9 * 4000 / 2.0),
        (0, "warm", 0.0),
    ],
)
def test_the_least_believable_time_follows_from_the_bytes(
    bench: Bench, moved: float, cache: Cache, seconds: float
) -> None:
    points = BandwidthPoint(100, 5.0, 9.0), BandwidthPoint(10_000, 1.0, 2.0)
    profile = DeviceProfile("cpu", "test", 1000, points, "")
    assert Bench(bench.device, bench.stopwatch, profile, 1).least_s(moved, cache) == pytest.approx(seconds)


def test_the_least_time_needs_a_measured_bandwidth(bench: Bench) -> None:
    with pytest.raises(RuntimeError, match="calibrate has not run"):
        Bench(bench.device, bench.stopwatch, None, 1).least_s(1.0, "warm")


@pytest.mark.parametrize(
    ("call_s", "flush_s", "warm", "cold"),
    [
        # Repeated for 4 ms a sample, and a flush that hardly takes any time: three samples.
        (1e-5, 1e-3, 3, 3),
        (1e-5, 0.014, 3, 2),
        # The flush of a large cache takes longer than anything it is made for.
        (1e-5, 0.1, 3, 1),
        (0.05, 1e-3, 1, 1),
        (0.5, 0.1, 1, 1),
    ],
)
def test_a_turn_has_fewer_samples_the_longer_they_take(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, call_s: float, flush_s: float, warm: int, cold: int
) -> None:
    calls: list[str] = []

    def call() -> None:
        calls.append("call")

    taken = {"call": call_s, "flush": flush_s}
    monkeypatch.setattr(bench.stopwatch, "_flush_s", [])
    monkeypatch.setattr(bench.stopwatch, "_flush", lambda: calls.append("flush"))
    monkeypatch.setattr(bench.stopwatch, "time_once", lambda work: (work(), taken[calls[-1]]))
    assert len(bench.stopwatch.prepare(call, "warm")()) == warm
    turn = bench.stopwatch.prepare(call, "cold")
    calls.clear()
    assert len(turn()) == cold
    assert calls == ["flush", "call"] * cold


def test_a_flush_rewrites_the_whole_buffer(bench: Bench) -> None:
    stopwatch = CpuStopwatch(bench.device)
    stopwatch._flush()
    stopwatch._flush()
    assert stopwatch._flush_buffer.size == 2 * bench.device.cache_bytes // 8
    assert set(stopwatch._flush_buffer) == {2.0}


def test_a_turn_whose_sample_was_taken_before_counts_as_long_as_that(bench: Bench) -> None:
    rounds = Rounds(bench.stopwatch, [Timed("a", lambda _: lambda: 5.0)], ("warm",), 2)
    list(rounds)
    assert rounds.turn_s("a", "warm") == 5.0
