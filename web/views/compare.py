"""`/jobs/{id}/compare?with=ID`: two jobs of a study, before and after, case by case."""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from sqlalchemy.orm import Session

from gpu_engine.errors import ParameterError, quote
from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.parameters import parse_params
from gpu_engine.records import Measurement
from gpu_engine.studies import study as find_study
from gpu_engine.studies.results import busy_measurements
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from gpu_engine.verdicts.differences import Difference, DifferenceKind, differences
from server import results
from server.jobs import queue
from server.models import JobRow
from server.result_sources import JOBS_MAX
from web.forms import form_fields
from web.job_contexts import ChangedCase, ComparePage
from web.parts import Choice, Link, LinkSwitch
from web.provenance import environment_of, sources_of
from web.views.lines import job_lines
from web.views.measure import settings_of

SHOWN = {"": "every case", "different": "only what differs"}
Place = tuple[object, ...]
"""Matrix, cache state, kernel and axes of a case."""

UNLIKE = ("faster", "slower", "failed", "missing")
"""Verdicts on cases that differ."""

LACKING: tuple[tuple[DifferenceKind, str], ...] = (
    ("failed", "failed now"),
    ("missing", "missing now"),
    ("untimed", "without a time before"),
)
EARLIER_MAX = 20
NOT_INTERLEAVED = (
    "The rounds of two jobs are not interleaved: what changed between them, such as clocks, neighbours and memory, is "
    "in no interval. So nothing is called the same here, and a gap of 5 % or less decides nothing. Measure both in one "
    "job to tell more."
)


def earlier(session: Session, row: JobRow) -> tuple[Choice, ...]:
    """The jobs before this one that have cases in common with it, the newest first."""
    rows = queue.list_jobs(session, study=row.study, limit=JOBS_MAX, measured=True).items
    before = [job for job in rows if job.device == row.device and job.created_at < row.created_at]
    own = [job for job in before if {*job.matrix_ids} & {*row.matrix_ids}][:EARLIER_MAX]
    common = results.common_cases(session, row.id, [job.id for job in own])
    return tuple(
        Choice(job.id, f"{units.moment(job.created_at)} · job {job.id[:8]} · {common[job.id]} cases in common")
        for job in own
        if job.id in common
    )


def page(session: Session, job_id: str, other_id: str, show: str) -> ComparePage:
    """The older of two jobs beside the newer.

    Raises NotFoundError for an unknown job, ParameterError for two of different studies, InputError where they share no
    case.
    """
    if not other_id:
        raise ParameterError("No job to compare with is named; add ?with=ID.")
    if show not in SHOWN:
        raise ParameterError(f"show is {quote(show)}; it must be empty or one of {', '.join(filter(None, SHOWN))}.")
    rows = sorted((queue.get_job(session, each) for each in (job_id, other_id)), key=lambda row: row.created_at)
    before, after = rows
    if before.study != after.study:
        raise ParameterError(f"One job is of {before.study}, the other of {after.study}; compare two of one study.")
    old, new = (results.measurements(session, (row.id,), samples=True) for row in rows)
    found = sorted(differences(old, new), key=_by_change)
    features = results.matrix_features(session, dict.fromkeys(d.matrix_id for d in found))
    doubtful = [_doubtful(own) for own in (old, new)]
    either = doubtful[0] | doubtful[1]
    lines = job_lines(session, rows)
    address = f"/jobs/{job_id}/compare?with={other_id}"
    return ComparePage(
        title=f"{lines[1].title}: before and after",
        topics=",".join(f"job:{row.id}" for row in rows if row.finished_at is None),
        before=lines[0],
        after=lines[1],
        sentence=_sentence(found),
        notes=(NOT_INTERLEAVED, *_noise(old, new), *_busy(doubtful)),
        show=LinkSwitch(
            "Show",
            tuple(Link(text, f"{address}&show={key}" if key else address, key == show) for key, text in SHOWN.items()),
        ),
        cases=tuple(_case(d, features, either) for d in found if not show or d.verdict in UNLIKE),
        changed=_changed(before, after, old, new),
    )


