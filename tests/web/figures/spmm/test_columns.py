"""The figure of SpMM: time per column by the number of columns."""

import pytest

from tests.samples.spmm import COLUMN_S, every, multiplied, refused, shown
from web.figures.spmm.columns import NO_TIME, PANELS_MAX, draw, info, summary, table

DATA = shown(*every(), *every("fem", "cuda:1", "column"))


def test_a_panel_per_matrix_and_order_and_a_line_per_kernel() -> None:
    made = info(DATA)
    assert [panel.place for panel in made.panels] == [
        ("plane-5", "cuda:0", "warm", "row"),
        ("fem3", "cuda:1", "warm", "column"),
    ]
    assert [panel.columns for panel in made.panels] == [(2, 8, 32)] * 2
    figure = draw(made)
    first = [trace for trace in figure.data if trace.xaxis == "x"]
    names = [trace.name for trace in first]
    assert names[:3] == ["csr/rows", "csr/segments", "cusparse/spmm_csr_alg2"]
    assert names[3:] == ["k × csr/scalar", "k × csr/vector", "roofline"]
    line = first[0]
    assert list(line.x) == [2, 8, 32]
    assert list(line.y) == pytest.approx([*COLUMN_S["csr/rows"].values()])
    assert line.customdata[1] == ["cuda:0 plane|csr/rows|warm|k=8,order=row"]
    assert list(first[-1].y) == pytest.approx([1e-6] * 3)
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"
    assert list(figure.layout.xaxis.tickvals) == [2, 8, 32]
    assert all(text.endswith("s") for text in figure.layout.yaxis.ticktext)
    looks = {(trace.line.color, trace.line.dash, trace.marker.symbol) for trace in first[:-1]}
    assert len(looks) == 5


def test_the_table_has_a_row_per_kernel_and_the_chosen_number_changes_nothing() -> None:
    made = info(shown(*every(), chosen={"k": ("8",)}))
    rows = table(made).rows
    assert len(rows) == len(COLUMN_S) + 1
    assert rows[0][4] == "csr/rows"
    assert rows[-1][4] == "roofline"
    assert [head.text for head in table(made).heads[5:]] == ["k = 2", "k = 8", "k = 32"]


def test_a_kernel_without_a_time_has_no_point() -> None:
    made = info(shown(multiplied("csr/rows", 2), multiplied("csr/rows", 8), refused("bcsr/rows", "No blocks.", 8)))
    assert [(line.kernel, len(line.measurements)) for line in made.panels[0].lines] == [("csr/rows", 2)]
    (single,) = info(shown(multiplied("csr/rows", 8))).panels
    assert single.columns == (8,)


def test_without_a_time_it_says_so_and_many_panels_are_cut() -> None:
    for data in (shown(), shown(refused("csr/rows", "Too large."))):
        made = info(data)
        assert summary(made) == NO_TIME
        assert draw(made).layout.annotations[0].text == NO_TIME
        assert table(made).rows == ()
    many = info(shown(*(multiplied("csr/rows", 8, f"m{number}") for number in range(PANELS_MAX + 1))))
    assert len(many.visible) == PANELS_MAX
    assert str(PANELS_MAX + 1) in summary(many)
