from tests.samples.formats import traces
from tests.samples.pagerank import luxembourg, ran, shown
from web.figures.pagerank.timeline import draw, info, table

INFO = info(shown(*luxembourg()))


def test_a_run_has_a_stretch_for_each_precision() -> None:
    (panel,) = INFO.panels
    assert {row.label: [(s.level.name, s.begin, s.end) for s in row.stretches] for row in panel.rows} == {
        "csr/thread+fp64": [("64 bit", 0, 113)],
        "csr/thread+cpms2": [("32 bit", 0, 47), ("64 bit", 47, 113)],
        "csr/thread+cpms4": [("16 bit", 0, 1), ("32 bit", 1, 47), ("48 bit", 47, 108), ("64 bit", 108, 113)],
        "csr/thread+pattern": [("64 bit", 0, 113)],
    }
    assert {(row.iterations, row.fp64) for row in panel.rows} == {(113, 113)}
    (alone,) = info(shown(ran("csr/thread+fp32", 40))).panels
    assert [(s.level.name, s.end) for s in alone.rows[0].stretches] == [("IEEE fp32", 40)], "no half of fp64"
    assert alone.rows[0].fp64 is None


def test_a_bar_begins_where_its_stretch_does() -> None:
    bars = {trace["name"]: trace for trace in traces(draw(INFO), "kernel")}
    assert list(bars) == ["16 bit", "32 bit", "48 bit", "64 bit"]
    assert (bars["48 bit"]["y"], bars["48 bit"]["base"], bars["48 bit"]["x"]) == (["csr/thread+cpms4"], [47], [61])
    assert bars["48 bit"]["hovertext"] == ["<b>csr/thread+cpms4</b><br>iterations 48 to 108: 48 bit"]
    assert len({bar["marker"]["pattern"]["shape"] for bar in bars.values()}) == 4, "grey tells them apart as well"


def test_schedules_of_a_kernel_have_a_row_each_and_fp64_is_on_top() -> None:
    axes = (("start_segments", "2"), ("raise_at", "16"), ("stall_ratio", "0.98"), ("final_storage", "fp64"))
    axis = draw(info(shown(*luxembourg(), ran("csr/thread+cpms4", (0, 46, 62, 5), axes=axes)))).layout.yaxis
    kernels = ("fp64", "cpms2", "cpms4, start segments 1", "cpms4, start segments 2", "pattern")
    assert axis.categoryarray == tuple(f"csr/thread+{kernel}" for kernel in kernels)
    assert axis.range[0] > axis.range[1]


def test_the_table_is_table_two() -> None:
    names = ["16 bit", "32 bit", "48 bit", "64 bit", "IEEE fp32", "total", "same kernel"]
    assert [head.text for head in table(INFO).heads][3:] == names
    rows = {row[2]: row[3:] for row in table(INFO).rows}
    assert rows["csr/thread+cpms4"] == ("1", "46", "61", "5", "–", "113", "113")
    assert "ell/thread+cpms2" not in rows
