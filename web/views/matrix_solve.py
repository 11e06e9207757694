"""The answer on a matrix for one solve of A·x = b: measured, or predicted from its SpMVs or its structure."""

from collections.abc import Collection, Iterator, Sequence

from sqlalchemy.orm import Session

from gpu_engine.advisor.gpus import gpu_named
from gpu_engine.findings.formats.conversion_forecast import predicted_costs
from gpu_engine.findings.solvers import choice as solves
from gpu_engine.findings.solvers.choice import SolveChoice, SolveQuestion
from gpu_engine.findings.solvers.groups import SolveGroup, solve_groups
from gpu_engine.findings.solvers.solve_model import ERROR_WORST, SystemSize, accuracy_on, copy_rate_of
from gpu_engine.records import Measurement, profile_from_json
from server import devices, recorded_results
from server.jobs import queue
from server.models import MatrixRow, MatrixState
from server.predictors import Predictor
from web.matrix_contexts import SolveCard
from web.results import device_names, results_of
from web.selection import Selection
from web.studies.solvers import SOLVERS
from web.views.matrix_conversion import forecasts_for
from web.views.matrix_devices import DeviceOption
from web.views.matrix_prediction import predicted_times
from web.views.matrix_results import Measured, measured_on
from web.views.solve_text import WARM, card_of

NEEDED = ("n_rows", "n_cols", "nnz", "max", "symmetric")
"""Features that an answer needs."""


def solve_card(
    session: Session,
    row: MatrixRow,
    device: DeviceOption,
    iterations: int,
    measured: Measured | None,
    predictor: Predictor | None,
) -> SolveCard | None:
    """Return the answer for one solve on a device; None if the matrix is not square, or nothing is known.

    measured  results of the SpMVs on the device; predictor: the performance model for it
    """
    if not has_system(row):
        return None
    method = solves.method_for(row.features)
    question = SolveQuestion(method, iterations, SystemSize.of(row.features), copy_rate_on(session, device))
    group = _solved(session, row, device, question)
    solved = {solve.label for solve in group.built_in} if group else set[str]()
    predicted = None
    if question.copy_rate is not None:
        predicted = _from_spmvs(_warm(session, row, device, measured), device, question, solved)
        predicted = predicted or _from_structure(session, row, predictor, question, solved)
    choice = solves.with_rival(solves.measured_choice(group, question), predicted) if group else predicted
    can_measure = row.state == MatrixState.READY
    cache = measured.cache if measured else WARM
    return card_of(choice, row.id, can_measure, accuracy_on(device.gpu), cache) if choice else None


def has_system(row: MatrixRow) -> bool:
    """Return whether a matrix is square and has nonzeros, and all features that an answer needs are known."""
    features = row.features or {}
    if any(features.get(name) is None for name in NEEDED):
        return False
    return bool(features["nnz"]) and features["n_rows"] == features["n_cols"]


def copy_rate_on(session: Session, device: DeviceOption) -> float | None:
    """Return the bytes/s of a copy in the memory of a GPU: measured, or of its model; None for a CPU."""
    rows = (*devices.list_devices(session), *recorded_results.list_devices(session))
    row = next((row for row in rows if row.id == device.value and row.info.get("backend") == "cuda"), None)
    if row is not None and row.profile:
        return profile_from_json(row.profile).memory.copy
    return copy_rate_of(device.gpu) if device.gpu else None


def _solved(session: Session, row: MatrixRow, device: DeviceOption, question: SolveQuestion) -> SolveGroup | None:
    """Return the solves that were measured on the device by the method; None without any."""
    for measuring in _measuring(session, row, device):
        results = results_of(session, SOLVERS.name, Selection(matrix=(row.id,), device=(measuring,)))
        group = solves.plain_group(solve_groups(results.data), question.method)
        if group:
            return group
    return None


def _measuring(session: Session, row: MatrixRow, device: DeviceOption) -> Iterator[str]:
    """Yield the devices with solves of a matrix: the device itself, then those of its GPU model."""
    jobs = queue.list_jobs(session, study=SOLVERS.name, matrix_id=row.id, measured=True).items
    recorded = recorded_results.device_ids(session, SOLVERS.name, row.id)
    known = tuple(dict.fromkeys((*(job.device for job in jobs), *recorded)))
    yield from (each for each in known if each == device.value)
    names = device_names(session)
    same = (each for each in known if device.gpu is not None and gpu_named(names.get(each, "")) == device.gpu)
    yield from (each for each in same if each != device.value)


def _warm(session: Session, row: MatrixRow, device: DeviceOption, measured: Measured | None) -> Sequence[Measurement]:
    """Return the SpMVs that were measured with a warm cache; empty without any, or if they are too noisy."""
    if measured is not None and measured.cache != WARM and WARM in measured.caches:
        measured = measured_on(session, row.id, device, 1, WARM)
    usable = measured is not None and measured.cache == WARM and not measured.busy
    return measured.group if measured is not None and usable else ()


def _from_spmvs(
    warm: Sequence[Measurement], device: DeviceOption, question: SolveQuestion, but: Collection[str]
) -> SolveChoice | None:
    """Return the choice by the cost model from measured SpMVs; None without any of a Sparsight kernel.

    but  kernels that are not to be chosen
    """
    group = [m for m in warm if m.kernel not in but]
    accuracy = accuracy_on(device.gpu)
    error = accuracy.measured if accuracy else ERROR_WORST
    return solves.measured_spmvs_choice(group, question, error) if group else None


def _from_structure(
    session: Session, row: MatrixRow, predictor: Predictor | None, question: SolveQuestion, but: Collection[str]
) -> SolveChoice | None:
    """Return the choice by the cost model from the performance model; None if it cannot predict the matrix."""
    predicted = predicted_times(predictor, row.features) if predictor else {}
    times = {kernel: time_s for kernel, time_s in predicted.items() if kernel not in but}
    if predictor is None or not times:
        return None
    costs = predicted_costs(times, forecasts_for(session, predictor.gpu, row))
    accuracy = accuracy_on(predictor.gpu) if predictor.is_sure(row.features) else None
    error = accuracy.predicted if accuracy else ERROR_WORST
    return solves.predicted_choice(times, costs, question, error)
