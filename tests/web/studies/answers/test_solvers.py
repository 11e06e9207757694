"""The answer of solves: its numbers are those of its picture and of the findings."""

from dataclasses import replace

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.solvers import findings, overview
from gpu_engine.findings.solvers.answer import answers
from gpu_engine.findings.solvers.groups import ONLY_CSR
from gpu_engine.findings.verdict_reasons import WORDS_MAX
from gpu_engine.text.units import THIN
from tests.samples.solvers import SYSTEMS, every, failed, shown, solved
from tests.web.studies.answers.reading import check_plot, check_words, column, opened_by
from tests.web.test_sentences import RULES, length, sentences
from web.plots.dots import Dots
from web.results import Results
from web.selection import Selection
from web.studies.answers import solvers
from web.studies.answers.solvers_drawer import drawer as drawer_of

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
    assert f"{answer.tally.mean:.2f} × as fast as by CuPy" in text
    assert answer.tally.mean < answer.many.mean
    assert answer.spmv_share is not None
    assert f"{100 * answer.spmv_share:.0f} %" in text
    counts = found.under[0].replace(THIN, " ")
    assert "faster on all 6 solves" in counts
    assert f"{answer.many.mean:.2f} ×" in counts
    assert answer.paying == (6, 6)
    assert "6 of 6, against csr/vector" in counts
    assert answer.csr_kernels == ("csr/vector",)


def test_several_csr_kernels_are_counted() -> None:
    found = solvers.explore(results(shown(*every(), solved("csr/scalar"))))
    assert found is not None
    assert "3 of 3, against the fastest of 2 " in found.under[0].replace(THIN, " ")


def test_systems_that_were_not_changed_are_counted_too() -> None:
    changed = every("fem", more=(("system", "definite"),))
    for measurements, counts in (((*every(), *changed), ("1 made definite", "1 with ")), (every(), ())):
        found = solvers.explore(results(shown(*measurements)))
        assert found is not None
        assert all(text in found.under[1] for text in counts)
        assert found.under[1].startswith("Systems: ") == bool(counts)


def test_the_subtitle_has_the_system_b_the_first_x_and_the_restart() -> None:
    changed = (("system", "dominant"), ("excess", "0.01"))
    found = solvers.explore(results(shown(*every(), *every("fem", more=changed))))
    assert found is not None
    for text in ("1 made dominant (excess 0.01)", "seed 0", "x₀ = 0", "30 iterations"):
        assert text in found.under[1]
    drawer = drawer_of(results(shown(*every("fem", more=changed))), "fem")
    assert drawer is not None
    assert "1.01 ×" in dict(drawer.facts)["System"]


def test_a_conversion_with_several_times_is_said_to_have_them() -> None:
    again = [solved("sellp/t1", convert_s=17e-3, method="gmres"), solved("cupy/solver", method="gmres")]
    found = solvers.explore(results(shown(*every(solves=(("cg", "none"),)), *again)))
    assert found is not None
    (note,) = (note for note in found.notes if "14.2 ×" in note.replace(THIN, " "))
    assert "Of 2 conversions, 1 " in note.replace(THIN, " "), "packed/tile has one time"
    assert column(found.pictures[0], "one solve")[1][0].replace(THIN, " ") == "76.8 ms"  # type: ignore[arg-type]
    found = solvers.explore(results(BOTH))
    assert found is not None
    assert not any("one time" in note for note in found.notes)


def test_the_drawer_has_the_largest_time_of_a_conversion_too() -> None:
    again = [solved("sellp/t1", convert_s=17e-3, method="gmres"), solved("cupy/solver", method="gmres")]
    drawer = drawer_of(results(shown(*every(solves=(("cg", "none"),)), *again)), "plane")
    assert drawer is not None
    assert dict(drawer.facts)["Conversion times"].replace(THIN, " ") == "sellp/t1 1.20 ms to 17.0 ms"
    once = drawer_of(results(BOTH), "plane")
    assert once is not None
    assert "Conversion times" not in dict(once.facts)


