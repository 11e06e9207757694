"""`/measure`: the form of a job with the parameters of all studies."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any
from urllib.parse import urlencode

from sqlalchemy.orm import Session

from gpu_engine.errors import NotFoundError
from gpu_engine.findings.ranking import NAMED
from gpu_engine.parameters import parse_params
from gpu_engine.records import DeviceInfo, MatrixInfo
from gpu_engine.studies import STUDIES
from gpu_engine.studies import study as find_study
from gpu_engine.studies.base import Study
from gpu_engine.studies.batched import ROWS_MAX
from gpu_engine.text import units
from server import catalogue, devices, predictors
from server.documents import MATRICES_MAX
from server.jobs import queue
from server.models import JobRow, MatrixRow, MatrixState
from web.components import Field, Link
from web.device_labels import short
from web.forms import (
    DeviceChoice,
    MatrixChoice,
    MeasureForm,
    Names,
    Preset,
    StudyForm,
    changed,
    form_fields,
    values_of,
)
from web.job_contexts import MeasurePage
from web.recorded import reference_devices
from web.results import device_names
from web.studies import page_of
from web.views.measure_estimate import device_label, estimate

FORM_NAMES = ("again", "study", "device", "matrix_ids")
"""Names in the address that are not parameters of a study."""

MAIN = ("kernels", "custom_kernels", "caches")
"""Parameters that are not folded, in their order."""


@dataclass(frozen=True, slots=True)
class FormValues:
    """Values of the form.

    params          parameters of the study; the others are defaults
    custom_kernels  custom kernels of the server
    """

    study: Study
    params: dict[str, Any] = field(default_factory=dict)
    device: str = ""
    matrices: tuple[str, ...] = ()
    custom_kernels: tuple[str, ...] = ()


def page(
    session: Session, query: Sequence[tuple[str, str]], custom_kernels: Sequence[str] = (), starts_worker: bool = False
) -> MeasurePage:
    """Return the form for an address: the settings of the job `again`, replaced by other parameters of the address.

    starts_worker  whether this server starts a worker
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
    values = FormValues(study, params, device, tuple(row.id for row in rows), tuple(custom_kernels))
    return MeasurePage(
        title="Measure again" if again else "Measure",
        topics="",
        form=form(session, values),
        again=Link(again.id[:8], f"/jobs/{again.id}") if again else None,
        notes=notes,
        starts_worker=starts_worker,
    )


def settings_of(job: JobRow) -> dict[str, Any]:
    """Return the parameters of a job that its study still has."""
    known = {entry.name for entry in fields(find_study(job.study).Params)}
    return {name: value for name, value in job.params.items() if name in known}


def form(session: Session, values: FormValues) -> MeasureForm:
    """Return the form for the chosen matrices; raises ParameterError for unknown parameters."""
    alive = devices.offered(session)
    rows = _ready(session, values.matrices)
    chosen = [row for row in rows if row.id in values.matrices]
    device = next((each for each in alive if each.id == values.device), next(iter(alive), None))
    params = parse_params(values.study.Params, values.params)
    names = device_names(session)
    return MeasureForm(
        studies=tuple(_study(session, study, values, chosen, alive) for study in STUDIES),
        matrices=tuple(
            MatrixChoice(row.id, row.name, f"{units.count(row.nnz)} nonzeros", row.id in values.matrices)
            for row in rows
        ),
        mixed_rows=units.count(ROWS_MAX),
        devices=tuple(DeviceChoice(d.id, device_label(d), d.backend, d is device) for d in alive),
        elsewhere=tuple(short(names[each]) for each in reference_devices(session)),
        estimate=estimate(session, values.study, params, [info_of(row) for row in chosen], device),
    )


def _study(
    session: Session, study: Study, values: FormValues, matrices: Sequence[MatrixRow], alive: Sequence[DeviceInfo]
) -> StudyForm:
    params = parse_params(study.Params, values.params if study is values.study else {})
    custom = {"custom_kernels": values.custom_kernels}
    names: Names = {backend: {**study.names(backend), **custom} for backend in dict.fromkeys(d.backend for d in alive)}
    query = [("study", study.name), *(("matrix_ids", matrix) for matrix in values.matrices)]
    every = _fields(form_fields(study.Params, params, names), values)
    return StudyForm(
        study.name,
        page_of(study.name).link,
        study.question,
        tuple(sorted((each for each in every if each.name in MAIN), key=lambda each: MAIN.index(each.name))),
        tuple(each for each in every if each.name not in MAIN),
        _presets(session, study, names, matrices),
        sum(label not in [each.label for each in every if each.name in MAIN] for label, _ in changed(params)),
        study is values.study,
        f"/measure?{urlencode(query)}",
    )


def _presets(session: Session, study: Study, names: Names, matrices: Sequence[MatrixRow]) -> tuple[Preset, ...]:
    """Return choices of kernels: all, those of the paper, and those predicted for the first matrices."""
    kernels = tuple(dict.fromkeys(kernel for known in names.values() for kernel in known.get("kernels", ())))
    papers = tuple(filter(page_of(study.name).of_paper, kernels))
    predictor = predictors.of_service(session)
    near = dict.fromkeys(
        kernel for row in matrices[:NAMED] for kernel in predictor.near_best(row.features) if kernel in kernels
    )
    is_predicted = study is STUDIES[0] and bool(near)
    return (
        Preset("All", ()),
        *([Preset("Predicted near-best", tuple(near))] if is_predicted else []),
        *([Preset("Paper", papers)] if 0 < len(papers) < len(kernels) else []),
    )


def _fields(fields: tuple[Field, ...], values: FormValues) -> tuple[Field, ...]:
    """Return the fields with options: no field for custom kernels if the server has none."""
    return fields if values.custom_kernels else tuple(f for f in fields if f.name != "custom_kernels")


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
        elif row.state == MatrixState.INGESTING:
            notes.append(f"{row.name} is still being read.")
        else:
            notes.append(f"{row.name} has no values on this server. See its page for what to do.")
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
