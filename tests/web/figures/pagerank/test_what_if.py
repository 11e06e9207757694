import pytest

from gpu_engine.errors import ParameterError
from gpu_engine.findings.pagerank.runs import by_segments
from gpu_engine.pagerank import Schedule, iterations_by_segments, replay
from tests.samples.formats import titles, traces
from tests.samples.pagerank import luxembourg, ran, shown
from web.figures.pagerank.what_if import CAVEAT, Info, draw, info, summary, table


def replayed(**choices: str) -> Info:
    return info(shown(*luxembourg(), chosen={name: (value,) for name, value in choices.items()}))


def rows(info: Info) -> list[list[tuple[str, str, tuple[int, ...]]]]:
    return [[(row.name, row.schedule, row.counts) for row in panel.rows] for panel in info.panels.panels]


def test_the_rule_is_replayed_on_the_run_in_fp64() -> None:
    gammas = ran("csr/thread+fp64", 113)[1].arrays["gamma"]
    (two, cpms2), (four, cpms4) = rows(replayed(raise_at="1"))
    for schedule, row in ((Schedule(segments=2, raise_at=1.0), two), (Schedule(segments=4, raise_at=1.0), four)):
        counts = iterations_by_segments(replay(gammas, schedule), schedule)
        assert row == ("csr/thread+fp64 replayed", "start segments 1, raise at 1, stall ratio 0.98", counts)
    assert two[2] == (69, 44), "γ ≤ 2⁻²⁰ for the first time in iteration 69"
    assert (cpms2[0], cpms2[2], cpms4[2]) == ("csr/thread+cpms2", (47, 66), (1, 46, 61, 5))


def test_a_run_with_segments_is_replayed_with_as_many() -> None:
    (panel,) = rows(replayed(replay="csr/thread+cpms4", start_segments="3"))
    assert [row[0] for row in panel] == ["csr/thread+cpms4 replayed", "csr/thread+cpms4"]
    assert panel[0][1] == "start segments 3, raise at 16, stall ratio 0.98"


def test_two_segments_cannot_begin_with_three() -> None:
    (panel,) = replayed(start_segments="3").panels.panels
    assert panel.heading == "4 segments · luxembourg_osm · cpu"


def test_a_replay_stands_above_the_runs_that_it_is_compared_with() -> None:
    figure = draw(replayed())
    assert titles(figure) == ["2 segments", "4 segments"]
    assert figure.layout.yaxis.categoryarray == ("replayed", "cpms2, start segments 1, raise at 16")
    assert figure.layout.yaxis2.categoryarray == ("replayed", "cpms4, start segments 1, raise at 16")
    ranks = {bar["name"]: bar["legendrank"] for bar in traces(figure, "kernel")}
    assert sorted(ranks, key=lambda name: ranks[name]) == ["16 bit", "32 bit", "48 bit", "64 bit"]
    bar = next(bar for bar in traces(figure, "kernel") if bar["name"] == "32 bit")
    assert dict(zip(bar["y"], bar["x"], strict=True)) == {"replayed": 55, "cpms2, start segments 1, raise at 16": 47}


def test_the_table_has_both_schedules() -> None:
    last = table(replayed(stall_ratio="0.5", replay="csr/thread+cpms2")).rows[-1]
    schedule = "start segments 1, raise at 16, stall ratio 0.98"
    assert last[:6] == ("luxembourg_osm", "cpu", "csr/thread+cpms2", schedule, by_segments((47, 66)), "113")


def test_a_larger_epsilon_takes_fewer_iterations_and_less_time() -> None:
    found = replayed(epsilon="1e-5")
    _, row = found.panels.panels[0].rows
    assert row.predicted
    assert row.predicted.more == 58 - 113, (
        "γ falls by ten orders in 113 iterations, under 10⁻⁵ for the first time in 58"
    )
    assert row.predicted.speed_up == pytest.approx(58 * 1.1e-3 / row.predicted.time_s), "fp64 until the same ε"
    assert table(found).rows[1][7] == "-55"
    assert "stall ratio 0.98 until γ < 1e-05." in summary(found)
    same = replayed(epsilon="1e-30").panels.panels[0].rows[1].predicted
    assert same
    assert same.more == 0, "no trace knows a γ below its last"


def test_several_graphs_are_points_of_what_is_predicted() -> None:
    found = info(shown(*luxembourg(), *luxembourg(matrix="del")))
    rows = [row for panel in found.panels.panels for row in panel.rows if row.predicted]
    expected = {row.label.partition(",")[0]: row.predicted.speed_up for row in rows if row.predicted}
    dots = [trace for trace in traces(draw(found), "point") if len(trace["x"]) == 2]
    assert {trace["y"][0]: trace["x"][0] for trace in dots} == pytest.approx(expected)
    assert f"{max(expected, key=lambda kernel: expected[kernel] or 0.0)}, geometric-mean speedup" in summary(found)


def test_the_summary_says_what_a_replay_cannot_know() -> None:
    said = summary(replayed(raise_at="4"))
    assert said == f"csr/thread+fp64 replayed with start segments 1, raise at 4, stall ratio 0.98.\n{CAVEAT}"


@pytest.mark.parametrize(
    ("name", "value"),
    [("raise_at", "x"), ("raise_at", "inf"), ("start_segments", "0"), ("stall_ratio", "11"), ("epsilon", "1")],
)
def test_a_schedule_that_is_none_is_refused(name: str, value: str) -> None:
    with pytest.raises(ParameterError, match=f"{name} is '{value}"):
        replayed(**{name: value})


def test_a_kernel_without_a_trace_is_not_replayed() -> None:
    assert replayed(replay="ell/thread+fp64").panels.panels == ()


def test_a_refinement_is_not_replayed() -> None:
    runs = ran("sellp/thread+ir32", (103, 3)), ran("sellp/thread+ir64", 106), ran("csr/thread+fp64", 113)
    assert info(shown(*runs)).kernels == ("csr/thread+fp64",)
    assert info(shown(*runs[:2])).kernels == ()
