"""`/` and `/devices`: newest results, running jobs, and devices."""

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from server import engine_faults, first_start, import_recordings, recorded_results
from server.jobs import queue
from server.models import JobRow, JobState, MatrixRow, MatrixState
from server.result_sources import find_sources
from web.components import Chart, FindingRowView, Headline, Link
from web.contexts import DevicesPage, HomePage
from web.figures import home_chart
from web.figures.home_chart import HEADLINE
from web.page_cache import PageCache
from web.recorded import recorded_formats
from web.results import device_names, results_of
from web.selection import Selection, study_url
from web.studies import PAGES
from web.studies.base import StudyPage
from web.views.list_rows import device_rows, finding_rows, job_rows

JOBS_SHOWN = 20


def page(session: Session, pages: PageCache) -> HomePage:
    """Return the home page: upload, reference results, newest results, jobs, and devices."""
    running, queued = (queue.list_jobs(session, state=s, limit=JOBS_SHOWN) for s in (JobState.RUNNING, JobState.QUEUED))
    # Ordered by their start.
    active = [*running.items, *reversed(queued.items)]
    importing = import_recordings.is_running()
    samples = session.scalars(select(JobRow).where(JobRow.idempotency_key == first_start.KEY)).all()
    row_views = job_rows(session, [*active, *samples])
    beginning = not samples and _is_beginning(session)
    return HomePage(
        title="Find the fastest SpMV format",
        # Generated samples and imported results publish events of matrices.
        topics="jobs,matrices" if importing or beginning else "jobs",
        headline=_headline(session),
        recorded=_recorded(session),
        importing=importing,
        matrix_count=session.scalar(select(func.count()).where(MatrixRow.state == MatrixState.READY)) or 0,
        sample=next(iter(row_views[len(active) :]), None),
        beginning=beginning,
        findings=_newest(session, pages),
        jobs=row_views[: len(active)],
        devices=device_rows(session),
    )


def _newest(session: Session, pages: PageCache) -> tuple[FindingRowView, ...]:
    """Return the newest findings of all studies with jobs."""
    measured = session.scalars(select(JobRow.study).where(JobRow.cases_done > 0).distinct()).all()
    return tuple(
        row
        for study in PAGES
        if study.name in measured
        for row in pages.get(session, newest_findings, study, Selection())
    )


def newest_findings(session: Session, study: StudyPage, selection: Selection) -> tuple[FindingRowView, ...]:
    """Return the first findings of a study for the matrices measured last."""
    known = find_sources(session, study.name, selection.job, selection.matrix, selection.device)
    newest = results_of(session, study.name, selection.with_(matrix=known.matrices[: study.home_findings]))
    return finding_rows(study, newest)[: study.home_findings]


def _headline(session: Session) -> Headline | None:
    """Return the chart of the reference results of the study formats; None if there are none."""
    known = recorded_formats(session)
    if known is None or not known.info.points:
        return None
    url = f"/api/v1/figures/{HEADLINE.name}?{Selection(device=(known.device,)).query}"
    chart = Chart(HEADLINE.name, url, known.version, home_chart.summary(known.info))
    return Headline(known.name.removesuffix(" (recorded)"), chart, home_chart.table(known.info))


def _recorded(session: Session) -> tuple[Link, ...]:
    """Return links to the pages of reference results, one per study and device."""
    named, known = device_names(session), recorded_results.studies_and_devices(session)
    return tuple(
        Link(f"{page.recorded_as} on {named[device]}", study_url(study, Selection(device=(device,))))
        for page in PAGES
        for study, device in known
        if study == page.name
    )


def _is_beginning(session: Session) -> bool:
    """Return whether sample matrices exist but no job yet; their job starts automatically."""
    names = [name for name, _, _ in first_start.SAMPLES]
    samples = session.scalar(select(func.count()).where(MatrixRow.name.in_(names))) or 0
    return samples > 0 and not session.scalar(select(func.count()).select_from(JobRow))


def devices_page(session: Session) -> DevicesPage:
    """Return the page of all devices with their bandwidth."""
    faults = tuple(map(engine_faults.describe, engine_faults.list_faults(session)))
    return DevicesPage(title="Devices", topics="", faults=faults, devices=device_rows(session))
