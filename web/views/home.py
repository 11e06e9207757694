"""`/` and `/devices`: what is measured here, and on what."""

from sqlalchemy.orm import Session

from server.jobs import queue
from server.models import JobState
from web.contexts import DevicesPage, HomePage
from web.measured import measured
from web.selection import Selection
from web.views.lines import device_lines, findings, job_lines

FINDINGS_SHOWN = 4
JOBS_SHOWN = 20


def page(session: Session) -> HomePage:
    """The newest findings, what runs and waits, and the devices."""
    everything = measured(session, Selection())
    shown = measured(session, Selection(matrix=everything.matrices[:FINDINGS_SHOWN]))
    running, queued = (queue.list_jobs(session, state=s, limit=JOBS_SHOWN) for s in (JobState.RUNNING, JobState.QUEUED))
    # In the order in which they come to their turn.
    active = [*running.items, *reversed(queued.items)]
    return HomePage(
        title="Sparse formats, measured",
        topics="jobs",
        findings=findings(shown, shown.measurements)[:FINDINGS_SHOWN],
        jobs=job_lines(session, active),
        devices=device_lines(session),
    )


def devices_page(session: Session) -> DevicesPage:
    """Every device and its bandwidth."""
    return DevicesPage(title="Devices", topics="", devices=device_lines(session))
