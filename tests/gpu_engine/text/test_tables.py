"""Tables as text: columns without a value."""

import pytest

from gpu_engine.text.tables import Head, Table

HEADS = (Head("kernel", numeric=False), Head("95 % CI"), Head("time"))


@pytest.mark.parametrize(
    ("cells", "left"), [(("–", "–"), 2), (("", "–"), 2), (("–", "1 – 2"), 3), (("1 – 2", "3 – 4"), 3)]
)
def test_a_column_without_a_value_is_left_out(cells: tuple[str, str], left: int) -> None:
    table = Table(HEADS, tuple(("csr/vector", cell, "–") for cell in cells)).without_empty("95 % CI")
    assert len(table.heads) == left
    assert {len(row) for row in table.rows} == {left}
    assert table.heads[-1].text == "time", "other columns stay"


def test_a_table_without_rows_keeps_its_heads() -> None:
    assert len(Table(HEADS, ()).without_empty("95 % CI").heads) == 3
