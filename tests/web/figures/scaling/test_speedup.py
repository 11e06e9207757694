from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.records import Measurement
from gpu_engine.text.units import THIN
from tests.samples.formats import titles, traces
from tests.samples.scaling import (
    by_cusparse,
    cold,
    cut_both_ways,
    iterated,
    ranked,
    resident,
    shared,
    shown,
    unworked,
    worked,
)
from web.figures.panels import Legend
from web.figures.scaling.markers import VIRTUAL_NOTE, line
from web.figures.scaling.speedup import NO_BASE, PANELS_MAX, SpeedUps, draw, from_host, staying, summary, table
from web.palette import OTHERS

near: Any = pytest.approx
"""Untyped, for it stands among names and in dataclasses."""

DATA = shown(*shared())
LIBRARY = [replace(m, median_s=0.4) if m.details.devices == 1 else m for m in by_cusparse(cold(), 1.5)]


def curves(info: SpeedUps) -> dict[str, list[tuple[int | None, float]]]:
    """Return label → (devices, speedup)."""
    every = [curve for panel in info.curves.panels for curve in panel.items]
    return {curve.series.label: [(m.details.devices, gain.value) for m, gain in curve.points] for curve in every}


def furthest(*measurements: Measurement) -> list[tuple[str, float]]:
    """Return (label, speedup) of each panel of SpMV from the host."""
    return [(series.label, gain.value) for series, _, gain in from_host(shown(*measurements)).furthest]


def lines(info: SpeedUps) -> list[dict[str, Any]]:
    """Return the lines as the browser gets them."""
    return traces(draw(info), "point")


def looks(drawn: Sequence[dict[str, Any]]) -> set[tuple[str, str]]:
    """Return dash and marker of lines."""
    return {(line["line"]["dash"], line["marker"]["symbol"]) for line in drawn}


def test_what_comes_from_the_host_and_what_stays_never_share_a_figure() -> None:
    assert list(curves(from_host(DATA))) == ["pCSR/baseline", "pCSR/p*", "pCSR/p*-opt"]
    assert curves(from_host(DATA))["pCSR/p*-opt"] == [(1, 1.0), (2, near(100 / 55)), (4, 3.125)]
    assert set(curves(staying(DATA))) == {
        "pCSR/resident",
        "pCSR/iterate, overlap on",
        "pCSR/iterate, overlap off",
        "pCSR/pagerank+fp64",
        "pCSR/pagerank+cpms2",
    }
    assert {row[2] for row in table(staying(DATA)).rows} == {"resident", "iterated", "PageRank"}


def test_equal_rows_are_over_the_same_one_device_as_equal_nonzeros() -> None:
    both = curves(staying(shown(*cut_both_ways())))
    assert both["pCSR/resident, balance rows"] == [(1, 1.0), (2, near(8 / 6)), (4, near(8 / 5))]


def test_all_that_comes_from_the_host_is_over_the_baseline_on_one_device() -> None:
    theirs = curves(from_host(shown(*cold(), *LIBRARY)))
    assert theirs["pCSR/p*-opt, cusparse"] == [(1, 0.25), (2, near(100 / 82.5)), (4, near(100 / 48))]
    assert theirs["pCSR/p*-opt"][-1] == (4, 3.125)


def test_what_is_slow_on_one_device_does_not_go_furthest() -> None:
    """p* takes ten times as long as before, and 15 times as long on one device: 3.75 times over itself."""
    slow = [
        worked("pCSR/p*", (1.5 if m.details.devices == 1 else 0.4), m.details.devices or 1)
        if m.kernel == "pCSR/p*"
        else m
        for m in cold()
    ]
    assert furthest(*slow) == [("pCSR/p*-opt", near(3.125))]
    (row,) = (row for row in table(from_host(shown(*slow))).rows if row[3:5] == ("pCSR/p*", "4"))
    assert (row[6].replace(THIN, " "), row[8].replace(THIN, " ")) == ("0.25 ×", "94 %")


