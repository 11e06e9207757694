"""Kernels of a study page: the reader's choice, or a preset."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.overall_ranking import OverallRanking
from gpu_engine.findings.overall_ranking_text import visible_rows
from web.figures.base import Figure
from web.selection import Selection
from web.studies.base import StudyPage

PRESETS = {"best": "best", "paper": "paper", "libraries": "libraries and Sparsight", "all": "all"}
"""Value of the parameter `kernels` → text of its link; the first one is the default."""


def preset(selection: Selection) -> str:
    """Return the preset of an address; empty if it names kernels individually."""
    return "" if selection.kernel else next(iter(selection.kernels), "best")


def unfolded_labels(study: StudyPage, answer: OverallRanking, chosen: str) -> tuple[str, ...]:
    """Return the labels of the kernels that the reader's choice keeps unfolded."""
    if chosen == "best":
        return answer.apart
    is_papers = study.of_paper
    return tuple(
        standing.label
        for standing in answer.standings
        if chosen in ("", "all") or is_papers(standing.measurement.kernel) == (chosen == "paper")
    )


def labels(study: StudyPage, answer: OverallRanking, selection: Selection) -> tuple[str, ...]:
    """Return the labels of the kernels in the table of an overall ranking."""
    chosen = preset(selection)
    names = answer.best if chosen == "best" else unfolded_labels(study, answer, chosen)
    rows = visible_rows(answer, names)[0]
    return tuple(standing.label for standing in rows)


def figure_kernels(study: StudyPage, answers: Sequence[OverallRanking], selection: Selection) -> tuple[str, ...]:
    """Return the kernels of the figures that show a few; empty: all kernels."""
    chosen = preset(selection)
    if chosen in ("", "all"):
        return ()
    labels = [
        (answer, answer.best if chosen == "best" else unfolded_labels(study, answer, chosen)) for answer in answers
    ]
    return tuple(
        dict.fromkeys(
            standing.measurement.kernel
            for answer, names in labels
            for standing in answer.standings
            if standing.label in names
        )
    )


def data_of(study: StudyPage, figure: Figure[Any], data: StudyData, kernels: Sequence[str]) -> StudyData:
    """Return the data of a figure, limited to these kernels if it shows a few."""
    # A figure of the paper chooses its formats itself.
    if not kernels or figure.name not in (*study.named, *study.alone) or data.choice("series") not in ("", "all"):
        return data
    if figure.name in study.named:
        return replace(data, kernels=tuple(kernels))
    return replace(data, measurements=[m for m in data.measurements if m.kernel in kernels])


def with_kernel_count(summary: str, data: StudyData, figure_data: StudyData) -> str:
    """Return the summary of a figure; its caption says how many kernels the figure shows if it leaves some out."""
    every = len({m.kernel for m in data.measurements})
    named = figure_data.kernels != data.kernels
    count = len(figure_data.kernels if named else {m.kernel for m in figure_data.measurements})
    if figure_data is data or not count:
        return summary
    first, *more = summary.split("\n", 1)
    return "\n".join((f"{first} The figure shows {count} of {every} kernels.", *more))
