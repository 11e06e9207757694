"""Actions on the page of a matrix: use the kernel of the answer, and measure the matrix."""

from sqlalchemy.orm import Session

from gpu_engine.findings.formats.for_n import best
from gpu_engine.formats import kernel_names
from gpu_engine.studies import study
from server import devices
from server.models import MatrixRow
from web.device_labels import CPU
from web.matrix_contexts import MeasureButton, Use
from web.snippets import lines_of
from web.studies.formats import FORMATS
from web.views.matrix_answer import spmvs
from web.views.matrix_devices import DeviceOption
from web.views.matrix_results import Measured
from web.views.measure import info_of
from web.views.measure_estimate import expected_time

STUDY = study(FORMATS.name)


def use_of(measured: Measured | None, predicted: str) -> Use | None:
    """Return how to use the kernel of the answer, or the best Sparsight kernel instead of a library kernel.

    predicted  kernel of an answer without measurements; empty: none
    """
    decision = measured.decision if measured else None
    if decision is None or measured is None:
        return Use(predicted, lines_of(predicted, None), predicted, "") if predicted else None
    timed = {m.kernel: m for m in measured.group if m.median_s}
    ours = [cost for cost in decision.costs if cost.kernel in kernel_names(timed[cost.kernel].backend)]
    cost = decision.kernel if decision.kernel in ours else best(ours, decision.n)
    if cost is None:
        return None
    m = timed[cost.kernel]
    note = f"{decision.kernel.kernel} belongs to its library. The best Sparsight kernel for {spmvs(decision.n)}:"
    archive = cost.kernel if m.backend == "cuda" else ""
    return Use(cost.kernel, lines_of(cost.kernel, m), archive, "" if cost == decision.kernel else note)


def measure_button(session: Session, row: MatrixRow, device: DeviceOption) -> MeasureButton | None:
    """Return the button for the chosen device, or for the first one that can measure; None without one."""
    offered = sorted(devices.offered(session), key=lambda each: each.id != device.value)
    for each in offered:
        time = expected_time(session, STUDY, STUDY.Params(), [info_of(row)], each)
        if time:
            verb = "Measure again" if device.is_measured and each.id == device.value else "Measure"
            name = "this CPU" if each.id == CPU else each.id
            where = "" if verb != "Measure" else f" on {name}"
            return MeasureButton(each.id, f"{verb}{where} · about {time}", f"/measure?matrix_ids={row.id}")
    return None
