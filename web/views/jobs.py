"""`/jobs` and `/jobs/{id}`: all jobs, and a job with its live results."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from sqlalchemy import select
from sqlalchemy.orm import Session

from gpu_engine.findings.finding import Finding
from gpu_engine.findings.ranking import join
from gpu_engine.parameters import parse_params
from gpu_engine.records import CACHES, TIMED, Measurement
from gpu_engine.sampling.messages import STOPPED_BEFORE_START
from gpu_engine.studies import STUDIES
from gpu_engine.studies import study as find_study
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.words import amount, capital
from server.db import clock
from server.jobs import annotations, queue
from server.jobs.documents import job_documents
from server.jobs.eta import elapsed, remaining_range_s
from server.models import TERMINAL, JobRow, JobState
from server.results import measurements
from web.components import FindingRowView, FoldedTable, JobRowView, Link
from web.forms import changed, form_fields
from web.job_contexts import JobPage, JobsPage, LiveJob, ResultGroup
from web.race import finding_race, folded
from web.results import CACHE_DEFAULT, results_of
from web.selection import Selection, study_url
from web.studies import PAGES, page_of
from web.studies.base import StudyPage
from web.views.compare import earlier, empty_text
from web.views.job_answer import DONE, NAMED, case_count, kind_of, pill, rest_of, sentence_of
from web.views.job_custom import custom_sentences
from web.views.job_live import live_job
from web.views.list_rows import SILENT, finding_rows, job_rows
from web.views.measure import settings_of

PAGE = 50
TAGS_SHOWN = 20
REASONS_SHOWN = 3
NO_REASON = "no reason was recorded"
GROUPS_SHOWN = 6
"""Comparison groups per cache state that are shown in full; the page of the study has all."""

ROWS_OF_GROUP = 8


def page(session: Session, state: str, study: str, tag: str, cursor: str) -> JobsPage:
    """Return the jobs of a state, study, and tag, the newest first; raises ParameterError for unknown ones."""
    rows = queue.list_jobs(session, state or None, study or None, limit=PAGE, cursor=cursor or None, tag=tag or None)
    filters = {"state": state, "study": study, "tag": tag}
    tags = annotations.known_tags(session)[:TAGS_SHOWN]
    studies, counts = [entry.name for entry in STUDIES], queue.count_by_state(session)
    return JobsPage(
        title="Jobs",
        topics="jobs",
        sentence=_list_sentence(counts),
        states=tuple(_filter(filters, "state", value) for value in ("", *JobState)),
        studies=tuple(_filter(filters, "study", value) for value in ("", *studies)),
        tags=tuple(_filter(filters, "tag", value) for value in ("", *tags)) if tags else (),
        jobs=job_rows(session, rows.items),
        has_jobs=any(counts.values()),
        files=tuple(Link(kind.upper(), _url(filters, f".{kind}")) for kind in ("csv", "json")),
        first=_url(filters) if cursor else "",
        next=_url(filters | {"cursor": rows.next}) if rows.next else "",
    )


def _list_sentence(counts: Mapping[str, int]) -> str:
    """Return how many jobs run, wait, and have ended."""
    ended = sum(counts.get(state, 0) for state in TERMINAL)
    if not sum(counts.values()):
        return "No job yet."
    running, queued = (counts.get(state, 0) for state in (JobState.RUNNING, JobState.QUEUED))
    now = f"{running or 'No'} job{'s' if running > 1 else ''} running, {queued or 'none'} waiting"
    return f"{now}; {ended or 'none'} ended."


def _filter(filters: dict[str, str], name: str, value: str) -> Link:
    names = {"": "all", str(JobState.SUCCEEDED): DONE, **{page.name: page.link for page in PAGES}}
    return Link(names.get(value, value), _url(filters | {name: value}), filters[name] == value)


def _url(query: dict[str, str], ending: str = "") -> str:
    given = urlencode({name: value for name, value in query.items() if value})
    return f"/jobs{ending}?{given}" if given else f"/jobs{ending}"


def job_page(session: Session, job_id: str) -> JobPage:
    """Return the page of a job; raises NotFoundError."""
    row = queue.get_job(session, job_id)
    (document,) = documents = job_documents(session, [row])
    (row_view,) = job_rows(session, [row], documents)
    over = row.state in TERMINAL
    live = None if over else live_job(session, row)
    every = measurements(session, (row.id,)) if row.cases_done else []
    outcome = _outcome(session, row, live)
    took_s = elapsed(row, session.execute(select(clock())).scalar_one()) if over else None
    stage, position = live.stage if live else "", document["queue_position"]
    return JobPage(
        title=row_view.title,
        topics="" if over else f"job:{row.id}",
        job=row_view,
        over=over,
        can_stop=row.state == JobState.RUNNING and not row.stop_requested and bool(row.interim or row.cases_done),
        pill=pill(row, row_view.outcome, took_s, stage, position, over and outcome.is_busy),
        sentence=_now(live, row_view, document) if live else _sentence(row, outcome),
        under=_under(row, every, outcome) if over else _left(session, row, document, live),
        problem=_problem(row, document),
        foot=_foot(row),
        settings=_settings(row),
        again=f"/measure?{urlencode({'again': row.id})}",
        retry_of=row.retry_of or "",
        tags=tuple(Link(tag, _url({"tag": tag})) for tag in row.tags),
        note=row.note,
        note_max=annotations.NOTE_MAX,
        why=_why(every),
        live=live,
        groups=tuple(map(_group, outcome.first[:GROUPS_SHOWN])),
        others=tuple(map(_group, outcome.others[:GROUPS_SHOWN])),
        page=outcome.page,
        earlier=earlier(session, row) if over else (),
        query=outcome.query,
    )


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Results of a job: findings in the first cache state, and in the other one; link and query of all of them."""

    study: StudyPage
    first: tuple[FindingRowView, ...] = ()
    others: tuple[FindingRowView, ...] = ()
    page: Link | None = None
    query: str = ""

    @property
    def is_busy(self) -> bool:
        """Whether all timings are too noisy."""
        return bool(self.first) and all(row.finding.busy for row in (*self.first, *self.others))


