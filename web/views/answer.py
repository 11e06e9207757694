"""The answer that a page of a study begins with: a sentence, a table and a picture."""

from collections.abc import Sequence

from gpu_engine.findings.answer import Answer, Standing
from gpu_engine.findings.answer_text import sentence, short, shown, table
from gpu_engine.findings.units import ratio
from web.kernels import PRESETS, preset, wanted
from web.parts import AnswerSection, Choice, FoldedTable, KernelChooser, Link
from web.results import Results
from web.selection import Selection
from web.strips import strips
from web.studies.base import StudyPage
from web.views.lines import study_url

PENALTY_NOTE = "What has no time counts as twice the slowest there."
ABSENT_NOTE = "What was not tried everywhere comes last."


def sections(study: StudyPage, answers: Sequence[Answer], results: Results) -> tuple[AnswerSection, ...]:
    """Every answer of the page, those that name a leader first: the first of all is shown in full."""
    ordered = sorted(answers, key=lambda answer: not answer.level)
    return tuple(_section(study, answer, ordered, results) for answer in ordered)


def chooser(study: StudyPage, results: Results, asked: Selection) -> KernelChooser | None:
    """The presets as links and the kernels one by one; None where there is no choice."""
    if len(results.kernels) < 2:
        return None
    links = tuple(
        Link(text, study_url(study.name, asked.with_(kernels=value, kernel=())), value == preset(asked))
        for value, text in PRESETS.items()
    )
    choices = tuple(Choice(name, name, name in asked.kernel) for name in sorted({*results.kernels, *asked.kernel}))
    return KernelChooser(links, choices, len(asked.kernel))


def _section(study: StudyPage, answer: Answer, every: Sequence[Answer], results: Results) -> AnswerSection:
    first, near, far = shown(answer, wanted(study, answer, preset(results.selection)))
    colors = [study.swatch(own.measurement) for own in first]
    return AnswerSection(
        sentence(answer),
        short(answer, every),
        tuple(own.label for own in answer.standings),
        table(answer, first) if first else None,
        tuple(_folded(answer, first, near, far)),
        strips(first, colors, answer.what) if answer.contests > 1 and answer.level else None,
        _note(answer, results),
    )


def _folded(
    answer: Answer, first: Sequence[Standing], near: Sequence[Standing], far: Sequence[Standing]
) -> list[FoldedTable]:
    folded = []
    if near:
        folded.append(FoldedTable(f"{len(near)} more within 2 % of {first[0].label}", table(answer, near)))
    if far:
        means = [own.mean for own in far]
        ends = ratio(means[0]) if len(far) == 1 else f"{ratio(min(means))} to {ratio(max(means))}"
        what = "1 more kernel" if len(far) == 1 else f"{len(far)} more kernels"
        absent = sum(own.absent > first[0].absent for own in far)
        part = f"{absent} of them " if absent < len(far) else ""
        tried = f", {part}not tried on all {answer.what}" if absent else ""
        folded.append(FoldedTable(f"{what}{tried}: {ends} the best time", table(answer, far)))
    return folded


def _note(answer: Answer, results: Results) -> str:
    chosen = results.selection.matrix
    known = [matrix for matrix in chosen if matrix in results.matrices]
    more, lacking = len(results.matrices) - len(known), len(chosen) - len(known)
    said = (
        f"Of {len(chosen)} matrices chosen {lacking} {'has' if lacking == 1 else 'have'} no results here."
        if lacking
        else "",
        f"Of {len(results.matrices)} matrices measured {more} {'is' if more == 1 else 'are'} left out."
        if more > 0
        else "",
        f"Only the {len(results.selection.kernel)} chosen kernels are compared." if results.selection.kernel else "",
        PENALTY_NOTE if any(own.failed for own in answer.standings) else "",
        ABSENT_NOTE if any(own.absent > answer.standings[0].absent for own in answer.standings) else "",
    )
    return " ".join(filter(None, said))
