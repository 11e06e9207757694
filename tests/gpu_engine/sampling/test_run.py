"""The measuring engine with scripted candidates: who is sampled with whom, what enters twice, what an error does."""

import dataclasses
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from gpu_engine.cuda.load import CudaSource
from gpu_engine.errors import (
    DeviceLostError,
    DeviceMemoryError,
    KernelError,
    LayoutTooLargeError,
    ParameterError,
    SparsightError,
)
from gpu_engine.formats import coo, ell
from gpu_engine.host.device import find_device
from gpu_engine.measure import Bench, Rounds, Timed, Timing, open_bench
from gpu_engine.records import (
    BandwidthPoint,
    Cache,
    Case,
    DeviceProfile,
    Interim,
    Measurement,
    Progress,
    Record,
    Started,
    Trace,
)
from gpu_engine.sampling import run as sampling
from gpu_engine.sampling.experiment import REPEATS, Fields
from gpu_engine.sampling.messages import STOPPED_BEFORE_START, round_of
from gpu_engine.sampling.run import SampleRun, by_matrix, measure
from gpu_engine.sampling.sampling_options import SamplingOptions
from gpu_engine.verdicts.verdict import compare
from tests.gpu_engine.scenes import ROUNDS, Scenes, Scripted

SKIP = ParameterError("no")
PROFILE = DeviceProfile("cpu", "test", 2**20, (BandwidthPoint(2**28, 1e13, 1e13),), "")


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with open_bench(dataclasses.replace(find_device("cpu"), cache_bytes=2**20), PROFILE, 1000) as opened:
        yield opened


def measured(records: Sequence[Record]) -> dict[str, Measurement]:
    return {r.case.split("|")[1]: r for r in records if isinstance(r, Measurement)}


def test_all_are_sampled_in_the_same_rounds_and_the_first_one_twice(bench: Bench) -> None:
    log: list[str] = []
    found = measured(list(SampleRun(Scenes(bench, Scripted("a", log), Scripted("b", log, [4.0]))).records()))
    turns = [entry[-1] for entry in log if entry.startswith("turn")]
    rounds = [sorted(turns[i : i + 3]) for i in range(0, 3 * ROUNDS, 3)]
    assert rounds == [["a", "a", "b"]] * ROUNDS
    assert (found["a"].median_s, found["b"].median_s) == (1.0, 4.0)
    assert [m.aa_gap for m in found.values()] == [pytest.approx(0.1)] * 2
    assert log[-2:] == ["release a", "release b"]


def test_one_that_is_prepared_alone_waits_for_the_verifications_before_it(bench: Bench) -> None:
    log: list[str] = []
    later_began = threading.Event()

    class Slow(Scripted):
        def _verify(self) -> Fields:
            later_began.wait(0.2)
            log.append("verified")
            return {}

    class IndependentlyTimed(Scripted):
        alone = True

        def prepare(self) -> Callable[[], Fields]:
            later_began.set()
            return super().prepare()

    list(SampleRun(Scenes(bench, Slow("a", log), IndependentlyTimed("b", log))).records())
    assert log.index("verified") < log.index("prepare b")


def test_a_record_says_all_that_its_candidate_does(bench: Bench) -> None:
    (trace, m) = [
        r for r in SampleRun(Scenes(bench, Scripted("a", []))).records() if isinstance(r, Measurement | Trace)
    ]
    assert trace == Trace("m|a|warm|", {"gamma": (1.0,)})
    assert isinstance(m, Measurement)
    assert (m.state, m.gflops, m.max_error, m.stored_bytes, m.details.iterations) == ("ok", 1.0, 0.5, 12, 3)
    assert (m.details.devices, m.energy_j, m.environment["source"]) == (7, 2.5, "of a")
    assert set(bench.environment) < set(m.environment)


