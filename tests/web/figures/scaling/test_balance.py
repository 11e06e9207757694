from dataclasses import replace

from gpu_engine.records import Measurement
from tests.web.samples import titles, traces
from tests.web.scaling_samples import by_cusparse, cold, cut_both_ways, iterated, resident, shared, shown, worked
from web.figures.scaling.balance import NO_PARTS, draw, summary, table, tables
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
    assert titles(draw(found)) == ["fem3 · cpu (virtual) · pCSR", "web_graph · cuda:0 · pCSR"]
    assert {row[2] for row in table(shown(*resident())).rows} == {"pCSR/resident"}
    assert summary(found).endswith("these times say nothing of a GPU.")


def cells(*measurements: Measurement) -> dict[str, list[tuple[str, ...]]]:
    """Work → what follows the machine, row by row."""
    made = tables(shown(*measurements))
    return {work: [tuple(cell.replace(THIN, " ") for cell in row[2:]) for row in each.rows] for work, each in made}


def test_resident_products_have_a_table_of_their_own() -> None:
    found = cells(*cold(), *cut_both_ways(), *iterated())
    assert list(found) == ["cold", "resident"]
    assert [row[:2] for row in found["resident"]] == [
        (f"pCSR/resident, cut {cut}", devices) for devices in ("2", "4") for cut in ("entries", "lines")
    ]
    # The times are 2.5 and 5 ms.
    assert found["resident"][3][2:] == ("500 000", "1 000 000", "2 500 000", "2.50 ×", "40 %", "50 %")
    assert found["resident"][2][2:] == ("1 000 000", "1 000 000", "1 000 000", "1.00 ×", "100 %", "–")
    assert [row[-1] for row in found["cold"] if row[:2] == ("pCSR/baseline", "4")] == ["33 %"]
    assert table(shown(*cut_both_ways(), *cold())) == dict(tables(shown(*cut_both_ways(), *cold())))["cold"]
    assert list(cells(*iterated())) == ["iterate"], "where nothing else was cut"


def test_equal_rows_of_a_library_are_held_against_its_equal_nonzeros() -> None:
    theirs = [replace(m, median_s=1e-3) if "entries" in m.case else m for m in by_cusparse(cut_both_ways(), 2.0)]
    found = {row[0]: row[-1] for row in cells(*cut_both_ways(), *theirs)["resident"] if row[1] == "4"}
    assert found["pCSR/resident, cut lines"] == "50 %"
    assert found["pCSR/resident, cut lines, product cusparse"] == "10 %"


def test_resident_products_say_how_they_were_cut_where_nothing_else_does() -> None:
    bars = traces(draw(shown(*cut_both_ways())), "kernel")
    assert {bar["name"]: bar["x"] for bar in bars[:2]} == {
        "resident, cut entries": [1_000_000] * 4,
        "resident, cut lines": [2_500_000, 500_000, 500_000, 500_000],
    }
    assert bars[1]["marker"]["color"] == traces(draw(FOUND), "kernel")[0]["marker"]["color"], "as the baseline"
    assert titles(draw(shown(*cold(partitioning="pCSC"), *cut_both_ways()))) == [
        "web_graph · cuda:0 · pCSC",
        "web_graph · cuda:0 · pCSR",
        "web_graph · cuda:0 · pCSR/resident",
    ]


def test_a_library_that_cuts_alike_has_no_bars_of_its_own() -> None:
    assert [bar["name"] for bar in traces(draw(shown(*by_cusparse(cold(), 1.5), *cold())), "kernel")] == [
        "baseline",
        "p*",
    ]


def test_no_results() -> None:
    alone = [m for m in cold() if m.devices == 1]
    for found in (Shown(), shown(*alone), shown(worked("pCSR/p*", 1.0, entries_by_device=()))):
        assert titles(draw(found)) == [NO_PARTS]
        assert (table(found).rows, summary(found)) == ((), NO_PARTS)


def test_all_entries_on_one_device_allow_a_share_of_the_ideal() -> None:
    (row,) = table(shown(worked("pCSR/baseline", 1.0, 2, entries_by_device=(4_000_000, 0)))).rows
    assert [cell.replace(THIN, " ") for cell in row[4:9]] == ["0", "2 000 000", "4 000 000", "2.00 ×", "50 %"]
