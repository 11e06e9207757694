from dataclasses import replace

import pytest

from tests.web.samples import titles, traces
from tests.web.scaling_samples import by_cusparse, cold, iterated, ranked, resident, shared, shown, unworked
from web.figures.scaling.iteration import MEASURED, NO_ITERATION, draw, summary, table
from web.shown import Shown
from web.units import THIN

FOUND = shown(*iterated())


def test_compute_and_exchange_stand_end_to_end_beside_what_was_measured() -> None:
    compute, exchange = traces(draw(FOUND), "kernel")
    (measured,) = traces(draw(FOUND), "floor")
    rows = [f"overlap {word} · {devices}" for devices in (1, 2, 4) for word in ("on", "off")]
    assert compute["y"] == exchange["y"] == measured["y"] == rows
    assert (compute["name"], compute["x"]) == ("compute", pytest.approx([8, 8, 4, 4, 2, 2]))
    assert (exchange["name"], exchange["x"]) == ("exchange", pytest.approx([0, 0, 1, 1, 1, 1]))
    assert (measured["name"], measured["x"]) == (MEASURED, pytest.approx([8, 8, 4.5, 5, 2.5, 3]))
    layout = draw(FOUND).layout
    assert (layout.barmode, layout.xaxis.title.text) == ("stack", "ms of an iteration")


def test_works_have_panels_of_their_own() -> None:
    assert titles(draw(shown(*shared(), *iterated(device="cpu")))) == [
        "web_graph · cuda:0 · pCSR",
        "web_graph · cuda:0 · PageRank",
        "web_graph · cpu (virtual) · pCSR",
    ]
    assert traces(draw(shown(*ranked())), "floor")[0]["y"] == ["fp64 · 1", "cpms2 · 1", "fp64 · 4", "cpms2 · 4"]


def test_the_table_has_bytes_and_what_is_hidden() -> None:
    rows = [tuple(cell.replace(THIN, " ") for cell in row[2:]) for row in table(FOUND).rows]
    assert rows[0] == ("iterated", "pCSR/iterate, overlap on", "1", "8.00 ms", "none", "8.00 ms", "–", "none", "–")
    assert rows[-2] == (
        *("iterated", "pCSR/iterate, overlap on", "4", "2.00 ms", "1.00 ms", "2.50 ms", "50 %"),
        *("4.00 MB", "4.00 GB/s"),
    )
    assert rows[-1][6] == "–"


def test_the_summary_says_how_much_is_hidden_at_best() -> None:
    found = summary(shown(*iterated(device="cpu"))).replace(THIN, " ")
    assert "On web_graph, cpu, iterated: pCSR/iterate, overlap on with 2 hides 50 % of it." in found
    assert found.endswith("these times say nothing of a GPU.")
    assert "hides" not in summary(shown(*iterated()[3:]))


def test_a_library_has_rows_of_its_own_and_does_not_hide_the_most() -> None:
    quick = [replace(m, median_s=(m.median_s or 0.0) / 2) for m in by_cusparse(iterated(), 1.0)]
    found = shown(*iterated(), *quick)
    assert "overlap on, cusparse · 4" in traces(draw(found), "kernel")[0]["y"]
    assert "cusparse" not in summary(found)


def test_no_results() -> None:
    for found in (Shown(), shown(*cold(), *resident(), unworked("pCSR/iterate", "not square", work="iterate"))):
        assert titles(draw(found)) == [NO_ITERATION]
        assert (table(found).rows, summary(found)) == ((), NO_ITERATION)
