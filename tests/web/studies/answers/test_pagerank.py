"""The answer of PageRank: no two of its numbers contradict each other."""

from collections import Counter
from dataclasses import replace

import pytest

from gpu_engine.findings.pagerank.adaptive import pays
from gpu_engine.findings.pagerank.runs import KINDS, run_groups
from gpu_engine.text import units
from gpu_engine.verdicts.verdict import EQUIVALENCE, verdict_text
from tests.samples.pagerank import ran, shown
from tests.web.studies.answers.reading import (
    check_plot,
    check_words,
    column,
    counted,
    numbers,
    on_one,
    opened_by,
    recorded,
    results_of,
)
from web.device_labels import short
from web.explore import Drawer
from web.plots.dots import DotRow, Dots
from web.results import Results
from web.selection import Selection
from web.studies.answers.pagerank import explore
from web.studies.answers.pagerank_comparisons import (
    ADAPTIVE,
    FP64_RUN,
    PAPERS,
    PAPERS_FP64,
    REFINED,
    SERIES,
    comparisons,
)
from web.studies.answers.pagerank_graph import drawer, schedule_text

DEVICES = recorded("pagerank")


def picture(results: Results, kind: str = ADAPTIVE) -> Dots:
    """The first plot with a column of a kind: that of whole matrices."""
    answer = explore(results)
    assert answer is not None
    return next(plot for plot in answer.pictures if isinstance(plot, Dots) and kind in plot.heads)


def runs_of(opened: Drawer) -> list[DotRow]:
    return [row for plot in opened.pictures if isinstance(plot, Dots) for row in plot.rows]


@pytest.mark.parametrize("device", DEVICES)
def test_sentences_are_short_and_marks_are_on_the_drawing(device: str) -> None:
    results = results_of("pagerank", device)
    answer = explore(results)
    assert answer is not None
    check_words(answer)
    for plot in answer.pictures:
        assert isinstance(plot, Dots)
        check_plot(plot)


@pytest.mark.parametrize("device", DEVICES)
def test_counts_of_the_sentences_are_the_glyphs_of_the_columns(device: str) -> None:
    results = results_of("pagerank", device)
    answer, tallies = explore(results), comparisons(results.data)[0].tallies
    assert answer is not None
    assert list(tallies) == [ADAPTIVE, REFINED, PAPERS]
    under = dict(zip((ADAPTIVE, PAPERS, REFINED), answer.under, strict=True))
    for kind, tally in tallies.items():
        glyphs = Counter(verdict for _, verdict in column(picture(results, kind), kind) if verdict)
        assert glyphs == tally.verdicts
        counts = counted(glyphs)
        assert numbers(under[kind])[-len(counts) :] == counts


@pytest.mark.parametrize("device", DEVICES)
def test_means_of_the_sentence_are_those_of_the_rows(device: str) -> None:
    results = results_of("pagerank", device)
    answer, tallies = explore(results), comparisons(results.data)[0].tallies
    assert answer is not None
    means = {kind: f"{tally.mean:.2f}" for kind, tally in tallies.items()}
    for kind, mean in means.items():
        plot = picture(results, kind)
        place = plot.heads.index(kind)
        row = [row for row in plot.rows if row.is_summary][place - 1]
        columns = range(1, len(plot.heads))
        assert [value.text for value in row.values] == ["", *(mean if i == place else "" for i in columns)]
    said = [text for text in numbers(answer.sentence) if "." in text]
    assert said == [means[ADAPTIVE], means[PAPERS]]
    assert means[REFINED] in answer.under[-1]
    assert means[ADAPTIVE] in answer.under[0]


