from web.figures.markers import bar_panels, bars, fill, first_panels, hover, intervals, omission


def test_hover_texts_are_text() -> None:
    assert hover("<i>", " on a & b", "1 < 2") == "<b>&lt;i&gt;</b> on a &amp; b<br>1 &lt; 2"


def test_intervals_reach_from_end_to_end_and_are_hidden_without_a_length() -> None:
    errors = intervals([2.0, 5.0], [(1.5, 4.0), (5.0, 5.0)], width=0)
    assert (errors["arrayminus"], errors["array"], errors["width"]) == ([0.5, 0.0], [2.0, 0.0], 0)
    assert errors["visible"]
    assert not intervals([5.0], [(5.0, 5.0)])["visible"]
    assert all(intervals([5.0], [ends])["visible"] for ends in ((4.0, 5.0), (5.0, 6.0)))


def test_bars_lie_and_have_their_own_text() -> None:
    bar = bars([(2.0, "csr", "two"), (3.0, "ell", "three")], fill("#000", "/"))
    assert (bar.orientation, bar.x, bar.y, bar.hovertext) == ("h", (2.0, 3.0), ("csr", "ell"), ("two", "three"))


def test_the_first_row_of_a_panel_is_on_top() -> None:
    axis = bar_panels(["a"], [["one", "two"]], 1, "overlay", 20).layout.yaxis
    assert (axis.categoryarray, axis.range) == (("one", "two"), (1.5, -0.5))


def test_panels_end_before_too_many_rows_and_what_is_not_drawn_is_counted() -> None:
    assert first_panels([3, 2, 5], lambda rows: rows, 5) == [3, 2]
    assert first_panels([9, 1], lambda rows: rows, 5) == [9], "the first in any case"
    assert first_panels([], len, 5) == []
    assert omission(2, 3, " panels") == " Showing the first 2 of 3 panels; the table has all."
    assert omission(3, 3) == ""