def test_energy_is_of_warm_calls_alone(bench: Bench) -> None:
    candidate = Scripted("a", [], [1.0] * 4, caches=("cold", "warm"))
    records = [r for r in SampleRun(Scenes(bench, candidate)).records() if isinstance(r, Measurement)]
    assert [(m.cache, m.energy_j) for m in records] == [("cold", None), ("warm", 2.5)]


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (LayoutTooLargeError("too large"), "skipped"),
        (DeviceMemoryError("full"), "skipped"),
        (ParameterError("not here"), "skipped"),
        (KernelError("wrong"), "failed"),
    ],
)
@pytest.mark.parametrize("when", ["raises", "doubt"])
def test_an_error_is_the_candidates_own(bench: Bench, error: SparsightError, state: str, when: str) -> None:
    log: list[str] = []
    changes: dict[str, Any] = {when: error}
    wrong = Scripted("wrong", log, **changes)
    found = measured(list(SampleRun(Scenes(bench, wrong, Scripted("a", log), Scripted("b", log, [2.0]))).records()))
    assert (found["wrong"].state, found["wrong"].note, found["wrong"].median_s) == (state, error.message, None)
    assert found["wrong"].energy_j is None
    assert found["wrong"].details.devices == 7
    # The next one is the reference.
    assert found["a"].state == "ok"
    assert found["b"].aa_gap == pytest.approx(0.1)
    assert "turn wrong" not in log
    assert log.index("release wrong") < log.index("turn a")


@pytest.mark.parametrize(
    ("backend", "missing", "expected"),
    [
        ("cuda", (ell.SOURCE,), ["look coo.cu ell.cu", "compile ell.cu", "prepare a", "prepare b"]),
        ("cuda", (), ["look coo.cu ell.cu", "prepare a", "prepare b"]),
        ("cpu", (ell.SOURCE,), ["prepare a", "prepare b"]),
    ],
)
def test_what_is_not_compiled_yet_is_compiled_before_the_first_is_prepared(
    bench: Bench,
    monkeypatch: pytest.MonkeyPatch,
    backend: str,
    missing: tuple[CudaSource, ...],
    expected: Sequence[str],
) -> None:
    log: list[str] = []

    def look(sources: Sequence[CudaSource]) -> tuple[CudaSource, ...]:
        log.append(" ".join(("look", *(s.file for s in sources))))
        return missing

    monkeypatch.setattr(bench.stopwatch, "backend", backend)
    monkeypatch.setattr(sampling, "missing_here", look)
    monkeypatch.setattr(sampling, "compile_here", lambda found: log.append(f"compile {found[0].file}"))
    candidates = Scripted("a", log, sources=(coo.SOURCE,)), Scripted("b", log, sources=(ell.SOURCE,))
    said = [r.message for r in SampleRun(Scenes(bench, *candidates)).records() if isinstance(r, Progress)]
    assert [entry for entry in log if not entry.startswith(("turn", "release"))] == expected
    assert said.count("compiling kernels, 1 sources") == sum(entry.startswith("compile") for entry in log)


def test_where_nothing_is_right_nothing_is_sampled(bench: Bench) -> None:
    found = measured(list(SampleRun(Scenes(bench, Scripted("a", [], raises=KernelError("wrong")))).records()))
    assert [(m.state, m.aa_gap) for m in found.values()] == [("failed", None)]


@pytest.mark.parametrize("error", [ParameterError("empty"), DeviceMemoryError("full"), KernelError("wrong")])
def test_what_loading_raises_is_said_of_every_case(bench: Bench, error: SparsightError) -> None:
    records = list(SampleRun(Scenes(bench, Scripted("a", []), Scripted("b", []), fails=error)).records())
    state = "failed" if isinstance(error, KernelError) else "skipped"
    assert [(m.state, m.note, m.details.devices) for m in measured(records).values()] == [(state, error.message, 7)] * 2


@pytest.mark.parametrize("where", ["fails", "raises"])
def test_a_lost_device_ends_the_run(bench: Bench, where: str) -> None:
    lost = DeviceLostError("gone")
    scenes = Scenes(bench, Scripted("a", [], raises=lost)) if where == "raises" else Scenes(bench, fails=lost)
    with pytest.raises(DeviceLostError):
        list(SampleRun(scenes).records())


def test_a_time_under_the_least_is_refused(bench: Bench) -> None:
    (m,) = measured(list(SampleRun(Scenes(bench, Scripted("a", [], least=1.5))).records())).values()
    assert (m.state, m.median_s, m.gflops) == ("failed", None, None)
    assert m.note.startswith("rejected: 1.00 s is faster than")


