import pytest

from gpu_engine.findings.data import StudyData
from gpu_engine.text.units import THIN
from tests.samples.formats import titles, traces
from tests.samples.reduced_spmv import BOTH, every, shown
from web.figures.reduced_spmv.graphs import NO_PRODUCT, PAPER, draw, info, summary, table

DATA = shown(*every(), *every("del", layouts=("csr/thread",)))


def test_a_graph_has_its_speedups_in_each_layout() -> None:
    gains = info(DATA)
    assert [(each.graph, each.kernels) for each in gains] == [
        ("luxembourg_osm", "csr, 128 bytes"),
        ("luxembourg_osm", "ell, 128 bytes"),
        ("delaunay_n15", "csr, 128 bytes"),
    ]
    assert [list(each.values.values()) for each in gains] == [pytest.approx(list(BOTH.values()))] * 3
    assert len(gains[0].measurements) == 1 + len(BOTH)


def test_a_row_a_graph_csr_beside_ell() -> None:
    figure = draw(info(DATA))
    assert titles(figure) == ["SpMV, speedup over fp64 · cuda:0"]
    assert [figure.layout[name].title.text for name in ("xaxis", "xaxis2")] == ["CSR", "ELL"]
    assert list(figure.layout.yaxis.categoryarray) == ["luxembourg_osm", "delaunay_n15"]
    by_trace = {(t["xaxis"], t["name"]): t["x"] for t in traces(figure, "point")}
    assert by_trace["x", "two segments, 32 bit"] == [pytest.approx(1.6)] * 2
    assert by_trace["x2", "two segments, 32 bit"] == [pytest.approx(1.6), None]


def test_the_table_and_the_summary_have_every_precision() -> None:
    rows = [tuple(cell.replace(THIN, " ") for cell in row) for row in table(info(DATA)).rows]
    assert rows[0] == (
        *("luxembourg_osm", "cuda:0", "csr, 128 bytes"),
        *("1.60 ×", "0.90 ×", "1.25 ×", "1.10 ×", "0.95 ×", "0.80 ×"),
    )
    text = summary(info(DATA)).replace(THIN, " ")
    assert PAPER.strip().replace(THIN, " ") in text
    assert "ELL on cuda:0 (graphs: 1): two segments, 32 bit 1.60 ×, two segments, 64 bit 0.90 ×" in text


def test_lower_triangles_have_a_panel_of_their_own() -> None:
    both = shown(*every(), *every(triangle="lower"))
    assert titles(draw(info(both)))[1] == "SpMV, speedup over fp64 · cuda:0, lower triangles"


def test_without_spmvs_there_is_nothing() -> None:
    for data in (StudyData(), shown(*(m for m in every() if m.kernel.endswith("+fp64")))):
        assert (titles(draw(info(data))), summary(info(data)), table(info(data)).rows) == ([NO_PRODUCT], NO_PRODUCT, ())
