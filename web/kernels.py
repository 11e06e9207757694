"""Which kernels a page of a study shows: those that the reader chose, or a preset."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpu_engine.findings.answer import Answer
from gpu_engine.findings.answer_text import shown
from gpu_engine.findings.data import StudyData
from web.figures.base import Figure
from web.selection import Selection
from web.studies.base import StudyPage

PRESETS = {"best": "best five", "paper": "the paper’s", "libraries": "libraries and ours", "all": "all"}
"""Value of the parameter `kernels` → what its link says; the first one where the address says nothing."""


def preset(selection: Selection) -> str:
    """The preset of an address; empty where it names kernels one by one."""
    return "" if selection.kernel else next(iter(selection.kernels), "best")


def wanted(study: StudyPage, answer: Answer, chosen: str) -> tuple[str, ...]:
    """Labels of the standings that are not folded."""
    if chosen == "best":
        return answer.apart
    is_papers = study.of_paper
    return tuple(
        own.label
        for own in answer.standings
        if chosen in ("", "all") or is_papers(own.measurement.kernel) == (chosen == "paper")
    )


def labels(study: StudyPage, answer: Answer, selection: Selection) -> tuple[str, ...]:
    """Labels of the kernels that an answer shows unfolded."""
    return tuple(own.label for own in shown(answer, wanted(study, answer, preset(selection)))[0])


def drawn(study: StudyPage, answers: Sequence[Answer], selection: Selection) -> tuple[str, ...]:
    """Names of the kernels in the figures that show a few; empty: all that there are."""
    chosen = preset(selection)
    if chosen in ("", "all"):
        return ()
    labels = [(answer, answer.best if chosen == "best" else wanted(study, answer, chosen)) for answer in answers]
    return tuple(
        dict.fromkeys(
            own.measurement.kernel for answer, names in labels for own in answer.standings if own.label in names
        )
    )


def data_of(study: StudyPage, figure: Figure[Any], data: StudyData, kernels: Sequence[str]) -> StudyData:
    """What a figure is drawn from, with these kernels where it shows a few."""
    # A figure of the paper names its formats itself.
    if not kernels or figure.name not in (*study.named, *study.alone) or data.choice("series") not in ("", "all"):
        return data
    if figure.name in study.named:
        return replace(data, kernels=tuple(kernels))
    return replace(data, measurements=[m for m in data.measurements if m.kernel in kernels])


def remarked(summary: str, data: StudyData, seen: StudyData) -> str:
    """The summary of a figure, in its caption a sentence on the kernels that it leaves out."""
    every = len({m.kernel for m in data.measurements})
    own = len(seen.kernels) if seen.kernels != data.kernels else len({m.kernel for m in seen.measurements})
    if seen is data or not own:
        return summary
    first, *more = summary.split("\n", 1)
    return "\n".join((f"{first} Drawn are {own} of {every} kernels.", *more))
