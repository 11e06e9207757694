"""The records of one batch on a CPU: in which order they come, and what they say, by value."""

import dataclasses
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from gpu_engine.batched.base import BatchKernel
from gpu_engine.batched.batch import Batch
from gpu_engine.batched.composition import Composition
from gpu_engine.competitors import BEST
from gpu_engine.competitors.batches import PEERS
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import DeviceMemoryError, KernelError
from gpu_engine.measure import Bench
from gpu_engine.records import (
    BandwidthPoint,
    Cache,
    Case,
    DeviceProfile,
    Measurement,
    Progress,
    Record,
    Started,
    as_json,
    measurement_from_json,
)
from gpu_engine.sampling.experiment import REPEATS
from gpu_engine.sampling.run import SampleRun
from gpu_engine.studies.batched import experiment as measuring
from gpu_engine.studies.batched.experiment import BatchDetails, BatchExperiment, BatchPlan
from tests.battery import dense
from tests.samples.studies import opened

ROUNDS = 9
RATE = 1e13
FAST = DeviceProfile("cpu", "test", 2**20, (BandwidthPoint(2**18, RATE, RATE), BandwidthPoint(2**28, RATE, RATE)), "")
"""A profile so fast that no real time can be under a floor."""

A = dense([[1, 0, 2], [0, 0, 0], [3, 4, 0]])
B = dense([[0, 5, 0, 0, 0]])
"""3 × 3 with 4 entries and an empty row, 1 × 5 with one."""

AXES = (("batch", "7"),)
SCIPY = next(kernel for kernel in PEERS if kernel.name == "scipy/loop")


@dataclasses.dataclass(frozen=True)
class Layout:
    batch: Batch
    matrix: Any

    @property
    def stored_bytes(self) -> int:
        return 1000


def _diagonal(batch: Batch) -> Layout:
    return Layout(batch, batch.block_diagonal().to_scipy())


def _right(layout: Layout, x: Any, y: Any, adds: bool) -> None:
    y[:] = layout.matrix @ x + (y if adds else 0.0)


def _sets_always(layout: Layout, x: Any, y: Any, adds: bool) -> None:
    y[:] = layout.matrix @ x


def _skips_empty_rows(layout: Layout, x: Any, y: Any, adds: bool) -> None:
    rows = np.flatnonzero(np.diff(layout.matrix.indptr))
    y[rows] = (layout.matrix @ x)[rows] + (y[rows] if adds else 0.0)


def _slowly(layout: Layout, x: Any, y: Any, adds: bool) -> None:
    for _ in range(300):
        layout.matrix @ x
    _right(layout, x, y, adds)


def kernel(name: str, cpu: Any = _right, store: Any = _diagonal, **fields: Any) -> BatchKernel:
    return BatchKernel(name, "A stand-in.", store, lambda batch: 1000, cpu=cpu, **fields)


def _out_of_memory(batch: Batch) -> Any:
    raise DeviceMemoryError("no room left")


def _broken(batch: Batch) -> Any:
    raise KernelError("does not compile")


KERNELS = (
    kernel("a/right"),
    kernel("a/sets", _sets_always),
    kernel("a/gaps", _skips_empty_rows),
    kernel("b/memory", store=_out_of_memory),
    kernel("c/broken", store=_broken),
    SCIPY,
)


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with opened(FAST) as bench:
        yield bench


def run(
    bench: Bench,
    *kernels: BatchKernel,
    composition: Composition | None = None,
    names: tuple[str, ...] = (),
    wanted: tuple[str, ...] = (),
    caches: tuple[Cache, ...] = ("warm",),
    **changed: Any,
) -> list[Record]:
    """The records of the kernels, or of the names `wanted`, on seven copies of A."""
    plan = dataclasses.replace(BatchPlan(kernels, caches, ROUNDS, False, 1000, 0.0), **changed)
    chosen = wanted or tuple(k.name for k in kernels)
    cases = [Case("m", name, cache, AXES) for name in chosen for cache in plan.caches]
    batch = composition or Composition.copies(A, 7)
    return list(SampleRun(BatchExperiment(plan, cases, lambda: batch, bench, names)).records())


def measurements(records: list[Record]) -> dict[str, Measurement]:
    return {r.kernel: r for r in records if isinstance(r, Measurement)}


def test_every_case_has_its_record_in_order_and_is_started_before_every_turn(bench: Bench) -> None:
    records = run(bench, KERNELS[0], SCIPY, caches=("cold", "warm"))
    keys = [f"m|{name}|{cache}|batch=7" for name in ("a/right", "scipy/loop") for cache in ("cold", "warm")]
    assert [r.case for r in records if isinstance(r, Measurement)] == keys
    begun = [r.case for r in records if isinstance(r, Started)]
    assert begun[:2] == [keys[0], keys[2]]
    assert sorted(begun[2:]) == sorted(keys * ROUNDS)
    done = [r.done for r in records if isinstance(r, Progress)]
    assert done == sorted(done)
    assert done[0] == 0.0
    assert 0.9 < done[-1] < 1.0