def _by_change(d: Difference) -> float:
    """The largest change first, whichever way: before all what has no time any more, after all what had none."""
    if d.ratio:
        return -abs(math.log(d.ratio))
    return -math.inf if d.verdict in UNLIKE else math.inf


def _sentence(found: Sequence[Difference]) -> str:
    """`Faster on 12 of 30 cases, slower on 2; the other 16 are not told apart.`"""
    kinds = Counter(d.verdict for d in found)
    timed = [d.ratio for d in found if d.ratio]
    cases = "1 case" if len(timed) == 1 else f"{len(timed)} cases"
    text = f"Faster on {kinds['faster']} of {cases}, slower on {kinds['slower']}"
    rest = kinds["same"] + kinds["inconclusive"]
    text += f"; the other {rest} {'is' if rest == 1 else 'are'} not told apart." if rest else "."
    if kinds["faster"] or kinds["slower"]:
        mean = math.exp(sum(map(math.log, timed)) / len(timed))
        text += f" In the geometric mean the newer job is {units.ratio(mean)} as fast."
    lacking = ", ".join(f"{kinds[kind]} {said}" for kind, said in LACKING if kinds[kind])
    return f"{text} Beside these, {lacking}." if lacking else text


def _noise(old: Sequence[Measurement], new: Sequence[Measurement]) -> tuple[str, ...]:
    """What a kernel differed from itself by in each job."""
    gaps = [max((m.aa_gap for m in own if m.aa_gap is not None), default=None) for own in (old, new)]
    if all(gap is None for gap in gaps):
        return ()
    before, after = map(units.percent, gaps)
    return (f"A kernel that entered every round twice differed from itself by up to {before} before, {after} after.",)


def _doubtful(own: Sequence[Measurement]) -> set[Place]:
    """Return the places of the measurements of a job that do not count because the machine was busy."""
    return {(m.matrix_id, m.cache, m.kernel, *m.axes.items()) for m in busy_measurements(StudyData(own))}


def _busy(doubtful: Sequence[Collection[Place]]) -> tuple[str, ...]:
    """Return a sentence on the cases that do not count; none where all do."""
    before, after = map(len, doubtful)
    if not before and not after:
        return ()
    return (
        f"The machine was busy during {before} cases before and {after} after: these times are gray, and do not count.",
    )


def _case(d: Difference, features: Mapping[str, MatrixFeatures], busy: Collection[Place]) -> ChangedCase:
    axes = " ".join(f"{name}={value}" for name, value in d.axes.items())
    return ChangedCase(
        matrix=Link(features[d.matrix_id].name, f"/matrices/{d.matrix_id}"),
        kernel=d.baseline,
        place=" · ".join(filter(None, (d.cache, axes))),
        word=d.verdict,
        ratio=units.ratio(d.ratio),
        before=units.seconds(d.baseline_s),
        after=units.seconds(d.other_s),
        reason=d.reason,
        busy=(d.matrix_id, d.cache, d.other, *d.axes.items()) in busy,
    )


def _changed(before: JobRow, after: JobRow, old: Sequence[Measurement], new: Sequence[Measurement]) -> Table:
    """What else is not as it was: settings, environment, and the source of a kernel."""
    sides = [
        {**_settings(row), **dict(environment_of(own)), **{f"source of {k}": v for k, v in sources_of(own)}}
        for row, own in ((before, old), (after, new))
    ]
    names = [name for name in dict.fromkeys((*sides[0], *sides[1])) if sides[0].get(name) != sides[1].get(name)]
    heads = tuple(Head(text, numeric=False) for text in ("what differs", "before", "after"))
    return Table(heads, tuple((name, *(side.get(name, units.MISSING) for side in sides)) for name in names))


def _settings(row: JobRow) -> dict[str, str]:
    params = parse_params(find_study(row.study).Params, settings_of(row))
    return {field.name: field.value or "all" for field in form_fields(type(params), params)}