def test_a_base_that_is_not_the_baseline_is_named() -> None:
    found = from_host(shown(*(m for m in cold() if m.kernel != "pCSR/baseline")))
    assert "baseline with the same partitioning on one device (if not timed: pCSR/p*)" in (summary(found))


def test_the_furthest_is_one_of_ours_with_the_most_devices() -> None:
    assert furthest(*cold(), *LIBRARY) == [("pCSR/p*-opt", near(3.125))]
    assert furthest(*LIBRARY) == [("pCSR/p*-opt, cusparse", near(400 / 48))]
    early = [worked("pCSR/p*-opt", 0.1, 1), worked("pCSR/p*-opt", 0.01, 2)]
    assert furthest(*(m for m in cold() if m.kernel != "pCSR/p*-opt"), *early) == [("pCSR/p*", near(2.5))]


def test_what_has_no_base_is_named() -> None:
    far = from_host(shown(*(m for m in cold() if m.details.devices != 1)))
    assert (far.curves.panels, len(far.without_base), titles(draw(far))) == ((), 3, [NO_BASE])
    assert summary(far) == (
        f"{NO_BASE} No speedup, because the time on one device is missing: pCSR/baseline on web_graph, pCSR/p* on "
        "web_graph and pCSR/p*-opt on web_graph."
    )
    some = from_host(shown(*cold(), worked("pCOO/p*", 0.1, 4), unworked("pCSC/p*", "no")))
    assert (len(curves(some)), some.without_base) == (3, ("pCOO/p* on web_graph",))


def test_works_machines_and_partitionings_from_the_host_have_panels_of_their_own() -> None:
    assert titles(draw(staying(DATA))) == [
        "web_graph · resident",
        "web_graph · iterated",
        "web_graph · PageRank",
    ]
    both = from_host(shown(*cold(), *cold(partitioning="pCOO"), *cold(device="cpu")))
    assert titles(draw(both)) == [
        "web_graph · cuda:0 · pCSR",
        "web_graph · cuda:0 · pCOO",
        "web_graph · cpu (simulated) · pCSR",
    ]
    colors = {line["meta"]["kernel"]: line["line"]["color"] for line in lines(both)}
    assert colors["pCSR/p*"] == colors["pCSR/p*-opt"] != colors["pCOO/p*"]
    assert {line["name"] for line in lines(both)} == {"baseline", "p*", "p*-opt"}, "its panel says how it is cut"


def test_intervals_take_the_far_ends_and_the_ideal_is_dotted() -> None:
    figure = draw(from_host(DATA))
    errors = {line["name"]: line for line in traces(figure, "point")}["p*"]["error_y"]
    assert errors["array"] == near([factor * (1.01 / 0.99 - 1) for factor in (1, 5 / 3, 2.5)])
    assert errors["arrayminus"] == near([factor * (1 - 0.99 / 1.01) for factor in (1, 5 / 3, 2.5)])
    (ideal,) = traces(figure, "roof")
    assert (ideal["x"], ideal["y"], ideal["line"]["dash"]) == ([1, 4], [1.0, 4.0], "dot")
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text) == ("devices", "speedup")
    assert list(figure.layout.xaxis.tickvals) == [1, 2, 4]


def test_no_two_lines_of_a_partitioning_look_alike() -> None:
    drawn = [*lines(from_host(DATA)), *lines(staying(DATA))]
    assert len(looks(drawn)) == len(drawn) == 8
    options = [{"exchange": e, "overlap": o} for e in ("halo", "all-gather") for o in ("on", "off")]
    works = {"iterate": "iterate", **{f"pagerank+{name}": "pagerank" for name in ("fp64", "cpms2", "cpms4")}}
    variations = [
        worked(f"pCSR/{name}", 0.1 / n, n, work, options=own)
        for name, work in works.items()
        for own in options
        for n in (1, 2)
    ]
    series = [curve.series for panel in staying(shown(*variations)).curves.panels for curve in panel.items]
    drawn = [line(each, [(1, 1.0)], Legend(), [""], {}, each.label).to_plotly_json() for each in series]
    assert len(looks(drawn)) == len(drawn) == 16