def prepared(log: Sequence[str]) -> list[str]:
    """The groups, each as the names of what was prepared for it."""
    groups, last = [""], "prepare"
    for step, name in (entry.split() for entry in log):
        if step == "prepare" and last != "prepare":
            groups.append("")
        groups[-1] += name if step == "prepare" else ""
        last = step
    return groups


def test_only_candidates_of_one_kind_are_sampled_together(bench: Bench) -> None:
    log: list[str] = []
    kinds = Scripted("a", log, kind=1), Scripted("b", log, kind=1), Scripted("c", log, kind=2)
    found = measured(list(SampleRun(Scenes(bench, *kinds)).records()))
    assert prepared(log) == ["ab", "c"]
    assert [m.state for m in found.values()] == ["ok"] * 3


def test_groups_fit_the_memory_and_each_has_the_reference(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.stopwatch, "memory_bytes", 1000)
    log: list[str] = []
    # 600 bytes are room: the reference and two others, of which the layout of three counts once.
    sizes = {"a": (200, None), "b": (200, "x"), "c": (200, "x"), "d": (200, "x"), "e": (200, None), "f": (900, None)}
    scenes = Scenes(
        bench,
        *(Scripted(n, log, [1.0] * 6, bytes_needed=size, layout=layout) for n, (size, layout) in sizes.items()),
    )
    records = list(SampleRun(scenes).records())
    assert prepared(log) == ["abcde", "af"]
    # Reported once, in the order of the cases.
    assert [r.case.split("|")[1] for r in records if isinstance(r, Measurement)] == list("abcdef")


def test_what_is_refused_forms_no_group_of_its_own(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.stopwatch, "memory_bytes", 1000)
    monkeypatch.setattr(bench, "layout_bytes", 500)
    log: list[str] = []
    # 600 bytes are room for all but b, which is refused, and d.
    sizes = {"a": 200, "b": 501, "c": 400, "d": 500}
    made = (Scripted(n, log, [1.0] * 6, bytes_needed=size) for n, size in sizes.items())
    assert len(measured(list(SampleRun(Scenes(bench, *made)).records()))) == len(sizes)
    assert prepared(log) == ["abc", "ad"]


def test_it_is_said_what_begins_and_progress_never_falls(bench: Bench) -> None:
    records = list(SampleRun(Scenes(bench, Scripted("a", []), Scripted("b", [], kind=2))).records())
    begun = [r.case for r in records if isinstance(r, Started)]
    assert begun == ["m|a|warm|"] * (1 + ROUNDS) + ["m|b|warm|"] * (1 + ROUNDS)
    done = [r.done for r in records if isinstance(r, Progress)]
    assert done == sorted(done)
    assert done[0] == 0.0
    assert done[-1] < 1.0


def test_what_the_rounds_say_so_far_is_told_from_the_second_on(bench: Bench) -> None:
    scenes = Scenes(bench, Scripted("a", [], [2.0, 2.0]), Scripted("b", [], [1.0]), Scripted("c", [], raises=SKIP))
    said = [r.message for r in SampleRun(scenes).records() if isinstance(r, Progress) and "round" in r.message]
    assert said == [f"round 1 of {ROUNDS}, warm"] + [
        f"round {n} of {ROUNDS}, warm; fastest so far: b, 1.00\u202fs" for n in range(2, ROUNDS + 1)
    ]
    assert [round_of(message) for message in said] == [(n, ROUNDS) for n in range(1, ROUNDS + 1)]


def test_the_times_so_far_are_told_of_every_case_that_has_one_the_shortest_first(bench: Bench) -> None:
    scenes = Scenes(bench, Scripted("a", [], [2.0, 2.0]), Scripted("b", [], [1.0]), Scripted("c", [], raises=SKIP))
    said = [r.interim for r in SampleRun(scenes).records() if isinstance(r, Progress) and "round" in r.message]
    assert said[0] == ()
    assert said[1:] == [(so_far("m|b|warm|", 1.0, done), so_far("m|a|warm|", 2.0, done)) for done in range(1, ROUNDS)]


