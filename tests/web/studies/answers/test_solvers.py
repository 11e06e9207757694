"""The answer of solves: its numbers are those of its picture and of the findings."""

from dataclasses import replace

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.solvers import findings, overview
from gpu_engine.findings.solvers.answer import answers
from gpu_engine.findings.verdict_reasons import WORDS_MAX
from gpu_engine.text.units import THIN
from tests.samples.solvers import SYSTEMS, every, failed, shown, solved
from tests.web.studies.answers.reading import check_plot, check_words, column, opened_by
from tests.web.test_sentences import RULES, length, sentences
from web.plots.dots import Dots
from web.results import Results
from web.selection import Selection
from web.studies.answers import solvers

BOTH = shown(*every(), *every("fem"))


def results(data: StudyData) -> Results:
    chosen, ids = Selection(device=("cuda:0",)), ("cuda:0",)
    measurements = tuple(data.measurements)
    return Results(
        "solvers", chosen, chosen, (), measurements, SYSTEMS, measurements, ids, tuple(SYSTEMS), {"cuda:0": "cuda:0"}
    )


def test_the_sentence_has_speedup_share_and_conversions() -> None:
    found = solvers.explore(results(BOTH))
    assert found is not None
    check_words(found)
    (answer,) = answers(BOTH)
    text = found.sentence.replace(THIN, " ")
    assert f"{answer.tally.mean:.2f} × over CuPy" in text
    assert answer.paying == (6, 6)
    assert "6 of 6" in text
    assert answer.spmv_share is not None
    assert f"{100 * answer.spmv_share:.0f} %" in text
    assert "faster on 6 of 6 solves" in found.under[0]


def test_the_picture_has_a_row_per_system_and_a_column_per_method() -> None:
    found = solvers.explore(results(BOTH))
    assert found is not None
    (plot,) = found.pictures
    assert isinstance(plot, Dots)
    check_plot(plot)
    assert plot.heads == ("time", "CG", "BiCGSTAB", "GMRES")
    assert [row.name for row in plot.rows if not row.is_summary] == ["plane-5", "fem3"]
    assert [row.name for row in plot.rows if row.is_summary] == ["mean, CG", "mean, BiCGSTAB", "mean, GMRES"]
    # 190 µs per iteration over 24 µs; GMRES takes 60 µs longer.
    assert column(plot, "CG") == [("7.92", "faster")] * 2
    assert column(plot, "GMRES") == [("2.26", "faster")] * 2


def test_every_name_opens_a_drawer() -> None:
    found = results(BOTH)
    answer = solvers.explore(found)
    assert answer is not None
    (plot,) = answer.pictures
    assert isinstance(plot, Dots)
    for href in [row.href for row in plot.rows if row.href]:
        drawer = solvers.drawer(found, opened_by(href))
        assert drawer is not None
        check_words(drawer)
        (times,) = drawer.pictures
        assert isinstance(times, Dots)
        check_plot(times)
        assert [row.name.partition(", to")[0] for row in times.rows] == ["CG, jacobi", "CG", "BiCGSTAB", "GMRES"]
        assert drawer.facts[0][1] == "sellp/t1 after 200, packed/tile after 33,334"
    assert solvers.drawer(found, "unknown") is None


def test_nothing_is_answered_without_a_library_or_with_noisy_timings() -> None:
    alone = shown(solved(), solved("sellp/t1"))
    noisy = shown(*(replace(m, aa_gap=0.3) for m in every()))
    nothing = shown(failed("csr/vector", "status indefinite"))
    for data in (alone, noisy, nothing, shown()):
        assert solvers.explore(results(data)) is None
        assert solvers.drawer(results(data), "plane") is None


def test_a_share_or_a_conversion_that_is_unknown_is_left_out() -> None:
    bare = shown(solved(spmv_s=None), solved("cupy/solver"))
    found = solvers.explore(results(bare))
    assert found is not None
    assert found.sentence.replace(THIN, " ") == "Solves have a speedup of 6.33 × over CuPy."


def test_sentences_keep_the_rules_of_all_pages() -> None:
    changed = (("system", "definite"), ("excess", "0.001"))
    data = shown(*every(), *every("fem", more=changed), failed("csr/scalar", "status indefinite: broke down", "minres"))
    found = solvers.explore(results(data))
    assert found is not None
    texts = [found.eyebrow, found.sentence, *found.under, *found.notes, *overview(data)]
    texts += [sentence for finding in findings(data) for sentence in finding.sentences]
    for text in texts:
        assert not [name for name, rule in RULES.items() if rule.search(text)], text
        assert all(length(sentence) <= WORDS_MAX for sentence in sentences(text)), text
