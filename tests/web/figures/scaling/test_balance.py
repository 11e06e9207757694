from dataclasses import replace

from tests.web.samples import titles, traces
from tests.web.scaling_samples import cold, iterated, resident, shared, shown, worked
from web.figures.scaling.balance import NO_PARTS, draw, summary, table
from web.shown import Shown
from web.units import THIN

FOUND = shown(*shared())


def test_the_baseline_stands_beside_what_is_balanced() -> None:
    bars = {bar["name"]: bar for bar in traces(draw(FOUND), "kernel")}
    assert list(bars) == ["baseline", "p*"], "p*-opt cuts as p* does"
    assert bars["baseline"]["y"] == ["device 0", "device 1", "device 2", "device 3"]
    assert bars["baseline"]["x"] == [2_500_000, 500_000, 500_000, 500_000]
    assert bars["p*"]["x"] == [1_000_000] * 4
    figure = draw(FOUND)
    assert (figure.layout.barmode, figure.layout.xaxis.title.text) == ("group", "nonzeros")
    assert [line["x0"] for line in figure.layout.shapes] == [1_000_000]


def test_the_reader_chooses_the_number_of_devices() -> None:
    assert traces(draw(replace(FOUND, devices=2)), "kernel")[0]["x"] == [3_000_000, 1_000_000]
    assert len(traces(draw(replace(FOUND, devices=1)), "kernel")[0]["x"]) == 4, "one device has nothing to balance"


def test_a_strategy_that_cuts_otherwise_has_its_own_bars() -> None:
    nodes = [replace(m, entries_by_device=(900_000, 1_100_000, 1_000_000, 1_000_000)) for m in cold() if m.devices == 4]
    assert [bar["name"] for bar in traces(draw(shown(*cold()[:-1], nodes[-1])), "kernel")] == [
        "baseline",
        "p*",
        "p*-opt",
    ]


def test_the_table_has_imbalance_what_it_allows_and_what_is_measured() -> None:
    rows = [tuple(cell.replace(THIN, " ") for cell in row[2:]) for row in table(FOUND).rows]
    assert [row[:2] for row in rows] == [
        (f"pCSR/{name}", devices) for devices in ("2", "4") for name in ("baseline", "p*", "p*-opt")
    ]
    # The product takes 12 ms with equal rows and 4 with equal nonzeros.
    assert rows[3][2:] == ("500 000", "1 000 000", "2 500 000", "2.50 ×", "40 %", "33 %")
    assert rows[4][2:] == ("1 000 000", "1 000 000", "1 000 000", "1.00 ×", "100 %", "–")


def test_the_summary_has_the_largest_imbalance_of_each_strategy() -> None:
    found = shown(*cold(), *(replace(m, entries_by_device=(4_000_000, 0, 0, 0)) for m in cold("fem") if m.devices == 4))
    assert "baseline 4.00 × (25 %), p* 1.00 × (100 %)." in summary(found).replace(THIN, " ")


def test_without_products_from_the_host_the_other_works_say_how_it_was_cut() -> None:
    found = shown(*iterated("fem", "cpu"), *cold())
    assert titles(draw(found)) == ["web_graph · cuda:0 · pCSR", "fem3 · cpu (virtual) · pCSR"]
    assert {row[2] for row in table(shown(*resident())).rows} == {"pCSR/resident"}
    assert summary(found).endswith("these times say nothing of a GPU.")


def test_no_results() -> None:
    alone = [m for m in cold() if m.devices == 1]
    for found in (Shown(), shown(*alone), shown(worked("pCSR/p*", 1.0, entries_by_device=()))):
        assert titles(draw(found)) == [NO_PARTS]
        assert (table(found).rows, summary(found)) == ((), NO_PARTS)


def test_all_entries_on_one_device_allow_a_share_of_the_ideal() -> None:
    (row,) = table(shown(worked("pCSR/baseline", 1.0, 2, entries_by_device=(4_000_000, 0)))).rows
    assert [cell.replace(THIN, " ") for cell in row[4:9]] == ["0", "2 000 000", "4 000 000", "2.00 ×", "50 %"]
