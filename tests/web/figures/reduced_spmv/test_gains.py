import plotly.io
import pytest

from gpu_engine.findings.data import StudyData
from gpu_engine.pagerank.products import Product
from tests.samples.formats import HOSTILE, titles, traces
from tests.samples.reduced_spmv import every, refused, shown
from web.figures.reduced_spmv.gains import NO_PRODUCT, draw, info, summary, table

FASTER = {("csr/thread", Product(2, 1)): 2.5}


def test_a_panel_is_a_number_of_segments_in_a_layout_with_a_line_for_each_operand() -> None:
    found = info(shown(*every(gains=FASTER), *every("del")))
    assert [(panel.segments, panel.layout, panel.block) for panel in found.panels] == [
        *[(2, "csr/thread", "128 bytes"), (2, "ell/thread", "128 bytes")],
        *[(4, "csr/thread", "128 bytes"), (4, "ell/thread", "128 bytes")],
    ]
    two, _, _, four = found.panels
    assert {read: mean.graphs for read, mean in two.gains["both"].items()} == {1: 2, 2: 2}
    assert [mean.value for mean in two.gains["both"].values()] == [pytest.approx(2.0), pytest.approx(0.9)]
    assert [four.gains[operands][1].value for operands in ("both", "A", "p")] == [
        *map(pytest.approx, (1.25, 1.15, 1.05))
    ]


def test_speed_ups_stand_over_the_segments_read_beside_what_the_paper_says() -> None:
    figure = draw(info(shown(*every(gains=FASTER))))
    assert titles(figure) == ["two segments", "four segments"]
    assert [figure.layout[f"xaxis{n}"].title.text for n in (3, 4)] == ["segments read, CSR", "segments read, ELL"]
    assert list(figure.layout.xaxis3.ticktext) == ["1 of 4", "2 of 4", "3 of 4", "4 of 4"]
    # All panels have one range of speed-ups, which the paper's numbers are in.
    (ends,) = {figure.layout[f"yaxis{n}"].range for n in ("", 2, 3, 4)}
    assert ends == (pytest.approx(0.72), pytest.approx(2.58))
    lines = {(t["xaxis"], t["name"]): (t["x"], t["y"]) for t in traces(figure, "profile")}
    assert len(lines) == 4 * 3
    assert lines["x", "values and ranks"] == ([1, 2], [pytest.approx(2.5), pytest.approx(0.9)])
    assert lines["x4", "ranks only"] == ([1, 2, 3, 4], [*map(pytest.approx, (1.05, 1.02, 0.99, 0.96))])
    crosses = {t["xaxis"]: (t["x"], t["y"]) for t in traces(figure, "point")}
    assert crosses["x2"] == ([1], [1.5])
    assert crosses["x3"] == ([1, 2], [2.0, pytest.approx(1.05)])
    listed = [t["name"] for t in figure.to_dict()["data"] if t["showlegend"]]
    assert listed == ["values and ranks", "values only", "ranks only", "the paper, V100"]


def test_devices_and_lower_triangles_have_their_own_panels_and_a_layout_alone_one_column() -> None:
    data = shown(*every(), *every(device=HOSTILE), *every(triangle="lower", layouts=("csr/thread",)))
    names = ["cuda:0", HOSTILE, "cuda:0, lower triangles"]
    found = info(data)
    assert list(dict.fromkeys(panel.setting for panel in found.panels)) == names
    text = draw(found).to_json()
    assert "<b>x</b>" not in text
    assert plotly.io.from_json(text).layout.height == draw(found).layout.height
    alone = draw(info(shown(*every(layouts=("ell/thread",)))))
    assert alone.layout.xaxis2.title.text == "segments read, ELL"
    assert "xaxis3" not in alone.layout
    assert titles(alone) == ["two segments", "four segments"]


def test_the_summary_names_the_block_and_the_graphs() -> None:
    assert "over 2 graphs" in summary(info(shown(*every(), *every("del"))))
    said = summary(info(shown(*every(blocks=("32", "64")))))
    assert "(one graph)" in said
    assert "Block size: 32 bytes." in said
    assert len(table(info(shown(*every()))).rows) == 2 * 18


def test_no_products() -> None:
    for data in (StudyData(), shown(*refused("needs 41 GB")), shown(*(m for m in every() if "fp64" in m.kernel))):
        found = info(data)
        assert (titles(draw(found)), summary(found), table(found).rows) == ([NO_PRODUCT], NO_PRODUCT, ())
