"""The answers of batches, scaling, and reduced-precision SpMV: their numbers are those of their pictures."""

from collections import Counter
from dataclasses import replace
from types import ModuleType

import pytest

from gpu_engine.findings.batched import contests
from gpu_engine.findings.batched.flexible import flexible, of_smaller_sizes
from gpu_engine.findings.batched.outlook import FLEXIBLE
from gpu_engine.findings.overall_ranking import answers
from gpu_engine.findings.scaling.answer import machines
from gpu_engine.findings.scaling.cases import COLD, ITERATE, RESIDENT, STAYING
from gpu_engine.verdicts.verdict import verdict_text
from tests.web.studies.answers.reading import (
    check_plot,
    check_words,
    column,
    counted,
    numbers,
    opened_by,
    recorded,
    results_of,
)
from web.plots.dots import Dots
from web.results import Results
from web.studies.answers import batched, reduced_spmv, scaling
from web.studies.answers.batched_growth import growth
from web.studies.batched import BATCHED

MODULES = {"batched": batched, "scaling": scaling, "reduced_spmv": reduced_spmv}
CASES = [(study, device) for study in MODULES for device in recorded(study)]


def pictures(module: ModuleType, results: Results) -> list[Dots]:
    return [plot for plot in module.explore(results).pictures if isinstance(plot, Dots)]


@pytest.mark.parametrize(("study", "device"), CASES)
def test_sentences_are_short_and_marks_are_on_the_drawing(study: str, device: str) -> None:
    module, results = MODULES[study], results_of(study, device)
    check_words(module.explore(results))
    for plot in pictures(module, results):
        check_plot(plot)
        assert len(plot.rows) <= 16


@pytest.mark.parametrize(("study", "device"), CASES)
def test_every_name_opens_a_drawer(study: str, device: str) -> None:
    module, results = MODULES[study], results_of(study, device)
    links = [row.href for plot in pictures(module, results) for row in plot.rows if row.href]
    assert links
    for href in links:
        opened = module.drawer(results, opened_by(href))
        check_words(opened)
        for plot in opened.pictures:
            check_plot(plot)
    assert module.drawer(results, "unknown") is None


@pytest.mark.parametrize("device", recorded("batched"))
def test_batches_count_what_their_ranking_counts(device: str) -> None:
    results = results_of("batched", device)
    answer, (first, *_) = batched.explore(results), flexible(results.data)
    assert answer is not None
    (ranking,) = answers(contests(results.data), "batches")
    standing = next(each for each in ranking.standings if each.label == FLEXIBLE)
    assert (standing.wins, len(standing.ratios)) == (first.wins, len(first.batches))
    assert abs(standing.mean - first.slowdown) < 1e-9
    large, small = map(numbers, answer.under)
    assert large == [*counted(first.verdicts), str(first.wins), str(len(first.batches))]
    sizes = of_smaller_sizes(results.data, first)
    assert [*sizes] == [10, 100]
    said = [[str(size), f"{each.speedup:.2f}", *counted(each.verdicts)] for size, each in sizes.items()]
    assert small == [number for numbers_of_size in said for number in numbers_of_size]
    assert first.speedup is not None
    assert f"{first.speedup:.2f}" in answer.sentence


@pytest.mark.parametrize("device", recorded("batched"))
def test_mixed_batches_and_losses_are_shown(device: str) -> None:
    results = results_of("batched", device)
    (first, *_) = flexible(results.data)
    _, speedups = pictures(batched, results)
    shown = column(speedups, "speedup")
    assert [float(text) for text, _ in shown] == sorted((float(text) for text, _ in shown), reverse=True)
    assert Counter(verdict for _, verdict in shown)["slower"] == first.verdicts["slower"]
    assert sum(batch.group.compose == "mixed" for batch in first.batches) == sum(
        "mixed" in row.name for row in speedups.rows
    )


@pytest.mark.parametrize("device", recorded("batched"))
def test_every_batch_has_a_drawer_of_its_own(device: str) -> None:
    """Two mixtures begin with the same matrix."""
    results = results_of("batched", device)
    _, speedups = pictures(batched, results)
    keys = [opened_by(row.href) for row in speedups.rows]
    assert len({*keys}) == len(keys)
    for row, key in zip(speedups.rows, keys, strict=True):
        opened = batched.drawer(results, key)
        assert opened is not None
        assert opened.title == row.name
        assert dict(opened.facts)["Rows per matrix"] == row.values[0].text
        pages = [link.href for link in opened.links if link.href.startswith("/matrices/")]
        assert pages == ([] if "mixed" in row.name else [f"/matrices/{key}"])


@pytest.mark.parametrize("device", recorded("batched"))
def test_matrices_can_be_chosen_by_their_rows(device: str) -> None:
    results = results_of("batched", device)
    switch = next(each for each in BATCHED.switches if each.label == "Rows")
    values = switch.values_for(results)
    assert [*values] == ["all", "up to 128", "129 to 512", "over 512"]
    ids = [matrix for matrices in values.values() for matrix in matrices]
    assert sorted(ids) == sorted(results.matrices)
    assert max(results.features[matrix].n_rows for matrix in values["up to 128"]) <= 128
    chosen = replace(results, requested=results.requested.with_(matrix=values["over 512"]))
    assert (switch.current(results), switch.current(chosen)) == (["all"], ["over 512"])


