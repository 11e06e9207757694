import math
from typing import Any

import pytest

from gpu_engine.findings.data import StudyData
from gpu_engine.text.units import THIN
from tests.samples.batched import mixed, multiplied, shown
from tests.samples.formats import titles, traces
from web.figures.batched.conversion import NO_PLAIN, draw, info, summary, table
from web.figures.batched.markers import NO_TIME

near: Any = pytest.approx
"""Untyped, for it stands among names and in dataclasses."""

DATA = shown(
    multiplied("csr/smart", 50.0),
    multiplied("csr/scalar", 100.0),
    multiplied("coo/segmented", 200.0, convert_s=51e-6),
    multiplied("ell/thread", 50.0),
    multiplied("sliced/lanes", 100.2),
    multiplied("csri/warp", 125.0, convert_s=0.0),
    multiplied("cusparse/best", 400.0),
)
VAGUE = shown(multiplied("csr/scalar", 100.0), multiplied("ell/thread", 110.0, ci_high_s=11e-6, q3_s=11e-6))


def test_a_conversion_pays_off_against_the_fastest_that_needs_none() -> None:
    # It saves 5 µs of 10 a product.
    points = {point.kernel: point for point in info(DATA).points}
    assert {kernel: point.products for kernel, point in points.items()} == {
        "coo/segmented": 11,
        "csri/warp": 0,
        "sliced/lanes": math.inf,
        "ell/thread": math.inf,
    }
    assert {point.baseline for point in points.values()} == {"csr/scalar"}
    assert (points["coo/segmented"].stored, points["coo/segmented"].convert_s) == (near(12.0), 51e-6)
    assert [point.products for point in info(VAGUE).points] == [None]


def test_what_never_pays_off_has_a_place_and_what_is_not_settled_has_none() -> None:
    figure = draw(info(DATA))
    marks = {mark["name"]: mark["x"][0] for mark in traces(figure, "point")}
    labels = dict(zip(figure.layout.xaxis.tickvals, figure.layout.xaxis.ticktext, strict=True))
    assert marks["coo/segmented"] == 11
    assert [labels[marks[name]] for name in ("csri/warp", "ell/thread", "sliced/lanes")] == [
        "at once",
        "never",
        "never",
    ]
    assert titles(figure) == ["cuda:0 · warm"]
    assert [mark["x"] for mark in traces(draw(info(VAGUE)), "point")] == [[]]
    assert summary(info(VAGUE)).endswith("1 of 1 are inconclusive and have no mark.")


def test_the_table_names_what_it_is_against() -> None:
    rows = [tuple(cell.replace(THIN, " ") for cell in row) for row in table(info(DATA)).rows]
    assert rows[0] == (
        *("west0989", "cuda:0", "warm", "1,000", "coo/segmented", "12.0", "51.0 µs", "11", "csr/scalar"),
    )
    assert ("csri/warp", "12.0", "none", "at once") in [row[4:8] for row in rows]


@pytest.mark.parametrize(("data", "why"), [(StudyData(), NO_TIME), (shown(*mixed("west", "nos3")), NO_PLAIN)])
def test_no_results(data: StudyData, why: str) -> None:
    nothing = info(data)
    assert (titles(draw(nothing)), table(nothing).rows, summary(nothing)) == ([NO_PLAIN], (), why)
