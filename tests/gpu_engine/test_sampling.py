"""The measuring engine with scripted candidates: who is sampled with whom, what enters twice, what an error does."""

import dataclasses
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from gpu_engine import sampling
from gpu_engine.cuda.load import CudaSource
from gpu_engine.device import find_device
from gpu_engine.effort import Effort
from gpu_engine.errors import (
    DeviceLostError,
    DeviceMemoryError,
    KernelError,
    LayoutTooLargeError,
    ParameterError,
    SparsightError,
)
from gpu_engine.experiment import Candidate, Experiment, Fields
from gpu_engine.formats import coo, ell
from gpu_engine.measure import Bench, Rounds, Timing, open_bench
from gpu_engine.multigpu.measuring import ScalingDetails
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
from gpu_engine.sampling import SampleRun, by_matrix, measure
from gpu_engine.verdict import compare

ROUNDS = 9
SKIP = ParameterError("no")
PROFILE = DeviceProfile("cpu", "test", 2**20, (BandwidthPoint(2**28, 1e13, 1e13),), "")


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with open_bench(dataclasses.replace(find_device("cpu"), cache_bytes=2**20), PROFILE, 1000) as opened:
        yield opened


class Scripted(Candidate):
    """Takes `seconds` a turn, where it enters again those that follow; what it does is written into `log`."""

    def __init__(self, kernel: str, log: list[str], seconds: Sequence[float] = (1.0, 1.1), **changes: Any) -> None:
        caches: tuple[Cache, ...] = changes.pop("caches", ("warm",))
        super().__init__(kernel, kernel, {cache: Case("m", kernel, cache) for cache in caches})
        self.log, self.seconds = log, list(seconds)
        self.raises: SparsightError | None = changes.pop("raises", None)
        self.doubt: SparsightError | None = changes.pop("doubt", None)
        self.least = changes.pop("least", 0.0)
        self.launched: Sequence[CudaSource] = changes.pop("sources", ())
        for name, value in changes.items():
            setattr(self, name, value)

    @property
    def environment(self) -> dict[str, str]:
        return {"source": f"of {self.kernel}"}

    @property
    def sources(self) -> Sequence[CudaSource]:
        return self.launched

    def prepare(self) -> Callable[[], Fields]:
        self.log.append(f"prepare {self.kernel}")
        self.fields["stored_bytes"] = 12
        if self.raises:
            raise self.raises
        return self._verify

    def _verify(self) -> Fields:
        if self.doubt:
            raise self.doubt
        return {"max_error": 0.5}

    def turns(self, cache: Cache) -> Callable[[], float]:
        seconds = self.seconds.pop(0)

        def turn() -> float:
            self.log.append(f"turn {self.kernel}")
            return seconds

        return turn

    def least_s(self, cache: Cache) -> float:
        return float(self.least)

    def rates(self, timing: Timing, cache: Cache, rounds: Rounds) -> Fields:
        return {"gflops": 1 / timing.median_s}

    def traces(self) -> Iterator[Trace]:
        self.fields["iterations"] = 3
        yield Trace(self.cases["warm"].key, {"gamma": (1.0,)})

    def energy_j(self) -> float:
        return 2.5

    def release(self) -> None:
        self.log.append(f"release {self.kernel}")


class Scenes(Experiment):
    """Candidates as they are handed in."""

    details = ScalingDetails

    def __init__(self, bench: Bench, *candidates: Scripted, fails: SparsightError | None = None) -> None:
        cases = [case for c in candidates for case in c.cases.values()]
        super().__init__(cases, ("cold", "warm"), ROUNDS, bench)
        self.candidates, self.fails = candidates, fails

    def known(self, case: Case) -> Fields:
        return {"devices": 7}

    def load(self) -> Sequence[Candidate]:
        if self.fails:
            raise self.fails
        return self.candidates


def measured(records: Sequence[Record]) -> dict[str, Measurement]:
    return {r.case.split("|")[1]: r for r in records if isinstance(r, Measurement)}


def test_all_are_sampled_in_the_same_rounds_and_the_first_one_twice(bench: Bench) -> None:
    log: list[str] = []
    found = measured(list(SampleRun(Scenes(bench, Scripted("a", log), Scripted("b", log, [4.0]))).records()))
    turns = [entry[-1] for entry in log if entry.startswith("turn")]
    rounds = [sorted(turns[i : i + 3]) for i in range(0, 3 * ROUNDS, 3)]
    assert rounds == [["a", "a", "b"]] * ROUNDS
    assert (found["a"].median_s, found["b"].median_s) == (1.0, 4.0)
    assert [m.reference_gap for m in found.values()] == [pytest.approx(0.1)] * 2
    assert log[-2:] == ["release a", "release b"]


