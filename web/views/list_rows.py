"""List rows that several pages share: jobs, devices, matrices, findings."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any
from urllib.parse import urlencode

from sqlalchemy.orm import Session

from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.finding import Finding
from gpu_engine.records import OP, STATES, TIMED, DeviceProfile, profile_from_json
from gpu_engine.text import units
from server import devices, engine_faults, recorded_results
from server.jobs.documents import job_documents
from server.models import DeviceRow, JobRow, JobState, MatrixRow
from server.result_sources import ops_of
from server.results import matrix_features, states
from web.components import Chart, DeviceRowView, FindingRowView, JobRowView, Link, MatrixRowView
from web.device_labels import CPU, THIS_CPU, is_several, place_of
from web.figures.bandwidth import BANDWIDTH, summary
from web.results import Results, device_names
from web.selection import Selection, study_url
from web.studies import PAGES
from web.studies.base import StudyPage
from web.views.job_answer import pill

NAMES_SHOWN = 3

NOTHING = "no timings"
"""Outcome of a completed job without a single timing: all cases were skipped or failed."""

STOPPED_EARLY = "stopped early"
"""Outcome of a completed job that was asked to stop after a round."""

SILENT = "The worker does not respond. The job continues when it or another worker is available. Check its log."
"""Note of a running job with an expired lease."""

ROUNDS_AGAIN = 30
"""Rounds for measuring inconclusive cases again; twice the previous number if they had as many."""


def job_rows(
    session: Session, jobs: Sequence[JobRow], documents: Sequence[dict[str, Any]] = (), matrix: str = ""
) -> tuple[JobRowView, ...]:
    """Return the list rows of jobs.

    documents  their API documents, if known
    matrix     id of the matrix that names come first with, if a job has it
    """
    counts = states(session, [job.id for job in jobs if job.cases_done])
    names = {CPU: THIS_CPU} | device_names(session)
    ids = {each for job in jobs for each in job.matrix_ids[:NAMES_SHOWN]}
    matrices = matrix_features(session, ids | ({matrix} if matrix else set()))
    return tuple(
        _job_row(job, document, counts.get(job.id, {}), names.get(job.device, job.device), matrices, matrix)
        for job, document in zip(jobs, documents or job_documents(session, jobs), strict=True)
    )


def _job_row(
    row: JobRow,
    document: dict[str, Any],
    counts: Mapping[str, int],
    device: str,
    matrices: Mapping[str, MatrixFeatures],
    matrix: str,
) -> JobRowView:
    named = {matrix_id: matrices[matrix_id] for matrix_id in row.matrix_ids[:NAMES_SHOWN]}
    links = [Link(matrix.name, f"/matrices/{matrix_id}") for matrix_id, matrix in named.items()]
    first = matrices[matrix if matrix in row.matrix_ids else next(iter(named))].name
    more = len(row.matrix_ids) - 1
    if len(row.matrix_ids) > NAMES_SHOWN:
        links.append(Link(f"{len(row.matrix_ids) - NAMES_SHOWN} more", f"/jobs/{row.id}"))
    progress = document["progress"]
    nothing = row.state == JobState.SUCCEEDED and not any(counts.get(state) for state in TIMED)
    outcome = NOTHING if nothing else STOPPED_EARLY if document["stopped_early"] else row.state
    link = next((page.link for page in PAGES if page.name == row.study), row.study)
    name = f"{link} of {first}{f' and {more} more' if more else ''}"
    return JobRowView(
        id=row.id,
        title=f"{name} on {device}",
        name=name,
        study=row.study,
        state=row.state,
        outcome=outcome,
        pill=pill(row, outcome),
        device=device,
        matrices=tuple(links),
        share=min(1.0, progress["done"] / progress["total"]) if progress["total"] else 0.0,
        note=_status_note(row, document, device, counts),
        created=units.moment(row.created_at),
    )


def _status_note(row: JobRow, document: dict[str, Any], device: str, counts: Mapping[str, int]) -> str:
    left = f"{units.about(document['estimate_s'])} left" if document["estimate_s"] is not None else ""
    if document["waiting_reason"]:
        return str(document["waiting_reason"])
    if document["queue_position"] is not None:
        return f"position {document['queue_position']} in the queue of {device}, {left}"
    if document["lease_expired"]:
        return SILENT
    if document["error"]:
        return str(document["error"]["detail"])
    if row.finished_at is not None and row.started_at is not None:
        took = f"took {units.duration(row.finished_at - row.started_at)}"
        return ", ".join((took, *without_time(counts)))
    return " · ".join(part for part in (left, document["progress"]["message"]) if part)


def without_time(counts: Mapping[str, int]) -> tuple[str, ...]:
    """Return the number of cases without a timing by state: `4 cases skipped`."""
    return tuple(
        f"{counts[state]} case{'s' if counts[state] > 1 else ''} {state}"
        for state in STATES
        if state not in TIMED and counts.get(state)
    )


def device_rows(session: Session) -> tuple[DeviceRowView, ...]:
    """Return all devices of workers, then those with reference results, each with its measured bandwidth."""
    recorded = sorted(recorded_results.list_devices(session), key=lambda row: place_of(str(row.info["name"])))
    rows = (*devices.list_devices(session), *recorded)
    alive, faulty = devices.alive(session, rows), engine_faults.by_device(session)
    states = {row.id: "alive" if row.id in alive else "faulty" if row.id in faulty else "silent" for row in rows}
    return tuple(_device_row(row, states[row.id]) for row in rows)


def _device_row(row: DeviceRow, state: str) -> DeviceRowView:
    info = devices.device_info(row)
    profile = profile_from_json(row.profile) if row.profile else None
    points = profile.bandwidth if profile else ()
    is_recorded = recorded_results.is_recorded(row.id)
    # The cache size of a GPU is known after a process has opened it; nothing reads that of a reference device.
    cache_bytes = profile.cache_bytes if profile else info.cache_bytes or None
    each = " each" if info.is_several or is_several(info.name) else ""
    return DeviceRowView(
        id=row.id,
        name=info.name,
        state="recorded" if is_recorded else state,
        memory=f"{units.size(info.memory_bytes)}{each}" if info.memory_bytes else units.MISSING,
        cache=_cache_text(cache_bytes, each, is_recorded=is_recorded),
        rate=_rate_text(profile, each, is_recorded=is_recorded),
        points=tuple((units.size(p.footprint_bytes), units.rate(p.copy), units.rate(p.read)) for p in points),
        chart=_bandwidth(row.id, profile) if profile else None,
        measured_at=profile.measured_at[:16].replace("T", " ") + " UTC" if profile else "",
        details=tuple(sorted(info.details.items())),
    )


def _cache_text(cache_bytes: int | None, each: str, *, is_recorded: bool) -> str:
    if cache_bytes is None:
        return units.MISSING if is_recorded else "not known yet"
    return f"{units.size(cache_bytes)}{each}"


def _rate_text(profile: DeviceProfile | None, each: str, *, is_recorded: bool) -> str:
    if profile is None:
        return units.MISSING if is_recorded else "not measured yet"
    return f"{units.rate(profile.memory.copy)}{each}"


def _bandwidth(device: str, profile: DeviceProfile) -> Chart:
    url = f"/api/v1/figures/{BANDWIDTH.name}?{Selection(device=(device,)).query}"
    # Ids of elements have only letters, digits, and dashes.
    return Chart(f"bandwidth-{re.sub(r'[^0-9A-Za-z]+', '-', device)}", url, profile.measured_at, summary(profile))


def finding_rows(page: StudyPage, results: Results, data: StudyData | None = None) -> tuple[FindingRowView, ...]:
    """Return the findings of a study, each with the address of its page.

    data  data of the findings; None: the data of the results
    """
    return tuple(
        FindingRowView(
            finding,
            study_url(
                page.name,
                results.selection.with_(
                    matrix=finding.members,
                    device=results.device_id(finding.device),
                    cache=finding.cache,
                    op=finding.axes.get(OP, results.selection.op),
                ),
            ),
            page.link,
            rerun_link(page, results, finding),
            history_url(page.name, results, finding),
        )
        for finding in page.findings(data or results.data)
    )


def history_url(study: str, results: Results, finding: Finding) -> str:
    """Return the address of the history of a finding; empty for reference results."""
    device = results.device_id(finding.device)
    if recorded_results.is_recorded(device):
        return ""
    selection = Selection(matrix=(finding.matrix_id,), device=(device,), cache=(finding.cache,), study=(study,))
    return f"/history?{selection.query}"


def rerun_link(page: StudyPage, results: Results, finding: Finding) -> Link | None:
    """Return a link to the form with more rounds; None if nothing is inconclusive or there is no job."""
    timed = [row for row in finding.rows if row.measurement.median_s]
    if len(timed) < 2 or (finding.decided and all(row.word != "inconclusive" for row in timed)):
        return None
    device, members = results.device_id(finding.device), finding.members or (finding.matrix_id,)
    on_device = (job for job in results.jobs if job.device == device and {*members} <= {*job.matrix_ids})
    fitting = [job for job in on_device if finding.axes.get(OP, "A") in ops_of(job)]
    job = next((job for job in fitting if job.state == JobState.SUCCEEDED), next(iter(fitting), None))
    field = next((field for field in fields(page.study.Params) if field.name == "rounds"), None)
    if job is None or field is None:
        return None
    before, most = job.params.get("rounds", field.default), field.metadata["le"]
    rounds = min(max(ROUNDS_AGAIN, 2 * before if before >= ROUNDS_AGAIN else 0), most)
    query = [("again", job.id), *(("matrix_ids", member) for member in members), ("rounds", rounds)]
    return Link(f"Measure again with {rounds} rounds", f"/measure?{urlencode(query)}") if rounds > before else None


def matrix_row(row: MatrixRow) -> MatrixRowView:
    """Return the list row of a matrix."""
    return MatrixRowView(
        id=row.id,
        name=row.name,
        state=row.state,
        n_rows=units.count(row.n_rows) if row.features else units.MISSING,
        n_cols=units.count(row.n_cols) if row.features else units.MISSING,
        nnz=units.count(row.nnz) if row.features else units.MISSING,
        ave=units.number(row.features.get("ave")),
        sigma=units.number(row.features.get("sigma")),
        longest=units.count(row.features.get("max")),
        created=units.moment(row.created_at),
    )
