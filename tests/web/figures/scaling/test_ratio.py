import pytest

from gpu_engine.text.units import THIN
from tests.samples.formats import titles, traces
from tests.samples.scaling import NNZ, cut_both_ways, shown, swept
from web.figures.scaling.markers import VIRTUAL_NOTE
from web.figures.scaling.ratio import EQUAL_NONZEROS, EQUAL_ROWS, NO_SWEEP, draw, info, summary, table

RESIDENT = 2 * NNZ / 2e-3 / 1e9
"""GFLOP/s of the resident matrices with equal nonzeros."""


def test_performance_is_drawn_over_the_ratio_with_what_is_expected() -> None:
    figure = draw(info(shown(*swept(1.25))))
    assert titles(figure) == ["cuda:0 · from the host", "cuda:0 · resident"]
    cold, resident = traces(figure, "roof")
    assert (resident["x"], resident["line"]["dash"]) == ([1.0, 2.0, 10.0], "dash")
    assert resident["y"] == pytest.approx([share * RESIDENT for share in (1.0, 0.75, 0.55)])
    assert cold["y"] == pytest.approx([share * RESIDENT / 10 for share in (1.0, 0.75, 0.55)])
    lines = [(line["name"], line["y"]) for line in traces(figure, "point")][2:]
    assert [name for name, _ in lines] == [EQUAL_NONZEROS, EQUAL_ROWS]
    assert lines[0][1] == pytest.approx([RESIDENT] * 3)
    assert lines[1][1] == pytest.approx([share * RESIDENT for share in (0.8, 0.6, 0.44)])
    assert figure["layout"]["xaxis2"]["ticktext"] == ("1:1", "1:2", "1:10")
    # What paints points in the theme of the page sets the color of their lines.
    assert all("line" in line["marker"] for line in traces(figure, "point"))


def test_the_table_and_the_summary_have_the_numbers_of_the_figure() -> None:
    found = info(shown(*swept(1.25)))
    last = tuple(cell.replace(THIN, " ") for cell in table(found).rows[-1][4:])
    assert last == ("4", "10.0", "1.76", "4.00", "55 %", "44 %")
    text = summary(found).replace(THIN, " ")
    assert "4 devices · resident: at r = 10, 1.76 of 4.00 GFLOP/s (44 %, expected 55 %)" in text
    assert VIRTUAL_NOTE.strip() in summary(info(shown(*swept(device="cpu"))))


def test_other_matrices_are_no_sweep() -> None:
    nothing = info(shown(*cut_both_ways()))
    assert (titles(draw(nothing)), table(nothing).rows, summary(nothing)) == ([NO_SWEEP], (), NO_SWEEP)
