import pytest

from gpu_engine.records import Trace
from tests.web.run_samples import luxembourg, ran, shown
from tests.web.samples import HOSTILE, sized, titles, traces
from web.figures.pagerank.gamma import MARKERS, draw, summary, table
from web.shown import Shown


def test_a_line_is_the_gamma_of_every_iteration() -> None:
    lines = {trace["name"]: trace for trace in traces(draw(shown(*luxembourg())), "gamma")}
    assert list(lines) == ["fp64", "cpms2", "cpms4"], "without values fp64 goes as it does with them"
    assert lines["cpms4"]["x"] == list(range(1, 114))
    assert (lines["cpms4"]["y"][0], lines["cpms4"]["y"][-1]) == (1.0, pytest.approx(1e-10))
    assert len({line["line"]["dash"] for line in lines.values()}) == 3
    layout = draw(shown(*luxembourg())).layout
    assert (layout.yaxis.type, layout.yaxis.title.text, layout.xaxis.title.text) == ("log", "γ", "iteration")


def test_markers_say_the_precision_by_colour_and_shape() -> None:
    markers = traces(draw(shown(ran("csr/thread+cpms4", (1, 46, 61, 5)))), "level")
    assert [trace["name"] for trace in markers] == ["16 bit", "32 bit", "48 bit", "64 bit"]
    assert [trace["x"][0] for trace in markers] == [1, 2, 48, 109], "the first of each precision is marked"
    assert markers[1]["x"][-1] <= 47 < markers[2]["x"][0]
    assert len({trace["marker"]["symbol"] for trace in markers}) == 4
    assert len({trace["marker"]["color"] for trace in markers}) == 4
    assert "iteration 48: γ = " in markers[2]["hovertext"][0]
    assert markers[2]["hovertext"][0].endswith("reads 2 and writes 3 of 4 segments")


def test_markers_of_runs_that_coincide_lie_within_each_other() -> None:
    markers = traces(draw(shown(*luxembourg())), "level")
    sizes = [trace["marker"]["size"] for trace in markers if trace["name"] == "64 bit"]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 3


def test_several_schedules_have_lines_of_their_own() -> None:
    other = ran(
        "csr/thread+cpms4", (0, 46, 62, 5), axes=(("first", "2"), ("near", "16"), ("stall", "0.98"), ("at_end", "fp64"))
    )
    same = ran("ell/thread+cpms4", (1, 46, 61, 5))
    names = [trace["name"] for trace in traces(draw(shown(*luxembourg(), other, same)), "gamma")]
    assert names == ["fp64", "cpms2", "cpms4, first 1", "cpms4, first 2"]


def test_a_schedule_of_all_segments_goes_as_fp64() -> None:
    whole = (("first", "2"), ("near", "16"), ("stall", "0.98"), ("at_end", "fp64"))
    names = [trace["name"] for trace in traces(draw(shown(ran("csr/thread+cpms2", (0, 28), axes=whole))), "gamma")]
    assert names == ["fp64"]
    both = shown(ran("csr/thread+fp64", 28), ran("csr/thread+cpms2", (0, 28), axes=whole))
    assert len(traces(draw(both), "gamma")) == 1


def test_a_matrix_has_its_panel() -> None:
    found = shown(*luxembourg(), ran("csr/thread+fp64", 28, matrix="del"))
    assert titles(draw(found)) == ["luxembourg_osm · cpu", "delaunay_n15 · cpu"]
    assert {trace["showlegend"] for trace in traces(draw(found), "gamma") if trace["xaxis"] == "x2"} == {False}


def test_a_gamma_of_zero_has_no_place() -> None:
    measurement, trace = ran("csr/thread+cpms2", (4, 5))
    stuck = Trace(trace.case, {**trace.arrays, "gamma": (1.0, 0.0, *trace.arrays["gamma"][2:])})
    figure = draw(shown((measurement, stuck)))
    assert traces(figure, "gamma")[0]["y"][1] is None
    assert traces(figure, "level")[0]["x"] == [1, 3, 4]


def test_a_long_run_has_few_points() -> None:
    figure = draw(shown(ran("csr/thread+fp64", 20_000)))
    assert len(traces(figure, "gamma")[0]["x"]) == 5_000
    assert len(traces(figure, "level")[0]["x"]) <= MARKERS


def test_the_table_says_when_the_precision_was_raised() -> None:
    rows = {row[2]: row[3:] for row in table(shown(*luxembourg())).rows}
    assert rows["csr/thread+fp64"] == ("113", "1", "10⁻¹⁰", "–")
    assert rows["csr/thread+cpms4"] == ("113", "1", "10⁻¹⁰", "1: 1, 47: 7.8·10⁻⁵, 108: 2.8·10⁻¹⁰")


def test_no_results_and_names_of_strangers() -> None:
    assert titles(draw(Shown())) == ["No run has a trace here."]
    assert (table(Shown()).rows, summary(Shown())) == ((), "No run has a trace here.")
    found = shown(*luxembourg())
    hostile = Shown(found.measurements, {"lux": sized(HOSTILE)}, traces=found.traces)
    assert titles(draw(hostile))[0].startswith("&lt;b&gt;x&lt;/b&gt;")
