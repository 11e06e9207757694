"""Tests that marks of noisy timings are gray in every figure of every study, with reference results."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import plotly.graph_objects as go
import pytest

from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.recordings import files as recordings
from gpu_engine.records import Measurement, Trace
from gpu_engine.studies.results import busy_measurements
from gpu_engine.verdicts.verdict import NOISE_MAX
from tests.samples import scaling
from web.figures import busy
from web.figures.base import Figure
from web.figures.whiskers import clip
from web.studies import PAGES
from web.studies.base import StudyPage
from web.studies.formats import FORMATS

SOURCES = {
    "formats": ("h200/formats", "h100/formats"),
    "batched": ("h200/batched",),
    "pagerank": ("h200/pagerank",),
    "reduced_spmv": ("h200/reduced_spmv",),
    "scaling": ("h200-x4/scaling",),
}
"""Study → its recordings."""

MATRICES = 3
"""Of a recording, of which tests need no more."""

OF_PAPERS = ("memplus", "lnsp3937")
"""Matrices of papers that a figure draws alone."""

UNTIMED = ("pagerank-gamma", "pagerank-schedule", "pagerank-links")
"""Figures of iterations and of graphs, in which no time is."""

LEAVING_OUT = ("side-by-side", "share", "performance-profile", "predicted", "regret", "systems")
"""Figures that leave out what does not count, and say so."""

MEANS = ("reduced_spmv-gains", "reduced_spmv-blocks")
"""Figures of means, into which a busy graph does not go where there is another."""

BOUNDS = frozenset(
    (
        "roofline",
        "gather probe",
        "allowed by the balance",
        "bound by bytes",
        "gather-only probe",
        "geometric mean",
        "the paper, V100",
        "printed in the paper",
        "equation (1), times of the paper",
        busy.ENTRY,
    )
)
"""Names of traces whose marks are no times of one group."""

UNTIMED_HOVERS = ("lines of 128 bytes", "sectors of 32 bytes", " nonzeros, ")
"""What hover texts say of marks that are no times: counts."""

Mark = tuple[str, ...]

every_figure = pytest.mark.parametrize(
    ("page", "figure", "series"),
    [
        *(
            pytest.param(page, figure, "", id=figure.name)
            for page in PAGES
            for figure in page.figures
            if page.name in SOURCES
        ),
        pytest.param(FORMATS, FORMATS.figure("side-by-side"), "figure-11", id="side-by-side-of-the-paper"),
    ],
)


@cache
def recorded(study: str) -> StudyData:
    """Return some matrices that all recordings of a study share."""
    read = [recordings.read(recordings.RECORDED / f"{name}.json.gz") for name in SOURCES[study]]
    names = [{matrix.name for matrix in each.matrices} for each in read]
    shared = [matrix.name for matrix in read[0].matrices if all(matrix.name in own for own in names)]
    mixed = {m.matrix_id for m in read[0].measurements if m.axes.get("compose") == "mixed"}
    of_papers = [name for name in shared if name in OF_PAPERS]
    chosen = {*shared[:MATRICES], *of_papers, *(matrix.name for matrix in read[0].matrices if matrix.id in mixed)}
    known: dict[str, MatrixFeatures] = {}
    measurements: list[Measurement] = []
    traces: dict[tuple[str, str], Trace] = {}
    for each in read:
        ids = {matrix.id: matrix.name for matrix in each.matrices if matrix.name in chosen}
        known |= {matrix.name: MatrixFeatures.of(matrix) for matrix in each.matrices if matrix.id in ids}
        own = (m for m in each.measurements if m.matrix_id in ids)
        measurements += [replace(m, device=each.device.name, matrix_id=ids[m.matrix_id]) for m in own]
        traces |= {(each.device.name, trace.case): trace for trace in each.traces}
    if study == "scaling":
        # Rows of two lengths were recorded on two H200 only, which share no matrix with four.
        measurements, known = [*measurements, *scaling.swept(device=read[0].device.name)], known | scaling.MATRICES
    return StudyData(measurements, known, traces=traces)


def shown(page: StudyPage, figure: Figure[Any], busy_ids: Sequence[str], series: str = "") -> go.Figure:
    """Return the figure as it is served, with noisy timings of these matrices."""
    data = recorded(page.name)
    held_up = [replace(m, aa_gap=2 * NOISE_MAX) if m.matrix_id in busy_ids else m for m in data.measurements]
    chosen = {"series": (series,) if series else (), "pair": ("csr", "coo") if figure.name == "ratio" else ()}
    data = replace(data, measurements=held_up, chosen=chosen)
    drawn = clip(figure.draw(figure.info(data)))
    return busy.gray(drawn, busy.keys(busy_measurements(data)))


def times(figure: go.Figure) -> Iterator[tuple[Mark, bool]]:
    """Yield every mark of a time: its identity, and whether it is gray."""
    for trace in figure.data:
        if _has_times(figure, trace):
            flags = trace.meta.get("busy", [False] * len(trace.x))
            for x, y, text, flag in zip(trace.x, trace.y, trace.hovertext, flags, strict=True):
                if text and x is not None and y is not None and not any(each in text for each in UNTIMED_HOVERS):
                    place = trace.xaxis or "", str(x), str(y), text.partition("<br>")[0]
                    yield (*place, trace.name if isinstance(trace, go.Bar) else ""), flag


def _has_times(figure: go.Figure, trace: Any) -> bool:
    if not isinstance(trace, go.Bar | go.Scatter) or trace.name in BOUNDS or trace.hovertext is None:
        return False
    axis = figure.layout[f"xaxis{(trace.xaxis or 'x')[1:]}"]
    is_of_bytes = (axis.title.text or "").startswith("bytes")
    return not is_of_bytes and (isinstance(trace, go.Bar) or "markers" in (trace.mode or ""))


def _leaves_out(figure: Figure[Any], series: str) -> bool:
    return figure.name in LEAVING_OUT and not series


@every_figure
def test_every_time_of_a_busy_machine_is_gray_and_no_other(page: StudyPage, figure: Figure[Any], series: str) -> None:
    ids = list(recorded(page.name).matrices)
    quiet = Counter(flag for _, flag in times(shown(page, figure, (), series)))
    assert not quiet[True]
    every = dict(times(shown(page, figure, ids, series)))
    if figure.name in UNTIMED:
        assert not any(every.values()), f"{figure.name} has times: take it out of UNTIMED"
        return
    if _leaves_out(figure, series):
        assert not every
        return
    assert quiet[False], "the recordings have what this figure shows"
    colored = [mark for mark, flag in every.items() if not flag]
    assert not colored, (
        f"give these marks their measurements (busy.evidence), or list {figure.name} in UNTIMED: {colored[:3]}"
    )
    if figure.name not in MEANS:
        # Each matrix by itself turns its own marks gray, and none that another one does.
        parts = [{mark for mark, flag in times(shown(page, figure, [each], series)) if flag} for each in ids]
        assert sum(map(len, parts)) == len(set().union(*parts)) > 0


@every_figure
def test_the_legend_and_the_hover_texts_say_what_gray_is(page: StudyPage, figure: Figure[Any], series: str) -> None:
    drawn = shown(page, figure, list(recorded(page.name).matrices), series)
    marked = [trace for trace in drawn.data if "busy" in trace.meta]
    assert bool(marked) == (figure.name not in UNTIMED and not _leaves_out(figure, series))
    entries = [trace for trace in drawn.data if trace.name == busy.ENTRY and trace.showlegend]
    assert len(entries) == bool(marked)
    assert drawn.layout.showlegend is not False or not marked
    for trace in marked:
        for text, flag in zip(trace.hovertext, trace.meta["busy"], strict=True):
            assert (busy.HOVER in (text or "")) == (flag and bool(text))
    assert all(trace.customdata is None or "opens" in trace.meta for trace in drawn.data)


def test_an_entry_of_the_legend_keeps_its_color_where_its_first_mark_is_gray() -> None:
    named = {"name": "csr", "legendgroup": "csr"}
    points = go.Scatter(x=[1, 2], y=[1, 2], customdata=[["a"], ["b"]], mode="markers", meta={"role": "point"}, **named)
    points.marker = {"color": "red", "symbol": ["circle", "circle-open"]}
    bars = go.Bar(x=[1], y=["k"], customdata=[["c"]], marker={"color": "blue"}, meta={"role": "kernel"}, name="bars")
    drawn = busy.gray(go.Figure([points, bars]), {"a", "c"})
    assert [trace.meta.get("busy") for trace in drawn.data] == [[True, False], [True], None, None, None]
    looks = [(t.name, t.marker.color, t.marker.symbol, t.x) for t in drawn.data if t.showlegend is not False]
    assert looks == [
        ("csr", "red", "circle", (None,)),
        ("bars", "blue", "square", (None,)),
        (busy.ENTRY, None, "square", (None,)),
    ]


def test_of_a_figure_without_a_legend_the_entry_is_alone() -> None:
    points = go.Scatter(x=[1, 2], y=[1, 2], customdata=[["a"], ["b"]], mode="markers", meta={"role": "point"}, name="k")
    drawn = busy.gray(
        go.Figure(points, {"showlegend": False, "meta": {"legend_px": 0}, "height": 100, "margin": {"b": 8}}), {"a"}
    )
    assert [trace.name for trace in drawn.data if trace.showlegend is not False] == [busy.ENTRY]
    assert (drawn.layout.showlegend, drawn.layout.meta["legend_px"], drawn.layout.height) == (True, 24, 124)


def test_a_figure_of_quiet_machines_stays_as_it_is() -> None:
    points = go.Scatter(x=[1], y=[1], customdata=[["a"]], hovertext=["1"], mode="markers", meta={"role": "point"})
    (trace,) = busy.gray(go.Figure(points), ()).data
    assert (trace.meta, trace.customdata, trace.hovertext) == ({"role": "point"}, None, ("1",))
