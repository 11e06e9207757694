"""The answer of Formats on the recordings of the release: its counts, its strips, and its drawers agree."""

import math
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest
from markupsafe import escape

from gpu_engine.competitors import BEST
from gpu_engine.findings.formats.for_n import best, cost_of
from gpu_engine.text import units
from tests.web.studies.answers.reading import WORDS_MAX, numbers, on_one, opened_by, recorded, results_of, sentences
from web import headline
from web.device_labels import short
from web.figures.formats import regret
from web.kernel_markup import with_links
from web.palette import mark_of
from web.plots.dots import Dots
from web.plots.heat import Heat, MatrixTable, step_of
from web.results import Results
from web.studies.answers.formats import answer
from web.studies.answers.formats_drawer import drawer
from web.studies.answers.formats_heat import ADVISED, MATRICES_MAX, SPARSIGHT
from web.studies.answers.formats_settings import NOISY, OF_ADVISOR, VERDICTS, settings

every_recording = pytest.mark.parametrize("device", recorded("formats"))


def parts(results: Results) -> tuple[str, tuple[str, ...], Heat, MatrixTable]:
    """Sentence, sentences under it, strips, and table of the answer."""
    said = answer(results)
    assert said
    strips, table = said.pictures
    assert isinstance(strips, Heat)
    assert isinstance(table, MatrixTable)
    return said.sentence, said.under, strips, table


def counts(wins: tuple[int, int, int], total: int) -> list[str]:
    """The numbers of a sentence on wins, in their order; without a total if that is 0, as are the ties."""
    faster, level, slower = wins
    return [str(faster), *([str(total)] if total else []), *([str(level)] if level else []), str(slower)]


@every_recording
def test_home_and_formats_count_the_same(device: str) -> None:
    results = results_of("formats", device)
    setting = next(settings(results))
    comparison = headline.compare(setting.choices, results.data)
    _, _, strips, _ = parts(results)
    row, best = (next(row for row in strips.rows if row.name == name) for name in (ADVISED, SPARSIGHT))
    assert row.wins == tuple(comparison.count(verdict) for verdict in ("faster", "same", "slower"))
    assert row.wins
    assert row.wins[2] > 0, "the advisor's choice is slower than cuSPARSE on some matrices"
    assert best.wins
    assert comparison.most
    assert (units.speedup(comparison.most[0]), comparison.most[1]) == (best.mean, best.wins[0])
    assert units.ratio(comparison.most[0]) in headline.details(comparison)
    assert all(name in headline.details(comparison) for name in comparison.noisy[:1])
    assert row.mean == units.speedup(comparison.mean)
    assert [str(row.wins[0]), str(sum(row.wins))] == numbers(headline.sentence(comparison, "GPU"))


@every_recording
def test_every_count_leads_to_the_matrices_that_it_counts(device: str) -> None:
    results = results_of("formats", device)
    said = answer(results)
    assert said is not None
    choices = next(settings(results)).choices
    verdicts = []
    for text, href in said.links:
        (verdict,) = parse_qs(urlsplit(href).query)["verdict"]
        verdicts.append(verdict)
        there = replace(results, selection=results.selection.with_(verdict=verdict))
        _, _, _, table = parts(there)
        rows = (*table.rows, *table.folded)
        assert [len(rows)] == [int(n) for n in numbers(text)] or verdict == NOISY
        assert table.heading.startswith(f"{len(rows)} of {len(choices.groups) + len(choices.busy)} ")
        assert [name for name, _, current in table.verdicts if current] == [f"{verdict.replace('-', ' ')} {len(rows)}"]
        if verdict == NOISY:
            assert [row.name for row in rows] == [results.data.matrix(i).name for i in choices.busy]
            assert all(row.name in text for row in rows[:1])
    assert {OF_ADVISOR + "faster", OF_ADVISOR + "slower", "faster", "slower"} <= set(verdicts)
    assert (NOISY in verdicts) is bool(choices.busy)
    (sentence, *_) = said.under
    html = with_links(escape(sentence), said.links)
    assert html.count("<a ") == sum(verdict != NOISY for verdict in verdicts)
    assert html.striptags() == escape(sentence).striptags()


def times(results: Results, matrix: str) -> dict[str, float]:
    """Seconds of the kernels of a matrix."""
    return {m.kernel: m.median_s for m in results.measurements if m.matrix_id == matrix and m.median_s}


