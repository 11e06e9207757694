from dataclasses import replace

import pytest

from tests.web.samples import titles, traces
from tests.web.scaling_samples import by_cusparse, cold, product, resident, shared, shown, unworked, worked
from web.figures.scaling.marks import ROWS_MAX
from web.figures.scaling.phases import NO_PHASES, draw, summary, table
from web.shown import MatrixFeatures, Shown
from web.units import THIN

FOUND = shown(*shared(), unworked("pCSR/p*", "no", 8))


def test_phases_are_stacked_by_number_of_devices_and_strategy() -> None:
    bars = {bar["name"]: bar for bar in traces(draw(FOUND), "kernel")}
    assert list(bars) == ["partition", "distribute", "compute", "merge"]
    assert bars["merge"]["y"] == [
        f"{name} · {devices}" for devices in (1, 2, 4) for name in ("baseline", "p*", "p*-opt")
    ]
    assert bars["distribute"]["x"] == pytest.approx([60, 60, 60, 50, 30, 30, 40, 15, 15])
    assert bars["merge"]["x"] == pytest.approx([4, 4, 4, 5, 6, 4, 8, 9, 4])
    layout = draw(FOUND).layout
    assert (layout.barmode, layout.xaxis.title.text) == ("stack", "ms")


def test_shares_are_of_all_phases_of_a_bar() -> None:
    figure = draw(replace(FOUND, phases="shares"))
    bars = traces(figure, "kernel")
    assert bars[0]["x"][-1] == pytest.approx(100 * 9 / 32)
    assert [sum(lengths) for lengths in zip(*(bar["x"] for bar in bars), strict=True)] == pytest.approx([100.0] * 9)
    assert figure.layout.xaxis.title.text == "% of the phases"


def test_a_partitioning_has_a_panel() -> None:
    both = shown(*cold(), *cold("fem", "cpu", "pCOO"), *resident())
    assert titles(draw(both)) == ["web_graph · cuda:0 · pCSR", "fem3 · cpu (virtual) · pCOO"]


def test_the_table_has_the_overheads_of_the_paper() -> None:
    longer = replace(cold()[-1], median_s=0.04)
    found = table(shown(*cold()[:-1], longer, *resident(), unworked("pCSR/p*", "no", 8)))
    rows = [tuple(cell.replace(THIN, " ") for cell in row[2:]) for row in found.rows]
    assert rows[-1] == (
        *("pCSR/p*-opt", "4", "9.00 ms", "15.0 ms", "4.00 ms", "4.00 ms", "32.0 ms"),
        *("40.0 ms", "22 %", "60 %", "10 %"),
    ), "threads that start and end are in the time and in no phase"
    assert [head.unit for head in found.heads if head.text == "partition overhead"] == ["partition", "and distribute"]
    assert len(rows) == 9, "resident products and what has no time are not in it"


def test_a_merge_in_two_places_is_two_bars() -> None:
    on_device = [product("pCSR/p*", devices, (1e-3,) * 4, options={"merge": "device"}) for devices in (1, 4)]
    found = shown(*cold(), *on_device)
    rows = traces(draw(found), "kernel")[0]["y"]
    assert [row for row in rows if row.startswith("p*,")] == [
        "p*, merge host · 1",
        "p*, merge device · 1",
        "p*, merge host · 2",
        "p*, merge host · 4",
        "p*, merge device · 4",
    ]


def test_a_library_has_bars_of_its_own() -> None:
    compute = traces(draw(shown(*cold(), *by_cusparse(cold(), 1.0, 1.5))), "kernel")[2]
    rows = dict(zip(compute["y"], compute["x"], strict=True))
    assert (rows["p*-opt · 4"], rows["p*-opt, cusparse · 4"]) == pytest.approx((4, 6))
    assert len(rows) == 18


def test_the_summary_calls_virtual_devices_so() -> None:
    assert summary(shown(*cold(device="cpu"))).endswith("these times say nothing of a GPU.")
    assert summary(FOUND).endswith("17 % (COO) on merging.")


def test_more_matrices_than_are_read_are_in_the_table() -> None:
    ids = [f"m{i}" for i in range(10)]
    found = Shown([m for i in ids for m in cold(i)], {i: MatrixFeatures(i) for i in ids})
    assert len(titles(draw(found))) == ROWS_MAX // 9 == 8
    assert summary(found).endswith("Drawn are the first 8 of 10 panels; the table has all.")
    assert len(table(found).rows) == 90


def test_no_results() -> None:
    for found in (Shown(), shown(*resident()), shown(worked("pCSR/p*", 1.0))):
        assert titles(draw(found)) == [NO_PHASES]
        assert (table(found).rows, summary(found)) == ((), NO_PHASES)
