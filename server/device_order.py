"""Order of devices: one device comes first on all pages, so that a reader who changes pages compares no two devices."""

from collections import Counter
from collections.abc import Callable

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from gpu_engine.advisor.gpus import FITTED, gpu_named
from server import recorded_results
from server.models import SAMPLES_KEY, JobRow

Order = tuple[int, bool, int]


def preference(session: Session) -> Callable[[str], Order]:
    """Return a sort key of device ids: devices with results of most studies first.

    Of recorded ones, the GPU model of the performance model comes first, as on the home page and on that of a matrix,
    also while another one has results of a study more. The job of the samples does not count, because nobody chose its
    device.
    """
    is_chosen = or_(JobRow.idempotency_key.is_(None), JobRow.idempotency_key != SAMPLES_KEY)
    jobs = select(JobRow.study, JobRow.device).where(JobRow.cases_done > 0, is_chosen).distinct()
    measured = {(study, device) for study, device in session.execute(jobs)}
    studies = Counter(device for _, device in measured.union(recorded_results.studies_and_devices(session)))
    rows = recorded_results.list_devices(session)
    fitted = {row.id for row in rows if gpu_named(str(row.info["name"])) == FITTED}

    most = max((studies[row.id] for row in rows), default=0)

    def order(device: str) -> Order:
        is_recorded = recorded_results.is_recorded(device)
        return -(most if is_recorded else studies[device]), is_recorded and device not in fitted, -studies[device]

    return order
