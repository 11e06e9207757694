from web.figures.pagerank.paper import PAPER, remarks, table


def test_rows_that_do_not_add_up_are_named() -> None:
    assert [row.name for row in PAPER if sum(row.four) != row.four_total] == []
    assert remarks()[-1].endswith(
        " europe_osm (48/64, total 113), road_usa (14/17, total 32) and wb-edu (47/67, total 115)."
    )


def test_four_segments_take_two_iterations_more_than_fp64_at_most() -> None:
    assert {row.four_total - row.fp64 for row in PAPER} == {0, 1}
    assert {row.two_total - row.fp64 for row in PAPER} == {0, 1}


def test_the_table_is_as_printed() -> None:
    rows = {row[0]: row[1:] for row in table().rows}
    assert len(rows) == 10
    assert rows["web-BerkStan"] == (
        "web",
        "685\u202f230",
        "7\u202f600\u202f595",
        "4\u202f744",
        "119",
        "50/69",
        "119",
        "1/49/1/68",
        "119",
    )
