from tests.web.run_samples import luxembourg, ran, shown
from web.figures.pagerank.tables import runs, top_pages
from web.shown import Shown
from web.units import THIN


def test_every_run_has_its_row_the_fastest_first() -> None:
    numbers = runs(shown(*luxembourg()))
    rows = [tuple(cell.replace(THIN, " ") for cell in row) for row in numbers.rows]
    heads = [f"{head.text} {head.unit}".strip() for head in numbers.heads]
    cpms4 = dict(zip(heads, rows[1], strict=True))
    assert cpms4 == {
        "matrix": "luxembourg_osm",
        "device": "cpu",
        "run": "csr/thread+cpms4",
        "ranks": "right",
        "iterations": "113",
        "iterations by segments": "1/46/61/5",
        "time median": "107 ms",
        "95 % interval": "106 ms – 107 ms",
        "share of floor": "50 %",
        "speed-up same kernel in fp64": "1.16 ×",
        "speed-up fastest in fp64": "0.94 ×",
        "residual": "8.1·10⁻¹¹",
        "distance from fp64": "2.3·10⁻¹⁰",
        "overlap top pages": "100 %",
        "mass error": "2.0·10⁻¹⁶",
        "note": "",
    }
    assert (rows[-1][2:4], rows[-1][-1]) == (("ell/thread+cpms2", "skipped"), "needs 41 GB, 16 GB allowed")


def test_ranks_that_are_not_right_are_called_so() -> None:
    (row,) = runs(shown(ran("csr/thread+fp32", 40, residual=1e-7))).rows
    assert row[3] == "not right to ε"


def test_parameters_stand_beside_the_name() -> None:
    (row,) = runs(shown(ran("csr/thread+fp64", 28, axes=(("part", "lower"),)))).rows
    assert row[0] == "luxembourg_osm (part=lower)"


def test_the_top_pages_are_those_of_fp64() -> None:
    other = ran("csr/thread+fp32", 40, 0.01, top_pages=(7, 12, 3))
    rows = top_pages(shown(other, *luxembourg())).rows
    assert rows == (
        ("luxembourg_osm", "cpu", "1", "7", "2.0·10⁻³", "5 of 5"),
        ("luxembourg_osm", "cpu", "2", "3", "1.5·10⁻³", "4 of 5"),
        ("luxembourg_osm", "cpu", "3", "12", "10⁻³", "4 of 5"),
    )


def test_no_results() -> None:
    assert runs(Shown()).rows == ()
    assert top_pages(Shown()).rows == ()
