from dataclasses import replace
from typing import Any

import pytest

from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.text.units import THIN
from tests.samples.batched import copies, mixed, multiplied, refused, shown
from tests.samples.formats import titles, traces
from web.figures.batched.markers import NO_TIME, loops_end
from web.figures.batched.winners import ROWS_MAX, SIZE, WINNER_SIZE, Rival, draw, info, summary, table
from web.palette import batch_style

near: Any = pytest.approx
"""Untyped, for it stands among names and in dataclasses."""

DATA = shown(
    *copies("nos3"),
    *copies("west"),
    multiplied("ell/thread", 90.0, 1000, "r2"),
    multiplied("csr/smart", 30.0, 1000, "r2"),
    *mixed("west", "nos3"),
)


def test_matrices_ascend_by_mean_row_length() -> None:
    panel, _ = info(DATA).panels
    assert (panel.device, panel.cache, panel.batch_size, panel.is_papers) == ("cuda:0", "warm", 1000, True)
    assert [row.matrix.name for row in panel.rows] == ["west0989", "nos3"]
    assert panel.wins == (("auto/shared", 2),)


def test_other_matrices_have_panels_of_their_own_below() -> None:
    large = [multiplied("csr/smart", 30.0, 10_000, "r2")]
    data = shown(*copies("nos3"), *large)
    assert [(panel.is_papers, panel.batch_size) for panel in info(data).panels] == [(True, 1000), (False, 10_000)]
    assert [row.matrix.name for row in info(DATA).panels[1].rows] == ["rows_2"]
    assert [title.replace(THIN, " ") for title in titles(draw(info(data)))] == [
        "the paper’s matrices, batch size 1,000",
        "batch size 10,000",
    ]


def test_the_fastest_stands_beside_the_best_of_the_paper_and_of_libraries() -> None:
    (west, _), (short,) = (panel.rows for panel in info(DATA).panels)
    assert (short.fastest, short.roofline_share) == (("ell/thread",), f"36{THIN}%")
    assert (short.paper, short.library) == (Rival("ell/thread", 1.0), None)
    assert (west.fastest, west.roofline_share) == (("auto/shared",), f"50{THIN}%")
    assert west.paper == Rival("coo/segmented", near(1.25))
    assert west.library == Rival("cusparse/best", near(2.0))


def test_sizes_have_panels_of_their_own_and_one_can_be_chosen() -> None:
    measurements = [*copies("nos3", batch_size=100), *copies("nos3", batch_size=1000), *copies("west", batch_size=100)]
    sizes = [(panel.batch_size, [row.id for row in panel.rows]) for panel in info(shown(*measurements)).panels]
    assert sizes == [(1000, ["nos3"]), (100, ["west"])]
    (chosen,) = info(shown(*measurements, chosen={"batch": ("100",)})).panels
    assert [row.id for row in chosen.rows] == ["west", "nos3"]


def test_the_fastest_has_a_larger_mark_and_libraries_lie_behind() -> None:
    figure = draw(info(shown(*copies("d2"), multiplied("ell/thread", 90.0, 1000, "r2"), *copies("r16"))))
    assert list(figure.layout.yaxis.categoryarray) == ["dense_2", "rows_2", "rows_16"]
    assert [title.replace(THIN, " ") for title in titles(figure)] == ["batch size 1,000 · cuda:0 · warm"]
    marks = {mark["name"]: mark for mark in traces(figure, "point")}
    ell = marks["ell/thread"]
    assert (ell["x"], ell["marker"]["size"]) == ([20.0, 90.0, 20.0], [SIZE, WINNER_SIZE, SIZE])
    assert ell["marker"]["color"] == batch_style("ell/thread").color
    assert [name for name in marks if name.startswith("cusparse")] == list(marks)[:2]


def test_the_table_and_the_summary() -> None:
    winners = info(DATA)
    assert [cell.replace(THIN, " ") for cell in table(winners).rows[-1]] == [
        *("rows_2", "cuda:0", "warm", "1,000", "2.00", "0", "balanced", "ell/thread", "90.0"),
        *("36 %", "ell/thread", "1.00 ×", "–", "–"),
    ]
    text = summary(winners).replace(THIN, " ")
    assert "2 matrices of the paper with batch size 1,000: auto/shared on 2." in text
    assert "1 matrix with batch size 1,000: ell/thread on 1." in text


def test_the_summary_says_up_to_where_loops_take_part() -> None:
    data = shown(*copies(batch_size=1000), multiplied("csr/smart", 1.0, 10_000), refused("scipy/loop", "many", 10_000))
    winners = info(data)
    assert winners.loops_max == 1000
    assert loops_end(1000).strip() in summary(winners)


def test_more_matrices_than_rows_are_in_the_table() -> None:
    ids = [f"m{i}" for i in range(ROWS_MAX + 1)]
    data = StudyData([multiplied("csr/smart", 1.0, matrix=i) for i in ids], {i: MatrixFeatures(i) for i in ids})
    winners = info(data)
    assert len(draw(winners).layout.yaxis.categoryarray) == ROWS_MAX
    assert len(table(winners).rows) == ROWS_MAX + 1
    assert "Showing the first 60 of 61; the table has all." in summary(winners)


def test_matrices_of_one_name_have_rows_of_their_own() -> None:
    twins = {"a0001": MatrixFeatures("twin", ave=1.0), "a0002": MatrixFeatures("twin", ave=2.0)}
    data = StudyData([multiplied("csr/smart", 1.0, matrix=matrix) for matrix in twins], twins)
    assert list(draw(info(data)).layout.yaxis.categoryarray) == ["twin", "twin (0002)"]


@pytest.mark.parametrize("data", [StudyData(), shown(refused("csr/smart", "no")), shown(*mixed("west", "d2"))])
def test_no_results(data: StudyData) -> None:
    winners = info(data)
    assert (titles(draw(winners)), table(winners).rows, summary(winners)) == ([NO_TIME], (), NO_TIME)


def test_nothing_is_fastest_where_times_are_not_plausible() -> None:
    busy = [replace(m, aa_gap=0.9) for m in copies("nos3")]
    (panel,) = info(shown(*busy)).panels
    assert panel.wins == ()
    assert {size for mark in traces(draw(info(shown(*busy))), "point") for size in mark["marker"]["size"]} == {SIZE}
    assert summary(info(shown(*busy))).splitlines()[0].endswith("No clear winner on cuda:0, warm.")
    both = summary(info(shown(*busy, *copies("west")))).replace(THIN, " ")
    assert "warm, 1 matrix of the paper with batch size 1,000 (1 more too noisy): auto/shared on 1." in both