def test_the_only_csr_kernel_is_named_as_such_in_the_sentence() -> None:
    alone, two = every(), [*every(), solved("csr/scalar")]
    for measurements, is_only in ((alone, True), (two, False)):
        found = solvers.explore(results(shown(*measurements)))
        assert found is not None
        assert (ONLY_CSR in found.under[0]) == is_only


def test_the_picture_has_a_row_per_solve_and_a_column_per_library() -> None:
    found = solvers.explore(results(BOTH))
    assert found is not None
    (plot,) = found.pictures
    assert isinstance(plot, Dots)
    check_plot(plot)
    assert plot.heads == ("kernel", "one solve", "CuPy")
    each = [("plane-5", "CG"), ("plane-5", "GMRES"), ("plane-5", "BiCGSTAB")]
    assert [(row.name, row.note) for row in plot.rows if not row.is_summary][:3] == each
    means = [row for row in plot.rows if row.is_summary]
    assert [row.name for row in means] == ["mean, CG", "mean, GMRES", "mean, BiCGSTAB"]
    # 190 µs per iteration over 24 µs and a conversion of 1.2 ms; GMRES takes 60 µs longer per iteration.
    assert column(plot, "CuPy") == [("7.07", "faster"), ("2.23", "faster"), ("3.26", "faster")] * 2
    assert [row.values[-1].text for row in means] == ["7.07", "2.23", "3.26"]


def test_each_library_has_a_column_and_a_mark() -> None:
    both = shown(*every(solves=(("cg", "none"),)), solved("warp/captured", iteration_s=40e-6))
    found = solvers.explore(results(both))
    assert found is not None
    (plot,) = found.pictures
    assert isinstance(plot, Dots)
    assert plot.heads == ("kernel", "one solve", "CuPy", "Warp")
    assert [dot.form for dot in plot.rows[0].dots] == ["circle", "diamond"]
    assert [value.text for value in plot.rows[0].values[2:]] == ["7.07", "1.49"]
    assert "NVIDIA Warp" in found.sentence


def test_every_name_opens_a_drawer() -> None:
    found = results(BOTH)
    answer = solvers.explore(found)
    assert answer is not None
    (plot,) = answer.pictures
    assert isinstance(plot, Dots)
    for href in [row.href for row in plot.rows if row.href]:
        drawer = drawer_of(found, opened_by(href))
        assert drawer is not None
        check_words(drawer)
        (times,) = drawer.pictures
        assert isinstance(times, Dots)
        check_plot(times)
        assert [row.name for row in times.rows] == ["CG, jacobi", "CG", "BiCGSTAB", "GMRES"]
        totals = [text.replace(THIN, " ") for text, _ in column(times, "total")]
        assert totals == ["8.45 ms", "11.3 ms", "16.3 ms", "76.8 ms"]
        assert column(times, "pays from")[:2] == [("1 solve", ""), ("never", "")]
        assert dict(drawer.facts)["CG, break-even"] == (
            f"iterations against csr/vector, {ONLY_CSR}: sellp/t1 200, packed/tile 33,334"
        )
    assert drawer_of(found, "unknown") is None


def test_nothing_is_answered_without_a_library_or_with_noisy_timings() -> None:
    alone = shown(solved(), solved("sellp/t1"))
    noisy = shown(*(replace(m, aa_gap=0.3) for m in every()))
    nothing = shown(failed("csr/vector", "status indefinite"))
    for data in (alone, noisy, nothing, shown()):
        assert solvers.explore(results(data)) is None
        assert drawer_of(results(data), "plane") is None


def test_a_share_or_a_conversion_that_is_unknown_is_left_out() -> None:
    bare = shown(solved(spmv_s=None), solved("cupy/solver"))
    found = solvers.explore(results(bare))
    assert found is not None
    assert found.sentence.replace(THIN, " ") == "One solve with conversion is 6.33 × as fast as by CuPy."


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
