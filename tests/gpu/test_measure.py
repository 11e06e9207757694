"""The GPU's stopwatch: what it counts, what it refuses, and that a kernel is the same as itself."""

from functools import partial

import numpy as np
import pytest

from gpu_engine.errors import DeviceError
from gpu_engine.formats import csr, ell
from gpu_engine.formats.csr import vector
from gpu_engine.host.device import list_devices
from gpu_engine.measure import Timed, open_bench
from gpu_engine.measure.placements import FILLED
from gpu_engine.records import Case, Details, DeviceInfo, MatrixInfo, Measurement, Record
from gpu_engine.studies.formats import FormatsParams, FormatsStudy
from gpu_engine.verdicts.verdict import compare
from tests.battery import with_row_lengths

TRIES = 5
"""Repetitions of a comparison of times, because the tests of other processes use the same GPU."""


def measure(gpu: DeviceInfo, params: FormatsParams) -> list[Record]:
    matrix = with_row_lengths(np.full(20_000, 25), 20_000, seed=5)
    info = MatrixInfo("m", "m", matrix.n_rows, matrix.n_cols, matrix.nnz)
    study = FormatsStudy()
    with open_bench(gpu) as bench:
        return list(study.run(params, tuple(study.cases(params, [info], gpu)), {"m": matrix}, bench))


def test_every_gpu_is_opened_by_its_uuid() -> None:
    for device in list_devices():
        if device.backend == "cuda" and not device.is_several:
            with open_bench(device) as bench:
                assert bench.device.uuid == device.uuid


def test_every_kernel_is_measured_beside_its_floors(gpu: DeviceInfo) -> None:
    params = FormatsParams(rounds=9, sampling="fixed", energy_s=0.1, energy="all")
    records = [r for r in measure(gpu, params) if isinstance(r, Measurement)]
    cases = tuple(FormatsStudy().cases(params, [MatrixInfo("m", "m", 1, 1, 1)], gpu))
    assert [r.case for r in records] == [case.key for case in cases]
    # Its entries fill no blocks, and the library may be older than SpMVOp.
    skipped = {r.kernel for r in records if r.state == "skipped"}
    assert {"cusparse/bsr_alg1"} <= skipped <= {"cusparse/bsr_alg1", "cusparse/op_alg1", "cusparse/op_alg2"}
    for r in records:
        if r.kernel in skipped:
            continue
        assert r.state == "ok", (r.kernel, r.note)
        assert r.median_s is not None
        assert r.roofline_s is not None
        assert 0 < r.roofline_s < r.median_s
        assert r.max_error is not None
        assert len(r.samples_s) == 9
        assert r.clock_hz
        assert r.environment["source"] or r.format == "cusparse"
    best = {r.cache: r for r in records if r.kernel == "cusparse/best"}
    for cache, r in best.items():
        rivals = [m.median_s for m in records if m.format == "cusparse" and m.cache == cache and m is not r]
        assert r.median_s == min(m for m in rivals if m is not None)


def test_probes_end_where_their_arrays_do(gpu: DeviceInfo) -> None:
    """Sizes of no whole block: a copy is one by value, reads and gathers write nothing."""
    from gpu_engine.measure import cuda

    matrix = with_row_lengths(np.full(1031, 3), 1031, seed=5)
    with open_bench(gpu) as bench:
        uploaded = bench.stopwatch.upload(matrix)
        x, values = bench.xp.ones(matrix.n_cols), bench.xp.arange(2 * 2062, dtype=float)
        copied, out = bench.xp.zeros(2 * 1031), bench.xp.full(1, 7.0)
        cuda.probe(cuda.COPY, 1031, values[: copied.size], copied)()
        cuda.probe(cuda.READ, 2062, values, bench.xp.float64(cuda.NEVER), out)()
        never = bench.xp.float64(cuda.NEVER)
        cuda.probe(cuda.GATHER, matrix.nnz, uploaded.indices, uploaded.values, x, never, out)()
        np.testing.assert_array_equal(copied.get(), np.arange(2062.0))
        assert out.get() == [7.0]


def test_a_kernel_is_the_same_as_itself(gpu: DeviceInfo) -> None:
    """Five entries of one kernel in the same rounds: the gap between two of them is what `same` allows the others."""
    matrix = with_row_lengths(np.full(20_000, 25), 20_000, seed=5)
    with open_bench(gpu) as bench:
        layout = csr.FORMAT.from_csr(bench.stopwatch.upload(matrix))
        x, y = bench.xp.ones(matrix.n_cols), bench.xp.empty(matrix.n_rows)
        product = vector.KERNEL.bound("cuda", layout)
        timed = [Timed(str(number), bench.turns(lambda: product(x, y))) for number in range(5)]
        rounds = bench.rounds(timed, ("warm",), 15)
        for _ in rounds:
            pass
    timings = [rounds.timing(entry.name, "warm") for entry in timed]
    gap = abs(timings[1].median_s / timings[0].median_s - 1)
    records = [
        Measurement.of(Case("m", "csr/vector", "warm"), gpu.id, Details, aa_gap=gap, **t.fields()) for t in timings
    ]
    assert {compare(records[0], other).kind for other in records[2:]} <= {"same", "inconclusive"}