def so_far(case: str, time_s: float, rounds: int) -> Interim:
    """What is said of equal rounds: fewer than five have no interval."""
    end = time_s if rounds >= 5 else None
    return Interim(case, time_s, end, end, rounds, min_s=time_s, max_s=time_s)


def test_progress_counts_the_cases_of_all_experiments(bench: Bench) -> None:
    scenes = [Scenes(bench, Scripted("a", []), Scripted("b", [])), Scenes(bench, Scripted("c", []))]
    done = [r.done for r in measure(bench, scenes) if isinstance(r, Progress)]
    assert done == sorted(done)
    assert [d for d in done if d in (0.0, 2.0)] == [0.0, 0.0, 2.0, 2.0]
    assert max(done) < 3.0
    assert any(1.0 < d < 2.0 for d in done)


def test_cases_are_grouped_by_matrix_in_their_order() -> None:
    cases = [Case(matrix, kernel, "warm") for kernel in "ab" for matrix in "nm"]
    assert [[case.key for case in group] for group in by_matrix(cases)] == [
        ["n|a|warm|", "n|b|warm|"],
        ["m|a|warm|", "m|b|warm|"],
    ]


class Layout:
    stored_bytes = 24


def test_a_layout_is_made_once_in_a_group_and_so_is_its_error(bench: Bench) -> None:
    scenes, made = Scenes(bench), []

    def convert() -> Layout:
        made.append(1)
        return Layout()

    with scenes.group():
        layout, fields = scenes.converted("x", 1000, convert)
        assert scenes.converted("x", 1000, convert)[0] is layout
        assert fields["stored_bytes"] == 24
        # Once for the peak of the memory, then for the time.
        assert len(made) == 1 + REPEATS
        for _ in range(2):
            with pytest.raises(LayoutTooLargeError):
                scenes.converted("y", 1001, convert)
        assert len(made) == 1 + REPEATS
    with scenes.group():
        assert scenes.converted("x", 1000, convert)[0] is not layout


@pytest.mark.parametrize(
    ("options", "turns"),
    [
        # Of each group nine rounds, of the reference twice as many turns.
        (SamplingOptions("fixed"), [18, 9, 18]),
        # Four seconds a group: a round of the first takes three, one of the second two.
        (SamplingOptions("fixed", 4.0), [4, 2, 6]),
        # Together nine: of the first group half, of the second what is left then.
        (SamplingOptions("fixed", experiment_s=9.0), [4, 2, 4]),
        # Two rounds are made whatever they take.
        (SamplingOptions("fixed", experiment_s=0.1), [4, 2, 4]),
        (SamplingOptions("fixed", experiment_s=20.0), [8, 4, 10]),
    ],
)
def test_rounds_end_with_the_seconds_that_an_experiment_has(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, options: SamplingOptions, turns: list[int]
) -> None:
    log: list[str] = []
    monkeypatch.setattr(bench.stopwatch, "now", lambda: 1.0 + sum(entry.startswith("turn") for entry in log))
    candidates = Scripted("a", log), Scripted("b", log, [4.0]), Scripted("c", log, kind="other")
    list(SampleRun(Scenes(bench, *candidates), options).records())
    assert [log.count(f"turn {name}") for name in "abc"] == turns


def test_energy_is_of_the_fastest_and_of_what_may_be_as_fast(bench: Bench) -> None:
    # The reference differs from itself by 10 %: b may be as fast.
    candidates = Scripted("a", [], (1.0, 1.1)), Scripted("b", [], [1.05]), Scripted("c", [], [4.0])
    found = measured(list(SampleRun(Scenes(bench, *candidates), SamplingOptions(energy="fastest")).records()))
    assert compare(found["a"], found["b"]).kind == "inconclusive"
    assert {kernel: m.energy_j for kernel, m in found.items()} == {"a": 2.5, "b": 2.5, "c": None}


def test_energy_is_of_four_leaders_at_most(bench: Bench) -> None:
    log: list[str] = []
    candidates = Scripted("a", log, (1.0, 1.0)), *(Scripted(name, log, [1.0]) for name in "bcdef")
    found = measured(list(SampleRun(Scenes(bench, *candidates), SamplingOptions(energy="fastest")).records()))
    assert [kernel for kernel, m in found.items() if m.energy_j] == list("abcd")