@pytest.mark.parametrize("adds", [False, True])
def test_rates_and_bytes_are_those_of_the_whole_batch(bench: Bench, adds: bool) -> None:
    mixed = Composition((A, B), np.array([0, 1, 1, 0, 0]))
    m = measurements(run(bench, KERNELS[0], composition=mixed, adds=adds, names=("a.mtx", "b.mtx")))["a/right"]
    assert m.state == "ok", m.note
    assert (m.details.batch_size, m.stored_bytes) == (5, 1000)
    rows, cols, nnz = 3 * 3 + 2, 3 * 3 + 2 * 5, 3 * 4 + 2
    assert m.details.vector_bytes == 8 * cols + (16 if adds else 8) * rows
    assert m.median_s == sorted(m.samples_s)[ROUNDS // 2]
    assert m.gflops == pytest.approx(2 * nnz / m.median_s / 1e9)
    compulsory = 12 * nnz + 4 * (rows + 5) + m.details.vector_bytes
    assert m.roofline_s == pytest.approx(compulsory / RATE)
    assert m.environment["matrices"] == "a.mtx, b.mtx"
    assert m.environment["source"] == KERNELS[0].source_hash("cpu")
    assert (m.matrix_id, m.device, m.format, m.cache, m.energy_j) == ("m", "cpu", "a", "warm", None)
    assert (m.details.convert_s or 0.0) > 0.0
    assert (m.details.convert_peak_bytes or 0) > 0
    assert measurement_from_json(as_json(m, samples=True), BatchDetails) == m


def test_copies_name_no_matrices(bench: Bench) -> None:
    (m,) = measurements(run(bench, KERNELS[0])).values()
    assert "matrices" not in m.environment


@pytest.mark.parametrize(
    ("adds", "wrong"), [(False, {"a/gaps": "is nan"}), (True, {"a/sets": "21 of 21 rows are off"})]
)
def test_a_wrong_kernel_fails_and_the_others_have_times(bench: Bench, adds: bool, wrong: dict[str, str]) -> None:
    found = measurements(run(bench, *KERNELS[:3], SCIPY, adds=adds))
    for name, m in found.items():
        assert m.state == ("failed" if name in wrong else "ok"), (name, m.note)
        assert (m.median_s is None) == (name in wrong)
        assert wrong.get(name, "") in m.note


def test_what_does_not_fit_is_skipped_and_what_is_broken_fails(bench: Bench) -> None:
    found = measurements(run(bench, *KERNELS[:1], *KERNELS[3:5]))
    assert {name: (m.state, m.note) for name, m in found.items()} == {
        "a/right": ("ok", ""),
        "b/memory": ("skipped", "no room left"),
        "c/broken": ("failed", "does not compile"),
    }


def test_kernels_of_one_layout_share_it(bench: Bench) -> None:
    stored: list[Batch] = []

    def store(batch: Batch) -> Layout:
        stored.append(batch)
        return _diagonal(batch)

    run(bench, kernel("a/one", store=store), kernel("b/other"), kernel("a/two", store=store))
    # Once for the peak of the memory, then for the time.
    assert 2 <= len(stored) <= 1 + REPEATS


def test_a_batch_over_the_budget_is_skipped_before_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Composition, "batch", None)
    # Seven copies of 4 entries in 3 rows and columns: 7 · (48 + 16) + 3 · 8 · 8 bytes, 8 · 21 of x, 5 · 8 · 21 beside.
    with opened(FAST, layout_bytes=1647) as small:
        (m,) = measurements(run(small, KERNELS[0])).values()
    assert (m.state, m.median_s) == ("skipped", None)
    assert m.note == "needs 0.00000165 GB of memory; the limit is 0.00000165 GB"
    with opened(FAST, layout_bytes=1648) as enough, pytest.raises(TypeError):
        run(enough, KERNELS[0])


def test_a_layout_over_the_budget_is_skipped_before_it_is_made() -> None:
    huge = dataclasses.replace(kernel("a/huge", store=None), bytes_needed=lambda batch: 3_000_000_000)
    with opened(FAST, layout_bytes=10**9) as small:
        found = measurements(run(small, huge, KERNELS[0]))
    assert (found["a/huge"].state, found["a/huge"].note) == ("skipped", "needs 3.00 GB of memory; the limit is 1.00 GB")
    assert found["a/right"].state == "ok"


def test_layouts_that_do_not_fit_together_have_rounds_of_their_own(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench.stopwatch, "memory_bytes", 1)
    alike = kernel("a/again"), kernel("a/right")
    records = run(bench, SCIPY, *alike)
    begun = [r.case.split("|")[1] for r in records if isinstance(r, Started)]
    assert begun[: 1 + ROUNDS] == ["scipy/loop"] * (1 + ROUNDS)
    # The reference is there again; kernels that share a layout need no room beside it.
    assert begun[1 + ROUNDS : 4 + ROUNDS] == ["scipy/loop", "a/again", "a/right"]
    assert len(begun) == 4 + 4 * ROUNDS
    assert [m.state for m in measurements(records).values()] == ["ok"] * 3
    done = [r.done for r in records if isinstance(r, Progress)]
    assert done == sorted(done)


