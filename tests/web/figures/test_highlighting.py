import plotly.graph_objects as go
import pytest

from web.figures.highlighting import NAME_GAP, direct_labels


def places(*ends: float) -> list[float]:
    figure = go.Figure()
    direct_labels(figure, 1, [(str(end), end, "#000000") for end in ends])
    return [label.y for label in figure.layout.annotations]


def test_names_stand_beside_the_ends_of_their_lines_and_never_over_each_other() -> None:
    assert places(0.2, 0.9, 0.5) == [0.2, 0.9, 0.5]
    assert places(1.0, 1.0, 1.0) == pytest.approx([1.0, 1.0 - NAME_GAP, 1.0 - 2 * NAME_GAP])
    low = places(0.0, 0.01, 0.0)
    assert low == pytest.approx([NAME_GAP, 2 * NAME_GAP, 0.0]), "in the order of the lines, and in the panel"