BOTH: tuple[Cache, Cache] = ("warm", "cold")


def test_both_cache_states_share_a_round_in_the_progress(bench: Bench) -> None:
    candidate = Scripted("a", [], [1.0] * 4, caches=BOTH)
    done = [r.done for r in SampleRun(Scenes(bench, candidate)).records() if isinstance(r, Progress)]
    steps = [share - sampling.PREPARATION for share in done if share >= sampling.PREPARATION]
    assert steps == pytest.approx([0.7 * n / (2 * ROUNDS) for n in range(2 * ROUNDS)])


def test_records_come_in_the_order_of_the_cases(bench: Bench) -> None:
    candidates = Scripted("a", [], [1.0] * 4, caches=BOTH), Scripted("b", [], [1.0] * 2, caches=BOTH)
    scenes = Scenes(bench, *candidates)
    scenes.cases = [scenes.cases[n] for n in (3, 0, 2, 1)]
    found = [r.case for r in SampleRun(scenes).records() if isinstance(r, Measurement)]
    assert found == ["m|b|cold|", "m|a|warm|", "m|b|warm|", "m|a|cold|"]


def test_each_cache_state_has_a_gap_of_its_own(bench: Bench) -> None:
    candidate = Scripted("a", [], (1.0, 2.0, 1.2, 3.0), caches=BOTH)
    records = [r for r in SampleRun(Scenes(bench, candidate)).records() if isinstance(r, Measurement)]
    assert {m.cache: m.median_s for m in records} == {"cold": 1.0, "warm": 2.0}
    assert {m.cache: m.aa_gap for m in records} == pytest.approx({"cold": 0.2, "warm": 0.5})


def test_what_only_serves_others_is_measured_and_reported_to_them_alone(bench: Bench) -> None:
    class Deriving(Scenes):
        def derived(self, measured: Sequence[Measurement]) -> Iterator[Measurement]:
            seen.extend((m.kernel, m.cache, m.median_s) for m in measured)
            yield dataclasses.replace(measured[0], case="m|derived|warm|")

    seen: list[tuple[str, str, float | None]] = []
    candidates = Scripted("a", [], [1.0, 2.0, 1.0, 2.0], caches=BOTH), Scripted("b", [], [3.0, 4.0])
    records = list(SampleRun(Deriving(bench, *candidates)).records())
    assert [r.case for r in records if isinstance(r, Measurement)] == [
        "m|a|warm|",
        "m|a|cold|",
        "m|b|warm|",
        "m|derived|warm|",
    ]
    assert seen == [("a", "cold", 1.0), ("a", "warm", 2.0), ("b", "cold", 3.0), ("b", "warm", 4.0)]


def test_a_probe_is_sampled_and_is_no_case(bench: Bench) -> None:
    class Probed(Scenes):
        def probes(self) -> Sequence[Timed]:
            return (Timed("probe/copy", lambda _: lambda: 1.0),)

    records = list(SampleRun(Probed(bench, Scripted("a", []))).records())
    assert {r.case for r in records if isinstance(r, Started)} == {"m|a|warm|"}
    assert len([r for r in records if isinstance(r, Measurement)]) == 1


def test_a_reference_that_fails_in_one_group_is_tried_again_in_the_next(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Recovering(Scripted):
        def prepare(self) -> Callable[[], Fields]:
            found = super().prepare()
            if self.log.count("prepare a") == 1:
                raise DeviceMemoryError("full")
            return found

    monkeypatch.setattr(bench.stopwatch, "memory_bytes", 1000)
    log: list[str] = []
    candidates = (
        Recovering("a", log, bytes_needed=300),
        *(Scripted(name, log, bytes_needed=size) for name, size in (("b", 300), ("c", 300))),
    )
    found = measured(list(SampleRun(Scenes(bench, *candidates)).records()))
    assert [entry for entry in log if entry.startswith("prepare")] == [f"prepare {name}" for name in "abac"]
    assert {kernel: m.state for kernel, m in found.items()} == {"a": "skipped", "b": "ok", "c": "ok"}
    assert "turn a" in log


def test_what_an_experiment_holds_is_no_room_for_candidates(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.stopwatch, "memory_bytes", 1000)
    log: list[str] = []
    scenes = Scenes(bench, *(Scripted(name, log, [1.0] * 6, bytes_needed=130) for name in "abcd"))
    # 600 bytes are room for four, and the 500 beside 100 that are held for three.
    scenes.held_bytes = 100
    list(SampleRun(scenes).records())
    assert prepared(log) == ["abc", "ad"]


def test_a_layout_over_the_room_is_sampled_with_all_that_share_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench.stopwatch, "memory_bytes", 1000)
    log: list[str] = []
    sizes = {"a": (700, "x"), "b": (700, "x"), "c": (10, None)}
    made = (Scripted(n, log, [1.0] * 4, bytes_needed=size, layout=layout) for n, (size, layout) in sizes.items())
    list(SampleRun(Scenes(bench, *made)).records())
    assert prepared(log) == ["ab", "ac"]


