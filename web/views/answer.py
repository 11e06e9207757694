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
    """Every answer of the page, the first of them in full."""
    return tuple(_section(study, answer, answers, results) for answer in answers)


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
        folded.append(FoldedTable(f"and {len(near)} more within 2 % of {first[0].label}", table(answer, near)))
    if far:
        means = [own.mean for own in far]
        ends = ratio(means[0]) if len(far) == 1 else f"{ratio(min(means))} to {ratio(max(means))}"
        folded.append(FoldedTable(f"{len(far)} more kernels: {ends} the best time", table(answer, far)))
    return folded


def _note(answer: Answer, results: Results) -> str:
    more = len(results.matrices) - len(results.selection.matrix)
    said = (
        f"Of {len(results.matrices)} matrices measured {more} are left out." if more > 0 else "",
        f"Only the {len(results.selection.kernel)} chosen kernels are compared." if results.selection.kernel else "",
        PENALTY_NOTE if any(own.failed for own in answer.standings) else "",
        ABSENT_NOTE if any(own.absent > answer.standings[0].absent for own in answer.standings) else "",
    )
    return " ".join(filter(None, said))
