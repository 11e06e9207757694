"""Who takes part in which round, with scripted candidates: rounds go where a verdict is open."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence

import pytest

from gpu_engine.errors import KernelError
from gpu_engine.host.device import find_device
from gpu_engine.measure import Bench, Timed, open_bench
from gpu_engine.records import BandwidthPoint, Cache, DeviceProfile, Interim, Measurement, Progress, Record
from gpu_engine.sampling.run import SampleRun
from gpu_engine.sampling.sampling_options import Sampling, SamplingOptions
from gpu_engine.verdicts.verdict import MIN_ROUNDS_FOR_VERDICT
from tests.gpu_engine.scenes import ROUNDS, Scenes, Scripted

PROFILE = DeviceProfile("cpu", "test", 2**20, (BandwidthPoint(2**28, 1e13, 1e13),), "")
SETTLE = SamplingOptions("adaptive")
MANY = ROUNDS + 3
BOTH: tuple[Cache, Cache] = ("cold", "warm")


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with open_bench(dataclasses.replace(find_device("cpu"), cache_bytes=2**20), PROFILE, 1000) as opened:
        yield opened


def run(scenes: Scenes, options: SamplingOptions = SETTLE) -> list[Record]:
    """The records of at most MANY rounds."""
    scenes.rounds = MANY
    return list(SampleRun(scenes, options).records())


def rounds(records: Sequence[Record]) -> dict[tuple[str, str], int | None]:
    return {(m.kernel, m.cache): m.rounds for m in records if isinstance(m, Measurement)}


def interims(records: Sequence[Record]) -> list[tuple[Interim, ...]]:
    return [r.interim for r in records if isinstance(r, Progress) and r.message.startswith("round")]


def test_what_is_settled_takes_no_further_part_and_what_never_settles_does(bench: Bench) -> None:
    candidates = Scripted("a", [], (1.0, 1.0)), Scripted("b", [], [40.0]), Scripted("c", [], [40.0], stops_early=False)
    # A turn of forty seconds is costly: two rounds are enough for it, nine are made for the fastest.
    assert rounds(run(Scenes(bench, *candidates))) == {("a", "warm"): MANY, ("b", "warm"): 2, ("c", "warm"): MANY}
    settled = Scripted("a", [], (1.0, 1.0)), Scripted("b", [], [40.0])
    assert rounds(run(Scenes(bench, *settled))) == {("a", "warm"): ROUNDS, ("b", "warm"): 2}


def test_in_full_all_take_part_in_all_rounds(bench: Bench) -> None:
    candidates = Scripted("a", [], (1.0, 1.0)), Scripted("b", [], [40.0])
    assert set(rounds(run(Scenes(bench, *candidates), SamplingOptions("fixed"))).values()) == {MANY}


def test_each_cache_state_is_settled_by_itself_with_the_reference_and_the_probes(bench: Bench) -> None:
    turns: list[Cache] = []

    class Probed(Scenes):
        def probes(self) -> Sequence[Timed]:
            def prepare(cache: Cache) -> Callable[[], float]:
                def turn() -> float:
                    turns.append(cache)
                    return 1.0

                return turn

            return (Timed("probe/copy", prepare),)

    candidates = (
        Scripted("ref", [], (2.0,) * 4, caches=BOTH),
        Scripted("a", [], (1.0, 1.0), caches=BOTH),
        Scripted("b", [], (1.5, 1.0), caches=BOTH),
    )
    # Cold the fastest has its rounds, and the third its first look; warm a tie remains.
    assert rounds(run(Probed(bench, *candidates))) == {
        ("ref", "cold"): ROUNDS,
        ("a", "cold"): ROUNDS,
        ("b", "cold"): 5,
        ("ref", "warm"): MANY,
        ("a", "warm"): MANY,
        ("b", "warm"): MANY,
    }
    assert (turns.count("cold"), turns.count("warm")) == (ROUNDS, MANY)


@pytest.mark.parametrize(("again_s", "made"), [(1.0, ROUNDS), (1.3, MANY)])
def test_what_the_reference_differs_from_itself_by_keeps_others_open(bench: Bench, again_s: float, made: int) -> None:
    found = rounds(run(Scenes(bench, Scripted("a", [], (1.0, again_s)), Scripted("b", [], [1.2]))))
    assert found["a", "warm"] == made


class Failing(Scripted):
    """Fails in its fourth turn."""

    def turns(self, cache: Cache) -> Callable[[], float]:
        turn = super().turns(cache)

        def failing() -> float:
            if self.log.count(f"turn {self.kernel}") == 3:
                self.fail(KernelError("late"))
            return turn()

        return failing


def test_without_the_reference_all_others_go_on(bench: Bench) -> None:
    candidates = Failing("ref", [], (2.0, 2.0)), Scripted("a", [], [1.0]), Scripted("b", [], [40.0])
    records = run(Scenes(bench, *candidates))
    # By two turns a round, the reference fails in the second: nothing was settled before.
    assert rounds(records) == {("ref", "warm"): None, ("a", "warm"): MANY, ("b", "warm"): MANY}
    assert [[own.case for own in found] for found in interims(records)[MIN_ROUNDS_FOR_VERDICT:]] == [
        ["m|a|warm|", "m|b|warm|"]
    ] * (MANY - MIN_ROUNDS_FOR_VERDICT)


def test_a_candidate_whose_times_are_not_told_early_is_left_out_of_them_alone(bench: Bench) -> None:
    candidates = Scripted("a", [], (1.0, 1.0)), Scripted("b", [], [0.5], has_interim=False)
    records = run(Scenes(bench, *candidates))
    assert {own.case for found in interims(records) for own in found} == {"m|a|warm|"}
    assert ("b", "warm") in rounds(records)


def test_it_is_told_which_cases_are_settled(bench: Bench) -> None:
    candidates = Scripted("a", [], (1.0, 1.0)), Scripted("b", [], [40.0])
    found = interims(run(Scenes(bench, *candidates)))
    assert [(own.case, own.decided, own.rounds) for own in found[5]] == [
        ("m|a|warm|", False, 5),
        ("m|b|warm|", True, 2),
    ]


@pytest.mark.parametrize("sampling", ["adaptive", "fixed"])
def test_once_it_is_enough_no_further_round_begins(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, sampling: Sampling
) -> None:
    log: list[str] = []
    candidates = Scripted("a", log, (1.0, 1.0)), Scripted("b", log, [1.0])
    monkeypatch.setattr(bench, "stop_requested", lambda: log.count("turn b") >= 4)
    found = run(Scenes(bench, *candidates), SamplingOptions(sampling))
    assert rounds(found) == {("a", "warm"): 4, ("b", "warm"): 4}
    assert [m.energy_j for m in found if isinstance(m, Measurement)] == [None, None]
