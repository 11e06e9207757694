"""`/` and `/devices`: what is measured here, and on what."""

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from server import engine_faults, first_start, import_recordings, recorded_results
from server.jobs import queue
from server.models import JobRow, JobState, MatrixRow, MatrixState
from server.result_sources import find_sources
from web.contexts import DevicesPage, HomePage
from web.figures import headline
from web.figures.headline import HEADLINE
from web.page_cache import PageCache
from web.parts import Chart, FindingLine, Headline, Link
from web.recorded import recorded_formats
from web.results import device_names, results_of
from web.selection import Selection, study_url
from web.studies import PAGES
from web.studies.base import StudyPage
from web.views.lines import device_lines, finding_lines, job_lines

JOBS_SHOWN = 20


def page(session: Session, pages: PageCache) -> HomePage:
    """How to start, what was recorded elsewhere, the newest findings of this service, what runs, the devices."""
    running, queued = (queue.list_jobs(session, state=s, limit=JOBS_SHOWN) for s in (JobState.RUNNING, JobState.QUEUED))
    # In the order in which they come to their turn.
    active = [*running.items, *reversed(queued.items)]
    importing = import_recordings.is_running()
    samples = session.scalars(select(JobRow).where(JobRow.idempotency_key == first_start.KEY)).all()
    lines = job_lines(session, [*active, *samples])
    beginning = not samples and _is_beginning(session)
    return HomePage(
        title="Find the fastest SpMV format",
        # Matrices tell of themselves as samples are made and recordings come in.
        topics="jobs,matrices" if importing or beginning else "jobs",
        headline=_headline(session),
        recorded=_recorded(session),
        importing=importing,
        own=session.scalar(select(func.count()).where(MatrixRow.state == MatrixState.READY)) or 0,
        sample=next(iter(lines[len(active) :]), None),
        beginning=beginning,
        findings=_newest(session, pages),
        jobs=lines[: len(active)],
        devices=device_lines(session),
    )


def _newest(session: Session, pages: PageCache) -> tuple[FindingLine, ...]:
    """The newest findings of each study that was measured here."""
    measured = session.scalars(select(JobRow.study).where(JobRow.cases_done > 0).distinct()).all()
    return tuple(
        line
        for study in PAGES
        if study.name in measured
        for line in pages.kept(session, newest_findings, study, Selection())
    )


def newest_findings(session: Session, study: StudyPage, asked: Selection) -> tuple[FindingLine, ...]:
    """The first findings of a study, of the matrices that were measured last."""
    known = find_sources(session, study.name, asked.job, asked.matrix, asked.device)
    newest = results_of(session, study.name, asked.with_(matrix=known.matrices[: study.home_findings]))
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
    named, known = device_names(session), recorded_results.studies_and_devices(session)
    return tuple(
        Link(f"{page.recorded_as} on {named[device]}", study_url(study, Selection(device=(device,))))
        for page in PAGES
        for study, device in known
        if study == page.name
    )


def _is_beginning(session: Session) -> bool:
    """Whether there are samples and nobody has measured anything: their study follows by itself."""
    names = [name for name, _, _ in first_start.SAMPLES]
    samples = session.scalar(select(func.count()).where(MatrixRow.name.in_(names))) or 0
    return samples > 0 and not session.scalar(select(func.count()).select_from(JobRow))


def devices_page(session: Session) -> DevicesPage:
    """Every device and its bandwidth."""
    faults = tuple(map(engine_faults.describe, engine_faults.list_faults(session)))
    return DevicesPage(title="Devices", topics="", faults=faults, devices=device_lines(session))