@pytest.mark.parametrize("device", DEVICES)
def test_both_baselines_have_their_times(device: str) -> None:
    """A run with the paper's kernels may be faster than its baseline and slower than the fastest fp64 run.

    So its speedup stands on an axis of its own, beside the time of its own baseline.
    """
    results = results_of("pagerank", device)
    answer, (first, *_) = explore(results), comparisons(results.data)
    assert answer is not None
    papers = first.tallies[PAPERS]
    mean, most = papers.slowdowns
    assert 1 < mean < most
    assert [numbers(answer.under[1])[place] for place in (1, 3)] == numbers(f"{units.ratio(mean)} {units.ratio(most)}")
    plots = [picture(results, kind) for kind in (ADAPTIVE, PAPERS)]
    assert [plot.heads[0] for plot in plots] == [FP64_RUN, PAPERS_FP64]
    assert plots[1].heads[1:] == (PAPERS,)
    assert PAPERS not in plots[0].heads
    fast, own = ({opened_by(row.href): row for row in plot.rows if row.href} for plot in plots)
    for pair in papers.pairs:
        assert pair.fastest is not None
        baseline, fastest = (units.seconds(run.measurement.median_s) for run in (pair.full, pair.fastest))
        opened = drawer(results, pair.matrix_id)
        if pair.matrix_id in fast:
            assert fast[pair.matrix_id].values[0].text == fastest
        assert own[pair.matrix_id].values[0].text == baseline
        assert opened is not None
        times = {each.name: each.values[1].text for each in runs_of(opened)}
        assert (times[FP64_RUN], times[PAPERS_FP64]) == (fastest, baseline)
        assert pair.slowdown == 1 or units.ratio(pair.slowdown) in opened.under[0]


@pytest.mark.parametrize("device", DEVICES)
def test_no_speedup_whose_interval_allows_both_answers_is_denied(device: str) -> None:
    for place in comparisons(results_of("pagerank", device).data):
        for tally in place.tallies.values():
            if tally.pays == "no" and tally.interval:
                assert tally.interval[1] < 1 + EQUIVALENCE["cuda"]
            if tally.pays == "inconclusive":
                low, high = tally.interval or (0.0, 0.0)
                assert low < 1 < high


@pytest.mark.parametrize("device", DEVICES)
def test_every_graph_of_the_page_is_a_row(device: str) -> None:
    """Also those of which only the lower triangle ran, and the eyebrow counts all of them."""
    results = results_of("pagerank", device)
    answer = explore(results)
    assert answer is not None
    ids = {opened_by(row.href) for plot in answer.pictures if isinstance(plot, Dots) for row in plot.rows if row.href}
    paired = {pair.matrix_id for place in comparisons(results.data) for pairs in place.pairs.values() for pair in pairs}
    assert sorted(ids) == sorted(paired)
    counted = numbers(answer.eyebrow.rpartition(" · ")[2])
    assert sum(map(int, counted)) == len(ids)


def test_the_sentence_names_the_first_of_several_devices() -> None:
    """The page of all devices has the answer of one of them."""
    parts = [results_of("pagerank", device) for device in DEVICES]
    together = tuple(m for part in parts for m in part.measurements)
    features = {matrix_id: known for part in parts for matrix_id, known in part.features.items()}
    names = {device: name for part in parts for device, name in part.names.items()}
    both = replace(parts[0], measurements=together, all_measurements=together, features=features, names=names)
    answer = explore(both)
    assert answer is not None
    assert short(parts[0].names[f"recorded:{DEVICES[0]}"]) in answer.sentence
    assert short(parts[1].names[f"recorded:{DEVICES[1]}"]) not in answer.sentence


@pytest.mark.parametrize("device", DEVICES)
def test_the_ranking_says_the_same_as_the_answer(device: str) -> None:
    """The sentences of `pays` stand on the same page."""
    results = results_of("pagerank", device)
    overview = pays(results.data)
    for place in comparisons(results.data):
        for kind in KINDS:
            tally = place.tallies.get(kind)
            if tally is None:
                continue
            count = f"faster on {tally.verdicts['faster']} of {len(tally.pairs)} graph"
            slower = f"slower on {tally.verdicts['slower']}"
            (sentence,) = (
                text
                for text in overview
                if text.lower().startswith(kind) and ("lower triangles" in text) == (place.triangle != "full")
            )
            assert count in sentence.lower()
            assert slower in sentence
            assert f"{tally.mean:.2f}" in sentence


