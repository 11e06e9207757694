from dataclasses import replace
from typing import Any

import pytest

from gpu_engine.findings.data import StudyData
from gpu_engine.text.units import THIN
from tests.samples.formats import titles, traces
from tests.samples.scaling import by_cusparse, cold, iterated, ranked, resident, shared, shown, unworked
from web.figures.scaling.iteration import MEASURED, NO_ITERATION, draw, info, summary, table
from web.figures.scaling.markers import VIRTUAL_NOTE

near: Any = pytest.approx
"""Untyped, for it stands among names and in dataclasses."""

DATA = shown(*iterated())


def test_bars_have_both_parts_and_what_is_hidden() -> None:
    (panel,) = info(DATA).bars.panels
    assert [bar.label for bar in panel.items] == [f"{o} · {n}" for n in (1, 2, 4) for o in ("overlap", "no overlap")]
    assert panel.items[4].phases == near({"compute": 2e-3, "exchange": 1e-3})
    assert [bar.hidden for bar in panel.items] == [None, None, near(0.5), None, near(0.5), None]


def test_the_best_of_ours_hides_the_most() -> None:
    quick = [replace(m, median_s=(m.median_s or 0.0) / 2) for m in by_cusparse(iterated(), 1.0)]
    (best,) = info(shown(*iterated(), *quick)).best
    assert (best.matrix, best.bar.label, best.hidden) == ("web_graph", "overlap · 2", near(0.5))
    assert info(shown(*iterated()[3:])).best == ()


def test_compute_and_exchange_stand_end_to_end_beside_what_was_measured() -> None:
    figure = draw(info(DATA))
    assert [(bar["name"], bar["x"][-2]) for bar in traces(figure, "kernel")] == [
        ("compute", near(2)),
        ("exchange", near(1)),
    ]
    assert not any("· 1" in label for label in figure.layout.yaxis.categoryarray), "one device exchanges nothing"
    (mark,) = traces(figure, "floor")
    assert (mark["name"], mark["y"][-2], mark["x"][-2]) == (MEASURED, "overlap · 4", near(2.5))
    assert (figure.layout.barmode, figure.layout.xaxis.title.text) == ("stack", "ms per iteration")


def test_works_have_panels_of_their_own() -> None:
    assert titles(draw(info(shown(*shared(), *iterated(device="cpu"))))) == [
        "web_graph · cuda:0 · pCSR",
        "web_graph · cuda:0 · PageRank",
        "web_graph · cpu (simulated) · pCSR",
    ]
    (panel,) = info(shown(*ranked())).bars.panels
    assert [bar.label for bar in panel.items] == ["fp64 · 1", "cpms2 · 1", "fp64 · 4", "cpms2 · 4"]


def test_the_table_has_bytes_and_their_rate() -> None:
    rows = [tuple(cell.replace(THIN, " ") for cell in row[2:]) for row in table(info(DATA)).rows]
    assert rows[0] == ("iterated", "pCSR/iterate, overlap on", "1", "8.00 ms", "none", "8.00 ms", "–", "none", "–")
    assert rows[-2] == (
        *("iterated", "pCSR/iterate, overlap on", "4", "2.00 ms", "1.00 ms", "2.50 ms", "50 %"),
        *("4.00 MB", "4.00 GB/s"),
    )


def test_the_summary_names_the_best_and_calls_virtual_devices_so() -> None:
    text = summary(info(shown(*iterated(device="cpu")))).replace(THIN, " ")
    assert "On web_graph, cpu, iterated: pCSR/iterate, overlap on with 2 devices overlaps 50 % of the exchange" in text
    assert text.endswith(VIRTUAL_NOTE.strip())


UNSHARED = shown(*cold(), *resident(), unworked("pCSR/iterate", "not square", work="iterate"))


@pytest.mark.parametrize("data", [StudyData(), UNSHARED])
def test_no_results(data: StudyData) -> None:
    nothing = info(data)
    assert (titles(draw(nothing)), table(nothing).rows, summary(nothing)) == ([NO_ITERATION], (), NO_ITERATION)