@every_recording
def test_counts_of_every_row_add_up_to_its_matrices(device: str) -> None:
    _, _, strips, table = parts(results_of("formats", device))
    total = len(strips.columns)
    assert total == len(table.rows) + len(table.folded) == sum(number for _, _, number in strips.groups)
    for row in (*strips.rows, *strips.folded):
        assert len(row.cells) == total
        measured = int(row.note.removeprefix("on ")) if row.note else total
        assert measured == sum(step >= 0 for step in row.cells)
        assert row.wins is None or sum(row.wins) == measured


@every_recording
def test_the_numbers_of_the_sentences_are_those_of_the_rows(device: str) -> None:
    sentence, under, strips, _ = parts(results_of("formats", device))
    rows = {row.name: row for row in strips.rows}
    advised, best = rows[ADVISED], rows[SPARSIGHT]
    assert advised.wins
    assert best.wins
    assert numbers(advised.mean)[0] in numbers(sentence)
    said = [numbers(each) for each in under[0].split(". ")]
    assert said == [
        [*numbers(best.mean), *counts(best.wins, len(strips.columns))],
        [*numbers(advised.mean), *counts(advised.wins, 0)],
    ]
    assert [row.name for row in strips.rows[:2]] == [SPARSIGHT, ADVISED]


@every_recording
def test_the_gain_of_the_advisor_follows_from_the_times_and_the_figure_of_regret(device: str) -> None:
    results = results_of("formats", device)
    _, _, strips, table = parts(results)
    (panel,) = (p for p in regret.info(results.data).panels if p.place[1] == "warm")
    counted = {opened_by(column.href) for column in strips.columns}
    outcomes = [outcome for outcome in panel.evaluation.outcomes if outcome.matrix_id in counted]
    logs = [math.log(times(results, v.matrix_id)[BEST] / v.advised_s) for v in outcomes]
    assert len(logs) == len(strips.columns)
    assert strips.rows[1].mean == units.speedup(math.exp(sum(logs) / len(logs)))
    advised = {v.matrix_id: v.advised_s / min(times(results, v.matrix_id).values()) for v in outcomes}
    for row in (*table.rows, *table.folded):
        assert row.cells[0] == (step_of(advised[opened_by(row.href)]), f"{advised[opened_by(row.href)]:.2f}")


@every_recording
def test_a_cell_is_the_slowdown_against_the_fastest_kernel_of_its_matrix(device: str) -> None:
    results = results_of("formats", device)
    _, _, strips, _ = parts(results)
    for place, column in enumerate(strips.columns):
        seconds = times(results, opened_by(column.href))
        for row in strips.rows[2:]:
            expected = step_of(seconds[row.name] / min(seconds.values())) if row.name in seconds else -1
            assert row.cells[place] == expected or (row.cells[place], expected) == (-2, -1)


@every_recording
def test_matrices_are_sorted_by_speedup_and_grouped_by_the_family_of_the_fastest_kernel(device: str) -> None:
    results = results_of("formats", device)
    _, _, strips, table = parts(results)
    speedups = [float(numbers(row.speedup)[0]) for row in (*table.rows, *table.folded)]
    assert speedups == sorted(speedups, reverse=True)
    assert len(table.rows) == MATRICES_MAX
    fastest = next(settings(results)).choices.fastest.measurements
    colors = {matrix: mark_of(m.kernel)[0] for matrix, m in fastest.items()}
    expected = [color for color, _, number in strips.groups for _ in range(number)]
    assert [colors[opened_by(column.href)] for column in strips.columns] == expected


@every_recording
def test_the_verdicts_of_the_rows_are_those_that_the_sentence_counts(device: str) -> None:
    results = results_of("formats", device)
    said, (_, _, strips, table) = answer(results), parts(results)
    kinds = [row.verdict for row in (*table.rows, *table.folded)]
    wins = kinds.count("faster"), kinds.count("same") + kinds.count("inconclusive"), kinds.count("slower")
    assert wins == strips.rows[0].wins
    assert wins[2] > 0
    assert said
    counts_of_best = [number for number in wins if number]
    assert [int(numbers(text)[0]) for text, _ in said.links[: len(counts_of_best)]] == counts_of_best
    assert all(text in " ".join(said.under) for text, _ in said.links)
    for verdict, number in zip(VERDICTS, wins, strict=True):
        chosen = replace(results, selection=results.selection.with_(verdict=verdict))
        _, under, _, some = parts(chosen)
        assert len(some.rows) == number
        assert not some.folded
        assert {row.verdict for row in some.rows} <= {*VERDICTS[verdict]}
        assert under == said.under
        assert [(text, current) for text, _, current in some.verdicts if current] == [(f"{verdict} {number}", True)]


