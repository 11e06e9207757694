"""`/measure`: the form of a job with the parameters of all studies; the page of a matrix has it too."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from itertools import islice
from typing import Any
from urllib.parse import urlencode

from sqlalchemy.orm import Session

from gpu_engine.errors import NotFoundError, ParameterError
from gpu_engine.parameters import parse_params
from gpu_engine.records import DeviceInfo, MatrixInfo
from gpu_engine.studies import STUDIES
from gpu_engine.studies import study as find_study
from gpu_engine.studies.base import Study, check_device
from gpu_engine.studies.batched import ROWS_MAX
from gpu_engine.text import units
from server import catalogue, devices
from server.documents import MATRICES_MAX
from server.jobs import estimates, queue
from server.models import JobRow, MatrixRow, MatrixState
from web.components import Choice, Field, Link
from web.forms import DeviceChoice, MeasureForm, Names, StudyForm, changed, form_fields, values_of
from web.job_contexts import MeasurePage

FORM_NAMES = ("again", "study", "device", "matrix_ids")
"""Names in the address that are not parameters of a study."""


@dataclass(frozen=True, slots=True)
class FormValues:
    """Values of the form.

    params          parameters of the study; the others are defaults
    opened          whether the settings are visible in any case
    custom_kernels  custom kernels of the server
    """

    study: Study
    params: dict[str, Any] = field(default_factory=dict)
    device: str = ""
    matrices: tuple[str, ...] = ()
    opened: bool = False
    custom_kernels: tuple[str, ...] = ()


def page(session: Session, query: Sequence[tuple[str, str]], custom_kernels: Sequence[str] = ()) -> MeasurePage:
    """Return the form for an address: the settings of the job `again`, replaced by other parameters of the address.

    custom_kernels  custom kernels of the server

    Raises NotFoundError for an unknown job, ParameterError for an unknown study or parameter.
    """
    given = dict(query)
    again = queue.get_job(session, given["again"]) if given.get("again") else None
    study = find_study(given.get("study") or (again.study if again else STUDIES[0].name))
    chosen = dict.fromkeys(value for name, value in query if name == "matrix_ids" and value)
    matrices = tuple(chosen) or (tuple(again.matrix_ids) if again else ())
    params = settings_of(again) if again and again.study == study.name else {}
    params |= values_of(study.Params, [(name, value) for name, value in query if value], but=FORM_NAMES)
    rows, notes = _rows(session, matrices)
    device = given.get("device") or (again.device if again else "")
    return MeasurePage(
        title="Measure again" if again else "Measure",
        topics="",
        form=form(
            session,
            FormValues(study, params, device, tuple(row.id for row in rows), again is not None, tuple(custom_kernels)),
        ),
        again=Link(again.id[:8], f"/jobs/{again.id}") if again else None,
        notes=notes,
    )


def settings_of(job: JobRow) -> dict[str, Any]:
    """Return the parameters of a job that its study still has."""
    known = {entry.name for entry in fields(find_study(job.study).Params)}
    return {name: value for name, value in job.params.items() if name in known}


def form(session: Session, values: FormValues, matrix: MatrixRow | None = None) -> MeasureForm:
    """Return the form for the chosen matrices and `matrix`; raises ParameterError for unknown parameters."""
    alive = devices.offered(session)
    rows = _ready(session, values.matrices)
    infos = [info_of(row) for row in rows if row.id in values.matrices]
    return MeasureForm(
        studies=tuple(_study(session, study, values, infos, alive) for study in STUDIES),
        matrix=matrix.id if matrix else "",
        matrices=tuple(
            Choice(row.id, f"{row.name} ({units.count(row.n_rows)} rows)", row.id in values.matrices)
            for row in rows
            if row is not matrix
        ),
        mixed_rows=units.count(ROWS_MAX),
        devices=_devices(alive, values.device),
        open=values.opened or bool(changed(parse_params(values.study.Params, values.params))),
    )


def _study(
    session: Session, study: Study, values: FormValues, matrices: Sequence[MatrixInfo], alive: Sequence[DeviceInfo]
) -> StudyForm:
    params = parse_params(study.Params, values.params if study is values.study else {})
    custom = {"custom_kernels": values.custom_kernels}
    names: Names = {backend: {**study.names(backend), **custom} for backend in dict.fromkeys(d.backend for d in alive)}
    query = [("study", study.name), *(("matrix_ids", matrix) for matrix in values.matrices)]
    return StudyForm(
        study.name,
        study.question,
        _fields(form_fields(study.Params, params, names), values),
        _duration(session, study, params, matrices, alive),
        study is values.study,
        f"/measure?{urlencode(query)}",
    )


def _fields(fields: tuple[Field, ...], values: FormValues) -> tuple[Field, ...]:
    """Return the fields with options: no field for custom kernels if the server has none."""
    return fields if values.custom_kernels else tuple(f for f in fields if f.name != "custom_kernels")


def _duration(
    session: Session, study: Study, params: Any, matrices: Sequence[MatrixInfo], alive: Sequence[DeviceInfo]
) -> str:
    """Return the estimated run time on each device, or the reason that the job cannot run."""
    refused = [f"{m.name}: {refusal}" for m in matrices if (refusal := study.refusal(m))]
    if refused and len(refused) == len(matrices):
        return f"None of the selected matrices can be measured: {' '.join(refused)}"
    if not matrices:
        return "Select at least one matrix to see the estimated run time."
    possible = [f"{time} on {d.id}" for d in alive if (time := expected_time(session, study, params, matrices, d))]
    if not possible:
        return "No available device supports these settings."
    settings = ", ".join(f"{name} {value}" for name, value in changed(params)) or "the default settings"
    estimate = f"About {', '.join(possible)}, with {settings}."
    return " ".join((estimate, *(f"Not measured: {each}" for each in refused)))


def expected_time(
    session: Session, study: Study, params: Any, matrices: Sequence[MatrixInfo], device: DeviceInfo
) -> str:
    """Return the estimated run time on a device as text; empty if the device cannot measure any case."""
    try:
        check_device(study, device)
        cases = sum(1 for _ in islice(study.cases(params, matrices, device), queue.CASES_MAX))
    except ParameterError:
        return ""
    if not cases:
        return ""
    expected_s = estimates.expected(study, params, matrices, device, cases)
    return units.duration(estimates.corrected(expected_s, estimates.outcomes(session, study, device)))


def _devices(alive: Sequence[DeviceInfo], chosen: str) -> tuple[DeviceChoice, ...]:
    """Return the devices, GPUs first; the chosen one is selected if it is available, else the first."""
    index = next((index for index, device in enumerate(alive) if device.id == chosen), 0)
    return tuple(DeviceChoice(d.id, f"{d.id} · {d.name}", d.backend, n == index) for n, d in enumerate(alive))


def _rows(session: Session, matrices: Sequence[str]) -> tuple[list[MatrixRow], tuple[str, ...]]:
    """Return the matrices that can be measured, and notes about the others."""
    rows, notes = [], []
    for matrix in matrices:
        try:
            row = catalogue.get_matrix(session, matrix)
        except NotFoundError:
            notes.append(f"Matrix {matrix} was deleted.")
            continue
        if row.state == MatrixState.READY:
            rows.append(row)
        else:
            notes.append(f"{row.name} has no values on this server ({row.state}). See its page for what to do.")
    return rows, tuple(notes)


def _ready(session: Session, chosen: Sequence[str]) -> list[MatrixRow]:
    """Return the chosen matrices, then the newest others, both by name, up to the limit of a job."""
    listed = catalogue.list_matrices(session, limit=MATRICES_MAX).items
    every = {row.id: row for row in (*_rows(session, chosen)[0], *listed) if row.state == MatrixState.READY}
    candidates = list(every.values())[:MATRICES_MAX]
    return sorted(candidates, key=lambda row: (row.id not in chosen, row.name))


def info_of(row: MatrixRow) -> MatrixInfo:
    """Return the properties of a matrix that studies know before reading it."""
    return MatrixInfo(row.id, row.name, row.n_rows, row.n_cols, row.nnz)
