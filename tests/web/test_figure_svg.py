"""Figures drawn by the server: marks where their values are, in the colors of the theme, and inside the drawing."""

import re
from typing import Any
from xml.etree import ElementTree

import plotly.graph_objects as go
import pytest
from fastapi.testclient import TestClient

from tests.web.conftest import Lab, add_study
from web import figure_svg
from web.figure_sources import SOURCES
from web.figure_svg import axes, bars, colors, layout, text
from web.figures.base import blank, log_axis
from web.figures.matrix import row_lengths, spy
from web.figures.panels import panels


def point(x: Any, y: Any, **options: Any) -> go.Scatter:
    options = {"meta": {"role": "point"}, "mode": "markers", "name": "one", **options}
    return go.Scatter(x=x, y=y, marker={"color": "#0072b2", "symbol": "square", "size": 2}, **options)


def root(figure: go.Figure, width: float = 400) -> ElementTree.Element:
    return ElementTree.fromstring(figure_svg.draw(figure, width))


def squares(figure: go.Figure) -> list[tuple[float, float]]:
    """Middles of the markers of a drawing."""
    paths = re.findall(r'<path fill="#0072b2"[^>]* d="([^"]*)"', figure_svg.draw(figure, 400))
    corners = [list(map(float, re.findall(r"-?[\d.]+", path))) for path in "".join(paths).split("z") if path]
    return [(sum(each[::2]) / 4, sum(each[1::2]) / 4) for each in corners]


def one(*traces: Any, **options: Any) -> go.Figure:
    figure = panels(["title"], [200])
    for trace in traces:
        figure.add_trace(trace, row=1, col=1)
    return figure.update_layout(**options)


def test_marks_are_where_their_values_are() -> None:
    figure = one(point([0, 5, 10], [1, 10, 100]))
    figure.update_xaxes(range=[0, 10]).update_yaxes(type="log", range=[0, 2])
    (x0, y0), (x1, y1), (x2, y2) = squares(figure)
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.2)
    assert (y0 - y1, y1 - y2) == pytest.approx((100, 100), abs=0.2), "half of a panel of 200 pixels per decade"


def test_what_has_no_place_on_an_axis_is_not_drawn() -> None:
    figure = one(point([1, 2, None], [1, 0, 10]))
    figure.update_yaxes(**log_axis([1, 10]).settings)
    assert len(squares(figure)) == 1


def test_noisy_marks_are_gray_and_their_legend_entry_is_not() -> None:
    busy = point([1, 2], [1, 2], meta={"role": "point", "busy": [True, False]}, showlegend=True)
    drawn = figure_svg.draw(one(busy), 400)
    assert drawn.count(f'<path fill="{colors.STRONG}"') == 1
    assert drawn.count('<path fill="#0072b2"') == 2, "the quiet mark and the entry"


def test_bars_of_a_stack_begin_where_the_last_one_ends() -> None:
    traces = [{"type": "bar", "orientation": "h", "x": [2, 3], "y": ["a", "b"]} for _ in range(2)]
    assert bars.spans(traces, "stack") == [[(0, 2), (0, 3)], [(2, 4), (3, 6)]]
    assert bars.spans(traces, "group") == [[(0, 2), (0, 3)]] * 2
    placed = [{**traces[0], "base": [5, 7]}]
    assert bars.spans(placed, "overlay") == [[(5, 7), (7, 10)]]


def test_rows_of_labels_that_are_too_long_for_a_narrow_drawing_stand_above_their_rows() -> None:
    names = [f"a kernel of a very long name {number}" for number in range(3)]
    figure = one(go.Bar(x=[1, 2, 3], y=names, orientation="h", marker={"color": "#0072b2"}, meta={"role": "kernel"}))
    figure.update_yaxes(type="category", categoryarray=names, range=[2.5, -0.5])
    heights = []
    for width in (360, 960):
        placed = layout.arrange(layout.panels(*parts(figure)), parts(figure)[1], width)
        heights.append((placed.places[0].labels_above, placed.places[0].height))
    assert heights == [(True, 200 * layout.TALLER), (False, 200)]