@pytest.mark.parametrize("device", DEVICES)
def test_a_drawer_agrees_with_its_row_and_its_ranks_are_verified(device: str) -> None:
    results = results_of("pagerank", device)
    plot = picture(results)
    rows = {opened_by(row.href): row for row in plot.rows if row.href}
    seen = 0
    for matrix_id in dict.fromkeys(group.matrix_id for group in run_groups(results.data)):
        opened = drawer(results, matrix_id)
        if opened is None:
            continue
        check_words(opened)
        for runs in opened.pictures:
            assert isinstance(runs, Dots)
            check_plot(runs)
        assert len(opened.ticks) == 4
        assert all(holds for holds, _, _ in opened.ticks)
        if matrix_id in rows:
            value = rows[matrix_id].values[1]
            assert value.text in opened.sentence
            assert verdict_text(value.verdict) in opened.sentence
            by_name = {row.name: row.values[-1] for row in runs_of(opened)}
            assert all(
                (own.text, own.verdict) == (value.text, value.verdict)
                for kind, value in zip(plot.heads[1:], rows[matrix_id].values[1:], strict=True)
                if (own := by_name.get(kind))
            )
            seen += 1
    assert seen == len(rows) > 0
    assert drawer(results, "unknown") is None


def made(*runs: object) -> Results:
    data = shown(*runs)  # type: ignore[arg-type]
    chosen, measurements = Selection(), tuple(data.measurements)
    return Results("pagerank", chosen, chosen, (), measurements, data.matrices, measurements, (), ("lux",), {})


FULL = ran("csr/thread+fp64", 113, 0.1)


@pytest.mark.parametrize(("time", "yes"), [(0.05, "Yes"), (0.2, "No"), (0.1, "No")])
def test_the_answer_begins_with_yes_or_no(time: float, yes: str) -> None:
    answer = explore(made(FULL, ran("csr/thread+cpms2", (47, 66), time)))
    assert answer is not None
    assert answer.sentence.split("? ")[1].startswith(yes)


def test_refinement_alone_is_asked_about_too() -> None:
    answer = explore(made(FULL, ran("csr/thread+ir32", (60, 53), 0.05)))
    assert answer is not None
    assert REFINED in answer.sentence
    assert ADAPTIVE not in answer.sentence
    assert explore(made(FULL)) is None


def test_a_missed_check_comes_first() -> None:
    other = ran("csr/thread+cpms2", (47, 66), 0.05, distance=1e-8)
    opened = drawer(made(FULL, other), "lux")
    assert opened is not None
    assert [holds for holds, _, _ in opened.ticks] == [False, True, True, True]


@pytest.mark.parametrize("device", DEVICES)
def test_no_number_has_two_verdicts_that_contradict_it(device: str) -> None:
    """A number below 1 is never faster, and one of 1 with its digits is neither faster nor slower."""
    for plot in explore(results_of("pagerank", device)).pictures:  # type: ignore[union-attr]
        assert isinstance(plot, Dots)
        values = [value for row in plot.rows for value in row.values if value.verdict in ("faster", "slower")]
        assert values
        for value in values:
            assert (float(value.text) > 1) == (value.verdict == "faster")
            assert float(value.text) != 1


def test_a_drawer_names_the_threshold_of_its_verdict() -> None:
    opened = drawer(made(FULL, ran("csr/thread+cpms2", (47, 66), 0.05)), "lux")
    assert opened is not None
    assert "noise threshold" in dict(opened.facts)[ADAPTIVE]


def test_one_graph_has_no_mean() -> None:
    results = results_of("pagerank", DEVICES[-1])
    first = run_groups(results.data)[0].matrix_id
    assert not any(row.is_summary for row in picture(on_one(results, first)).rows)


def test_each_kind_has_a_form_of_its_own() -> None:
    assert len({series.form for series in SERIES.values()}) == len(SERIES)


def test_the_schedule_counts_iterations_by_bits() -> None:
    (group,) = run_groups(shown(ran("csr/thread+cpms4", (1, 46, 61, 5)), FULL))
    texts = {run.measurement.kernel: schedule_text(run) for run in group.runs}
    assert numbers(texts["csr/thread+cpms4"]) == ["1", "16", "46", "32", "61", "48", "5", "64"]
    assert texts["csr/thread+fp64"] == ""
