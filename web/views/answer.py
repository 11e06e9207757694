"""Overall ranking at the top of a study page: a sentence, a table, and a dot plot."""

from collections.abc import Sequence
from dataclasses import replace

from gpu_engine.findings.overall_ranking import TRIED_MIN, OverallRanking
from gpu_engine.findings.overall_ranking_text import buckets, sentence, short, table, visible_rows
from gpu_engine.text.units import percent
from web import device_labels
from web.components import AnswerSection, Choice, FoldedTable, KernelChooser, Link
from web.dot_plots import dot_plot
from web.kernels import PRESETS, preset, unfolded_labels
from web.results import Results
from web.selection import study_url
from web.studies.base import StudyPage

PENALTY_NOTE = "A kernel without a timing counts as 2\u202f× the slowest kernel on that matrix."
ABSENT_NOTE = "Kernels measured on only some matrices are listed last; their mean covers those matrices only."
FIVE_NOTE = f"Best: lowest mean slowdown among the kernels measured on at least {percent(TRIED_MIN)} of the matrices."


def sections(study: StudyPage, answers: Sequence[OverallRanking], results: Results) -> tuple[AnswerSection, ...]:
    """Return the overall rankings of a page, those with a best kernel first; the page shows the first one in full."""
    ordered = sorted(answers, key=lambda answer: not answer.level)
    return tuple(_section(study, answer, ordered, results) for answer in ordered)


def chooser(study: StudyPage, results: Results) -> KernelChooser | None:
    """Return kernel presets as links and all kernels; None if there is only one kernel."""
    if len(results.kernels) < 2:
        return None
    requested = results.requested
    links = tuple(
        Link(text, study_url(study.name, requested.with_(kernels=value, kernel=())), value == preset(requested))
        for value, text in PRESETS.items()
    )
    chosen = requested.kernel
    choices = tuple(Choice(name, name, name in chosen) for name in sorted({*results.kernels, *chosen}))
    return KernelChooser(links, choices, len(chosen))


def _section(
    study: StudyPage, answer: OverallRanking, answers: Sequence[OverallRanking], results: Results
) -> AnswerSection:
    first, near, rest = visible_rows(answer, unfolded_labels(study, answer, preset(results.selection)))
    colors = [study.swatch(standing.measurement) for standing in first]
    return AnswerSection(
        sentence(answer),
        short(_with_short_name(answer), [_with_short_name(each) for each in answers]),
        tuple(standing.label for standing in answer.standings),
        table(answer, first) if first else None,
        tuple(FoldedTable(summary, table(answer, group)) for summary, group in buckets(answer, near, rest)),
        dot_plot(first, colors, answer.what) if answer.contests > 1 and answer.level else None,
        _note(answer, results),
    )


def _with_short_name(answer: OverallRanking) -> OverallRanking:
    return replace(answer, device=device_labels.short(answer.device))


def _note(answer: OverallRanking, results: Results) -> str:
    chosen = results.selection.matrix
    known = [matrix for matrix in chosen if matrix in results.matrices]
    more, lacking = len(results.matrices) - len(known), len(chosen) - len(known)
    lacks = not all(map(answer.is_ranked, answer.standings))
    sentences = (
        f"{lacking} of the {len(chosen)} selected matrices {'has' if lacking == 1 else 'have'} no results."
        if lacking
        else "",
        f"{more} of the {len(results.matrices)} measured matrices {'is' if more == 1 else 'are'} not selected."
        if more > 0
        else "",
        f"Only the {len(results.selection.kernel)} selected kernels are compared." if results.selection.kernel else "",
        PENALTY_NOTE if any(standing.failed for standing in answer.standings) else "",
        ABSENT_NOTE if lacks else "",
        FIVE_NOTE if lacks and preset(results.selection) == "best" else "",
    )
    return " ".join(filter(None, sentences))