def parts(figure: go.Figure) -> tuple[list[Any], dict[str, Any]]:
    source = figure.to_plotly_json()
    return source["data"], source["layout"]


def test_panels_stand_side_by_side_as_far_as_there_is_room() -> None:
    figure = panels(["a", "b", "c"], [100, 100, 100], across=3)
    for row in range(1, 4):
        figure.add_trace(point([1, 2], [1, 2]), row=row, col=1)
    tops = {}
    for width in (360, 700, 1000):
        grid = layout.arrange(layout.panels(*parts(figure)), parts(figure)[1], width)
        tops[width] = len({place.top for place in grid.places})
        assert all(place.panel.x.start < place.panel.x.end <= width for place in grid.places)
    assert tops == {360: 3, 700: 2, 1000: 1}


def test_axes_with_the_same_range_share_it() -> None:
    figure = panels(["a"], [100], columns=2)
    figure.add_trace(point([1], [1]), row=1, col=1).add_trace(point([1], [9]), row=1, col=2)
    left, right = layout.panels(*parts(figure))
    assert (left.panel.y.low, left.panel.y.high) == (right.panel.y.low, right.panel.y.high)
    assert right.panel.y.high > 9


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (0.0, 1.0, ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        (0.0, 25_000.0, ["0", "5000", "10\N{NARROW NO-BREAK SPACE}k", "15\N{NARROW NO-BREAK SPACE}k"]),
        (-1.0, 1.0, ["−1", "−0.5", "0", "0.5", "1"]),
    ],
)
def test_ticks_are_round_numbers(low: float, high: float, texts: list[str]) -> None:
    axis = axes.axis_of("x", {"range": [low, high]}, [], [])
    axis.end = 64 * 5.0
    assert [label for _, label in axis.ticks][: len(texts)] == texts


def test_a_drawing_takes_its_colors_from_the_style_sheet_and_on_paper_needs_none() -> None:
    svg = figure_svg.draw(one(point([1], [1])), 400)
    known = colors.tokens()
    assert set(colors.VARIABLE.findall(svg)) <= set(known)
    shown = colors.with_tokens(svg)
    assert f"--ink:light-dark({','.join(known['ink'])})" in shown
    paper = figure_svg.on_paper(svg, "A <title>", ["line & line"])
    assert "var(" not in paper
    assert known["ink"][0] in paper
    assert [each.text for each in ElementTree.fromstring(paper).iter() if each.text][:2] == ["A <title>", "line & line"]


def test_labels_of_users_are_text() -> None:
    label = "&lt;script&gt; <b>bold</b> &amp; <i>more</i>"
    (element,) = ElementTree.fromstring(f"<svg>{text.draw(0, 0, label)}</svg>")
    assert "".join(element.itertext()) == "<script> bold & more"
    assert [child.tag for child in element] == ["tspan"]
    assert text.width("a<br>long line", 12) == text.width("long line", 12)


def test_cells_and_histograms_are_drawn() -> None:
    cells = root(spy([[1, 0], [10, 100]], 20, 20))
    assert len({path.get("fill") for path in cells.iter() if "light-dark(" in (path.get("fill") or "")}) >= 3
    rows = root(row_lengths([(0, 0, 5), (1, 1, 7)]))
    assert len([each for each in rows.iter() if each.tag.endswith("rect")]) == 2


def test_a_sentence_takes_the_place_of_a_figure_without_data() -> None:
    assert "no data" in "".join(root(blank("no data")).itertext())


def test_dates_have_ticks_at_round_times() -> None:
    axis = axes.axis_of("x", {"type": "date", "range": ["2026-01-01 00:10:00", "2026-01-03 10:00:00"]}, [], [])
    axis.end = 640.0
    assert [label for _, label in axis.ticks][:2] == ["01-01 06:00", "01-01 12:00"]
    assert axis.at("2026-01-01 00:10:00") == 0


