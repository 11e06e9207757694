"""`/jobs` and `/jobs/{id}`: the queue, and one job with its results as they arrive."""

from typing import Any
from urllib.parse import urlencode

from sqlalchemy.orm import Session

from gpu_engine.findings import units
from gpu_engine.records import STATES, Measurement
from gpu_engine.studies import STUDIES
from server.jobs import queue
from server.models import TERMINAL, JobRow, JobState
from web.contexts import JobPage, JobsPage
from web.parts import Chart, Link
from web.results import CACHE_DEFAULT, Results, results_of
from web.selection import Selection
from web.studies import page_of
from web.studies.base import StudyPage
from web.views.lines import finding_lines, job_line, job_lines, study_url
from web.views.study import chart, contents

PAGE = 50


def page(session: Session, state: str, study: str, cursor: str) -> JobsPage:
    """The jobs of a state and study, the newest first; raises ParameterError for unknown ones."""
    rows = queue.list_jobs(session, state or None, study or None, limit=PAGE, cursor=cursor or None)
    filters = {"state": state, "study": study}
    studies = [entry.name for entry in STUDIES]
    return JobsPage(
        title="Jobs",
        topics="jobs",
        states=tuple(_filter(filters, "state", value) for value in ("", *JobState)),
        studies=tuple(_filter(filters, "study", value) for value in ("", *studies)),
        jobs=job_lines(session, rows.items),
        files=tuple(Link(kind.upper(), _url(filters, f".{kind}")) for kind in ("csv", "json")),
        first=_url(filters) if cursor else "",
        next=_url(filters | {"cursor": rows.next}) if rows.next else "",
    )


def _filter(filters: dict[str, str], name: str, value: str) -> Link:
    return Link(value or "all", _url(filters | {name: value}), filters[name] == value)


def _url(query: dict[str, str], ending: str = "") -> str:
    given = urlencode({name: value for name, value in query.items() if value})
    return f"/jobs{ending}?{given}" if given else f"/jobs{ending}"


def job_page(session: Session, job_id: str) -> JobPage:
    """One job; raises NotFoundError."""
    row = queue.get_job(session, job_id)
    document = queue.job_document(session, row)
    study = page_of(row.study)
    selection = Selection(job=(row.id,))
    results = results_of(session, row.study, selection)
    findings = finding_lines(study, results, results.data_of(results.all_caches))
    over = row.state in TERMINAL
    return JobPage(
        title=f"Job {row.id[:8]}: {row.study}",
        topics="" if over else f"job:{row.id}",
        job=job_line(session, row, document),
        over=over,
        status=_status(row, document),
        facts=_facts(row, document),
        error=str(document["error"]["detail"]) if document["error"] else "",
        retry_of=row.retry_of or "",
        counts=_counts(row, results.all_caches),
        chart=_chart(study, results),
        findings=findings,
        page=Link(f"Open in {study.link}", study_url(row.study, selection)) if findings else None,
        downloads=(
            Link("CSV", f"/{row.study}.csv?{selection.with_(cache=_caches(results)).query}"),
            Link("JSON", f"/api/v1/jobs/{row.id}/results"),
        ),
    )


def _caches(results: Results) -> tuple[str, ...]:
    """The cache states measured."""
    return tuple(dict.fromkeys(m.cache for m in results.all_caches))


def _chart(study: StudyPage, results: Results) -> Chart:
    """The first of the figures for jobs that has something to show, of one cache state."""
    caches = _caches(results)
    cache = CACHE_DEFAULT if CACHE_DEFAULT in caches or not caches else caches[0]
    data = results.data_of([m for m in results.all_caches if m.cache == cache])
    selection, charts = Selection(job=results.selection.job, cache=(cache,)), []
    for name in study.job_figures:
        figure = study.figure(name)
        caption, _, version = contents(figure, data, len(results.all_caches), figure.matrices_min)
        charts.append(chart(name, selection, version, caption))
    return next((each for each in charts if each.version != "0"), charts[0])


def _status(row: JobRow, document: dict[str, Any]) -> str:
    attempt = f"attempt {row.attempt}, " if row.attempt > 1 else ""
    done, total = int(document["progress"]["done"]), document["progress"]["total"]
    if row.state == JobState.QUEUED:
        return f"{attempt}place {document['queue_position']} in the queue"
    return f"{attempt}{done} of {total} cases done"


def _facts(row: JobRow, document: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    took = row.finished_at - row.started_at if row.finished_at and row.started_at else None
    facts = [
        ("attempt", str(row.attempt)),
        ("queued, UTC", units.moment(row.created_at)),
        ("started, UTC", units.moment(row.started_at)),
        ("finished, UTC", units.moment(row.finished_at)),
        ("remaining" if took is None else "took", units.duration(document["estimate_s"] if took is None else took)),
    ]
    return tuple(facts + [(name, _plain(value)) for name, value in row.params.items()])


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(str(entry) for entry in value) or "all"
    return str(value)


def _counts(row: JobRow, measurements: tuple[Measurement, ...]) -> str:
    counts = {state: sum(m.state == state for m in measurements) for state in STATES}
    odd = [f"{counts[state]} {state}" for state in STATES if state != "ok" and counts[state]]
    if not measurements:
        return "No results yet; each appears here as it is measured." if row.state not in TERMINAL else "No results."
    return f"{len(measurements)} of {row.cases_total} cases measured" + (f", {', '.join(odd)}" if odd else "") + "."
