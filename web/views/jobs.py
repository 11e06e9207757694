"""`/jobs` and `/jobs/{id}`: all jobs, and a job with its live results."""

from collections import Counter
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from sqlalchemy import select
from sqlalchemy.orm import Session

from gpu_engine.advisor.gpus import gpu_named
from gpu_engine.parameters import parse_params
from gpu_engine.records import CACHES, TIMED, Measurement
from gpu_engine.studies import STUDIES
from gpu_engine.studies import study as find_study
from gpu_engine.studies.formats import FormatsStudy
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from server import devices
from server.db import clock
from server.jobs import annotations, queue
from server.jobs.documents import job_documents
from server.jobs.eta import elapsed
from server.models import TERMINAL, DeviceRow, JobRow, JobState, MatrixRow
from web.components import Chart, FoldedTable, Link
from web.forms import changed, form_fields
from web.job_contexts import JobPage, JobsPage
from web.live_bars import InterimBars, bars, matrix_of
from web.results import CACHE_DEFAULT, Results, results_of
from web.selection import Selection, study_url
from web.studies import page_of
from web.studies.base import StudyPage
from web.views.compare import earlier
from web.views.list_rows import finding_rows, job_rows, without_time
from web.views.measure import settings_of
from web.views.study import chart, contents

PAGE = 50
TAGS_SHOWN = 20
REASONS_SHOWN = 3
NOTHING_YET = (
    "No results yet. All kernels of a matrix run in the same rounds; "
    "their ranking appears when the rounds are complete."
)