def test_one_that_is_prepared_alone_waits_for_the_verifications_before_it(bench: Bench) -> None:
    log: list[str] = []
    later_began = threading.Event()

    class Slow(Scripted):
        def _verify(self) -> Fields:
            later_began.wait(0.2)
            log.append("verified")
            return {}

    class Watched(Scripted):
        alone = True

        def prepare(self) -> Callable[[], Fields]:
            later_began.set()
            return super().prepare()

    list(SampleRun(Scenes(bench, Slow("a", log), Watched("b", log))).records())
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
    assert found["wrong"].details.devices == 7
    # The next one is the reference.
    assert found["a"].state == "ok"
    assert found["b"].reference_gap == pytest.approx(0.1)
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
    assert [(m.state, m.reference_gap) for m in found.values()] == [("failed", None)]


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
    assert m.note.startswith("refused: 1.000e+00 s is under 1.500e+00 s")


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


def test_what_the_rounds_say_so_far_is_told_once_there_are_a_few(bench: Bench) -> None:
    scenes = Scenes(bench, Scripted("a", [], [2.0, 2.0]), Scripted("b", [], [1.0]), Scripted("c", [], raises=SKIP))
    said = [r.message for r in SampleRun(scenes).records() if isinstance(r, Progress) and "round" in r.message]
    assert said == [f"round {n} of {ROUNDS}, warm" for n in (1, 2)] + [
        f"round {n} of {ROUNDS}, warm; so far b is the fastest, 1.00\u202fs" for n in range(3, ROUNDS + 1)
    ]


def test_the_times_so_far_are_told_of_every_case_that_has_one_the_shortest_first(bench: Bench) -> None:
    scenes = Scenes(bench, Scripted("a", [], [2.0, 2.0]), Scripted("b", [], [1.0]), Scripted("c", [], raises=SKIP))
    said = [r.interim for r in SampleRun(scenes).records() if isinstance(r, Progress) and "round" in r.message]
    assert said[:2] == [()] * 2
    assert said[2:] == [(so_far("m|b|warm|", 1.0, done), so_far("m|a|warm|", 2.0, done)) for done in range(2, ROUNDS)]


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
        # Once for the peak of the memory, once for the time.
        assert len(made) == 2
        for _ in range(2):
            with pytest.raises(LayoutTooLargeError):
                scenes.converted("y", 1001, convert)
        assert len(made) == 2
    with scenes.group():
        assert scenes.converted("x", 1000, convert)[0] is not layout


@pytest.mark.parametrize(
    ("effort", "turns"),
    [
        # Of each group nine rounds, of the reference twice as many turns.
        (Effort("full"), [18, 9, 18]),
        # Four seconds a group: a round of the first takes three, one of the second two.
        (Effort("full", 4.0), [4, 2, 6]),
        # Together nine: of the first group half, of the second what is left then.
        (Effort("full", experiment_s=9.0), [4, 2, 4]),
        # Two rounds are made whatever they take.
        (Effort("full", experiment_s=0.1), [4, 2, 4]),
        (Effort("full", experiment_s=20.0), [8, 4, 10]),
    ],
)
def test_rounds_end_with_the_seconds_that_an_experiment_has(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, effort: Effort, turns: list[int]
) -> None:
    log: list[str] = []
    monkeypatch.setattr(bench.stopwatch, "now", lambda: 1.0 + sum(entry.startswith("turn") for entry in log))
    candidates = Scripted("a", log), Scripted("b", log, [4.0]), Scripted("c", log, kind="other")
    list(SampleRun(Scenes(bench, *candidates), effort).records())
    assert [log.count(f"turn {name}") for name in "abc"] == turns


def test_energy_is_of_the_fastest_and_of_what_may_be_as_fast(bench: Bench) -> None:
    # The reference differs from itself by 10 %: b may be as fast.
    candidates = Scripted("a", [], (1.0, 1.1)), Scripted("b", [], [1.05]), Scripted("c", [], [4.0])
    found = measured(list(SampleRun(Scenes(bench, *candidates), Effort(energy="leaders")).records()))
    assert compare(found["a"], found["b"]).kind == "ambiguous"
    assert {kernel: m.energy_j for kernel, m in found.items()} == {"a": 2.5, "b": 2.5, "c": None}


def test_energy_is_of_four_leaders_at_most(bench: Bench) -> None:
    log: list[str] = []
    candidates = Scripted("a", log, (1.0, 1.0)), *(Scripted(name, log, [1.0]) for name in "bcdef")
    found = measured(list(SampleRun(Scenes(bench, *candidates), Effort(energy="leaders")).records()))
    assert [kernel for kernel, m in found.items() if m.energy_j] == list("abcd")
