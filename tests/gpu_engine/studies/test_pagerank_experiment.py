"""The records of one graph on a CPU: in which order they come, and what they say, by value."""

import copy
import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import plain
from gpu_engine.generators import generate
from gpu_engine.measure import Bench
from gpu_engine.pagerank import (
    PageRankParams,
    early_stopping,
    iterations_by_segments,
    reference,
    transition_matrix,
    verify,
)
from gpu_engine.pagerank.cpu_ranks import PlainRanks, SegmentedRanks
from gpu_engine.pagerank.early_stopping import TOGETHER_S
from gpu_engine.pagerank.kernels import kernels_on
from gpu_engine.parameters import parse_params
from gpu_engine.records import (
    TIMED,
    BandwidthPoint,
    Case,
    DeviceProfile,
    Measurement,
    Progress,
    Record,
    Started,
    Trace,
)
from gpu_engine.sampling.run import SampleRun
from gpu_engine.studies.pagerank.experiment import PageRankExperiment
from gpu_engine.studies.pagerank.graph_runs import PageRankPlan
from gpu_engine.text import units
from tests.battery import dense
from tests.gpu_engine.pagerank.emulated import emulate
from tests.gpu_engine.pagerank.graphs import NO_LINKS, TRIANGLE, WORKED
from tests.samples.studies import opened

PARAMS = PageRankParams()
ROUNDS = 9
RATE = 1e13
FAST = DeviceProfile("cpu", "test", 2**20, (BandwidthPoint(2**18, RATE, RATE), BandwidthPoint(2**28, RATE, RATE)), "")
"""A profile so fast that no real time can be under a floor."""

ALL = tuple(kernel.name for kernel in kernels_on("cpu"))
PHASES = ("pull_s", "norm_s", "scale_s", "convert_s")


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with opened(FAST) as bench:
        yield bench


def run(
    bench: Bench, matrix: CsrMatrix, *names: str, params: PageRankParams = PARAMS, top: int = 5, energy_s: float = 0.0
) -> list[Record]:
    """The records of these kernels, all of a CPU for none, with the schedule of the paper."""
    chosen = {Case("m", kernel.name, "warm"): kernel for kernel in kernels_on("cpu", names)}
    plan = PageRankPlan(params, {c.key: (k, k.schedule({}), True) for c, k in chosen.items()}, ROUNDS, energy_s, top)
    return list(SampleRun(PageRankExperiment(plan, list(chosen), matrix, bench)).records())


def measurements(records: list[Record]) -> dict[str, Measurement]:
    return {r.kernel: r for r in records if isinstance(r, Measurement)}


def traces(records: list[Record]) -> dict[str, Trace]:
    return {r.case.split("|")[1]: r for r in records if isinstance(r, Trace)}


def web() -> CsrMatrix:
    """A graph with dangling pages."""
    return generate("web", {"n": 400, "mean": 3.0, "max_length": 50, "seed": 3})


@pytest.fixture(scope="module")
def everything(bench: Bench) -> list[Record]:
    """What is said of all kernels on `web`."""
    return run(bench, web())


def test_every_case_is_started_and_its_trace_goes_before_its_measurement(everything: list[Record]) -> None:
    found = [(type(r), r.case) for r in everything if isinstance(r, Trace | Measurement)]
    assert found == [(kind, f"m|{name}|warm|") for name in ALL for kind in (Trace, Measurement)]
    begun = [r.case for r in everything if isinstance(r, Started)]
    assert begun[: len(ALL)] == [f"m|{name}|warm|" for name in ALL]
    assert sorted(begun) == sorted([f"m|{name}|warm|" for name in ALL] * (1 + ROUNDS))


def test_progress_is_a_share_that_never_falls(everything: list[Record]) -> None:
    done = [r.done for r in everything if isinstance(r, Progress)]
    assert done == sorted(done)
    assert done[0] == 0.0
    assert 0.9 < done[-1] < 1.0


