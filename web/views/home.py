"""`/` and `/devices`: what is measured here, and on what."""

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from server import first_start, import_recordings, recorded_results
from server.jobs import queue
from server.models import JobRow, JobState, MatrixRow, MatrixState
from web.contexts import DevicesPage, HomePage
from web.figures import headline
from web.figures.headline import HEADLINE
from web.parts import Chart, FindingLine, Headline, JobLine, Link
from web.recorded import recorded_formats
from web.results import available, device_names, results_of
from web.selection import Selection
from web.studies import PAGES
from web.studies.base import StudyPage
from web.views.lines import device_lines, finding_lines, job_lines, study_url

JOBS_SHOWN = 20


def page(session: Session) -> HomePage:
    """How to start, what was recorded elsewhere, the newest findings of this service, what runs, the devices."""
    running, queued = (queue.list_jobs(session, state=s, limit=JOBS_SHOWN) for s in (JobState.RUNNING, JobState.QUEUED))
    # In the order in which they come to their turn.
    active = [*running.items, *reversed(queued.items)]
    importing = import_recordings.is_running()
    sample = _sample(session)
    beginning = sample is None and _is_beginning(session)
    return HomePage(
        title="Find the fastest SpMV format",
        # Matrices tell of themselves as samples are made and recordings come in.
        topics="jobs,matrices" if importing or beginning else "jobs",
        headline=_headline(session),
        recorded=_recorded(session),
        importing=importing,
        own=session.scalar(select(func.count()).where(MatrixRow.state == MatrixState.READY)) or 0,
        sample=sample,
        beginning=beginning,
        findings=tuple(line for study in PAGES for line in _newest(session, study)),
        jobs=job_lines(session, active),
        devices=device_lines(session),
    )


def _newest(session: Session, study: StudyPage) -> tuple[FindingLine, ...]:
    """The newest findings of a study that was measured here."""
    known = available(session, study.name, Selection())
    if not known.jobs:
        return ()
    newest = results_of(session, study.name, Selection(matrix=known.matrices[: study.home_findings]))
    return finding_lines(study, newest)[: study.home_findings]


def _headline(session: Session) -> Headline | None:
    """The headline of the recorded formats."""
    known = recorded_formats(session)
    if known is None or not known.info.points:
        return None
    url = f"/api/v1/figures/{HEADLINE.name}?{Selection(device=(known.device,)).query}"
    chart = Chart(HEADLINE.name, url, known.version, headline.summary(known.info))
    return Headline(known.name.removesuffix(" (recorded)"), chart, headline.table(known.info))


def _recorded(session: Session) -> tuple[Link, ...]:
    """The pages of recorded results, one a study and device."""
    named = device_names(session)
    return tuple(
        Link(f"{study.recorded_as} on {named[device]}", study_url(study.name, Selection(device=(device,))))
        for study in PAGES
        for device in recorded_results.device_ids(session, study.name)
    )


def _sample(session: Session) -> JobLine | None:
    """The study of the samples of the first start."""
    job = session.scalar(select(JobRow).where(JobRow.idempotency_key == first_start.KEY))
    return job_lines(session, [job])[0] if job else None


def _is_beginning(session: Session) -> bool:
    """Whether there are samples and nobody has measured anything: their study follows by itself."""
    names = [name for name, _, _ in first_start.SAMPLES]
    samples = session.scalar(select(func.count()).where(MatrixRow.name.in_(names))) or 0
    return samples > 0 and not session.scalar(select(func.count()).select_from(JobRow))


def devices_page(session: Session) -> DevicesPage:
    """Every device and its bandwidth."""
    return DevicesPage(title="Devices", topics="", devices=device_lines(session))
