"""The figure of seed sets: time of k sets over that of one."""

import pytest

from tests.samples.seeded import every, ran, refused, shown
from web.figures.seeded.cost import LINES_MAX, NO_TIME, draw, info, summary, table

DATA = shown(*every(), *every("del", "cuda:1"))


def test_a_line_per_graph_and_the_line_of_single_runs() -> None:
    made = info(DATA)
    assert [line.title for line in made.lines] == ["web20k, cuda:0", "delaunay, cuda:1"]
    figure = draw(made)
    assert len(figure.data) == 3
    assert list(figure.data[0].x) == [1, 8, 32]
    assert list(figure.data[0].y) == pytest.approx([1.0, 2.0, 5.0])
    assert figure.data[0].customdata[1] == ["cuda:0 web|seeds/together|warm|seeds=8"]
    assert list(figure.data[-1].y) == [1, 8, 32]
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"
    assert len({(line.line.color, line.marker.symbol) for line in figure.data[:2]}) == 2


def test_the_table_has_all_numbers_of_sets() -> None:
    assert len(table(info(DATA)).rows) == 6


@pytest.mark.parametrize(
    "data", [shown(), shown(refused("needs 41 GB")), shown(ran())], ids=["empty", "skipped", "no one"]
)
def test_without_times_it_says_so(data: object) -> None:
    made = info(data)  # type: ignore[arg-type]
    assert summary(made) == NO_TIME
    assert not draw(made).data


def test_more_lines_than_it_draws() -> None:
    made = info(shown(*(m for number in range(LINES_MAX + 2) for m in every(device=f"cuda:{number}"))))
    assert len(draw(made).data) == LINES_MAX + 1
    assert str(LINES_MAX) in summary(made)
