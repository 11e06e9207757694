import pytest

from tests.web.batch_samples import copies, mixed, multiplied, shown
from tests.web.samples import titles, traces
from web.figures.batched.conversion import NO_PLAIN, draw, points, summary, table
from web.figures.batched.marks import NO_TIME
from web.shown import Shown
from web.units import THIN

FOUND = shown(
    multiplied("csr/smart", 50.0),
    multiplied("csr/scalar", 100.0),
    multiplied("coo/segmented", 200.0, convert_s=51e-6),
    multiplied("ell/thread", 50.0),
    multiplied("sliced/lanes", 100.2),
    multiplied("csri/warp", 125.0, convert_s=0.0),
    multiplied("cusparse/best", 400.0),
)


def test_a_conversion_pays_off_against_the_fastest_that_needs_none() -> None:
    # It saves 5 µs of 10 a product.
    found = {point.measurement.kernel: point for point in points(FOUND)}
    assert {kernel: point.products for kernel, point in found.items()} == {
        "coo/segmented": 11,
        "csri/warp": 0,
        "sliced/lanes": float("inf"),
        "ell/thread": float("inf"),
    }
    assert {point.baseline.kernel for point in found.values()} == {"csr/scalar"}
    assert found["coo/segmented"].stored == pytest.approx(12.0)


def test_a_mark_is_a_batch_and_what_never_pays_off_has_a_place() -> None:
    figure = draw(FOUND)
    marks = {mark["name"]: mark["x"][0] for mark in traces(figure, "point")}
    labels = dict(zip(figure.layout.xaxis.tickvals, figure.layout.xaxis.ticktext, strict=True))
    assert marks["coo/segmented"] == 11
    assert labels[marks["csri/warp"]] == "at once"
    assert labels[marks["ell/thread"]] == labels[marks["sliced/lanes"]] == "never"
    assert titles(figure) == ["cuda:0 · warm"]


def test_what_is_not_settled_has_no_mark() -> None:
    vague = multiplied("ell/thread", 110.0, ci_high_s=11e-6, q3_s=11e-6)
    found = shown(multiplied("csr/scalar", 100.0), vague)
    assert [mark["x"] for mark in traces(draw(found), "point")] == [[]]
    assert summary(found).endswith("1 of 1 are not settled and have no mark.")
    assert table(found).rows[0][-2:] == ("–", "csr/scalar")


def test_the_table_names_what_it_is_against() -> None:
    rows = [tuple(cell.replace(THIN, " ") for cell in row) for row in table(FOUND).rows]
    assert rows[0] == (
        *("west0989", "cuda:0", "warm", "1 000", "coo/segmented", "12.0", "51.0 µs", "11", "csr/scalar"),
    )
    assert ("csri/warp", "12.0", "none", "at once") in [row[4:8] for row in rows]


def test_no_results() -> None:
    assert summary(Shown()) == NO_TIME
    for found in (Shown(), shown(*mixed("west", "nos3"))):
        assert titles(draw(found)) == [NO_PLAIN]
        assert table(found).rows == ()
    assert points(shown(*copies()))[0].baseline.kernel == "csr/scalar"
