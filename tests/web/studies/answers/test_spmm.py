"""The answer of SpMM: its numbers are those of its pictures and of the findings."""

from dataclasses import replace

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.spmm.answer import answers
from gpu_engine.text.units import THIN
from tests.samples.spmm import MATRICES, every, multiplied, shown
from tests.web.studies.answers.reading import check_plot, check_words, column, opened_by
from web.plots.dots import Dots
from web.results import Results
from web.selection import Selection
from web.studies.answers import spmm
from web.studies.spmm import SPMM

BOTH = shown(*every(), *every("fem", scale=2.0))


def results(data: StudyData) -> Results:
    chosen, ids = Selection(device=("cuda:0",)), ("cuda:0",)
    measurements = tuple(data.measurements)
    return Results(
        "spmm", chosen, chosen, (), measurements, MATRICES, measurements, ids, tuple(MATRICES), {"cuda:0": "cuda:0"}
    )


def test_the_sentence_has_the_speedup_and_the_fastest_kernel() -> None:
    found = spmm.explore(results(BOTH))
    assert found is not None
    check_words(found)
    sentence = found.sentence.replace(THIN, " ")
    assert "2.00 × as fast as 8 SpMVs" in sentence
    assert "csr/rows" in sentence
    assert "2 of 2 matrices" in sentence
    assert "1.50 ×" in found.under[0].replace(THIN, " ")
    assert "8 columns" in found.under[1]


def test_the_number_of_columns_is_a_choice_of_the_bar() -> None:
    chosen = results(BOTH)
    (columns,) = (each for each in SPMM.switches if each.parameter == "k")
    assert columns.values_for(chosen) == {"all": (), "2": ("2",), "8": ("8",), "32": ("32",)}
    assert (*columns.options(chosen), *columns.current(chosen)) == ("all", "2", "8", "32", "all")
    one = replace(chosen, selection=chosen.selection.with_(k="8"), requested=chosen.requested.with_(k="8"))
    assert columns.current(one) == ("8",)


def test_the_pictures_have_a_row_per_matrix_and_one_per_number_of_columns() -> None:
    found = spmm.explore(results(BOTH))
    assert found is not None
    by_matrix, by_columns = found.pictures
    assert isinstance(by_matrix, Dots)
    assert isinstance(by_columns, Dots)
    check_plot(by_matrix)
    check_plot(by_columns)
    assert {opened_by(row.href) for row in by_matrix.rows} == {"plane", "fem"}
    assert column(by_matrix, "over k SpMVs") == [("2.00", "faster")] * 2
    assert column(by_matrix, "over library") == [("1.50", "faster")] * 2
    assert [row.name for row in by_columns.rows] == ["2", "8", "32"]
    assert [row.href for row in by_columns.rows] == [f"/spmm?device=cuda%3A0&k={k}" for k in (2, 8, 32)]
    assert [text for text, _ in column(by_columns, "over k SpMVs")] == ["0.73", "2.00", "4.00"]


def test_another_order_is_a_note_and_nothing_is_said_without_an_alternative() -> None:
    found = spmm.explore(results(shown(*every(), *every(order="column", scale=3.0))))
    assert found is not None
    assert len(answers(shown(*every(), *every(order="column")))) == 2
    assert sum("column major" in note for note in found.notes) == 1
    assert spmm.explore(results(shown(multiplied("csr/rows")))) is None


def test_without_k_spmvs_it_compares_with_the_library() -> None:
    data = shown(*(m for m in every() if m.format != "spmv"))
    found = spmm.explore(results(data))
    assert found is not None
    check_words(found)
    assert "csr/rows" in found.sentence
    (picture, *_) = found.pictures
    assert isinstance(picture, Dots)
    assert [series.name for series in picture.series] == ["over library"]


def test_the_drawer_has_all_numbers_of_columns() -> None:
    found = spmm.drawer(results(BOTH), "fem")
    assert found is not None
    check_words(found)
    (picture,) = found.pictures
    assert isinstance(picture, Dots)
    check_plot(picture)
    assert [row.name for row in picture.rows] == ["2", "8", "32"]
    assert column(picture, "over library") == [("1.045", "faster"), ("1.50", "faster"), ("0.75", "slower")]
    assert "8.00 µs" in found.sentence.replace(THIN, " ")
    assert spmm.drawer(results(BOTH), "other") is None