def test_of_many_lines_those_have_names_that_a_reader_looks_for() -> None:
    others = [worked("pCSR/p*-opt", 0.05 / n, n, options={"merge": each}) for each in "abcde" for n in (1, 4)]
    drawn = lines(from_host(shown(*cold(), *LIBRARY, *others)))
    named = {line["name"]: line for line in drawn}
    assert set(named) == {"others", "baseline", "p*-opt, merge a", "p*-opt, merge host, cusparse"}, (
        "ours, and the library's"
    )
    assert (named["others"]["line"]["color"], "error_y" in named["others"]) == (OTHERS, False)
    assert [line["name"] for line in drawn][-3:] == [name for name in named if name != "others"], "above the others"


def test_where_the_paper_merges_changes_no_look() -> None:
    on_device = [worked("pCSC/p*-opt", 0.1 / n, n, options={"merge": "device"}) for n in (1, 2)]
    on_host = [worked("pCSC/p*-opt", 0.1 / n, n) for n in (1, 2)]
    device, host, both = (lines(from_host(shown(*own))) for own in (on_device, on_host, on_host + on_device))
    assert looks(device) == looks(host) == looks(both[:1])
    assert len(looks(both)) == 2


def test_a_library_is_a_grey_line_with_hollow_markers() -> None:
    drawn = {line["name"]: line for line in lines(from_host(shown(*cold(), *LIBRARY)))}
    ours, theirs = drawn["p*-opt"], drawn["p*-opt, cusparse"]
    assert (theirs["line"]["color"], theirs["marker"]["color"]) == (OTHERS, ours["marker"]["color"])
    assert theirs["marker"]["symbol"] == f"{ours['marker']['symbol']}-open"


def test_the_table_has_time_interval_and_share_of_the_ideal() -> None:
    rows = [tuple(cell.replace(THIN, " ") for cell in row[2:]) for row in table(from_host(DATA)).rows]
    assert rows[0] == ("from the host", "pCSR/baseline", "1", "100 ms", "1.00 ×", "–", "100 %", "one device")
    assert rows[-1][3:] == ("32.0 ms", "3.12 ×", "3.06 × – 3.19 ×", "78 %", "faster")


def test_the_summary_begins_with_the_work_and_calls_virtual_devices_so() -> None:
    text = summary(from_host(shown(*cold(device="cpu")))).replace(THIN, " ")
    assert text.startswith("SpMV from host arrays to y on the host:")
    assert "On web_graph, cpu, from the host: pCSR/p*-opt reaches 3.12 × with 4 simulated devices." in text
    assert text.endswith(VIRTUAL_NOTE.strip())
    assert summary(staying(DATA)).startswith("Matrix and vectors stay on the devices;")


def test_more_matrices_than_panels_are_in_the_table() -> None:
    ids = [f"m{i}" for i in range(PANELS_MAX + 1)]
    many = staying(StudyData([m for i in ids for m in resident(i)], {i: MatrixFeatures(i) for i in ids}))
    assert (len(titles(draw(many))), len(table(many).rows)) == (PANELS_MAX, 3 * (PANELS_MAX + 1))
    assert "Showing the first 9 of 10 panels; the table has all." in summary(many).splitlines()[0]


@pytest.mark.parametrize("data", [StudyData(), shown(*iterated(), *ranked()), shown(*cold()[::3])])
def test_no_results(data: StudyData) -> None:
    nothing = from_host(data)
    assert (titles(draw(nothing)), table(nothing).rows, summary(nothing)) == ([NO_BASE], (), NO_BASE)
