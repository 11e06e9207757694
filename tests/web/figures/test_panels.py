"""Tests of the titles of panels, and of the room that panels and legends take."""

import pytest

from web.figures.panels import GAP_PX, LEGEND_LINE_PX, LEGEND_PER_LINE, panels


@pytest.mark.parametrize(
    ("titles", "drawn"),
    [
        (["grid · cpu · warm", "grid · cpu · cold"], ["grid · warm", "grid · cold"]),
        (["grid · cpu · warm", "web · cpu · warm"], ["grid", "web"]),
        (["grid · cpu · warm"], ["grid · cpu · warm"]),
        (["grid · cpu", "web"], ["grid · cpu", "web"]),
    ],
)
def test_what_is_the_same_in_all_titles_is_left_out_but_for_the_first_part(titles: list[str], drawn: list[str]) -> None:
    figure = panels(titles, [50] * len(titles))
    assert [each.text for each in figure.layout.annotations] == drawn


def test_a_panel_beside_the_first_of_its_row_has_no_title_and_changes_none() -> None:
    figure = panels(["grid · cpu", "", "web · cpu", ""], [50, 50], columns=2)
    assert [each.text for each in figure.layout.annotations] == ["grid", "web"]


def test_every_panel_has_its_height_and_gaps_lie_between_them() -> None:
    one, three = (panels(["a", "b", "c"][:count], [100] * count).layout for count in (1, 3))
    assert three.height - one.height == 2 * (100 + GAP_PX)
    (low, high) = three.yaxis2.domain
    assert (high - low) * (300 + 2 * GAP_PX) == pytest.approx(100)


def test_a_legend_has_a_line_for_every_few_entries() -> None:
    plain = panels(["a"], [100]).layout.height
    for entries, lines in ((1, 1), (LEGEND_PER_LINE, 1), (LEGEND_PER_LINE + 1, 2)):
        layout = panels(["a"], [100], legend=entries).layout
        assert (layout.height - plain, layout.meta["legend_px"]) == (lines * LEGEND_LINE_PX, lines * LEGEND_LINE_PX)


def test_an_axis_title_of_every_panel_has_room() -> None:
    plain, titled = (panels(["a", "b"], [100] * 2, below_px=px).layout for px in (0, 18))
    assert titled.height - plain.height == 18
