from tests.web.run_samples import luxembourg, ran, shown
from tests.web.samples import titles, traces
from web.figures.pagerank.timeline import draw, summary, table
from web.shown import Shown


def test_a_bar_is_a_stretch_of_iterations_of_one_precision() -> None:
    bars = {trace["name"]: trace for trace in traces(draw(shown(*luxembourg())), "kernel")}
    assert list(bars) == ["16 bit", "32 bit", "48 bit", "64 bit"]
    begins = {
        name: dict(zip(bar["y"], zip(bar["base"], bar["x"], strict=True), strict=True)) for name, bar in bars.items()
    }
    assert begins["16 bit"] == {"csr/thread+cpms4": (0, 1)}
    assert begins["32 bit"] == {"csr/thread+cpms2": (0, 47), "csr/thread+cpms4": (1, 46)}
    assert begins["48 bit"] == {"csr/thread+cpms4": (47, 61)}
    assert begins["64 bit"] == {
        "csr/thread+fp64": (0, 113),
        "csr/thread+cpms2": (47, 66),
        "csr/thread+cpms4": (108, 5),
        "csr/thread+free": (0, 113),
    }
    assert bars["48 bit"]["hovertext"] == ["<b>csr/thread+cpms4</b><br>iterations 48 to 108 in 48 bit"]
    assert len({bar["marker"]["pattern"]["shape"] for bar in bars.values()}) == 4, "grey tells them apart as well"


def test_schedules_of_a_kernel_have_a_row_each_and_fp64_is_on_top() -> None:
    other = ran(
        "csr/thread+cpms4", (0, 46, 62, 5), axes=(("first", "2"), ("near", "16"), ("stall", "0.98"), ("at_end", "fp64"))
    )
    axis = draw(shown(*luxembourg(), other)).layout.yaxis
    assert list(axis.categoryarray) == [
        "csr/thread+fp64",
        "csr/thread+cpms2",
        "csr/thread+cpms4, first 1",
        "csr/thread+cpms4, first 2",
        "csr/thread+free",
    ]
    assert axis.range[0] > axis.range[1]


def test_fp32_is_no_half_of_fp64() -> None:
    (bar,) = traces(draw(shown(ran("csr/thread+fp32", 40))), "kernel")
    assert (bar["name"], bar["x"]) == ("IEEE fp32", [40])


def test_the_table_is_table_two() -> None:
    rows = {row[2]: row[3:] for row in table(shown(*luxembourg())).rows}
    assert [head.text for head in table(Shown()).heads][3:] == [
        "16 bit",
        "32 bit",
        "48 bit",
        "64 bit",
        "IEEE fp32",
        "total",
        "same kernel",
    ]
    assert rows["csr/thread+cpms2"] == ("–", "47", "–", "66", "–", "113", "113")
    assert rows["csr/thread+cpms4"] == ("1", "46", "61", "5", "–", "113", "113")
    assert "ell/thread+cpms2" not in rows


def test_devices_have_their_own_panels_and_many_matrices_are_cut() -> None:
    assert titles(draw(shown(*luxembourg(), *luxembourg("cuda:0")))) == [
        "luxembourg_osm · cpu",
        "luxembourg_osm · cuda:0",
    ]
    many = shown(*(run for number in range(20) for run in luxembourg(matrix=f"m{number}")))
    assert len(titles(draw(many))) == 15
    assert "Drawn are the first 15 of 20 matrices; the table has all." in summary(many)
    assert len(table(many).rows) == 80
    assert "Drawn" not in summary(shown(*luxembourg()))


def test_no_results() -> None:
    assert titles(draw(Shown())) == ["No run has a trace here."]
    assert (table(Shown()).rows, summary(Shown())) == ((), "No run has a trace here.")