@pytest.mark.parametrize("name", ALL)
def test_a_trace_has_one_value_an_iteration(everything: list[Record], name: str) -> None:
    m, arrays = measurements(everything)[name], traces(everything)[name].arrays
    assert set(arrays) == {"gamma", "read", "written", *PHASES, "gather_s"}
    assert {len(values) for values in arrays.values()} == {m.details.iterations}
    assert set(arrays["gather_s"]) == {0.0}
    for phase in PHASES:
        assert m.details.phases_s[phase.removesuffix("_s")] == sum(arrays[phase])
    assert min(arrays["pull_s"]) > 0.0
    changes = [r < w for r, w in zip(arrays["read"], arrays["written"], strict=True)]
    assert [seconds > 0.0 for seconds in arrays["scale_s"]] == changes
    # Values in segments become fp64 at the change to all of them.
    all_segments = kernels_on("cpu", (name,))[0].segments
    last = [at for at, change in enumerate(changes) if change and arrays["written"][at] == all_segments]
    assert [at for at, seconds in enumerate(arrays["convert_s"]) if seconds > 0.0] == last


@pytest.mark.parametrize("layout", ["csr/thread", "ell/thread"])
@pytest.mark.parametrize("segments", [2, 4])
def test_segments_are_those_of_the_emulated_run(everything: list[Record], layout: str, segments: int) -> None:
    kernel = kernels_on("cpu", (f"{layout}+cpms{segments}",))[0]
    schedule = kernel.schedule({})
    expected = emulate(transition_matrix(web(), PARAMS), PARAMS, schedule)
    m, arrays = measurements(everything)[kernel.name], traces(everything)[kernel.name].arrays
    assert arrays["written"] == expected.written
    assert arrays["read"] == (1.0, *expected.written[:-1])
    assert m.details.iterations_by_segments == iterations_by_segments(expected.written, schedule)
    assert sum(m.details.iterations_by_segments) == m.details.iterations == len(expected.gammas)
    np.testing.assert_allclose(arrays["gamma"], expected.gammas, rtol=1e-5)


@pytest.mark.parametrize("name", [name for name in ALL if "cpms" not in name])
def test_numbers_have_no_segments(everything: list[Record], name: str) -> None:
    m, arrays = measurements(everything)[name], traces(everything)[name].arrays
    assert (m.details.iterations_by_segments, set(arrays["read"]), set(arrays["written"])) == ((), {0.0}, {0.0})


def test_ranks_are_judged_and_compared_with_those_of_fp64(everything: list[Record]) -> None:
    found = measurements(everything)
    for name, m in found.items():
        assert m.state == "ok", m.note
        judged = m.details.residual or 0.0, m.details.mass_error or 0.0, m.details.distance or 0.0
        most = (1e-6, 1e-6, 1e-6) if name.endswith("fp32") else (PARAMS.epsilon, 1e-12, 1.2e-9)
        assert all(value < limit for value, limit in zip(judged, most, strict=True)), name
    assert (found["csr/thread+fp64"].details.distance, found["csr/thread+fp64"].details.top_k_agreement) == (0.0, 1.0)
    # Cut at 2⁻²³ and at 2⁻⁵², ranks are not those of fp64 to the last bit.
    distance = {name: m.details.distance or 0.0 for name, m in found.items()}
    assert distance["csr/thread+fp32"] > 1e-9 > distance["csr/thread+cpms2"] > 0.0
    assert found["csr/thread+fp64"].details.residual == pytest.approx(
        verify(web(), PARAMS, reference(transition_matrix(web(), PARAMS), PARAMS)[0]).residual, rel=1e-3
    )


def test_the_top_pages_are_those_of_the_reference(everything: list[Record]) -> None:
    p = reference(transition_matrix(web(), PARAMS), PARAMS)[0]
    best = np.argsort(-p, kind="stable")[:5]
    m = measurements(everything)["csr/thread+fp64"]
    assert m.details.top_pages == tuple(best)
    np.testing.assert_allclose(m.details.top_ranks, p[best], rtol=1e-12)


