"""`/` and `/devices`: what is measured here, and on what."""

from sqlalchemy.orm import Session

from server import recordings
from server.jobs import queue
from server.models import JobState
from web.contexts import DevicesPage, HomePage, Link
from web.measured import STUDY, measured
from web.selection import Selection
from web.views.lines import device_lines, findings, formats_url, job_lines

FINDINGS_SHOWN = 4
JOBS_SHOWN = 20


def page(session: Session) -> HomePage:
    """The newest findings of this service, what runs and waits, the devices, and what was recorded elsewhere."""
    everything = measured(session, Selection())
    shown = measured(session, Selection(matrix=everything.matrices[:FINDINGS_SHOWN]))
    running, queued = (queue.list_jobs(session, state=s, limit=JOBS_SHOWN) for s in (JobState.RUNNING, JobState.QUEUED))
    # In the order in which they come to their turn.
    active = [*running.items, *reversed(queued.items)]
    return HomePage(
        title="Sparse formats, measured",
        topics="jobs",
        findings=findings(shown, shown.measurements)[:FINDINGS_SHOWN] if everything.jobs else (),
        recorded=_recorded(session),
        jobs=job_lines(session, active),
        devices=device_lines(session),
    )


def _recorded(session: Session) -> tuple[Link, ...]:
    """The comparisons of recorded results, one a device."""
    measured_on = recordings.device_ids(session, STUDY)
    named = {row.id: row.info["name"] for row in recordings.list_devices(session)}
    return tuple(Link(named[device], formats_url(Selection(device=(device,)))) for device in measured_on)


def devices_page(session: Session) -> DevicesPage:
    """Every device and its bandwidth."""
    return DevicesPage(title="Devices", topics="", devices=device_lines(session))
