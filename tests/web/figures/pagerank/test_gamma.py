import pytest

from gpu_engine.findings.data import StudyData
from gpu_engine.records import Trace
from tests.samples.formats import traces
from tests.samples.pagerank import luxembourg, ran, shown
from web.figures.pagerank.gamma import MARKERS, Row, draw, info, table

WHOLE = (("start_segments", "2"), ("raise_at", "16"), ("stall_ratio", "0.98"), ("final_storage", "fp64"))
INFO = info(shown(*luxembourg()))


def lines(data: StudyData) -> dict[str, Row]:
    return {row.name: row for panel in info(data).lines.panels for row in panel.rows}


def test_runs_that_converge_alike_have_one_line() -> None:
    assert [row.name for row in INFO.lines.panels[0].rows] == ["fp64", "cpms2", "cpms4"]
    assert len(INFO.panels.panels[0].rows) == 4, "without values fp64 goes as it does with them"
    other, same = ran("csr/thread+cpms4", (0, 46, 62, 5), axes=WHOLE), ran("ell/thread+cpms4", (1, 46, 61, 5))
    both = lines(shown(*luxembourg(), other, same))
    assert list(both) == ["fp64", "cpms2", "cpms4, start segments 1", "cpms4, start segments 2"]
    all_bits = ran("csr/thread+cpms2", (0, 28), axes=WHOLE)
    assert list(lines(shown(all_bits))) == ["fp64"], "all segments go as fp64"
    assert lines(shown(ran("csr/thread+fp64", 28), all_bits))["fp64"].label == "csr/thread+fp64"


def test_a_run_has_its_gammas_and_the_first_iteration_of_each_precision_is_marked() -> None:
    row = lines(shown(*luxembourg()))["cpms4"]
    assert [len(row.gammas), row.gammas[0], row.gammas[-1]] == pytest.approx([113, 1.0, 1e-10])
    first = {mark.level.name: mark.iteration for mark in reversed(row.marks)}
    assert first == {"16 bit": 1, "32 bit": 2, "48 bit": 48, "64 bit": 109}
    assert next((m.read, m.written) for m in row.marks if m.iteration == 48) == (2, 3)
    assert [iteration for iteration, _ in row.raised] == [1, 47, 108]


def test_a_gamma_of_zero_has_no_place() -> None:
    measurement, trace = ran("csr/thread+cpms2", (4, 5))
    stuck = Trace(trace.case, {**trace.arrays, "gamma": (1.0, 0.0, *trace.arrays["gamma"][2:])})
    zero = info(shown((measurement, stuck)))
    assert [mark.iteration for mark in zero.lines.panels[0].rows[0].marks if mark.level.name == "32 bit"] == [1, 3, 4]
    assert next(trace["y"] for trace in traces(draw(zero), "gamma") if trace["name"] == "32 bit")[1] is None


def test_a_run_is_one_line_coloured_by_its_precisions() -> None:
    figure = draw(INFO)
    lines = [trace for trace in traces(figure, "gamma") if trace["x"] != [None]]
    cpms4 = [line for line in lines if line["line"]["dash"] == "dot"]
    assert [(line["name"], line["x"][0], line["x"][-1]) for line in cpms4] == [
        ("16 bit", 1, 1),
        ("32 bit", 1, 47),
        ("48 bit", 47, 108),
        ("64 bit", 108, 113),
    ], "each from where the one before it ends"
    assert len({line["line"]["color"] for line in cpms4}) == 4
    runs, precisions = (
        [t for t in traces(figure, "gamma") if t["x"] == [None] and t["mode"] == mode]
        for mode in ("lines", "lines+markers")
    )
    assert [t["name"] for t in runs] == ["fp64", "cpms2", "cpms4"]
    assert all("dash" not in t["line"] and t["marker"]["symbol"] for t in precisions), "dashes stand for runs"
    assert {t["name"]: t["line"]["color"] for t in precisions}.items() >= {
        line["name"]: line["line"]["color"] for line in cpms4
    }.items()
    assert len({line["line"]["dash"] for line in lines}) == 3


def test_a_marker_says_where_a_precision_begins() -> None:
    figure = draw(INFO)
    marks = next(trace for trace in traces(figure, "level") if len(set(trace["marker"]["symbol"])) == 4)
    place = marks["x"].index(48)
    assert (marks["marker"]["size"][place], marks["marker"]["size"][place - 1]) == (8, 3)
    hover = marks["hovertext"][place]
    assert hover.startswith("<b>csr/thread+cpms4</b><br>iteration 48: γ = ")
    assert hover.endswith("reads 2 and writes 3 of 4 segments")
    layout = figure.layout
    assert (layout.yaxis.type, layout.yaxis.title.text, layout.xaxis.title.text) == ("log", "γ", "iteration")


def test_names_are_listed_once() -> None:
    figure = draw(info(shown(*luxembourg(), ran("csr/thread+fp64", 28, matrix="del"))))
    assert {trace["showlegend"] for trace in traces(figure, "gamma") if trace["xaxis"] == "x2"} == {False}


def test_a_long_run_has_few_points() -> None:
    figure = draw(info(shown(ran("csr/thread+fp64", 20_000))))
    assert len(traces(figure, "gamma")[1]["x"]) == 5_001, "every fourth, and the last"
    assert len(traces(figure, "level")[0]["x"]) <= MARKERS


def test_the_table_says_when_the_precision_was_raised() -> None:
    rows = {row[2]: row[3:] for row in table(INFO).rows}
    assert rows["csr/thread+fp64"] == ("113", "1", "10⁻¹⁰", "–")
    assert rows["csr/thread+cpms4"] == ("113", "1", "10⁻¹⁰", "1: 1, 47: 7.8·10⁻⁵, 108: 2.8·10⁻¹⁰")
