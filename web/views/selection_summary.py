"""Summary of a study page: what it shows and which figures it hides."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from gpu_engine.findings.ranking import join
from server import matrix_sets
from web.results import Results
from web.studies.base import StudyPage


def summary_text(study: StudyPage, results: Results, figure_kernels: Sequence[str]) -> str:
    """Return `Figures show 5 kernels, 73 matrices on cpu, warm.`"""
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
    """Return sentences about the figures that need more matrices or devices than selected."""
    matrices, devices = ({getattr(m, name) for m in results.measurements} for name in ("matrix_id", "device"))
    of_matrices = [f"“{figure.title}”" for figure in study.figures if len(matrices) < figure.matrices_min]
    of_devices = [f"“{f.title}”" for f in study.figures if len(devices) < f.devices_min <= len(results.devices)]
    sentences = (
        f"Select two or more matrices to see {join(of_matrices)}." if of_matrices else "",
        f"Select all devices to see {join(of_devices)}." if of_devices and not of_matrices else "",
    )
    return " ".join(filter(None, sentences))


def matrix_count_text(session: Session, results: Results) -> str:
    """Return `20 of 73`, `all 73`, or the name of a saved selection."""
    if results.requested.set:
        return matrix_sets.get_set(session, results.requested.set[0]).name
    of, chosen = len({*results.matrices, *results.selection.matrix}), len(results.selection.matrix)
    return f"all {of}" if chosen == of else f"{chosen} of {of}"