@pytest.mark.parametrize("width", [360, 960])
def test_every_figure_is_drawn_inside_its_frame(client: TestClient, lab: Lab, width: int) -> None:
    jobs = {"formats": "j1", "pagerank": "j8", "batched": "j6", "scaling": "j7"}
    for study, job in jobs.items():
        if study != "formats":
            add_study(lab.database, study, job, (lab.matrix, lab.hostile))
    queries = {"matrix": "matrix=m1", "device": "device=cuda:0", "case": "matrix=m1&device=cpu"}
    drawn = 0
    for name, source in SOURCES.items():
        query = queries.get(source.needs) or f"job={jobs.get(source.needs, 'j1')}"
        answer = client.get(f"/figures/{name}.svg?{query}&width={width}")
        if answer.status_code == 404:
            continue
        assert answer.status_code == 200, name
        drawing = ElementTree.fromstring(answer.text)
        assert float(drawing.get("width", 0)) >= width, name
        assert "nan" not in answer.text, name
        # A longer label than estimated may reach past the edge by a letter.
        xs = [
            float(each.get("x", 0))
            for each in drawing.iter()
            if each.tag.endswith("text") and not each.get("transform")
        ]
        assert all(-8 <= x <= float(drawing.get("width", 0)) for x in xs), name
        drawn += bool(xs)
    assert drawn > 20


def test_a_long_address_ends_in_an_ellipsis() -> None:
    lines = figure_svg.address_lines("http://x/" + "a" * 1000, 700)
    assert [len(line) for line in lines] == [100, 100, 100]
    assert lines[-1].endswith("…")
    assert figure_svg.address_lines("http://x/", 700) == ["http://x/"]


DASHED = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "2px,6px")


@pytest.mark.parametrize("dash", DASHED)
@pytest.mark.parametrize("symbol", ["circle", "square", "diamond", "triangle-up", "x"])
def test_the_legend_draws_the_dashes_and_the_marker_of_a_line(dash: str, symbol: str) -> None:
    drawn = root(
        one(
            *(
                go.Scatter(
                    x=[1, 2],
                    y=[1, 2],
                    name=name,
                    mode="lines+markers",
                    line={"dash": dash, "color": color, "width": 2},
                    marker={"symbol": symbol, "size": 8, "color": color},
                )
                for name, color in (("a", "#0072b2"), ("b", "#d55e00"))
            )
        )
    )
    for color in ("#0072b2", "#d55e00"):
        paths = drawn.findall(".//{*}path")
        lines = [path for path in paths if path.get("stroke") == color and path.get("fill") == "none"]
        assert len(lines) == 2, "the line and its sample in the legend"
        assert len({path.get("stroke-dasharray") for path in lines}) == 1
        assert bool(lines[0].get("stroke-dasharray")) == (dash != "solid")
        marks = [path.get("d", "") for path in paths if path.get("fill") == color]
        shapes = {shape(each) for mark in marks for each in mark.split("z") if each}
        assert len(shapes) == 1, "the marks and the one in the legend"
        sample = max((path.get("d", "") for path in lines), key=lambda d: "h" in d)
        period = sum(map(float, (lines[0].get("stroke-dasharray") or "0").split()))
        assert float(sample.partition("h")[2]) >= 2 * period, "two periods are visible"


def shape(path: str) -> tuple[float, ...]:
    """Corners of a mark relative to the first."""
    if "a" in path:
        return (float(len(path.split("a"))),)
    x, y, *rest = map(float, re.findall(r"-?[\d.]+", path))
    return tuple(round(each - (x, y)[place % 2]) for place, each in enumerate(rest))


def test_a_title_that_is_wider_than_its_panel_ends_in_an_ellipsis() -> None:
    assert text.fitted("short", 100, 10) == "short"
    long = text.fitted("csr/thread+cpms4 · start_segments=1, raise_at=16, stall_ratio=0.98", 200, 10)
    assert long.startswith("csr/thread")
    assert long.endswith("…")
    assert text.width(long, 10) <= 200