@every_recording
@pytest.mark.parametrize("n", [1, 500, 10**6])
def test_the_kernel_for_n_has_the_least_time_with_conversion(device: str, n: int) -> None:
    results = results_of("formats", device)
    chosen = replace(results, selection=results.selection.with_(n=str(n)))
    _, under, strips, table = parts(chosen)
    kernels = {}
    for row in (*table.rows, *table.folded):
        group = [m for m in results.measurements if m.matrix_id == opened_by(row.href) and m.kernel != BEST]
        cost = best([cost for m in group if (cost := cost_of(m))], n)
        assert cost
        assert row.chosen
        assert row.chosen[0] == cost.kernel
        kernels[row.name] = cost.kernel
    pays = sum(not kernel.startswith("cusparse/") for kernel in kernels.values())
    assert numbers(under[1].replace("\u202f", "").replace(",", ""))[:3] == [str(n), str(pays), str(len(strips.columns))]


@every_recording
def test_every_drawer_agrees_with_its_row(device: str) -> None:
    results = results_of("formats", device)
    _, _, _, table = parts(results)
    for row in table.rows[:6] + table.folded[-3:]:
        matrix = opened_by(row.href)
        shown = drawer(results, matrix)
        assert shown
        assert shown.title == row.name
        assert row.best
        dots = shown.pictures[0]
        assert isinstance(dots, Dots)
        assert shown.sentence.lower().startswith((dots.rows[0].name, "the best of cusparse"))
        assert {dot.name: dot.values[0].text for dot in dots.rows}.get(row.best[0], row.time) == row.time
        if dots.rows[0].name != BEST:
            assert (dots.rows[0].name, dots.rows[0].values[0].text) == (row.best[0], row.time)
        for sentence in sentences(shown):
            assert len(sentence.split()) <= WORDS_MAX, sentence
    assert drawer(results, "unknown") is None


@every_recording
def test_a_single_matrix_is_answered_by_its_drawer(device: str) -> None:
    results = results_of("formats", device)
    _, _, strips, _ = parts(results)
    matrix = opened_by(strips.columns[0].href)
    said, shown = answer(on_one(results, matrix)), drawer(on_one(results, matrix), matrix)
    assert said
    assert shown
    assert (said.sentence, said.under, said.pictures) == (shown.sentence, shown.under, shown.pictures)


@every_recording
def test_sentences_are_short(device: str) -> None:
    said = answer(results_of("formats", device))
    assert said
    for sentence in sentences(said):
        assert len(sentence.split()) <= WORDS_MAX, sentence
    assert len(said.under) <= 2


def test_several_devices_are_all_in_the_sentence_in_the_order_of_the_menu() -> None:
    parts_of = [results_of("formats", device) for device in recorded("formats")]
    assert len(parts_of) > 1
    together = tuple(m for part in reversed(parts_of) for m in part.measurements)
    features = {matrix_id: known for part in parts_of for matrix_id, known in part.features.items()}
    names = {device: name for part in parts_of for device, name in part.names.items()}
    every = replace(
        parts_of[0], measurements=together, all_measurements=together, features=features, names=names, devices=(*names,)
    )
    said = answer(every)
    assert said
    first = [next(settings(part)).choices for part in parts_of]
    gains = [(choices.advised or choices.best).mean for choices in first]
    at = [said.sentence.index(units.speedup(gain)) for gain in gains]
    assert at == sorted(at)
    for part, choices, under in zip(parts_of, first, said.under, strict=True):
        assert short(*part.names.values()) in said.sentence
        assert short(*part.names.values()) in said.eyebrow
        assert under.startswith(short(*part.names.values()))
        assert units.speedup(choices.best.mean) in under
    for sentence in sentences(said):
        assert len(sentence.split()) <= WORDS_MAX, sentence
    matrix = next(i for i in first[0].groups if all(i in choices.groups for choices in first))
    one = answer(on_one(every, matrix))
    assert one
    assert short(*parts_of[1].names.values()) in one.under[-1]
