"""What the page of a study shows, and what it does not, in words."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from gpu_engine.findings.ranking import join
from server import matrix_sets
from web.results import Results
from web.studies.base import StudyPage


def says(study: StudyPage, results: Results, drawn: Sequence[str]) -> str:
    """`Figures show 5 kernels, 73 matrices on cpu, warm.`"""
    measured = results.measurements
    if not measured:
        return "There are no results for this choice yet."
    few = any(figure.name in (*study.named, *study.alone) for figure in study.figures)
    number = len({m.kernel for m in measured if not few or not drawn or m.kernel in drawn})
    matrices = len({member for m in measured for member in m.members or (m.matrix_id,)})
    places = ", ".join((*dict.fromkeys(m.device for m in measured), *dict.fromkeys(m.cache for m in measured)))
    kernels_said = "1 kernel" if number == 1 else f"{number} kernels"
    return f"Figures show {kernels_said}, {'1 matrix' if matrices == 1 else f'{matrices} matrices'} on {places}."


def few(study: StudyPage, results: Results) -> str:
    """Sentences on the figures that need more matrices or devices than are chosen."""
    matrices, devices = ({getattr(m, name) for m in results.measurements} for name in ("matrix_id", "device"))
    of_matrices = [f"“{figure.title}”" for figure in study.figures if len(matrices) < figure.matrices_min]
    of_devices = [f"“{f.title}”" for f in study.figures if len(devices) < f.devices_min <= len(results.devices)]
    said = (
        f"{join(of_matrices)} compare matrices: choose two or more to see them." if of_matrices else "",
        f"{join(of_devices)} compares devices: choose all of them to see it." if of_devices and not of_matrices else "",
    )
    return " ".join(filter(None, said))


def matrices(session: Session, results: Results) -> str:
    """`20 of 73`, or `all 73`; of a set its name."""
    if results.asked.set:
        return matrix_sets.get_set(session, results.asked.set[0]).name
    of, chosen = len({*results.matrices, *results.selection.matrix}), len(results.selection.matrix)
    return f"all {of}" if chosen == of else f"{chosen} of {of}"