def test_the_seconds_of_an_experiment_are_those_of_all_groups_before(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    log: list[str] = []
    monkeypatch.setattr(bench.stopwatch, "now", lambda: 1.0 + sum(entry.startswith("turn") for entry in log))
    candidates = (Scripted(name, log, kind=name) for name in "abc")
    list(SampleRun(Scenes(bench, *candidates), SamplingOptions("fixed", experiment_s=21.0)).records())
    # A round of each group takes two seconds: the first has 7 seconds, the second 6.5 and the last 5.
    assert [log.count(f"turn {name}") for name in "abc"] == [8, 8, 6]


def test_before_anything_was_loaded_enough_skips_all_cases(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "stop_requested", lambda: True)
    log: list[str] = []
    found = measured(list(SampleRun(Scenes(bench, Scripted("a", log), fails=KernelError("loaded"))).records()))
    assert [(m.state, m.note) for m in found.values()] == [("skipped", STOPPED_BEFORE_START)]


def test_once_it_is_enough_no_further_candidate_is_prepared(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[str] = []
    monkeypatch.setattr(bench, "stop_requested", lambda: "prepare a" in log)
    found = measured(list(SampleRun(Scenes(bench, Scripted("a", log), Scripted("b", log))).records()))
    assert {kernel: (m.state, m.rounds) for kernel, m in found.items()} == {"a": ("ok", 2), "b": ("skipped", None)}
    assert (found["b"].note, found["a"].energy_j) == (STOPPED_BEFORE_START, None)
    assert "prepare b" not in log


class Floored(Scripted):
    """One product on one device, whose copy floor is so many times its time."""

    floor = 1.0

    def traces(self) -> Iterator[Trace]:
        return iter(())

    def rates(self, timing: Timing, cache: Cache, rounds: Rounds) -> Fields:
        return {"gflops": 1.0, "devices": 1, "stored_bytes": 10**12, "roofline_s": self.floor * timing.median_s}


@pytest.mark.parametrize(("changes", "asked"), [({}, 0), ({"least": 1.5}, 1), ({"floor": 1.4}, 0), ({"floor": 1.6}, 1)])
def test_the_bandwidth_is_probed_again_where_a_time_is_shorter_than_it_allows(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], asked: int
) -> None:
    log: list[str] = []

    def again() -> Iterator[Progress]:
        log.append("probe")
        yield Progress(1.0, "probing")

    monkeypatch.setattr(bench, "calibrate_again", again)
    list(SampleRun(Scenes(bench, Scripted("ref", log), Floored("a", log, **changes))).records())
    assert log.count("probe") == asked


@pytest.mark.parametrize("is_new", [True, False])
def test_times_are_judged_again_by_a_new_profile(bench: Bench, monkeypatch: pytest.MonkeyPatch, is_new: bool) -> None:
    candidate = Scripted("a", [], least=1.5)

    def again() -> Iterator[Progress]:
        candidate.least = 0.5
        if is_new:
            monkeypatch.setattr(bench, "_profile", dataclasses.replace(PROFILE))
        yield Progress(1.0, "probing")

    monkeypatch.setattr(bench, "calibrate_again", again)
    (m,) = measured(list(SampleRun(Scenes(bench, candidate)).records())).values()
    assert m.state == ("ok" if is_new else "failed")
