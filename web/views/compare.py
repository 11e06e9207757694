"""`/jobs/{id}/compare?with=ID`: comparison of two jobs of a study, case by case."""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from urllib.parse import quote as quote_url
from urllib.parse import urlencode

from sqlalchemy.orm import Session

from gpu_engine.custom_kernels.sources import PREFIX
from gpu_engine.errors import ParameterError
from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.ranking import NAMED, join
from gpu_engine.parameters import parse_params
from gpu_engine.records import Measurement
from gpu_engine.studies import study as find_study
from gpu_engine.studies.results import busy_measurements
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.words import amount
from gpu_engine.verdicts.differences import Difference, DifferenceKind, differences
from server import results
from server.jobs import queue
from server.models import JobRow
from server.result_sources import JOBS_MAX
from web.components import Choice, Link, LinkSwitch
from web.figures.base import shorten
from web.forms import form_fields
from web.job_contexts import ChangedCase, ComparePage
from web.palette import mark_of
from web.plots.axis import Axis, log_axis
from web.plots.dots import DotRow, Dots, DotValue
from web.provenance import environment_of, sources_of
from web.selection import choice_error
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
NO_KERNELS = "none"
REFERENCE = "custom_kernel"
"""Key of an environment: reference of a custom kernel, which the settings have too."""

EARLIER_MAX = 20
DRAWN_MAX = 16
ROWS_SHOWN = 12
"""Cases in the table that are not folded."""