@pytest.mark.parametrize("device", recorded("batched"))
def test_lines_over_the_batch_size_end_at_the_ratios_of_the_largest_batch(device: str) -> None:
    results = results_of("batched", device)
    (first, *_) = flexible(results.data)
    lines = growth(first, results.data)
    assert lines is not None
    assert lines.lines[0].name == FLEXIBLE
    assert len(lines.lines) <= 5
    assert len({(line.color, line.dashed) for line in lines.lines}) == len(lines.lines)
    matrix = lines.heading.rpartition(": ")[2]
    batch = next(
        batch for batch in first.batches if results.data.matrix(batch.group.matrix_id).name == matrix and batch.library
    )
    assert batch.over_library is not None
    assert f"{batch.over_library.ratio:.2f}" in lines.summary
    above = lines.lines[0].points[-1][1] < (lines.one or 0)
    assert above == (batch.over_library.kind == "faster")


@pytest.mark.parametrize("device", recorded("scaling"))
def test_the_ranges_of_scaling_are_those_of_its_columns(device: str) -> None:
    results = results_of("scaling", device)
    (first, *_), (plot,) = machines(results.data), pictures(scaling, results)
    answer = scaling.explore(results)
    assert answer is not None
    said = numbers(f"{answer.sentence} {' '.join(answer.under)}")
    for work in first.works:
        values = sorted(float(text) for text, _ in column(plot, scaling.SERIES[work].name) if text != "–")
        assert {values[0], values[-1]} <= {float(number) for number in said}
        visible = {opened_by(row.href) for row in plot.rows}
        assert len(values) == sum(each.group.matrix_id in visible for each in first.of(work)) > 0
    if first.of(COLD):
        assert first.balance_gain is not None
        assert f"{first.balance_gain:.2f}" in said


@pytest.mark.parametrize("device", recorded("scaling"))
def test_workloads_of_different_matrices_say_on_how_many(device: str) -> None:
    results = results_of("scaling", device)
    (first, *_), answer = machines(results.data), scaling.explore(results)
    assert answer is not None
    assert all(note[:1] == note[:1].upper() for note in answer.notes)
    staying = next(first.of(work) for work in STAYING if first.of(work))
    ids = [{each.group.matrix_id for each in scaled} for scaled in (staying, first.of(COLD))]
    said = [number for number in numbers(answer.sentence) if "." not in number]
    # A sentence on SpMVs without exchange and iterations with exchange has no room for SpMVs from the host.
    if all(ids) and ids[0] != ids[1] and not (first.of(RESIDENT) and first.of(ITERATE)):
        assert said == [str(len(each)) for each in ids]
        assert all(scaled[0].group.matrix_id in " ".join(answer.notes) for scaled in (staying, first.of(COLD)))
    else:
        assert said == [str(first.devices)]


@pytest.mark.parametrize("device", recorded("scaling"))
def test_a_workload_that_is_nowhere_faster_has_its_verdict(device: str) -> None:
    results = results_of("scaling", device)
    (first, *_), answer = machines(results.data), scaling.explore(results)
    assert answer is not None
    for text in answer.under:
        assert not numbers(text) or "0 of" not in text
    for work in first.works:
        verdicts = Counter(each.speedup.kind for each in first.of(work))
        if work != COLD and set(verdicts) == {"slower"}:
            (text,) = (each for each in answer.under if each.lower().startswith(work))
            assert text.startswith(f"{text.partition(':')[0]}: ")
            assert verdict_text("slower") in text
            assert numbers(text)[-1] == str(verdicts["slower"])


@pytest.mark.parametrize("device", recorded("scaling"))
def test_an_answer_has_one_word_for_devices(device: str) -> None:
    results = results_of("scaling", device)
    answer = scaling.explore(results)
    assert answer is not None
    words = " ".join(
        (answer.eyebrow, answer.sentence, *answer.under, *(plot.heading for plot in pictures(scaling, results)))
    )
    assert ("GPU" in words) != ("device" in words)


@pytest.mark.parametrize("device", recorded("reduced_spmv"))
def test_counts_of_fewer_bits_are_the_glyphs(device: str) -> None:
    results = results_of("reduced_spmv", device)
    answer, (plot,) = reduced_spmv.explore(results), pictures(reduced_spmv, results)
    assert answer is not None
    glyphs = Counter(verdict for _, verdict in column(plot, "both") if verdict)
    assert numbers(answer.under[0]) == counted(glyphs)
    means = [value.text for row in plot.rows if row.is_summary for value in row.values if value.text]
    assert [text for text in numbers(answer.sentence) if "." in text] == means


def test_scaling_leads_to_other_numbers_of_devices() -> None:
    results = results_of("scaling", "h200-x2")
    others = {f"recorded:{name}": name for name in ("h100-x2", "h200-x4", "h200")}
    names = {
        "recorded:h200-x4": "4 × NVIDIA H200",
        "recorded:h100-x2": "2 × NVIDIA H100",
        "recorded:h200": "NVIDIA H200",
    }
    answer = scaling.explore(replace(results, devices=(*results.devices, *others), names={**results.names, **names}))
    assert answer is not None
    assert [href for _, href in answer.links] == [
        "/scaling?device=recorded%3Ah100-x2",
        "/scaling?device=recorded%3Ah200-x4",
    ]
    assert all(text in answer.under[-1] for text, _ in answer.links)
    alone = scaling.explore(results)
    assert alone is not None
    assert (alone.links, alone.under) == ((), answer.under[:-1])
