"""`/jobs/{id}/compare?with=ID`: comparison of two jobs of a study, case by case."""

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
from web.components import Choice, Link, LinkSwitch
from web.forms import form_fields
from web.job_contexts import ChangedCase, ComparePage
from web.provenance import environment_of, sources_of
from web.views.list_rows import job_rows
from web.views.measure import settings_of

VIEWS = {"": "all cases", "different": "differences only"}
CaseKey = tuple[object, ...]
"""Matrix, cache state, kernel, and parameters of a case."""

UNLIKE = ("faster", "slower", "failed", "missing")
"""Verdicts of cases that differ."""

LACKING: tuple[tuple[DifferenceKind, str], ...] = (
    ("failed", "failed in the newer job"),
    ("missing", "missing in the newer job"),
    ("untimed", "without a timing in the older job"),
)
EARLIER_MAX = 20
NOT_INTERLEAVED = (
    "Two jobs ran at different times, so differences of 5 % or less are inconclusive. For a finer comparison, measure "
    "both in one job."
)


def earlier(session: Session, row: JobRow) -> tuple[Choice, ...]:
    """Return earlier jobs with common cases, the newest first."""
    rows = queue.list_jobs(session, study=row.study, limit=JOBS_MAX, measured=True).items
    before = [job for job in rows if job.device == row.device and job.created_at < row.created_at]
    related = [job for job in before if {*job.matrix_ids} & {*row.matrix_ids}][:EARLIER_MAX]
    common = results.common_cases(session, row.id, [job.id for job in related])
    return tuple(
        Choice(job.id, f"{units.moment(job.created_at)} · job {job.id[:8]} · {common[job.id]} common cases")
        for job in related
        if job.id in common
    )


def page(session: Session, job_id: str, other_id: str, show: str) -> ComparePage:
    """Return the comparison of the older job with the newer one.

    Raises NotFoundError for an unknown job, ParameterError for different studies, InputError for jobs without common
    cases.
    """
    if not other_id:
        raise ParameterError("No job to compare with. Add ?with=ID to the address.")
    if show not in VIEWS:
        known = ", ".join(filter(None, VIEWS))
        raise ParameterError(f"show is {quote(show)}. Leave it empty or choose one of {known}.")
    rows = sorted((queue.get_job(session, each) for each in (job_id, other_id)), key=lambda row: row.created_at)
    before, after = rows
    if before.study != after.study:
        both = f"{before.study} and {after.study}"
        raise ParameterError(f"The jobs have different studies: {both}. Compare two of one study.")
    old, new = (results.measurements(session, (row.id,), samples=True) for row in rows)
    changes = sorted(differences(old, new), key=_by_change)
    features = results.matrix_features(session, dict.fromkeys(d.matrix_id for d in changes))
    doubtful = [_doubtful(side) for side in (old, new)]
    either = doubtful[0] | doubtful[1]
    row_views = job_rows(session, rows)
    address = f"/jobs/{job_id}/compare?with={other_id}"
    return ComparePage(
        title=f"{row_views[1].title}: before and after",
        topics=",".join(f"job:{row.id}" for row in rows if row.finished_at is None),
        before=row_views[0],
        after=row_views[1],
        sentence=_sentence(changes),
        notes=(NOT_INTERLEAVED, *_noise(old, new), *_busy(doubtful)),
        show=LinkSwitch(
            "Show",
            tuple(Link(text, f"{address}&show={key}" if key else address, key == show) for key, text in VIEWS.items()),
        ),
        cases=tuple(_case(d, features, either) for d in changes if not show or d.verdict in UNLIKE),
        changed=_changed(before, after, old, new),
    )


def _by_change(d: Difference) -> float:
    """Return a sort key: lost timings first, then the largest changes, then new timings."""
    if d.ratio:
        return -abs(math.log(d.ratio))
    return -math.inf if d.verdict in UNLIKE else math.inf


def _sentence(changes: Sequence[Difference]) -> str:
    """Return `Faster on 12 of 30 cases, slower on 2; no clear difference on the other 16.` and more sentences."""
    kinds = Counter(d.verdict for d in changes)
    timed = [d.ratio for d in changes if d.ratio]
    cases = "1 case" if len(timed) == 1 else f"{len(timed)} cases"
    text = f"Faster on {kinds['faster']} of {cases}, slower on {kinds['slower']}"
    rest = kinds["same"] + kinds["inconclusive"]
    text += f"; no clear difference on the other {rest}." if rest else "."
    if kinds["faster"] or kinds["slower"]:
        mean = math.exp(sum(map(math.log, timed)) / len(timed))
        text += f" Geometric-mean speedup of the newer job: {units.ratio(mean)}."
    lacking = ", ".join(f"{kinds[kind]} {label}" for kind, label in LACKING if kinds[kind])
    return f"{text} Not compared: {lacking}." if lacking else text


def _noise(old: Sequence[Measurement], new: Sequence[Measurement]) -> tuple[str, ...]:
    """Return a sentence with the largest A/A gap of each job; none without a control kernel."""
    gaps = [max((m.aa_gap for m in side if m.aa_gap is not None), default=None) for side in (old, new)]
    if all(gap is None for gap in gaps):
        return ()
    before, after = map(units.percent, gaps)
    return (f"A/A gap: up to {before} before and {after} after (two runs of the control kernel).",)


def _doubtful(measurements: Sequence[Measurement]) -> set[CaseKey]:
    """Return the keys of the noisy cases of a job."""
    return {(m.matrix_id, m.cache, m.kernel, *m.axes.items()) for m in busy_measurements(StudyData(measurements))}


def _busy(doubtful: Sequence[Collection[CaseKey]]) -> tuple[str, ...]:
    """Return a sentence about the noisy cases; none if there are none."""
    before, after = map(len, doubtful)
    if not before and not after:
        return ()
    return (f"Too noisy: {before} cases before and {after} after. Their times are gray and do not count.",)


def _case(d: Difference, features: Mapping[str, MatrixFeatures], busy: Collection[CaseKey]) -> ChangedCase:
    axes = " ".join(f"{name}={value}" for name, value in d.axes.items())
    return ChangedCase(
        matrix=Link(features[d.matrix_id].name, f"/matrices/{d.matrix_id}"),
        kernel=d.baseline,
        setting=" · ".join(filter(None, (d.cache, axes))),
        word=d.verdict,
        ratio=units.ratio(d.ratio),
        before=units.seconds(d.baseline_s),
        after=units.seconds(d.other_s),
        reason=d.reason,
        busy=(d.matrix_id, d.cache, d.other, *d.axes.items()) in busy,
    )


def _changed(before: JobRow, after: JobRow, old: Sequence[Measurement], new: Sequence[Measurement]) -> Table:
    """Return the differences in settings, environment, and kernel sources."""
    sides = [
        {**_settings(row), **dict(environment_of(side)), **{f"source of {k}": v for k, v in sources_of(side)}}
        for row, side in ((before, old), (after, new))
    ]
    names = [name for name in dict.fromkeys((*sides[0], *sides[1])) if sides[0].get(name) != sides[1].get(name)]
    heads = tuple(Head(text, numeric=False) for text in ("difference", "before", "after"))
    return Table(heads, tuple((name, *(side.get(name, units.MISSING) for side in sides)) for name in names))


def _settings(row: JobRow) -> dict[str, str]:
    params = parse_params(find_study(row.study).Params, settings_of(row))
    return {field.name: field.value or "all" for field in form_fields(type(params), params)}
