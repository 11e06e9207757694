import re

import plotly.graph_objects as go
import pytest

from web import figure_svg
from web.figures.highlighting import LABELS_PX, NAME_GAP, SAMPLE_PX, direct_labels
from web.figures.panels import panels
from web.palette import Style

LOOK = Style("#000000", "", "circle", "dashdot")


def places(*ends: float) -> list[float]:
    figure = go.Figure()
    direct_labels(figure, 1, [(str(end), end, LOOK) for end in ends])
    return [label.y for label in figure.layout.annotations]


def test_names_stand_beside_the_ends_of_their_lines_and_never_over_each_other() -> None:
    assert places(0.2, 0.9, 0.5) == [0.2, 0.9, 0.5]
    assert places(1.0, 1.0, 1.0) == pytest.approx([1.0, 1.0 - NAME_GAP, 1.0 - 2 * NAME_GAP])
    low = places(0.0, 0.01, 0.0)
    assert low == pytest.approx([NAME_GAP, 2 * NAME_GAP, 0.0]), "in the order of the lines, and in the panel"


def test_a_name_stands_behind_a_sample_of_its_line_right_of_the_panel() -> None:
    figure = panels(["title"], [200]).add_scatter(x=[1, 2], y=[1, 2], row=1, col=1, showlegend=False)
    direct_labels(figure, 1, [("csr/vector", 0.5, LOOK), ("ell/thread", 0.9, Style("#0072b2", "", "circle", "solid"))])
    drawn = figure_svg.draw(figure.update_layout(margin_r=LABELS_PX), 600)
    free = re.sub(r"<svg x=.*?</svg>", "", drawn, flags=re.S)
    dashed = re.search(r'stroke="#000000"[^>]*stroke-dasharray="[\d. ]+" d="M([\d.]+) ([\d.]+)L([\d.]+) ', free)
    solid = re.search(r'stroke="#0072b2" stroke-width="2" d="M', free)
    assert dashed, "outside of the clipped panel"
    assert solid
    x0, _, x1 = map(float, dashed.groups())
    assert (x1 - x0, x0 > 600 - LABELS_PX) == (SAMPLE_PX, True)
