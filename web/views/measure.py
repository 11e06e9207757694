"""`/measure`: the form of a job, with the parameters of every study; the page of a matrix has it too."""

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
from web.forms import DeviceChoice, MeasureForm, Names, StudyForm, changed, form_fields, values_of
from web.job_contexts import MeasurePage
from web.parts import Choice, Field, Link

OWN = ("again", "study", "device", "matrix_ids")
"""What an address says beside parameters of the study."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the form is filled with; params: of the study, others are defaults; opened: they are shown in any case.

    custom kernels  those that can be chosen
    """

    study: Study
    params: dict[str, Any] = field(default_factory=dict)
    device: str = ""
    matrices: tuple[str, ...] = ()
    opened: bool = False
    custom_kernels: tuple[str, ...] = ()


def page(session: Session, query: Sequence[tuple[str, str]], custom_kernels: Sequence[str] = ()) -> MeasurePage:
    """The form as an address asks for it: like the job `again`, with what else is said instead of its settings.

    custom kernels  those that can be measured here
    Raises NotFoundError for an unknown job, ParameterError for an unknown study or a parameter that it does not take.
    """
    given = dict(query)
    again = queue.get_job(session, given["again"]) if given.get("again") else None
    study = find_study(given.get("study") or (again.study if again else STUDIES[0].name))
    chosen = dict.fromkeys(value for name, value in query if name == "matrix_ids" and value)
    matrices = tuple(chosen) or (tuple(again.matrix_ids) if again else ())
    params = settings_of(again) if again and again.study == study.name else {}
    params |= values_of(study.Params, [(name, value) for name, value in query if value], but=OWN)
    rows, notes = _rows(session, matrices)
    device = given.get("device") or (again.device if again else "")
    return MeasurePage(
        title="Measure again" if again else "Measure",
        topics="",
        form=form(
            session,
            Wanted(study, params, device, tuple(row.id for row in rows), again is not None, tuple(custom_kernels)),
        ),
        again=Link(again.id[:8], f"/jobs/{again.id}") if again else None,
        notes=notes,
    )


def settings_of(job: JobRow) -> dict[str, Any]:
    """The parameters of a job that its study still has."""
    known = {entry.name for entry in fields(find_study(job.study).Params)}
    return {name: value for name, value in job.params.items() if name in known}


def form(session: Session, wanted: Wanted, own: MatrixRow | None = None) -> MeasureForm:
    """The form, of one matrix in any case or of those chosen; raises ParameterError for params of no study."""
    alive = devices.offered(session)
    rows = _ready(session, wanted.matrices)
    infos = [info_of(row) for row in rows if row.id in wanted.matrices]
    return MeasureForm(
        studies=tuple(_study(session, study, wanted, infos, alive) for study in STUDIES),
        matrix=own.id if own else "",
        matrices=tuple(
            Choice(row.id, f"{row.name} ({units.count(row.n_rows)} rows)", row.id in wanted.matrices)
            for row in rows
            if row is not own
        ),
        mixed_rows=units.count(ROWS_MAX),
        devices=_devices(alive, wanted.device),
        open=wanted.opened or bool(changed(parse_params(wanted.study.Params, wanted.params))),
    )


def _study(
    session: Session, study: Study, wanted: Wanted, matrices: Sequence[MatrixInfo], alive: Sequence[DeviceInfo]
) -> StudyForm:
    params = parse_params(study.Params, wanted.params if study is wanted.study else {})
    own = {"custom_kernels": wanted.custom_kernels}
    names: Names = {backend: {**study.names(backend), **own} for backend in dict.fromkeys(d.backend for d in alive)}
    query = [("study", study.name), *(("matrix_ids", matrix) for matrix in wanted.matrices)]
    return StudyForm(
        study.name,
        study.question,
        _fields(form_fields(study.Params, params, names), wanted),
        _outlook(session, study, params, matrices, alive),
        study is wanted.study,
        f"/measure?{urlencode(query)}",
    )


def _fields(fields: tuple[Field, ...], wanted: Wanted) -> tuple[Field, ...]:
    """Those that there is something to choose in: of custom kernels none where there are none."""
    return fields if wanted.custom_kernels else tuple(f for f in fields if f.name != "custom_kernels")


def _outlook(
    session: Session, study: Study, params: Any, matrices: Sequence[MatrixInfo], alive: Sequence[DeviceInfo]
) -> str:
    """How long a job takes on each device, or what stands against it."""
    refused = [f"{m.name}: {refusal}" for m in matrices if (refusal := study.refusal(m))]
    if refused and len(refused) == len(matrices):
        return f"Nothing of this can be measured. {' '.join(refused)}"
    if not matrices:
        return "Choose one matrix or more; how long they take is said here."
    possible = [f"{time} on {d.id}" for d in alive if (time := expected_time(session, study, params, matrices, d))]
    if not possible:
        return "No device that is here now can measure it with these settings."
    own = ", ".join(f"{name} {value}" for name, value in changed(params))
    said = f"About {', '.join(possible)}, {'with ' + own if own else 'with the default settings'}."
    return " ".join((said, *(f"Left out is {each}" for each in refused)))


def expected_time(
    session: Session, study: Study, params: Any, matrices: Sequence[MatrixInfo], device: DeviceInfo
) -> str:
    """Return how long a job takes on a device, in words; empty if the device cannot measure anything of it."""
    try:
        check_device(study, device)
        cases = sum(1 for _ in islice(study.cases(params, matrices, device), queue.CASES_MAX))
    except ParameterError:
        return ""
    if not cases:
        return ""
    own = estimates.expected(study, params, matrices, device, cases)
    return units.duration(estimates.corrected(own, estimates.outcomes(session, study, device)))


def _devices(alive: Sequence[DeviceInfo], chosen: str) -> tuple[DeviceChoice, ...]:
    """GPUs first; chosen where it is alive, else the first."""
    place = next((place for place, device in enumerate(alive) if device.id == chosen), 0)
    return tuple(DeviceChoice(d.id, f"{d.id} · {d.name}", d.backend, n == place) for n, d in enumerate(alive))


def _rows(session: Session, matrices: Sequence[str]) -> tuple[list[MatrixRow], tuple[str, ...]]:
    """Those of the matrices that can be measured, and why the others cannot."""
    rows, notes = [], []
    for matrix in matrices:
        try:
            row = catalogue.get_matrix(session, matrix)
        except NotFoundError:
            notes.append(f"The matrix {matrix} is gone.")
            continue
        if row.state == MatrixState.READY:
            rows.append(row)
        else:
            notes.append(f"{row.name} is {row.state} and has no values here; its page says what to do.")
    return rows, tuple(notes)


def _ready(session: Session, chosen: Sequence[str]) -> list[MatrixRow]:
    """The chosen matrices, then the newest others, each part by name; as many as a job takes."""
    listed = catalogue.list_matrices(session, limit=MATRICES_MAX).items
    every = {row.id: row for row in (*_rows(session, chosen)[0], *listed) if row.state == MatrixState.READY}
    found = list(every.values())[:MATRICES_MAX]
    return sorted(found, key=lambda row: (row.id not in chosen, row.name))


def info_of(row: MatrixRow) -> MatrixInfo:
    """Return what studies know of a matrix before they read it."""
    return MatrixInfo(row.id, row.name, row.n_rows, row.n_cols, row.nnz)