def test_a_call_that_leaves_another_stream_current_is_refused(gpu: DeviceInfo) -> None:
    """Its graph would be empty from then on, and a time of nothing looks like a fast kernel."""
    import cupy

    with open_bench(gpu) as bench:
        values, own = cupy.zeros(1000), cupy.cuda.get_current_stream()
        other = cupy.cuda.Stream(non_blocking=True)
        try:
            with pytest.raises(DeviceError, match="another CUDA stream"):
                bench.stopwatch.prepare(lambda: (other.use(), values.fill(1.0))[0], "cold")
        finally:
            own.use()


def test_an_uncaptured_call_counts_what_it_waits_for_on_another_stream(gpu: DeviceInfo) -> None:
    size = 2**30
    with open_bench(gpu) as bench:
        array, other = bench.xp.ones(size, bench.xp.uint8), bench.xp.cuda.Stream(non_blocking=True)
        timed = bench.stopwatch.prepare(lambda: array.data.memset_async(1, size), "warm")

        def elsewhere() -> None:
            array.data.memset_async(1, size, other)
            other.synchronize()

        uncaptured = bench.stopwatch.prepare(elsewhere, "warm", captured=False)
        assert min(uncaptured()) > min(timed()) / 2


def test_parts_that_the_host_launches_take_as_long_as_replayed(gpu: DeviceInfo) -> None:
    import cupy

    with open_bench(gpu) as bench:
        x = cupy.ones(2**28)
        half = x[: 2**26]
        short, long = partial(cupy.add, half, 1.0, out=half), partial(cupy.add, x, 1.0, out=x)
        for part in (short, long):
            part()
        timer = bench.stopwatch.part_timer()
        assert timer is not None
        for _ in range(TRIES):
            # Other processes may hold any of them up, seldom all five.
            for part in (short, long, short) * 5:
                timer(part)
            times = timer.seconds()
            first, second, third = (min(times[i::3]) for i in range(3))
            expected = min(bench.stopwatch.time_parts([long], lambda: None)[0] for _ in range(5))
            # The host launches a part while the device waits: some 0.3 ms of a call of CuPy.
            if expected * 0.98 < second < expected + 1e-3 and max(first, third) < second:
                return
    pytest.fail(f"expected {expected}, {first} {second} {third}")


def test_placed_arrays_lie_in_the_arena_at_ever_new_places(gpu: DeviceInfo) -> None:
    with open_bench(gpu) as bench:
        stopwatch, xp, pointers = bench.stopwatch, bench.xp, []
        for number in range(6):
            with stopwatch.elsewhere():
                array, other = xp.full(1000, float(number)), xp.ones(7)
            assert abs(other.data.ptr - array.data.ptr) >= min(array.nbytes, 512)
            assert float(array.sum()) == 1000.0 * number
            pointers.append(array.data.ptr)
        assert len(set(pointers)) == len(pointers)
        assert max(pointers) - min(pointers) < stopwatch.placeable_bytes / FILLED
        outside = xp.ones(1000)
        with stopwatch.elsewhere():
            much = xp.empty(int(stopwatch.placeable_bytes / FILLED) + 1, xp.uint8)
        assert much.nbytes > stopwatch.placeable_bytes
        assert float(outside.sum()) == 1000.0


def test_warm_times_do_not_depend_on_how_the_arrays_came_into_the_cache(gpu: DeviceInfo) -> None:
    """On an H100 lines that were just written are faster than lines that were read; samples see the latter."""
    matrix = with_row_lengths(np.full(5000, 60), 5000, seed=5)
    with open_bench(gpu) as bench:
        layout = ell.FORMAT.from_csr(bench.stopwatch.upload(matrix))
        x, y = bench.xp.ones(matrix.n_cols), bench.xp.empty(matrix.n_rows)
        product = ell.FORMAT.kernels[0].bound("cuda", layout)
        samples = bench.stopwatch.prepare(lambda: product(x, y), "warm")
        ratios = []
        for _ in range(TRIES):
            evicted = min(min(samples()) for _ in range(3))
            layout.values[...] = layout.values.copy()
            ratios.append(min(min(samples()) for _ in range(3)) / evicted)
            if 0.9 < ratios[-1] < 1.1:
                return
    pytest.fail(f"written over evicted: {ratios}")


def test_every_kernel_of_formats_is_placed_anew_in_each_round(gpu: DeviceInfo) -> None:
    records = [
        r for r in measure(gpu, FormatsParams(rounds=9, sampling="fixed", energy_s=0.0)) if isinstance(r, Measurement)
    ]
    assert {r.placements for r in records if r.state == "ok"} == {9}
    assert {r.state for r in records} <= {"ok", "skipped"}


def test_a_call_that_waits_for_the_device_is_not_captured(gpu: DeviceInfo) -> None:
    with open_bench(gpu) as bench:
        array = bench.xp.zeros(1000)
        can_capture = bench.stopwatch.can_capture
        assert [can_capture(call) for call in (lambda: array.fill(1.0), bench.xp.cuda.Device().synchronize)] == [
            True,
            False,
        ]
        assert can_capture(lambda: array.fill(2.0))
