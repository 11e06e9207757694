"""`/` and `/devices`: what is measured here, and on what."""

from sqlalchemy.orm import Session

from server import recordings
from server.jobs import queue
from server.models import JobState
from web.contexts import DevicesPage, HomePage
from web.measured import BATCHED_STUDY, FORMATS_STUDY, PAGERANK_STUDY, SCALING_STUDY, STUDY_PAGES, measured
from web.parts import Link
from web.selection import Selection
from web.views.lines import device_lines, findings, job_lines, run_findings, study_url

FINDINGS_SHOWN, RUNS_SHOWN = 4, 2
JOBS_SHOWN = 20
RECORDED = {
    FORMATS_STUDY: "compare the formats",
    PAGERANK_STUDY: "see PageRank",
    BATCHED_STUDY: "see batches",
    SCALING_STUDY: "see scaling",
}


def page(session: Session) -> HomePage:
    """The newest findings of this service, what runs and waits, the devices, and what was recorded elsewhere."""
    everything = measured(session, FORMATS_STUDY, Selection())
    shown = measured(session, FORMATS_STUDY, Selection(matrix=everything.matrices[:FINDINGS_SHOWN]))
    runs = measured(session, PAGERANK_STUDY, Selection())
    running, queued = (queue.list_jobs(session, state=s, limit=JOBS_SHOWN) for s in (JobState.RUNNING, JobState.QUEUED))
    # In the order in which they come to their turn.
    active = [*running.items, *reversed(queued.items)]
    return HomePage(
        title="Sparse formats, measured",
        topics="jobs",
        findings=findings(shown, shown.measurements)[:FINDINGS_SHOWN] if everything.jobs else (),
        runs=run_findings(runs)[:RUNS_SHOWN] if runs.jobs else (),
        recorded=_recorded(session),
        jobs=job_lines(session, active),
        devices=device_lines(session),
    )


def _recorded(session: Session) -> tuple[Link, ...]:
    """The pages of recorded results, one a study and device."""
    named = {row.id: row.info["name"] for row in recordings.list_devices(session)}
    return tuple(
        Link(f"{RECORDED[study]} on {named[device]}", study_url(study, Selection(device=(device,))))
        for study in STUDY_PAGES
        for device in recordings.device_ids(session, study)
    )


def devices_page(session: Session) -> DevicesPage:
    """Every device and its bandwidth."""
    return DevicesPage(title="Devices", topics="", devices=device_lines(session))