def page(session: Session, state: str, study: str, tag: str, cursor: str) -> JobsPage:
    """Return the jobs of a state, study, and tag, the newest first; raises ParameterError for unknown ones."""
    rows = queue.list_jobs(session, state or None, study or None, limit=PAGE, cursor=cursor or None, tag=tag or None)
    filters = {"state": state, "study": study, "tag": tag}
    tags = annotations.known_tags(session)[:TAGS_SHOWN]
    studies = [entry.name for entry in STUDIES]
    return JobsPage(
        title="Jobs",
        topics="jobs",
        states=tuple(_filter(filters, "state", value) for value in ("", *JobState)),
        studies=tuple(_filter(filters, "study", value) for value in ("", *studies)),
        tags=tuple(_filter(filters, "tag", value) for value in ("", *tags)) if tags else (),
        jobs=job_rows(session, rows.items),
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
    """Return the page of a job; raises NotFoundError."""
    row = queue.get_job(session, job_id)
    (document,) = documents = job_documents(session, [row])
    study = page_of(row.study)
    selection = Selection(job=(row.id,))
    results = results_of(session, row.study, selection.with_(cache=CACHES))
    findings = finding_rows(study, results)
    (row_view,) = job_rows(session, [row], documents)
    over = row.state in TERMINAL
    return JobPage(
        title=row_view.title,
        topics="" if over else f"job:{row.id}",
        job=row_view,
        over=over,
        can_stop=row.state == JobState.RUNNING and not row.stop_requested,
        status=_status(row, document),
        facts=_facts(session, row, document),
        settings=_settings(row),
        again=f"/measure?{urlencode({'again': row.id})}",
        error=str(document["error"]["detail"]) if document["error"] else document["waiting_reason"] or "",
        retry_of=row.retry_of or "",
        tags=tuple(Link(tag, _url({"tag": tag})) for tag in row.tags),
        note=row.note,
        note_max=annotations.NOTE_MAX,
        counts=_counts(row, results.measurements),
        why=_why(results.measurements),
        interim=None if over else _interim(session, row),
        chart=_chart(study, results),
        findings=findings,
        page=Link(f"Show in {study.link}", study_url(row.study, selection)) if findings else None,
        earlier=earlier(session, row),
        downloads=(
            Link("CSV", f"/{row.study}.csv?{selection.with_(cache=_caches(results)).query}"),
            Link("JSON", f"/api/v1/jobs/{row.id}/results"),
        ),
    )


def _interim(session: Session, row: JobRow) -> InterimBars | None:
    """Return the bars of the matrix being measured, or of the first matrix of a queued job.

    They include predicted times for the study formats on GPUs that the performance model knows.
    """
    matrix = session.get(MatrixRow, matrix_of(row.interim, row.current_case) or row.matrix_ids[0])
    device = session.get(DeviceRow, row.device)
    if matrix is None:
        return None
    predicts = device is not None and row.study == FormatsStudy.name
    gpu = gpu_named(devices.device_info(device).name) if predicts and device else None
    return bars(row.interim, matrix.name, matrix.features or {}, gpu, row.params.get("kernels", ()))


def _caches(results: Results) -> tuple[str, ...]:
    """Return the measured cache states."""
    return tuple(dict.fromkeys(m.cache for m in results.measurements))


def _chart(study: StudyPage, results: Results) -> Chart:
    """Return the first figure for jobs that has data, for one cache state."""
    caches = _caches(results)
    cache = CACHE_DEFAULT if CACHE_DEFAULT in caches or not caches else caches[0]
    data = results.data_of([m for m in results.measurements if m.cache == cache])
    selection, charts = Selection(job=results.selection.job, cache=(cache,)), []
    for name in study.job_figures:
        figure = study.figure(name)
        caption, _, version = contents(figure, data, len(results.measurements), figure.matrices_min)
        # Bars need at least one timing.
        timed = any(m.state in TIMED for m in results.measurements)
        charts.append(chart(name, selection, version if timed else 0, caption))
    return next((each for each in charts if each.version != "0"), charts[0])


def _status(row: JobRow, document: dict[str, Any]) -> str:
    attempt = f"attempt {row.attempt}, " if row.attempt > 1 else ""
    done, total = int(document["progress"]["done"]), document["progress"]["total"]
    if row.state == JobState.QUEUED:
        return f"{attempt}position {document['queue_position']} in the queue"
    ends = ", stops after this round" if row.stop_requested and row.state == JobState.RUNNING else ""
    return f"{attempt}{done} of {total} cases done{ends}"


def _facts(session: Session, row: JobRow, document: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    took_s = elapsed(row, session.execute(select(clock())).scalar_one())
    facts = [
        ("job", row.id[:8]),
        ("attempt", str(row.attempt) if row.attempt > 1 else ""),
        ("queued, UTC", units.moment(row.created_at)),
        ("started, UTC", units.moment(row.started_at) if row.started_at else ""),
        ("duration" if row.finished_at else "elapsed", units.duration(took_s) if took_s is not None else ""),
        ("estimated duration", units.duration(row.estimate_s)),
        ("estimated time left", units.about(document["estimate_s"]) if document["estimate_s"] is not None else ""),
    ]
    return tuple((name, text) for name, text in facts if text)


def _settings(row: JobRow) -> FoldedTable:
    """Return all parameters with their meanings; the summary names those that differ from the default."""
    params = parse_params(find_study(row.study).Params, settings_of(row))
    non_default = dict(changed(params))
    heads = tuple(Head(text, numeric=False) for text in ("setting", "value", "meaning"))
    rows = tuple(
        (field.name, f"{field.value or 'all'}{'' if field.name in non_default else ' (default)'}", field.help)
        for field in form_fields(type(params), params)
    )
    others = ", all others default" if non_default else "all default"
    return FoldedTable(
        f"Settings: {', '.join(f'{name} {value}' for name, value in non_default.items())}{others}", Table(heads, rows)
    )


def _counts(row: JobRow, measurements: tuple[Measurement, ...]) -> str:
    if not measurements:
        return NOTHING_YET if row.state not in TERMINAL else "No results."
    timed = sum(m.state in TIMED for m in measurements)
    odd = without_time(Counter(m.state for m in measurements))
    return ", ".join((f"{timed} of {row.cases_total} cases measured", *odd)) + "."


def _why(measurements: Sequence[Measurement]) -> tuple[str, ...]:
    """Return the reasons for missing timings, the most frequent first, each once."""
    reasons = Counter((m.state, m.note) for m in measurements if m.state not in TIMED and m.note)
    listed = [f"{number} {state}: {note}" for (state, note), number in reasons.most_common(REASONS_SHOWN)]
    left = len(reasons) - len(listed)
    return (*listed, f"{left} more reasons are in the table below.") if left > 0 else tuple(listed)
