from dataclasses import replace

import pytest

from tests.web.samples import titles, traces
from tests.web.scaling_samples import (
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
from web.figures.scaling import cold as from_host
from web.figures.scaling import staying
from web.figures.scaling.speedup import NO_BASE, PANELS_MAX
from web.palette import OTHERS
from web.shown import MatrixFeatures, Shown
from web.units import THIN

FOUND = shown(*shared())


def test_a_line_is_a_strategy_over_the_number_of_devices() -> None:
    lines = {line["name"]: line for line in traces(from_host.draw(FOUND), "point")}
    assert list(lines) == ["pCSR/baseline", "pCSR/p*", "pCSR/p*-opt"]
    assert lines["pCSR/p*-opt"]["x"] == [1, 2, 4]
    assert lines["pCSR/p*-opt"]["y"] == pytest.approx([1.0, 100 / 55, 100 / 32])
    assert lines["pCSR/baseline"]["y"] == pytest.approx([1.0, 100 / 90, 100 / 80])


def test_intervals_take_the_far_ends_and_the_base_has_none() -> None:
    errors = {line["name"]: line for line in traces(from_host.draw(FOUND), "point")}["pCSR/p*"]["error_y"]
    assert errors["array"] == pytest.approx([0.0, 5 / 3 * (1.01 / 0.99 - 1), 2.5 * (1.01 / 0.99 - 1)])
    assert errors["arrayminus"] == pytest.approx([0.0, 5 / 3 * (1 - 0.99 / 1.01), 2.5 * (1 - 0.99 / 1.01)])


def test_the_dotted_line_is_as_many_times_as_there_are_devices() -> None:
    (ideal,) = traces(from_host.draw(FOUND), "roof")
    assert (ideal["x"], ideal["y"], ideal["line"]["dash"]) == ([1, 4], [1.0, 4.0], "dot")
    layout = from_host.draw(FOUND).layout
    assert (layout.xaxis.title.text, layout.yaxis.title.text) == ("devices", "speed-up")
    assert list(layout.xaxis.tickvals) == [1, 2, 4]


def test_what_comes_from_the_host_and_what_stays_never_share_a_figure() -> None:
    host = {line["name"] for line in traces(from_host.draw(FOUND), "point")}
    stays = {line["name"] for line in traces(staying.draw(FOUND), "point")}
    assert host == {"pCSR/baseline", "pCSR/p*", "pCSR/p*-opt"}
    assert stays == {
        "pCSR/resident",
        "pCSR/iterate, overlap on",
        "pCSR/iterate, overlap off",
        "pCSR/pagerank+fp64",
        "pCSR/pagerank+cpms2",
    }
    assert {row[2] for row in from_host.table(FOUND).rows} == {"from the host"}
    assert {row[2] for row in staying.table(FOUND).rows} == {"resident", "iterated", "PageRank"}


def test_works_and_machines_have_panels_of_their_own_and_partitionings_share_one() -> None:
    assert titles(staying.draw(FOUND)) == [
        "web_graph · cuda:0 · resident",
        "web_graph · cuda:0 · iterated",
        "web_graph · cuda:0 · PageRank",
    ]
    both = shown(*cold(), *cold(partitioning="pCOO"), *cold(device="cpu"))
    assert titles(from_host.draw(both)) == ["web_graph · cuda:0", "web_graph · cpu (virtual)"]
    colors = {line["name"]: line["line"]["color"] for line in traces(from_host.draw(both), "point")}
    assert colors["pCSR/p*"] == colors["pCSR/p*-opt"] != colors["pCOO/p*"]


def test_no_two_lines_of_a_partitioning_look_alike() -> None:
    lines = [*traces(from_host.draw(FOUND), "point"), *traces(staying.draw(FOUND), "point")]
    assert len({(line["line"]["dash"], line["marker"]["symbol"]) for line in lines}) == len(lines) == 8


def test_no_two_variations_of_an_iteration_look_alike() -> None:
    options = [{"exchange": e, "overlap": o} for e in ("image", "all-gather") for o in ("on", "off")]
    kernels = [*("pCSR/iterate",), *(f"pCSR/pagerank+{name}" for name in ("fp64", "cpms2", "cpms4"))]
    works = {"pCSR/iterate": "iterate"}
    found = [
        worked(kernel, 0.1 / n, n, works.get(kernel, "pagerank"), options=own)
        for kernel in kernels
        for own in options
        for n in (1, 2)
    ]
    lines = traces(staying.draw(shown(*found)), "point")
    assert len({(line["line"]["dash"], line["marker"]["symbol"]) for line in lines}) == len(lines) == 16


def test_where_the_paper_merges_changes_no_look() -> None:
    on_device = [worked("pCSC/p*-opt", 0.1 / n, n, options={"merge": "device"}) for n in (1, 2)]
    on_host = [worked("pCSC/p*-opt", 0.1 / n, n) for n in (1, 2)]
    looks = [
        [line["marker"]["symbol"] for line in traces(from_host.draw(shown(*found)), "point")]
        for found in (on_device, on_host, on_host + on_device)
    ]
    assert looks[0] == looks[1] == looks[2][:1]
    assert looks[2][1] != looks[2][0]


def test_the_table_has_time_interval_and_share_of_the_ideal() -> None:
    rows = [tuple(cell.replace(THIN, " ") for cell in row[3:]) for row in from_host.table(FOUND).rows]
    assert rows[0] == ("pCSR/baseline", "1", "100 ms", "1.00 ×", "–", "100 %", "one device")
    assert rows[-1] == ("pCSR/p*-opt", "4", "32.0 ms", "3.12 ×", "3.06 × – 3.19 ×", "78 %", "faster")


def test_the_summary_names_the_furthest_and_calls_virtual_devices_so() -> None:
    found = from_host.summary(shown(*cold(device="cpu"))).replace(THIN, " ")
    assert "On web_graph, cpu, from the host: pCSR/p*-opt reaches 3.12 × with 4 virtual devices." in found
    assert found.endswith("Virtual devices are threads of this CPU: these times say nothing of a GPU.")
    assert "irtual" not in from_host.summary(FOUND)
    assert "On web_graph, cuda:0, iterated: pCSR/iterate, overlap on reaches 3.20" in staying.summary(FOUND)


def test_a_library_has_lines_of_its_own_over_its_own_one_device() -> None:
    theirs = [replace(m, median_s=0.4) if m.devices == 1 else m for m in by_cusparse(cold(), 1.5)]
    lines = {line["name"]: line for line in traces(from_host.draw(shown(*cold(), *theirs)), "point")}
    assert lines["pCSR/p*-opt, product cusparse"]["y"] == pytest.approx([1.0, 400 / 82.5, 400 / 48])
    assert lines["pCSR/p*-opt"]["y"] == pytest.approx([1.0, 100 / 55, 100 / 32])
    ours, library = lines["pCSR/p*-opt"], lines["pCSR/p*-opt, product cusparse"]
    assert (library["line"]["color"], library["marker"]["color"]) == (OTHERS, ours["marker"]["color"])
    assert library["marker"]["symbol"] == f"{ours['marker']['symbol']}-open"


def test_the_furthest_is_one_of_ours() -> None:
    theirs = [replace(m, median_s=0.4) if m.devices == 1 else m for m in by_cusparse(cold(), 1.5)]
    assert "pCSR/p*-opt reaches 3.12" in from_host.summary(shown(*cold(), *theirs))
    assert "pCSR/p*-opt, product cusparse reaches 8.33" in from_host.summary(shown(*theirs))


def test_equal_rows_have_a_line_over_one_device_of_equal_nonzeros() -> None:
    entries, lines = traces(staying.draw(shown(*cut_both_ways())), "point")
    assert (entries["name"], lines["name"]) == ("pCSR/resident, cut entries", "pCSR/resident, cut lines")
    assert (lines["x"], lines["y"]) == ([1, 2, 4], pytest.approx([1.0, 8 / 6, 8 / 5]))
    assert lines["marker"]["symbol"] != entries["marker"]["symbol"]


def test_the_furthest_is_that_with_the_most_devices() -> None:
    found = shown(*(m for m in cold() if m.kernel != "pCSR/p*-opt"), worked("pCSR/p*-opt", 0.1, 1))
    early = worked("pCSR/p*-opt", 0.01, 2)
    assert "pCSR/p* reaches 2.50" in from_host.summary(shown(*found.measurements, early))


def test_without_a_base_nothing_is_drawn_and_the_summary_says_of_what() -> None:
    far = [m for m in cold() if m.devices != 1]
    assert titles(from_host.draw(shown(*far))) == [NO_BASE]
    assert from_host.table(shown(*far)).rows == ()
    assert from_host.summary(shown(*far)) == (
        f"{NO_BASE} Without a time on one device, and so without a speed-up: pCSR/baseline on web_graph, pCSR/p* on "
        "web_graph and pCSR/p*-opt on web_graph."
    )
    some = shown(*cold(), worked("pCOO/p*", 0.1, 4), unworked("pCSC/p*", "no"))
    assert {line["name"] for line in traces(from_host.draw(some), "point")} == {
        "pCSR/baseline",
        "pCSR/p*",
        "pCSR/p*-opt",
    }
    assert from_host.summary(some).endswith("so without a speed-up: pCOO/p* on web_graph.")


def test_more_matrices_than_panels_are_in_the_table() -> None:
    ids = [f"m{i}" for i in range(PANELS_MAX + 1)]
    found = Shown([m for i in ids for m in resident(i)], {i: MatrixFeatures(i) for i in ids})
    assert len(titles(staying.draw(found))) == PANELS_MAX
    assert staying.summary(found).endswith("Drawn are the first 6 of 7 panels; the table has all.")
    assert len(staying.table(found).rows) == 3 * (PANELS_MAX + 1)


def test_no_results() -> None:
    alone = [m for m in cold() if m.devices == 1]
    for found in (Shown(), shown(*iterated(), *ranked()), shown(*alone)):
        assert titles(from_host.draw(found)) == [NO_BASE]
        assert (from_host.table(found).rows, from_host.summary(found)) == ((), NO_BASE)
    assert (staying.table(shown(*cold())).rows, staying.summary(shown(*cold()))) == ((), NO_BASE)
