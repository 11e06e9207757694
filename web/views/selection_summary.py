"""Summary of a study page: what it shows and which figures it hides."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from gpu_engine.findings.ranking import join
from server import matrix_sets
from web.results import Results
from web.studies.base import StudyPage


def summary_text(study: StudyPage, results: Results, figure_kernels: Sequence[str]) -> str:
    """Return `Figures show 5 kernels, 73 matrices on CPU, warm.`"""
    measured = results.measurements
    if not measured:
        return "No results for this selection."
    is_limited = any(figure.name in (*study.named, *study.alone) for figure in study.figures) and figure_kernels
    number = len({m.kernel for m in measured if not is_limited or m.kernel in figure_kernels})
    matrices = len({member for m in measured for member in m.members or (m.matrix_id,)})
    settings = ", ".join((*dict.fromkeys(m.device for m in measured), *dict.fromkeys(m.cache for m in measured)))
    kernel_count = "1 kernel" if number == 1 else f"{number} kernels"
    return f"Figures show {kernel_count}, {'1 matrix' if matrices == 1 else f'{matrices} matrices'} on {settings}."


def hidden_figures_text(study: StudyPage, results: Results) -> str:
    """Return a sentence about the figures that need more matrices or devices than selected; empty without any."""
    matrices, devices = ({getattr(m, name) for m in results.measurements} for name in ("matrix_id", "device"))
    of_matrices = sum(len(matrices) < figure.matrices_min for figure in study.figures)
    of_devices = [f"“{f.title}”" for f in study.figures if len(devices) < f.devices_min <= len(results.devices)]
    if of_matrices:
        return f"Select two or more matrices to see {of_matrices} more figure{'s' if of_matrices > 1 else ''}."
    return f"Select all devices to see {join(of_devices)}." if of_devices else ""


def matrix_count_text(session: Session, results: Results) -> str:
    """Return `20 of 73`, `all 73`, or the name of a saved selection."""
    if results.requested.set:
        return matrix_sets.get_set(session, results.requested.set[0]).name
    of, chosen = len({*results.matrices, *results.selection.matrix}), len(results.selection.matrix)
    return f"all {of}" if chosen == of else f"{chosen} of {of}"
