import pytest

from web.plots.heat import FAILED, NOT_TRIED, Heat, HeatColumn, HeatRow, step_of


@pytest.mark.parametrize(
    ("slowdown", "step"), [(1.0, 0), (1.02, 0), (1.021, 1), (1.1, 1), (1.2, 2), (1.5, 3), (2.0, 4), (2.1, 5), (99.0, 5)]
)
def test_a_slowdown_has_a_step(slowdown: float, step: int) -> None:
    assert step_of(slowdown) == step


def test_neighbouring_cells_of_a_step_are_one_mark() -> None:
    row = HeatRow("csr", "of-csr", "circle", "", "", None, (0, 0, NOT_TRIED, NOT_TRIED, 3, FAILED, 0))
    assert row.runs == ((0, 2, 0), (4, 1, 3), (5, 1, FAILED), (6, 1, 0))


def test_the_column_of_the_drawer_is_known() -> None:
    columns = tuple(HeatColumn(name, "", name == "b") for name in "abc")
    assert Heat("", "", columns, (), ()).open_column == 1
    assert Heat("", "", columns[:1], (), ()).open_column is None
