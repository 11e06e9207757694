from dataclasses import replace

from gpu_engine.findings.data import StudyData
from gpu_engine.text.tables import Table
from gpu_engine.text.units import MISSING, THIN
from tests.samples.pagerank import LUXEMBOURG, luxembourg, ran, shown
from web.figures.pagerank.paper import remarks, table_one, table_two

STAND_IN = "web-Google (stand-in)"
LOWER = (("triangle", "lower"),)


def rows(table: Table) -> dict[str, list[tuple[str, ...]]]:
    """Matrix → its rows without the name, without thin spaces."""
    by_name: dict[str, list[tuple[str, ...]]] = {}
    for name, *cells in table.rows:
        by_name.setdefault(name, []).append(tuple(cell.replace(THIN, "") for cell in cells))
    return by_name


def measured(*devices: str) -> StudyData:
    """Runs of a stand-in of web-Google, and of a matrix that the paper does not have."""
    full = ran("csr/thread+fp64", 113, device=devices[0], links=5_105_039, dangling_pages=88_487)
    others = [run for device in devices for run in luxembourg(device)]
    data = shown(full, *others[1:], *luxembourg(matrix="del"))
    return replace(data, matrices={**data.matrices, "lux": replace(LUXEMBOURG, name=STAND_IN, n_rows=916_428)})


def test_rows_that_do_not_add_up_are_named() -> None:
    assert remarks()[-1].endswith(
        " europe_osm (48/64, total 113), road_usa (14/17, total 32) and wb-edu (47/67, total 115)."
    )


def test_the_tables_are_as_printed_where_nothing_was_measured() -> None:
    one, two = rows(table_one(StudyData())), rows(table_two(StudyData()))
    assert len(one) == len(two) == 10
    assert one["web-BerkStan (Brk)"] == [(MISSING, "685,230", MISSING, "7,600,595", MISSING, "4,744", MISSING)]
    assert two["web-BerkStan (Brk)"] == [(MISSING, "119", MISSING, "50/69 (119)", MISSING, "1/49/1/68 (119)", MISSING)]
    assert two["europe_osm (Eur)"][0][3] == "48/64 (113)"


def test_a_stand_in_is_next_to_what_it_stands_in_for() -> None:
    one, two = rows(table_one(measured("cpu"))), rows(table_two(measured("cpu")))
    assert one["web-Google (Ggl)"] == [
        ("stand-in", "916,428", "916,428 (+0%)", "5,105,039", "5,105,039 (+0%)", "176,974", "88,487 (−50%)")
    ]
    assert two["web-Google (Ggl)"] == [
        ("stand-in", "116", "113", "47/69 (116)", "47/66 (113)", "1/46/67/2 (116)", "1/46/61/5 (113)")
    ]
    assert {name for name, listed in two.items() if listed[0][0] != MISSING} == {"web-Google (Ggl)"}


def test_a_matrix_on_several_devices_has_one_row_and_another_problem_none() -> None:
    assert len(rows(table_two(measured("cpu", "cuda:0")))["web-Google (Ggl)"]) == 1
    other = shown(ran("csr/thread+fp64", 113, axes=(*LOWER, ("damping", "0.9"))))
    named = replace(other, matrices={"lux": replace(LUXEMBOURG, name=STAND_IN)})
    assert rows(table_two(named))["web-Google (Ggl)"][0][0] == MISSING


def test_a_file_is_named_as_such_and_one_with_more_in_its_name_by_that() -> None:
    data = measured("cpu")
    for name, text in (("web-Google", "file"), ("web-Google (2)", "2")):
        named = replace(data, matrices={**data.matrices, "lux": replace(data.matrices["lux"], name=name)})
        assert rows(table_one(named))["web-Google (Ggl)"][0][0] == text