def _outcome(session: Session, row: JobRow, live: LiveJob | None) -> _Outcome:
    """Return the results of a job, warm before cold, without those of the matrix that is being measured."""
    study, selection = page_of(row.study), Selection(job=(row.id,))
    results = results_of(session, row.study, selection.with_(cache=CACHES))
    rows = [r for r in finding_rows(study, results) if live is None or r.finding.matrix_id != live.matrix_id]
    if not rows:
        return _Outcome(study)
    caches = {r.finding.cache for r in rows}
    cache = CACHE_DEFAULT if CACHE_DEFAULT in caches else rows[0].finding.cache
    measured = tuple(dict.fromkeys(m.cache for m in results.measurements))
    return _Outcome(
        study,
        tuple(r for r in rows if r.finding.cache == cache),
        tuple(r for r in rows if r.finding.cache != cache),
        Link(
            f"Show {f'all {len(rows)} ' if len(rows) > GROUPS_SHOWN else ''}in {study.link}",
            study_url(row.study, selection),
        ),
        selection.with_(cache=measured).query,
    )


def _group(row: FindingRowView) -> ResultGroup:
    return ResultGroup(row, kind_of(row.finding), folded(finding_race(row.finding), ROWS_OF_GROUP))


def _now(live: LiveJob, job: JobRowView, document: dict[str, Any]) -> str:
    """Return what a job that is not over does, or that its device is unavailable."""
    return f"The job cannot start: {job.device} is unavailable." if document["waiting_reason"] else live.sentence


def _sentence(row: JobRow, outcome: _Outcome) -> str:
    """Return the answer of a job that is over."""
    if row.state == JobState.SUCCEEDED or outcome.first:
        return sentence_of([each.finding for each in outcome.first], outcome.study.what)
    return f"The job {'failed' if row.state == JobState.FAILED else 'was cancelled'} before its first result."


