"""Rows of lists that several pages show: jobs, devices, matrices, findings."""

from collections.abc import Iterable
from typing import Any

from sqlalchemy.orm import Session

from gpu_engine.findings import units
from gpu_engine.findings.data import StudyData
from gpu_engine.records import profile_from_json
from server import devices, recorded_results
from server.jobs import queue
from server.models import DeviceRow, JobRow, MatrixRow
from server.results import matrix_features
from web.parts import DeviceLine, FindingLine, JobLine, Link, MatrixLine
from web.results import Results, device_names
from web.selection import Selection
from web.studies.base import StudyPage

NAMES_SHOWN = 3


def job_lines(session: Session, rows: Iterable[JobRow]) -> tuple[JobLine, ...]:
    """Jobs as lists show them."""
    return tuple(job_line(session, row, queue.job_document(session, row)) for row in rows)


def job_line(session: Session, row: JobRow, document: dict[str, Any]) -> JobLine:
    """A job as lists show it; `document` is its REST form."""
    shown = matrix_features(session, row.matrix_ids[:NAMES_SHOWN])
    links = [Link(matrix.name, f"/matrices/{matrix_id}") for matrix_id, matrix in shown.items()]
    if len(row.matrix_ids) > NAMES_SHOWN:
        links.append(Link(f"{len(row.matrix_ids) - NAMES_SHOWN} more", f"/jobs/{row.id}"))
    progress, device = document["progress"], device_names(session).get(row.device, row.device)
    return JobLine(
        id=row.id,
        study=row.study,
        state=row.state,
        device=device,
        matrices=tuple(links),
        share=min(1.0, progress["done"] / progress["total"]) if progress["total"] else 0.0,
        note=_outlook(row, document, device),
        created=units.moment(row.created_at),
    )


def _outlook(row: JobRow, document: dict[str, Any], device: str) -> str:
    left = f"about {units.duration(document['estimate_s'])} left" if document["estimate_s"] is not None else ""
    if document["queue_position"] is not None:
        return f"place {document['queue_position']} in the queue of {device}, {left}"
    if document["error"]:
        return str(document["error"]["detail"])
    if row.finished_at is not None and row.started_at is not None:
        return f"took {units.duration(row.finished_at - row.started_at)}"
    return " · ".join(part for part in (left, document["progress"]["message"]) if part)


def device_lines(session: Session) -> tuple[DeviceLine, ...]:
    """Every device ever offered, then those with recorded results, each with its measured bandwidth."""
    rows = (*devices.list_devices(session), *recorded_results.list_devices(session))
    return tuple(_device_line(session, row) for row in rows)


def _device_line(session: Session, row: DeviceRow) -> DeviceLine:
    info = devices.device_info(row)
    profile = profile_from_json(row.profile) if row.profile else None
    points = profile.bandwidth if profile else ()
    known = profile is not None or info.cache_bytes > 0
    return DeviceLine(
        id=row.id,
        name=info.name,
        state=_device_state(session, row),
        memory=units.size(info.memory_bytes),
        # What a GPU's cache holds is known once a process has opened it.
        cache=units.size(profile.cache_bytes if profile else info.cache_bytes) if known else "not read yet",
        rate=units.rate(profile.memory.copy) if profile else "not measured yet",
        points=tuple((units.size(p.footprint_bytes), units.rate(p.copy), units.rate(p.read)) for p in points),
        measured_at=profile.measured_at[:16].replace("T", " ") + " UTC" if profile else "",
        details=tuple(sorted(info.details.items())),
    )


def _device_state(session: Session, row: DeviceRow) -> str:
    if recorded_results.is_recorded(row.id):
        return "recorded"
    return "alive" if devices.is_alive(session, row) else "silent"


def finding_lines(page: StudyPage, results: Results, data: StudyData | None = None) -> tuple[FindingLine, ...]:
    """What a study says of some results, each finding with the address that shows it in full.

    data  what is spoken of; None: what the results show
    """
    return tuple(
        FindingLine(
            finding,
            study_url(
                page.name,
                results.selection.with_(
                    matrix=finding.members, device=results.device_id(finding.device), cache=finding.cache
                ),
            ),
            page.link,
        )
        for finding in page.findings(data or results.data)
    )


def study_url(study: str, selection: Selection) -> str:
    """The page of a study with a selection."""
    return f"/{study}?{selection.query}" if selection.query else f"/{study}"


def matrix_line(row: MatrixRow) -> MatrixLine:
    """A matrix as lists show it."""
    return MatrixLine(
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
