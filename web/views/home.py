"""`/` and `/devices`: what is measured here, and on what."""

from sqlalchemy.orm import Session

from server import recorded_results
from server.jobs import queue
from server.models import JobState
from web.contexts import DevicesPage, HomePage
from web.parts import FindingLine, Link
from web.results import results_of
from web.selection import Selection
from web.studies import PAGES
from web.studies.base import StudyPage
from web.views.lines import device_lines, finding_lines, job_lines, study_url

JOBS_SHOWN = 20


def page(session: Session) -> HomePage:
    """The newest findings of this service, what runs and waits, the devices, and what was recorded elsewhere."""
    running, queued = (queue.list_jobs(session, state=s, limit=JOBS_SHOWN) for s in (JobState.RUNNING, JobState.QUEUED))
    # In the order in which they come to their turn.
    active = [*running.items, *reversed(queued.items)]
    return HomePage(
        title="Sparse formats, measured",
        topics="jobs",
        findings=tuple(line for study in PAGES for line in _newest(session, study)),
        recorded=_recorded(session),
        jobs=job_lines(session, active),
        devices=device_lines(session),
    )


def _newest(session: Session, study: StudyPage) -> tuple[FindingLine, ...]:
    """The newest findings of a study that was measured here."""
    everything = results_of(session, study.name, Selection())
    if not everything.jobs:
        return ()
    newest = results_of(session, study.name, Selection(matrix=everything.matrices[: study.home_findings]))
    return finding_lines(study, newest)[: study.home_findings]


def _recorded(session: Session) -> tuple[Link, ...]:
    """The pages of recorded results, one a study and device."""
    named = {row.id: row.info["name"] for row in recorded_results.list_devices(session)}
    return tuple(
        Link(f"{study.recorded_as} on {named[device]}", study_url(study.name, Selection(device=(device,))))
        for study in PAGES
        for device in recorded_results.device_ids(session, study.name)
    )


def devices_page(session: Session) -> DevicesPage:
    """Every device and its bandwidth."""
    return DevicesPage(title="Devices", topics="", devices=device_lines(session))
