"""The template of dot plots: where marks beyond the axis and small values stand."""

import re

from web.plots.axis import log_axis
from web.plots.dots import DotRow, Dots, DotValue
from web.rendering import TEMPLATES

AXIS = log_axis([0.9, 1.0, 1.1, 1.2])


def html_of(*rows: DotRow) -> str:
    plot = Dots("Speedup", (), AXIS.ticks(), AXIS.at(1.0), ("time", "speedup"), rows)
    return str(TEMPLATES.env.get_template("_dots.html").module.dots(plot))  # type: ignore[attr-defined]


def row(name: str, speedup: float, low_high: str = "", *, is_summary: bool = False) -> DotRow:
    values = DotValue("1 ms"), DotValue(f"{speedup:.2f}", "faster", low_high)
    return DotRow(name, "", (AXIS.dot(speedup, "circle", "faster"),), values, is_summary=is_summary)


def test_a_mark_beyond_the_axis_has_room_outside_of_it() -> None:
    assert "beyond" not in html_of(row("a", 1.1))
    assert re.findall(r'class="dots([^"]*)"', html_of(row("a", 1.1), row("b", 2.5))) == [" beyond-right"]
    assert re.findall(r'class="dots([^"]*)"', html_of(row("a", 0.1), row("b", 2.5))) == [" beyond-left beyond-right"]


def test_an_interval_stands_after_its_value() -> None:
    html = html_of(row("a", 1.1), row("mean", 1.12, "1.05–1.16", is_summary=True))
    assert html.index("1.12") < html.index("1.05–1.16")


def test_texts_of_a_narrow_axis_do_not_touch() -> None:
    ticks = ((0.0, "0.8 ×"), (0.1, "1 ×"), (0.25, "1.2 ×"), (0.3, "1.5 ×"), (0.6, "2 ×"))
    rows = (DotRow("a", "", (), tuple(DotValue("1") for _ in range(4))),)
    plot = Dots("", (), ticks, 0.1, ("b", "c", "d", "e"), rows)
    assert plot.near_ticks == (0.0, 0.25)
    html = str(TEMPLATES.env.get_template("_dots.html").module.dots(plot))  # type: ignore[attr-defined]
    assert (html.count('class="near"'), 'class="dots crowded' in html) == (2, True)
    assert 'class="dots crowded' not in html_of(row("a", 1.1))
