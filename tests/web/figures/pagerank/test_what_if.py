import pytest

from gpu_engine.errors import ParameterError
from gpu_engine.pagerank import Schedule, replay
from tests.web.run_samples import luxembourg, ran, shown
from tests.web.samples import titles, traces
from web.figures.pagerank.what_if import CAVEAT, draw, replays, summary, table
from web.shown import Shown


def test_the_rule_is_replayed_on_the_run_in_fp64() -> None:
    found = shown(*luxembourg(), what_if={"near": "1"})
    gammas = next(t for t in found.traces.values() if "fp64" in t.case).arrays["gamma"]
    two, four = replays(found)
    assert [two.replayed.measurement.kernel, four.replayed.measurement.kernel] == ["csr/thread+fp64"] * 2
    assert two.written == replay(gammas, Schedule(segments=2, near=1.0))
    assert four.written == replay(gammas, Schedule(segments=4, near=1.0))
    # γ ≤ 2⁻²⁰ for the first time in iteration 69.
    assert (two.written[68], two.written[69], len(two.written)) == (1, 2, 113)


def test_a_run_with_segments_is_replayed_with_as_many() -> None:
    (only,) = replays(shown(*luxembourg(), what_if={"replay": "csr/thread+cpms4", "first": "3"}))
    assert (only.schedule.segments, only.schedule.first) == (4, 3)
    assert [run.measurement.kernel for run in only.measured] == ["csr/thread+cpms4"]


def test_two_segments_cannot_begin_with_three() -> None:
    (only,) = replays(shown(*luxembourg(), what_if={"first": "3"}))
    assert only.schedule.segments == 4


def test_a_replay_stands_above_the_runs_that_it_is_compared_with() -> None:
    figure = draw(shown(*luxembourg()))
    assert titles(figure) == ["2 segments · luxembourg_osm · cpu", "4 segments · luxembourg_osm · cpu"]
    assert list(figure.layout.yaxis.categoryarray) == ["replayed", "csr/thread+cpms2"]
    ranks = {bar["name"]: bar["legendrank"] for bar in traces(figure, "kernel")}
    assert sorted(ranks, key=lambda name: ranks[name]) == ["16 bit", "32 bit", "48 bit", "64 bit"]
    bars = [bar for bar in traces(figure, "kernel") if bar["name"] == "32 bit"]
    assert dict(zip(bars[0]["y"], bars[0]["x"], strict=True)) == {"replayed": 55, "csr/thread+cpms2": 47}


def test_the_table_has_both_schedules() -> None:
    rows = table(shown(*luxembourg(), what_if={"stall": "0.5", "replay": "csr/thread+cpms2"})).rows
    assert rows == (
        ("luxembourg_osm", "cpu", "csr/thread+cpms2 replayed", "first 1, near 16, stall 0.5", "2/111", "113"),
        ("luxembourg_osm", "cpu", "csr/thread+cpms2", "first 1, near 16, stall 0.98", "47/66", "113"),
    )


def test_the_summary_says_what_a_replay_cannot_know() -> None:
    said = summary(shown(*luxembourg(), what_if={"near": "4"}))
    assert said == f"csr/thread+fp64 replayed with first 1, near 4, stall 0.98. {CAVEAT}"


@pytest.mark.parametrize(("name", "value"), [("near", "x"), ("near", "inf"), ("first", "0"), ("stall", "11")])
def test_a_schedule_that_is_none_is_refused(name: str, value: str) -> None:
    with pytest.raises(ParameterError, match=f"{name} is '{value}"):
        replays(shown(*luxembourg(), what_if={name: value}))


def test_nothing_to_replay() -> None:
    nothing = "No run here has a trace to replay."
    unknown = shown(*luxembourg(), what_if={"replay": "ell/thread+fp64"})
    for found in (Shown(), unknown, shown(ran("csr/thread+fp32", 9))):
        assert titles(draw(found)) == [nothing]
        assert (table(found).rows, summary(found)) == ((), nothing)