def test_layouts_of_a_group_are_gone_before_those_of_the_next_are_made(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench.stopwatch, "memory_bytes", 1)
    made: list[weakref.ref[Layout]] = []

    def store(batch: Batch) -> Layout:
        layout = _diagonal(batch)
        made.append(weakref.ref(layout))
        return layout

    def next_store(batch: Batch) -> Layout:
        assert len(made) >= 2
        assert all(layout() is None for layout in made)
        return _diagonal(batch)

    kernels = KERNELS[0], kernel("b/first", store=store), kernel("c/next", store=next_store)
    assert [m.state for m in measurements(run(bench, *kernels)).values()] == ["ok"] * 3


def test_a_loop_over_too_many_problems_is_skipped(bench: Bench) -> None:
    assert measurements(run(bench, SCIPY, loop_max=7))["scipy/loop"].state == "ok"
    found = measurements(run(bench, KERNELS[0], SCIPY, loop_max=6))
    assert (found["scipy/loop"].state, found["a/right"].state) == ("skipped", "ok")
    assert found["scipy/loop"].note == "one launch per matrix, and the batch has 7 matrices (limit: 6)"


def test_what_is_not_captured_is_timed_as_the_host_launches_it(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[bool] = []
    prepare = bench.stopwatch.prepare

    def remember(call: Any, cache: Cache, before: Any, captured: bool) -> Callable[[], list[float]]:
        told.append(captured)
        return prepare(call, cache, before, captured)

    monkeypatch.setattr(bench.stopwatch, "prepare", remember)
    launched = dataclasses.replace(kernel("b/launched"), captured=False)
    assert measurements(run(bench, KERNELS[0], launched))["b/launched"].state == "ok"
    # The reference kernel enters every round twice.
    assert sorted(told) == [False, True, True]


def test_the_best_algorithm_stands_for_the_library(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    algorithms = (kernel("cusparse/one", _sets_always), kernel("cusparse/two", _slowly), kernel("cusparse/three"))
    monkeypatch.setattr(measuring, "BEST_OF", frozenset(k.name for k in algorithms))
    records = run(bench, *KERNELS[:1], *algorithms, wanted=("a/right", BEST), adds=True)
    found = measurements(records)
    assert list(found) == ["a/right", BEST]
    assert found[BEST].case == f"m|{BEST}|warm|batch=7"
    assert found[BEST].note == "three"
    assert found[BEST].median_s is not None
    failed = measurements(run(bench, *algorithms[:1], wanted=(BEST,), adds=True))[BEST]
    assert failed.state == "failed"
    assert failed.note.startswith("no algorithm of the library ran: Wrong result")


def test_a_time_under_the_floor_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = dataclasses.replace(FAST, bandwidth=(BandwidthPoint(2**18, 1.0, 1.0), BandwidthPoint(2**28, 1.0, 1.0)))
    with opened(slow) as bench:
        monkeypatch.setattr(bench.stopwatch, "bandwidth", lambda _: (1.0, 1.0))
        (m,) = measurements(run(bench, KERNELS[0])).values()
        (adding,) = measurements(run(bench, KERNELS[0], adds=True)).values()
        less = dataclasses.replace(KERNELS[0], moved_bytes=lambda layout: 10)
        (few,) = measurements(run(bench, less)).values()
    assert (m.state, m.median_s) == ("failed", None)
    # The layout, and y: 21 rows, of which 14 have entries.
    assert "(1,051 s)" in m.note
    assert "(1,001 s)" in adding.note
    assert "(160 s)" in few.note


def test_energy_is_that_of_a_warm_product_and_of_no_loop(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def counter(call: Callable[[], None], seconds: float, before: Any = None) -> float:
        call()
        asked.append(seconds)
        return 2.5

    monkeypatch.setattr(bench.stopwatch, "energy_j", counter)
    records = run(bench, KERNELS[0], SCIPY, caches=("cold", "warm"), energy_s=0.3)
    energy = {r.case: r.energy_j for r in records if isinstance(r, Measurement)}
    assert energy == {
        "m|a/right|cold|batch=7": None,
        "m|a/right|warm|batch=7": 2.5,
        "m|scipy/loop|cold|batch=7": None,
        "m|scipy/loop|warm|batch=7": None,
    }
    assert asked == [0.3]


def test_scipy_multiplies_problem_after_problem() -> None:
    mixed = Composition((A, CsrMatrix.from_scipy(np.zeros((2, 4))), B), np.array([2, 0, 1, 0]))
    batch, x = mixed.batch(np), np.arange(1.0, 1.0 + mixed.n_cols)
    layout = SCIPY.store(batch)
    assert layout.to_batch() is batch
    assert layout.stored_bytes == 12 * 9 + 4 * (9 + 4)
    # B · (1 … 5), A · (6, 7, 8), nothing, A · (13, 14, 15).
    expected = np.array([10.0, 22, 0, 46, 0, 0, 43, 0, 95])
    assert SCIPY.cpu is not None
    for adds, start in ((False, np.nan), (True, 0.5)):
        y = np.full(9, start)
        SCIPY.cpu(layout, x, y, adds)
        np.testing.assert_array_equal(y, expected + (0.5 if adds else 0.0))
