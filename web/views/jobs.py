"""`/jobs` and `/jobs/{id}`: the queue, and one job with its results as they arrive."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from sqlalchemy.orm import Session

from gpu_engine.records import Measurement
from gpu_engine.studies import STUDIES
from server.jobs import queue
from server.models import TERMINAL, JobRow, JobState
from web import units
from web.contexts import JobPage, JobsPage
from web.figures.batched import tables as batch_tables
from web.figures.batched import winners
from web.figures.formats import bars
from web.figures.pagerank import tables, total
from web.figures.scaling import cold, staying
from web.measured import BATCHED_STUDY, CACHE_DEFAULT, PAGERANK_STUDY, SCALING_STUDY, Measured, measured
from web.parts import JobResults, Link
from web.selection import Selection
from web.views.lines import batch_findings, findings, job_line, job_lines, run_findings, study_url
from web.views.scaling import scaling_findings, work_cases
from web.views.study import chart

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
        first=_url(filters) if cursor else "",
        next=_url(filters | {"cursor": rows.next}) if rows.next else "",
    )


def _filter(filters: dict[str, str], name: str, value: str) -> Link:
    return Link(value or "all", _url(filters | {name: value}), filters[name] == value)


def _url(query: dict[str, str]) -> str:
    given = urlencode({name: value for name, value in query.items() if value})
    return f"/jobs?{given}" if given else "/jobs"


def job_page(session: Session, job_id: str) -> JobPage:
    """One job; raises NotFoundError."""
    row = queue.get_job(session, job_id)
    document = queue.job_document(session, row)
    seen = measured(session, row.study, Selection(job=(row.id,)))
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
        counts=_counts(row, seen.all_caches),
        results=RESULTS.get(row.study, _products)(row, seen),
    )


def _products(row: JobRow, seen: Measured) -> JobResults:
    selection = Selection(job=(row.id,))
    caches, drawn = _caches(seen)
    visible = replace(seen.shown, measurements=[m for m in seen.all_caches if m.cache == drawn])
    found = findings(seen, seen.all_caches)
    return JobResults(
        chart=chart("formats", selection.with_(cache=drawn), len(seen.all_caches), bars.summary(visible)),
        findings=found,
        runs=(),
        batches=(),
        works=(),
        cases=None,
        work_cases=(),
        comparison=Link("Compare the kernels", study_url(row.study, selection)) if found else None,
        downloads=_downloads(row, selection.with_(cache=caches)),
    )


def _runs(row: JobRow, seen: Measured) -> JobResults:
    selection = Selection(job=(row.id,))
    cases = tables.runs(seen.shown)
    return JobResults(
        chart=chart("pagerank-total", selection, len(seen.measurements), total.summary(seen.shown)),
        findings=(),
        runs=run_findings(seen),
        batches=(),
        works=(),
        cases=cases if cases.rows else None,
        work_cases=(),
        comparison=Link("Open in PageRank", study_url(row.study, selection)) if cases.rows else None,
        downloads=_downloads(row, selection),
    )


def _batches(row: JobRow, seen: Measured) -> JobResults:
    selection = Selection(job=(row.id,))
    caches, drawn = _caches(seen)
    visible = replace(seen, measurements=tuple(m for m in seen.all_caches if m.cache == drawn))
    cases = batch_tables.kernels(replace(seen.shown, measurements=seen.all_caches))
    return JobResults(
        chart=chart(
            "batched-winners", selection.with_(cache=drawn), len(seen.all_caches), winners.summary(visible.shown)
        ),
        findings=(),
        runs=(),
        batches=batch_findings(visible),
        works=(),
        cases=cases if cases.rows else None,
        work_cases=(),
        comparison=Link("Open in Batches", study_url(row.study, selection)) if cases.rows else None,
        downloads=_downloads(row, selection.with_(cache=caches)),
    )


def _works(row: JobRow, seen: Measured) -> JobResults:
    selection = Selection(job=(row.id,))
    # A job without products from the host has nothing to draw of them.
    drawn = next((figure for figure in (cold, staying) if figure.table(seen.shown).rows), None)
    name = "scaling-staying" if drawn is staying else "scaling-cold"
    version, caption = (len(seen.measurements), drawn.summary(seen.shown)) if drawn else (0, "")
    cases = work_cases(seen.shown)
    return JobResults(
        chart=chart(name, selection, version, caption),
        findings=(),
        runs=(),
        batches=(),
        works=scaling_findings(seen),
        cases=None,
        work_cases=cases,
        comparison=Link("Open in Scaling", study_url(row.study, selection)) if cases else None,
        downloads=_downloads(row, selection),
    )


def _caches(seen: Measured) -> tuple[tuple[str, ...], str]:
    """The cache states measured, and the one that is drawn."""
    caches = tuple(dict.fromkeys(m.cache for m in seen.all_caches))
    return caches, CACHE_DEFAULT if CACHE_DEFAULT in caches or not caches else caches[0]


RESULTS: dict[str, Callable[[JobRow, Measured], JobResults]] = {
    PAGERANK_STUDY: _runs,
    BATCHED_STUDY: _batches,
    SCALING_STUDY: _works,
}
"""What a job has found, of studies other than products of one matrix."""


def _downloads(row: JobRow, selection: Selection) -> tuple[Link, ...]:
    return (
        Link("CSV", f"/{row.study}.csv?{selection.query}"),
        Link("JSON", f"/api/v1/jobs/{row.id}/results"),
    )


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
    counts = {state: sum(m.state == state for m in measurements) for state in ("ok", "failed", "skipped")}
    odd = [f"{counts[state]} {state}" for state in ("failed", "skipped") if counts[state]]
    if not measurements:
        return "No results yet; each appears here as it is measured." if row.state not in TERMINAL else "No results."
    return f"{len(measurements)} of {row.cases_total} cases measured" + (f", {', '.join(odd)}" if odd else "") + "."