def _under(row: JobRow, every: Sequence[Measurement], outcome: _Outcome) -> tuple[str, ...]:
    """Return the verdicts on custom kernels, how many cases of a job that is over have times, and what is left out."""
    first, others = ([each.finding for each in rows] for rows in (outcome.first, outcome.others))
    not_reached = sum(m.note == STOPPED_BEFORE_START for m in every)
    parts = (
        *custom_sentences(first),
        case_count(row, sum(m.state in TIMED for m in every), not_reached) if every else "",
        rest_of(first),
        f"{others[0].cache.capitalize()}: {sentence_of(others, '')}" if _differs(first, others) else "",
        f"It took {row.attempt} attempts." if row.attempt > 1 else "",
    )
    return tuple(filter(None, parts))


def _differs(first: Sequence[Finding], others: Sequence[Finding]) -> bool:
    """Return whether the only result in the other cache state has other leaders."""
    pair = (*first, *others)
    return len(first) == len(others) == 1 and pair[0].leaders != pair[1].leaders


def _left(session: Session, row: JobRow, document: dict[str, Any], live: LiveJob | None) -> tuple[str, ...]:
    """Return the time left with its range, the time so far, and how many cases are done, as one sentence."""
    if document["estimate_s"] is None or document["waiting_reason"]:
        return ()
    now = session.execute(select(clock())).scalar_one()
    if row.state == JobState.QUEUED:
        return (f"{capital(units.about(document['estimate_s']))} left, including the jobs before it.",)
    left = capital(units.about_range(*remaining_range_s(row, now)))
    attempt = f" Attempt {row.attempt}." if row.attempt > 1 else ""
    cases = f"{units.count(row.cases_done)} of {amount(row.cases_total, 'case')} done"
    return (f"{left} left, {units.duration(elapsed(row, now))} so far, {cases}.{attempt}", *_waiting(live))


def _waiting(live: LiveJob | None) -> tuple[str, ...]:
    """Return the matrices of a running job that wait, as a sentence; empty if none does."""
    names = live.waiting if live else ()
    return (f"{join(names, NAMED)} {'waits' if len(names) == 1 else 'wait'}.",) if names else ()


def _problem(row: JobRow, document: dict[str, Any]) -> str:
    """Return why the job failed, waits, or gives no sign; empty if nothing is wrong."""
    if document["error"]:
        return str(document["error"]["detail"])
    return SILENT if document["lease_expired"] and row.state == JobState.RUNNING else document["waiting_reason"] or ""


def _foot(row: JobRow) -> tuple[str, ...]:
    """Return what identifies the job, in one line."""
    parts = (
        f"job {row.id[:8]}",
        f"attempt {row.attempt}" if row.attempt else "",
        f"queued {units.moment(row.created_at)} UTC",
        f"started {units.moment(row.started_at)} UTC" if row.started_at else "",
        f"expected {units.duration(row.estimate_s)}",
    )
    return tuple(filter(None, parts))


def _settings(row: JobRow) -> FoldedTable:
    """Return all parameters with their meanings; the summary names those that differ from the default."""
    params = parse_params(find_study(row.study).Params, settings_of(row))
    non_default = dict(changed(params))
    heads = tuple(Head(text, numeric=False) for text in ("setting", "value", "meaning"))
    rows = tuple(
        (
            field.label,
            f"{field.value or empty_text(field.name)}{'' if field.label in non_default else ' (default)'}",
            field.help,
        )
        for field in form_fields(type(params), params)
    )
    others = ", all others default" if non_default else "all default"
    return FoldedTable(
        f"Settings: {', '.join(f'{name} {value}' for name, value in non_default.items())}{others}", Table(heads, rows)
    )


def _why(measurements: Sequence[Measurement]) -> tuple[str, ...]:
    """Return the reasons for missing timings, the most frequent first, each once."""
    without = [m for m in measurements if m.state not in TIMED and m.note != STOPPED_BEFORE_START]
    reasons = Counter((m.state, m.note) for m in without)
    listed = [
        f"{number} case{'s' if number > 1 else ''} {state}: {(note or NO_REASON).rstrip('.')}"
        for (state, note), number in reasons.most_common(REASONS_SHOWN)
    ]
    left = len(reasons) - len(listed)
    return (*listed, f"{left} more reasons are in the tables below") if left > 0 else tuple(listed)