NOT_INTERLEAVED = (
    "Two jobs ran at different times, so differences of 5\u202f% or less are inconclusive. For a finer comparison, "
    "measure both in one job."
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


def address_of(ticked: Sequence[str]) -> str:
    """Return the address of the comparison of two jobs; raises ParameterError unless there are two."""
    chosen = list(dict.fromkeys(ticked))
    if len(chosen) != 2:
        count = f"{amount(len(chosen), 'job')} ticked" if chosen else "No job is ticked"
        raise ParameterError(f"{count}. Tick the two to compare.", hint="list_jobs")
    return f"/jobs/{quote_url(chosen[0], safe='')}/compare?{urlencode({'with': chosen[1]})}"


def page(session: Session, job_id: str, other_id: str, show: str) -> ComparePage:
    """Return the comparison of the older job with the newer one.

    Raises NotFoundError for an unknown job, ParameterError for different studies, InputError for jobs without common
    cases.
    """
    if not other_id:
        raise ParameterError("No second job. Tick the two to compare.", hint="list_jobs")
    if show not in VIEWS:
        raise choice_error("show", show, VIEWS)
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
    is_noisy = _is_noisy(changes, either)
    row_views = job_rows(session, rows)
    address = f"/jobs/{job_id}/compare?with={other_id}"
    chosen = [d for d in changes if not show or (d.verdict in UNLIKE and not (d.ratio and _key(d) in either))]
    cases = tuple(_case(d, features, either) for d in sorted(chosen, key=lambda d: bool(d.ratio) and _key(d) in either))
    return ComparePage(
        title=f"{row_views[1].title}: before and after",
        topics=",".join(f"job:{row.id}" for row in rows if row.finished_at is None),
        before=row_views[0],
        after=row_views[1],
        sentence=_sentence(changes, either),
        under=_under([d for d in changes if _key(d) not in either]),
        notes=_busy(doubtful) if is_noisy else (NOT_INTERLEAVED, *_noise(old, new), *_busy(doubtful)),
        picture=_picture(changes, features, either),
        show=LinkSwitch(
            "Show",
            tuple(Link(text, f"{address}&show={key}" if key else address, key == show) for key, text in VIEWS.items()),
        ),
        cases=() if is_noisy else cases[:ROWS_SHOWN],
        folded=cases if is_noisy else cases[ROWS_SHOWN:],
        changed=_changed(before, after, old, new),
    )


def _by_change(d: Difference) -> float:
    """Return a sort key: lost timings first, then the largest changes, then new timings."""
    if d.ratio:
        return -abs(math.log(d.ratio))
    return -math.inf if d.verdict in UNLIKE else math.inf


def _sentence(changes: Sequence[Difference], busy: Collection[CaseKey]) -> str:
    """Return `Faster on 12 of 30 cases, slower on 2; no clear difference on the other 16.`"""
    if _is_noisy(changes, busy):
        return "Nothing can be compared, because the timings are too noisy."
    quiet = [d for d in changes if _key(d) not in busy]
    timed, kinds = [d for d in quiet if d.ratio], Counter(d.verdict for d in quiet)
    rest = kinds["same"] + kinds["inconclusive"]
    text = (
        f"Faster on {kinds['faster']} of {len(timed)} case{'s' if len(timed) != 1 else ''}, slower on {kinds['slower']}"
    )
    return f"{text}; no clear difference on the other {rest}." if rest else f"{text}."


def _is_noisy(changes: Sequence[Difference], busy: Collection[CaseKey]) -> bool:
    """Return whether all cases with two times are too noisy."""
    timed = [d for d in changes if d.ratio]
    return bool(timed) and all(_key(d) in busy for d in timed)


def _under(changes: Sequence[Difference]) -> tuple[str, ...]:
    """Return the mean speedup, if some cases differ, and how many cases were not compared, as sentences."""
    kinds = Counter(d.verdict for d in changes)
    timed = [d.ratio for d in changes if d.ratio]
    mean = math.exp(sum(map(math.log, timed)) / len(timed)) if kinds["faster"] or kinds["slower"] else None
    lacking = ", ".join(f"{kinds[kind]} {label}" for kind, label in LACKING if kinds[kind])
    return (
        *([f"Geometric-mean speedup of the newer job: {units.ratio(mean)}."] if mean else []),
        *([f"Not compared: {lacking}."] if lacking else []),
    )


def _picture(
    changes: Sequence[Difference], features: Mapping[str, MatrixFeatures], busy: Collection[CaseKey]
) -> Dots | None:
    """Return the largest changes as dots; None without two times that count."""
    largest = [d for d in changes if d.ratio and _key(d) not in busy][:DRAWN_MAX]
    if not largest:
        return None
    axis = log_axis([d.ratio for d in largest if d.ratio])
    rows = [_dot_row(d, features[d.matrix_id].name, axis) for d in largest]
    return Dots(
        heading=f"The {len(largest)} largest changes" if len(largest) > 1 else "The change",
        series=(),
        ticks=axis.ticks(),
        one=axis.at(1.0),
        heads=("speedup", "before → after"),
        rows=tuple(rows),
        what="case",
        wide=("before → after",),
        verdicts=True,
    )


def _dot_row(d: Difference, matrix: str, axis: Axis) -> DotRow:
    color, form = mark_of(d.baseline)
    times = DotValue(f"{units.seconds(d.baseline_s)} → {units.seconds(d.other_s)}")
    dot = axis.dot(d.ratio or 1.0, "circle", d.verdict)
    note = " · ".join((shorten(matrix), d.cache))
    return DotRow(d.baseline, "", (dot,), (DotValue(units.ratio(d.ratio), d.verdict), times), False, color, form, note)


def _key(d: Difference) -> CaseKey:
    return (d.matrix_id, d.cache, d.other, *d.axes.items())


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
    is_busy = _key(d) in busy
    return ChangedCase(
        matrix=Link(features[d.matrix_id].name, f"/matrices/{d.matrix_id}"),
        kernel=d.baseline,
        setting=" · ".join(filter(None, (d.cache, axes))),
        word="noisy" if is_busy and d.ratio else d.verdict,
        ratio=units.ratio(None if is_busy else d.ratio),
        before=units.seconds(d.baseline_s),
        after=units.seconds(d.other_s),
        reason="" if is_busy and d.ratio else d.reason,
        busy=is_busy,
    )


def _changed(before: JobRow, after: JobRow, old: Sequence[Measurement], new: Sequence[Measurement]) -> Table:
    """Return the differences in settings, environment, kernels, and sources of the kernels that both jobs have."""
    kernels = [{m.kernel for m in side} for side in (old, new)]
    common = kernels[0] & kernels[1]
    sides = [
        {
            **setting_texts(row),
            **{name: value for name, value in environment_of(side) if name != REFERENCE},
            "kernels only in one job": join(sorted(measured - common, key=_custom_first), NAMED) or NO_KERNELS,
            **{f"source of {kernel}": value for kernel, value in sources_of(side) if kernel in common},
        }
        for row, side, measured in ((before, old, kernels[0]), (after, new, kernels[1]))
    ]
    names = [name for name in dict.fromkeys((*sides[0], *sides[1])) if sides[0].get(name) != sides[1].get(name)]
    heads = tuple(Head(text, numeric=False) for text in ("difference", "before", "after"))
    return Table(heads, tuple((name, *(side.get(name, units.MISSING) for side in sides)) for name in names))


def _custom_first(kernel: str) -> tuple[bool, str]:
    """Return a sort key: custom kernels first."""
    return not kernel.startswith(PREFIX), kernel


def setting_texts(row: JobRow) -> dict[str, str]:
    """Return label → value of the settings of a job; an empty list means all, or none of the custom kernels."""
    params = parse_params(find_study(row.study).Params, settings_of(row))
    return {field.label: field.value or empty_text(field.name) for field in form_fields(type(params), params)}


def empty_text(name: str) -> str:
    """Return what an empty setting means."""
    return NO_KERNELS if name == "custom_kernels" else "all"
