"""The answer that a page of a study begins with: a sentence, a table and a picture."""

from collections.abc import Sequence

from gpu_engine.findings.answer import TRIED_MIN, Answer
from gpu_engine.findings.answer_text import buckets, sentence, short, shown, table
from gpu_engine.text.units import percent
from web.kernels import PRESETS, preset, wanted
from web.parts import AnswerSection, Choice, FoldedTable, KernelChooser, Link
from web.results import Results
from web.selection import study_url
from web.strips import strips
from web.studies.base import StudyPage

PENALTY_NOTE = "What has no time counts as twice the slowest there."
ABSENT_NOTE = "What was not tried everywhere comes last, with its mean over where it was tried."
FIVE_NOTE = f"Best five: the leader and the nearest to the best of what was tried on {percent(TRIED_MIN)} or more."


def sections(study: StudyPage, answers: Sequence[Answer], results: Results) -> tuple[AnswerSection, ...]:
    """Every answer of the page, those that name a leader first: the first of all is shown in full."""
    ordered = sorted(answers, key=lambda answer: not answer.level)
    return tuple(_section(study, answer, ordered, results) for answer in ordered)


def chooser(study: StudyPage, results: Results) -> KernelChooser | None:
    """The presets as links and the kernels one by one; None where there is no choice."""
    if len(results.kernels) < 2:
        return None
    asked = results.asked
    links = tuple(
        Link(text, study_url(study.name, asked.with_(kernels=value, kernel=())), value == preset(asked))
        for value, text in PRESETS.items()
    )
    choices = tuple(Choice(name, name, name in asked.kernel) for name in sorted({*results.kernels, *asked.kernel}))
    return KernelChooser(links, choices, len(asked.kernel))


def _section(study: StudyPage, answer: Answer, every: Sequence[Answer], results: Results) -> AnswerSection:
    first, near, rest = shown(answer, wanted(study, answer, preset(results.selection)))
    colors = [study.swatch(own.measurement) for own in first]
    return AnswerSection(
        sentence(answer),
        short(answer, every),
        tuple(own.label for own in answer.standings),
        table(answer, first) if first else None,
        tuple(FoldedTable(summary, table(answer, own)) for summary, own in buckets(answer, near, rest)),
        strips(first, colors, answer.what) if answer.contests > 1 and answer.level else None,
        _note(answer, results),
    )


def _note(answer: Answer, results: Results) -> str:
    chosen = results.selection.matrix
    known = [matrix for matrix in chosen if matrix in results.matrices]
    more, lacking = len(results.matrices) - len(known), len(chosen) - len(known)
    lacks = any(own.absent > answer.standings[0].absent for own in answer.standings)
    said = (
        f"Of {len(chosen)} matrices chosen {lacking} {'has' if lacking == 1 else 'have'} no results here."
        if lacking
        else "",
        f"Of {len(results.matrices)} matrices measured {more} {'is' if more == 1 else 'are'} left out."
        if more > 0
        else "",
        f"Only the {len(results.selection.kernel)} chosen kernels are compared." if results.selection.kernel else "",
        PENALTY_NOTE if any(own.failed for own in answer.standings) else "",
        ABSENT_NOTE if lacks else "",
        FIVE_NOTE if lacks and preset(results.selection) == "best" else "",
    )
    return " ".join(filter(None, said))