def test_times_are_those_of_whole_runs(everything: list[Record]) -> None:
    pull = transition_matrix(web(), PARAMS).pull
    m = measurements(everything)["csr/thread+fp64"]
    assert m.median_s is not None
    assert m.details.iterations is not None
    assert len(m.samples_s) == ROUNDS
    assert m.median_s == sorted(m.samples_s)[ROUNDS // 2]
    assert m.gflops == pytest.approx(2 * pull.nnz * m.details.iterations / m.median_s / 1e9)
    assert m.energy_j is None
    assert (m.matrix_id, m.device, m.format, m.cache) == ("m", "cpu", "csr", "warm")


def test_the_ranks_worked_out_by_hand_and_the_bytes_of_their_run(bench: Bench) -> None:
    worked = WORKED["triangle"]
    params = parse_params(PageRankParams, {"damping": 0.5})
    found = measurements(run(bench, TRIANGLE, "csr/thread+fp64", "csr/thread+cpms2", params=params, top=2))
    for m in found.values():
        assert m.details.top_pages == (2, 0)
        assert m.details.top_ranks == pytest.approx((worked.ranks[2], worked.ranks[0]), abs=1e-9)
    fp64, heads = found["csr/thread+fp64"], found["csr/thread+cpms2"]
    assert fp64.stored_bytes == 4 * 4 + 4 * 4 + 8 * 4 + 2 * 8 * 3
    # Worked out in test_bytes: 115 bytes in fp64, 75 on heads, 87 with the tails written.
    assert fp64.roofline_s == pytest.approx((fp64.details.iterations or 0) * 115 / RATE)
    low, high = heads.details.iterations_by_segments
    assert heads.roofline_s == pytest.approx((low * 75 + 87 + (high - 1) * 115) / RATE)


@pytest.mark.parametrize("matrix", [NO_LINKS, dense([[1]])], ids=["no links", "one page"])
def test_graphs_with_hardly_anything_in_them_are_measured(bench: Bench, matrix: CsrMatrix) -> None:
    for m in measurements(run(bench, matrix)).values():
        assert m.state == "ok", m.note
        assert m.details.top_ranks == pytest.approx([1 / matrix.n_rows] * matrix.n_rows, rel=1e-7)
        assert m.details.top_k_agreement == 1.0


def test_segments_are_skipped_in_a_norm_that_their_rule_does_not_know(bench: Bench) -> None:
    params = PageRankParams(norm="Linf")
    found = measurements(run(bench, web(), "csr/thread+fp64", "csr/thread+cpms2", params=params))
    assert {name: m.state for name, m in found.items()} == {"csr/thread+fp64": "ok", "csr/thread+cpms2": "skipped"}
    assert found["csr/thread+cpms2"].note.startswith("Segments and iterative refinement need norm=L1")


def test_the_transition_matrix_is_of_the_part_that_was_chosen(bench: Bench) -> None:
    grid = generate("stencil", {"points": 5, "nx": 6, "ny": 5})
    (full,), (lower,) = (
        measurements(run(bench, grid, "csr/thread+fp64", params=params)).values()
        for params in (PageRankParams(), PageRankParams(triangle="lower"))
    )
    # Each of 30 points has itself and its neighbours; below the diagonal a row has none but that of the first point.
    assert (full.details.links, full.details.dangling_pages) == (grid.nnz, 0)
    assert (lower.details.links, lower.details.dangling_pages) == ((grid.nnz - 30) // 2, 1)


def test_a_run_that_did_not_converge_says_so(bench: Bench) -> None:
    params = PageRankParams(iterations_max=3)
    found = measurements(run(bench, web(), "csr/thread+fp64", "csr/thread+cpms4", params=params))
    gammas = reference(transition_matrix(web(), params), params)[1]
    assert found["csr/thread+fp64"].note == f"γ is {gammas[2]:.3g} after 3 iterations, not under ε"
    assert {(m.state, m.details.iterations) for m in found.values()} == {("unconverged", 3)}
    assert all(m.median_s for m in found.values())


def test_fp32_that_stands_still_over_epsilon_says_so(bench: Bench) -> None:
    matrix = generate("delaunay", {"n": 300, "seed": 2})
    m = measurements(run(bench, matrix, "csr/thread+fp32"))["csr/thread+fp32"]
    assert m.details.iterations is not None
    assert m.details.iterations < PARAMS.iterations_max // 10
    assert m.state == "unconverged"
    assert m.note.endswith(f"after {m.details.iterations} iterations, not under ε")


def test_a_matrix_that_is_no_graph_is_skipped(bench: Bench) -> None:
    records = run(bench, dense([[0, 1, 1, 0], [0, 0, 1, 0], [1, 0, 0, 1]]))
    assert [r.kernel for r in records if isinstance(r, Measurement)] == list(ALL)
    assert not traces(records)
    for m in measurements(records).values():
        assert (m.state, m.median_s) == ("skipped", None)
        assert m.note.startswith("The matrix is 3 × 4, but PageRank needs a square one")


def test_ell_that_does_not_fit_is_skipped_before_it_is_made() -> None:
    # All pages link to page 0: 20 · 200 · 199 + 48 · 200 bytes at most in ELL, 20 · 199 + 48 · 200 in CSR.
    star = np.zeros((200, 200))
    star[1:, 0] = 1.0
    with opened(FAST, layout_bytes=100_000) as small:
        records = run(small, CsrMatrix.from_scipy(star))
    found = measurements(records)
    for name, m in found.items():
        if name.startswith("ell"):
            assert (m.state, m.median_s) == ("skipped", None)
            assert m.note == "needs 0.000806 GB of memory; the limit is 0.000100 GB"
        else:
            assert m.state in TIMED, m.note
    assert set(traces(records)) == {name for name in ALL if name.startswith("csr")}


def test_wrong_ranks_are_a_failed_case_without_a_time(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    right: Callable[[SegmentedRanks], Any] = SegmentedRanks.ranks

    def wrong(self: SegmentedRanks) -> Any:
        p = right(self)
        p[3] += 1e-9
        return p

    monkeypatch.setattr(SegmentedRanks, "ranks", wrong)
    records = run(bench, web(), "csr/thread+fp64", "csr/thread+cpms2")
    found = measurements(records)
    assert (found["csr/thread+cpms2"].state, found["csr/thread+cpms2"].median_s) == ("failed", None)
    assert found["csr/thread+cpms2"].note.startswith("Wrong ranks: another iteration changes them by 1")
    assert found["csr/thread+fp64"].state == "ok"
    assert set(traces(records)) == {"csr/thread+fp64"}


def test_a_time_under_the_floor_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = dataclasses.replace(FAST, bandwidth=(BandwidthPoint(2**18, 1.0, 1.0), BandwidthPoint(2**28, 1.0, 1.0)))
    with opened(slow) as bench:
        monkeypatch.setattr(bench.stopwatch, "bandwidth", lambda _: (1.0, 1.0))
        (m,) = measurements(run(bench, TRIANGLE, "csr/thread+fp64")).values()
    assert (m.state, m.median_s) == ("failed", None)
    # 0.9 · 115 bytes an iteration at one byte a second.
    assert m.note.startswith("rejected")
    assert f"({plain(units.seconds(0.9 * 115 * (m.details.iterations or 0)))}" in m.note


def test_kernels_that_do_not_fit_together_have_rounds_of_their_own(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench.stopwatch, "memory_bytes", 1)
    records = run(bench, TRIANGLE, "csr/thread+fp64", "csr/thread+pattern")
    order = [(type(r).__name__, r.case.split("|")[1]) for r in records if isinstance(r, Started | Measurement)]
    first, second = ("csr/thread+fp64", "csr/thread+pattern")
    ended = 1 + ROUNDS
    assert order[: ended + 1] == [*[("Started", first)] * ended, ("Measurement", first)]
    # The reference is in the rounds of the second one too.
    assert Counter(order[ended + 1 :]) == {
        ("Started", first): ended,
        ("Started", second): ended,
        ("Measurement", second): 1,
    }
    done = [r.done for r in records if isinstance(r, Progress)]
    assert done == sorted(done)


def test_energy_is_that_of_a_run_where_it_is_asked_for(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def counter(call: Callable[[], None], seconds: float, before: Callable[[], None]) -> float:
        before()
        call()
        asked.append(seconds)
        return 2.5

    monkeypatch.setattr(bench.stopwatch, "energy_j", counter)
    (m,) = measurements(run(bench, TRIANGLE, "csr/thread+fp64", energy_s=0.3)).values()
    assert (m.energy_j, asked) == (2.5, [0.3])
    (m,) = measurements(run(bench, TRIANGLE, "csr/thread+fp64")).values()
    assert (m.energy_j, asked) == (None, [0.3])


class PartTimer:
    """Does parts and says that each took so long."""

    def __init__(self, seconds: float) -> None:
        self._each, self._count = seconds, 0

    def __call__(self, triangle: Callable[[], None]) -> None:
        triangle()
        self._count += 1

    def seconds(self) -> list[float]:
        return [self._each] * self._count


@pytest.mark.parametrize("name", ["csr/thread+fp64", "csr/thread+cpms4"])
def test_a_first_run_of_long_iterations_is_a_round_and_the_trace(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(bench.stopwatch, "part_timer", lambda: PartTimer(0.5))
    records = run(bench, web(), name)
    m, arrays = measurements(records)[name], traces(records)[name].arrays
    parts = [seconds for phase in PHASES for seconds in arrays[phase] if seconds]
    assert set(parts) == {0.5}
    assert m.samples_s[0] == 0.5 * len(parts)
    assert len(m.samples_s) == ROUNDS
    assert max(m.samples_s[1:]) < 0.5


def test_a_first_run_of_short_iterations_is_timed_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.stopwatch, "part_timer", lambda: PartTimer(2.0**-20))
    records = run(bench, web(), "csr/thread+fp64")
    assert len(set(traces(records)["csr/thread+fp64"].arrays["pull_s"])) > 1


@pytest.mark.parametrize("needed", [True, False])
def test_a_case_that_a_statement_needs_is_finished_and_others_within_their_share(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, needed: bool
) -> None:
    now_s, step = 0.0, PlainRanks._step

    def slow_in_ell(self: PlainRanks, read: int, write: int, rule: Any) -> None:
        nonlocal now_s
        now_s += 0.02 if len(self._matrix) == 2 else 0.0
        step(self, read, write, rule)

    monkeypatch.setattr(PlainRanks, "_step", slow_in_ell)
    monkeypatch.setattr(early_stopping, "now", lambda: now_s)
    names = ("csr/thread+fp64", "ell/thread+fp64", "ell/thread+fp32")
    chosen = {Case("m", kernel.name, "warm"): kernel for kernel in kernels_on("cpu", names)}
    kernels = {c.key: (k, k.schedule({}), True) for c, k in chosen.items()}
    keys = {case.key for case in chosen if needed and case.kernel.endswith("fp64")}
    plan = PageRankPlan(PARAMS, kernels, ROUNDS, 0.0, 5, True, keys)
    found = measurements(list(SampleRun(PageRankExperiment(plan, list(chosen), web(), bench)).records()))
    assert {name: m.state for name, m in found.items()} == {
        "csr/thread+fp64": "ok",
        "ell/thread+fp64": "ok" if needed else "skipped",
        "ell/thread+fp32": "skipped",
    }
    assert found["ell/thread+fp32"].note.startswith("stopped early after 4 iterations")


def test_what_a_case_may_cost_depends_on_who_needs_it_and_on_the_device(bench: Bench) -> None:
    cases = [Case("m", name, "warm") for name in ALL]
    experiment = PageRankExperiment(PageRankPlan(PARAMS, {}, ROUNDS, 0.0, 5, True, {cases[0].key}), cases, web(), bench)
    assert [experiment.most_s(case) for case in cases[:2]] == [TOGETHER_S, TOGETHER_S / len(ALL)]
    experiment.bench = copy.copy(bench)
    experiment.bench.xp = object()
    assert [experiment.most_s(case) for case in cases[:2]] == [math.inf, TOGETHER_S / len(ALL)]
