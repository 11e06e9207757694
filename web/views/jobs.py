"""`/jobs` and `/jobs/{id}`: the queue, and one job with its results as they arrive."""

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
from server.jobs.outlook import elapsed
from server.models import TERMINAL, DeviceRow, JobRow, JobState, MatrixRow
from web.forms import changed, form_fields
from web.interim import InterimBars, bars, matrix_of
from web.job_contexts import JobPage, JobsPage
from web.parts import Chart, FoldedTable, Link
from web.results import CACHE_DEFAULT, Results, results_of
from web.selection import Selection, study_url
from web.studies import page_of
from web.studies.base import StudyPage
from web.views.compare import earlier
from web.views.lines import finding_lines, job_lines, without_time
from web.views.measure import settings_of
from web.views.study import chart, contents

PAGE = 50
TAGS_SHOWN = 20
REASONS_SHOWN = 3
NOTHING_YET = "No results yet: the kernels of a matrix share their rounds, and have verdicts when these are over."


def page(session: Session, state: str, study: str, tag: str, cursor: str) -> JobsPage:
    """The jobs of a state, study and tag, the newest first; raises ParameterError for unknown ones."""
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
    (document,) = documents = job_documents(session, [row])
    study = page_of(row.study)
    selection = Selection(job=(row.id,))
    results = results_of(session, row.study, selection.with_(cache=CACHES))
    findings = finding_lines(study, results)
    (line,) = job_lines(session, [row], documents)
    over = row.state in TERMINAL
    return JobPage(
        title=line.title,
        topics="" if over else f"job:{row.id}",
        job=line,
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
        page=Link(f"Open in {study.link}", study_url(row.study, selection)) if findings else None,
        earlier=earlier(session, row),
        downloads=(
            Link("CSV", f"/{row.study}.csv?{selection.with_(cache=_caches(results)).query}"),
            Link("JSON", f"/api/v1/jobs/{row.id}/results"),
        ),
    )


def _interim(session: Session, row: JobRow) -> InterimBars | None:
    """The bars of the matrix that is being measured, of a job that waits those of its first; times are predicted for
    products on a GPU that the advisor knows."""
    matrix = session.get(MatrixRow, matrix_of(row.interim, row.current_case) or row.matrix_ids[0])
    device = session.get(DeviceRow, row.device)
    if matrix is None:
        return None
    predicts = device is not None and row.study == FormatsStudy.name
    gpu = gpu_named(devices.device_info(device).name) if predicts and device else None
    return bars(row.interim, matrix.name, matrix.features or {}, gpu, row.params.get("kernels", ()))


def _caches(results: Results) -> tuple[str, ...]:
    """The cache states measured."""
    return tuple(dict.fromkeys(m.cache for m in results.measurements))


def _chart(study: StudyPage, results: Results) -> Chart:
    """The first of the figures for jobs that has something to show, of one cache state."""
    caches = _caches(results)
    cache = CACHE_DEFAULT if CACHE_DEFAULT in caches or not caches else caches[0]
    data = results.data_of([m for m in results.measurements if m.cache == cache])
    selection, charts = Selection(job=results.selection.job, cache=(cache,)), []
    for name in study.job_figures:
        figure = study.figure(name)
        caption, _, version = contents(figure, data, len(results.measurements), figure.matrices_min)
        # Bars without a length are no picture.
        timed = any(m.state in TIMED for m in results.measurements)
        charts.append(chart(name, selection, version if timed else 0, caption))
    return next((each for each in charts if each.version != "0"), charts[0])


def _status(row: JobRow, document: dict[str, Any]) -> str:
    attempt = f"attempt {row.attempt}, " if row.attempt > 1 else ""
    done, total = int(document["progress"]["done"]), document["progress"]["total"]
    if row.state == JobState.QUEUED:
        return f"{attempt}place {document['queue_position']} in the queue"
    ends = ", stops after this round" if row.stop_requested and row.state == JobState.RUNNING else ""
    return f"{attempt}{done} of {total} cases done{ends}"


def _facts(session: Session, row: JobRow, document: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    took_s = elapsed(row, session.execute(select(clock())).scalar_one())
    facts = [
        ("job", row.id[:8]),
        ("attempt", str(row.attempt) if row.attempt > 1 else ""),
        ("queued, UTC", units.moment(row.created_at)),
        ("started, UTC", units.moment(row.started_at) if row.started_at else ""),
        ("took" if row.finished_at else "so far", units.duration(took_s) if took_s is not None else ""),
        ("expected to take", units.duration(row.estimate_s)),
        ("left", units.about(document["estimate_s"]) if document["estimate_s"] is not None else ""),
    ]
    return tuple((name, text) for name, text in facts if text)


def _settings(row: JobRow) -> FoldedTable:
    """Every parameter with its meaning; the summary names those that are not the default."""
    params = parse_params(find_study(row.study).Params, settings_of(row))
    own = dict(changed(params))
    heads = tuple(Head(text, numeric=False) for text in ("setting", "value", "meaning"))
    rows = tuple(
        (field.name, f"{field.value or 'all'}{'' if field.name in own else ' (default)'}", field.help)
        for field in form_fields(type(params), params)
    )
    others = ", all others default" if own else "all default"
    return FoldedTable(
        f"Settings: {', '.join(f'{name} {value}' for name, value in own.items())}{others}", Table(heads, rows)
    )


def _counts(row: JobRow, measurements: tuple[Measurement, ...]) -> str:
    if not measurements:
        return NOTHING_YET if row.state not in TERMINAL else "No results."
    timed = sum(m.state in TIMED for m in measurements)
    odd = without_time(Counter(m.state for m in measurements))
    return ", ".join((f"{timed} of {row.cases_total} cases measured", *odd)) + "."


def _why(measurements: Sequence[Measurement]) -> tuple[str, ...]:
    """Why cases have no time, each reason once, the most frequent first."""
    reasons = Counter((m.state, m.note) for m in measurements if m.state not in TIMED and m.note)
    found = [f"{number} {state}: {note}" for (state, note), number in reasons.most_common(REASONS_SHOWN)]
    left = len(reasons) - len(found)
    return (*found, f"{left} more reasons stand beside their cases.") if left > 0 else tuple(found)
