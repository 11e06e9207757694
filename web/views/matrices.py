"""`/matrices/{id}`: a matrix with its structure and results."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from gpu_engine.advisor import is_sure
from gpu_engine.advisor.gpus import GPUS, Gpu
from gpu_engine.findings.ranking import NAMED, join
from gpu_engine.recordings.files import kind_of
from gpu_engine.records import CACHES, dumps
from gpu_engine.studies import STUDIES
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from server import catalogue, predictors, recorded_results
from server.jobs import queue
from server.models import MatrixRow, MatrixState
from server.predictors import Predictor
from server.store import Store
from web import problem_hints
from web.components import Chart, Choice, FindingRowView, Link, LinkSwitch
from web.figures.formats import regret
from web.figures.history import HISTORY, summary, table
from web.histories import over_jobs
from web.matrix_contexts import History, MatrixPage, Origin, Predicted
from web.pictures import bin_label, picture
from web.results import CACHE_DEFAULT, Results, results_of
from web.selection import Selection
from web.studies import PAGES
from web.studies.formats import FORMATS
from web.views.list_rows import finding_rows, job_rows, matrix_row
from web.views.measure import FormValues, form
from web.views.study import chart, contents

JOBS_SHOWN = 10

FACTS: tuple[tuple[str, Callable[[MatrixRow], str]], ...] = (
    ("rows × columns", lambda row: f"{units.count(row.n_rows)} × {units.count(row.n_cols)}"),
    ("nnz", lambda row: units.count(row.nnz)),
    ("mean row length (ave)", lambda row: units.number(row.features.get("ave"))),
    ("standard deviation (σ)", lambda row: units.number(row.features.get("sigma"))),
    ("shortest … longest row", lambda row: _span(row)),
    ("empty rows, columns", lambda row: _pair(row, "empty_rows", "empty_cols")),
    ("bandwidth", lambda row: units.count(row.features.get("bandwidth"))),
    ("explicit zeros", lambda row: units.count(row.features.get("explicit_zeros"))),
    ("distinct values", lambda row: units.count(row.features.get("distinct_values"))),
    ("warp iterations (n_iter), ELLR, PELLR", lambda row: _pair(row, "n_iter_ellr", "n_iter_pellr")),
    ("computations (n_p)", lambda row: units.count(row.features.get("n_p"))),
    (
        "power-law exponent (rows, columns)",
        lambda row: ", ".join(
            units.number(row.features.get(name)) for name in ("power_law_exponent", "power_law_exponent_cols")
        ),
    ),
    ("pattern symmetry", lambda row: {True: "symmetric", False: "not symmetric"}.get(_symmetric(row), units.MISSING)),
    ("CSR size", lambda row: units.size(12 * row.nnz + 4 * (row.n_rows + 1))),
)


def matrix_page(
    session: Session,
    store: Store,
    matrix_id: str,
    history_choice: Selection,
    can_fetch: bool,
    custom_kernels: Sequence[str] = (),
) -> MatrixPage:
    """Return the page of a matrix; raises NotFoundError.

    history_choice  kernels and cache states of its history
    can_fetch       whether the server can download matrices of the collection
    custom_kernels  custom kernels of the server
    """
    row = catalogue.get_matrix(session, matrix_id)
    known = row.state in (MatrixState.READY, MatrixState.RECORDED)
    structure = picture(store, row) if known else None
    jobs = queue.list_jobs(session, matrix_id=row.id, limit=JOBS_SHOWN).items
    waiting = row.state == MatrixState.INGESTING
    results = {page.name: _results(session, page.name, row.id) for page in PAGES}
    watched = [f"matrix:{row.id}"] if waiting else [f"job:{job.id}" for job in jobs if job.finished_at is None]
    values = FormValues(STUDIES[0], matrices=(row.id,), custom_kernels=tuple(custom_kernels))
    predictor = predictors.of_service(session)
    return MatrixPage(
        title=row.name,
        topics=",".join(watched),
        matrix=matrix_row(row),
        source=_source(row.source),
        error=problem_hints.problem_text(row.error),
        fetch=str(row.source["name"]) if can_fetch and _lacks_values(row) else "",
        facts=tuple((name, fact(row)) for name, fact in FACTS) if known else (),
        notes=(*_fetched(row.source), *(structure.notes if structure else ())),
        advice=_advice(row, predictor),
        predicted_for=_predicted_for(predictor),
        confidence=_confidence_text(predictor.near_best(row.features), is_sure(row.features), predictor.gpu),
        comparison=_predicted_and_measured(results[FORMATS.name]),
        charts=_charts(row) if structure else (),
        histogram=tuple((bin_label(low, high), units.count(n)) for low, high, n in structure.row_lengths)
        if structure
        else (),
        findings=_findings(results, row.id),
        history=_history(session, row, history_choice),
        jobs=job_rows(session, jobs),
        form=form(session, values, row) if row.state == MatrixState.READY else None,
        origin=_origin(session, row) if row.state == MatrixState.RECORDED else None,
    )


def _advice(row: MatrixRow, predictor: Predictor) -> Table | None:
    """Return the predicted best kernels, fastest first, with times in one unit and the reason."""
    advised = predictor.advise(row.features)
    if not advised:
        return None
    times = [advice.predicted_s[gpu.name] for advice in advised for gpu in GPUS]
    unit = units.unit_for(times, units.TIME)
    cells = iter(units.column([None if time is None else time / unit.factor for time in times]))
    rows = ((a.kernel, *(next(cells) for _ in GPUS), units.count(a.cold_place), a.reason) for a in advised)
    heads = (Head(gpu.name, unit.symbol) for gpu in GPUS)
    return Table(
        (Head("kernel", numeric=False), *heads, Head("rank", "cold"), Head("reason", numeric=False)), tuple(rows)
    )


def _predicted_for(predictor: Predictor) -> str:
    """Return the GPU that sorts the predictions, and the number of matrices that calibrated them."""
    gpu, number = f"the {predictor.gpu.short_name}", predictor.matrices
    matrices = "1 measured matrix" if number == 1 else f"{units.count(number)} measured matrices"
    return f"{gpu} (calibrated with {matrices})" if number else gpu


def _confidence_text(close: Sequence[str], sure: bool, gpu: Gpu) -> str:
    """Return the near-best kernels and the confidence of the prediction."""
    near_best = f"Predicted within 20 % of the fastest: {'only ' if len(close) == 1 else ''}{join(close, NAMED)}."
    if not sure:
        reason = "the model was calibrated on larger matrices with shorter rows"
        return f"{near_best} Low confidence: {reason}. Measure to be sure."
    if not gpu.is_judged:
        reason = f"the model was never validated on the {gpu.short_name}"
        return f"{near_best} Low confidence: {reason}. Measure to be sure."
    return f"{near_best} High confidence on the {gpu.short_name}: you can use the first kernel without measuring."


def _predicted_and_measured(results: Results) -> Predicted:
    """Return the predicted and measured times of all measured kernels, and the regret of the predicted kernel."""
    figure = FORMATS.figure("predicted")
    caption, table, version = contents(figure, results.data, len(results.measurements), figure.matrices_min)
    all_kernels = results.selection.with_(kernels="all")
    sentences = tuple(regret.regret_text(panel) for panel in regret.info(results.data).panels)
    return Predicted(chart(figure.name, all_kernels, version, caption), table, sentences)


def _findings(results: Mapping[str, Results], matrix_id: str) -> tuple[FindingRowView, ...]:
    """Return the findings of all studies on a matrix, for all devices."""
    rows = (row for page in PAGES for row in finding_rows(page, results[page.name]))
    return tuple(row for row in rows if row.finding.matrix_id == matrix_id)


def _history(session: Session, row: MatrixRow, choice: Selection) -> History:
    """Return the history of a matrix over its jobs; hidden if no device has two jobs in one cache state."""
    every = over_jobs(session, row.id, Selection(cache=CACHES))
    info = over_jobs(session, row.id, choice)
    (cache, *_) = choice.cache or (CACHE_DEFAULT,)
    address = f"/matrices/{row.id}"
    links = (Link(each, f"{address}?{choice.with_(cache=each).query}", each == cache) for each in CACHES)
    visits = [visit for panel in every for visit in panel.visits]
    kernels = sorted({kernel for visit in visits for kernel in visit.points})
    query, version = (
        choice.with_(matrix=row.id).query,
        sum(len(visit.points) for visit in visits),
    )
    return History(
        Chart(f"{HISTORY.name}-chart", f"/api/v1/figures/{HISTORY.name}?{query}", str(version), summary(info)),
        table(info),
        LinkSwitch("Cache", tuple(links)),
        tuple(Choice(kernel, kernel, kernel in choice.kernel) for kernel in kernels),
        tuple(("cache", each) for each in choice.cache),
    )


def _results(session: Session, study: str, matrix_id: str) -> Results:
    """Return the results of a study on one matrix for all devices."""
    measured = queue.list_jobs(session, study=study, matrix_id=matrix_id, measured=True).items
    here = (job.device for job in measured)
    names = tuple(dict.fromkeys((*here, *recorded_results.device_ids(session, study, matrix_id))))
    return results_of(session, study, Selection(matrix=(matrix_id,), device=names))


def _origin(session: Session, row: MatrixRow) -> Origin:
    """Return how to get the values of a reference matrix, or equal matrices that have them."""
    call = recorded_results.generate_call(row)
    twins = catalogue.ready_twins(session, row)
    return Origin(
        generate=tuple((name, value if isinstance(value, str) else dumps(value)) for name, value in call.items()),
        collection=str(row.source.get("name", "")),
        twins=tuple(Link(twin.name, f"/matrices/{twin.id}") for twin in twins),
    )


def _charts(row: MatrixRow) -> tuple[Chart, ...]:
    query = Selection(matrix=(row.id,)).query
    spy = f"Positions of the {units.count(row.nnz)} nonzeros of {row.name}: nonzeros per cell, log scale."
    lengths = f"Histogram of the row lengths: mean {units.number(row.features.get('ave'))} nonzeros, "
    lengths += f"maximum {units.count(row.features.get('max'))}."
    return (
        Chart("spy", f"/api/v1/figures/spy?{query}", row.fingerprint[:12], spy),
        Chart("row-lengths", f"/api/v1/figures/row-lengths?{query}", row.fingerprint[:12], lengths),
    )


def _lacks_values(row: MatrixRow) -> bool:
    """Return whether a matrix of the collection has no values, or its download failed."""
    return kind_of(row.source) == "collection" and row.state in (MatrixState.RECORDED, MatrixState.FAILED)


def _fetched(source: dict[str, Any]) -> tuple[str, ...]:
    """Return a sentence with the origin of a downloaded file."""
    if "fetched_at" not in source:
        return ()
    day, size = source["fetched_at"][:10], units.size(source["bytes"])
    return (f"Fetched from {source['address']} on {day}: {size}, sha256 {source['sha256']}.",)


def _source(source: dict[str, Any]) -> str:
    if kind_of(source) == "generated":
        given = ", ".join(f"{name} {value}" for name, value in source.get("params", {}).items())
        return f"generated: {source.get('generator')} ({given})" if given else f"generated: {source.get('generator')}"
    if kind_of(source) == "collection":
        return f"SuiteSparse Matrix Collection: {source.get('name')}"
    if "bytes" not in source:
        return f"file {source.get('filename')} on another machine"
    return f"uploaded, {units.size(source['bytes'])}"


def _span(row: MatrixRow) -> str:
    return f"{units.count(row.features.get('min'))} … {units.count(row.features.get('max'))}"


def _pair(row: MatrixRow, first: str, second: str) -> str:
    return f"{units.count(row.features.get(first))}, {units.count(row.features.get(second))}"


def _symmetric(row: MatrixRow) -> Any:
    return row.features.get("symmetric_pattern")
