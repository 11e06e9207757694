"""`/matrices/{id}`: one matrix with its structure and results."""

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
from web import hints
from web.figures.formats import regret
from web.figures.history import HISTORY, summary, table
from web.histories import over_jobs
from web.matrix_contexts import History, MatrixPage, Origin, Predicted
from web.parts import Chart, Choice, FindingLine, Link, LinkSwitch
from web.pictures import bin_label, picture
from web.results import CACHE_DEFAULT, Results, results_of
from web.selection import Selection
from web.studies import PAGES
from web.studies.formats import FORMATS
from web.views.lines import finding_lines, job_lines, matrix_line
from web.views.measure import Wanted, form
from web.views.study import chart, contents

JOBS_SHOWN = 10

FACTS: tuple[tuple[str, Callable[[MatrixRow], str]], ...] = (
    ("rows × columns", lambda row: f"{units.count(row.n_rows)} × {units.count(row.n_cols)}"),
    ("nnz", lambda row: units.count(row.nnz)),
    ("row length, mean (ave)", lambda row: units.number(row.features.get("ave"))),
    ("standard deviation (σ)", lambda row: units.number(row.features.get("sigma"))),
    ("shortest … longest row", lambda row: _span(row)),
    ("empty rows, columns", lambda row: _pair(row, "empty_rows", "empty_cols")),
    ("bandwidth", lambda row: units.count(row.features.get("bandwidth"))),
    ("explicit zeros", lambda row: units.count(row.features.get("explicit_zeros"))),
    ("distinct values", lambda row: units.count(row.features.get("distinct_values"))),
    ("warp iterations (n_iter), ELLR, PELLR", lambda row: _pair(row, "n_iter_ellr", "n_iter_pellr")),
    ("computations (n_p)", lambda row: units.count(row.features.get("n_p"))),
    (
        "power-law exponent of rows, columns",
        lambda row: ", ".join(
            units.number(row.features.get(name)) for name in ("power_law_exponent", "power_law_exponent_cols")
        ),
    ),
    ("pattern", lambda row: {True: "symmetric", False: "not symmetric"}.get(_symmetric(row), units.MISSING)),
    ("CSR size", lambda row: units.size(12 * row.nnz + 4 * (row.n_rows + 1))),
)


def matrix_page(
    session: Session,
    store: Store,
    matrix_id: str,
    followed: Selection,
    can_fetch: bool,
    custom_kernels: Sequence[str] = (),
) -> MatrixPage:
    """One matrix; followed: kernels and cache states over time; raises NotFoundError.

    can_fetch    whether matrices of the collection can be fetched
    custom kernels  those that can be measured here
    """
    row = catalogue.get_matrix(session, matrix_id)
    known = row.state in (MatrixState.READY, MatrixState.RECORDED)
    seen = picture(store, row) if known else None
    jobs = queue.list_jobs(session, matrix_id=row.id, limit=JOBS_SHOWN).items
    waiting = row.state == MatrixState.INGESTING
    results = {page.name: _results(session, page.name, row.id) for page in PAGES}
    watched = [f"matrix:{row.id}"] if waiting else [f"job:{job.id}" for job in jobs if job.finished_at is None]
    wanted = Wanted(STUDIES[0], matrices=(row.id,), custom_kernels=tuple(custom_kernels))
    predictor = predictors.of_service(session)
    return MatrixPage(
        title=row.name,
        topics=",".join(watched),
        matrix=matrix_line(row),
        source=_source(row.source),
        error=hints.words(row.error),
        fetch=str(row.source["name"]) if can_fetch and _lacks_values(row) else "",
        facts=tuple((name, fact(row)) for name, fact in FACTS) if known else (),
        notes=(*_fetched(row.source), *(seen.notes if seen else ())),
        advice=_advice(row, predictor),
        predicted_for=_predicted_for(predictor),
        how_sure=_how_sure(predictor.near_best(row.features), is_sure(row.features), predictor.gpu),
        beside=_beside(results[FORMATS.name]),
        charts=_charts(row) if seen else (),
        histogram=tuple((bin_label(low, high), units.count(n)) for low, high, n in seen.row_lengths) if seen else (),
        findings=_findings(results, row.id),
        history=_history(session, row, followed),
        jobs=job_lines(session, jobs),
        form=form(session, wanted, row) if row.state == MatrixState.READY else None,
        origin=_origin(session, row) if row.state == MatrixState.RECORDED else None,
    )


def _advice(row: MatrixRow, predictor: Predictor) -> Table | None:
    """The kernels of the advisor, best first: predicted times in one unit, and the reason."""
    advised = predictor.advise(row.features)
    if not advised:
        return None
    times = [advice.predicted_s[gpu.name] for advice in advised for gpu in GPUS]
    unit = units.unit_for(times, units.TIME)
    shown = iter(units.column([None if time is None else time / unit.factor for time in times]))
    rows = ((a.kernel, *(next(shown) for _ in GPUS), units.count(a.cold_place), a.reason) for a in advised)
    heads = (Head(gpu.name, unit.symbol) for gpu in GPUS)
    return Table(
        (Head("kernel", numeric=False), *heads, Head("place if cold"), Head("why", numeric=False)), tuple(rows)
    )


def _predicted_for(predictor: Predictor) -> str:
    """On what the best come first, and what was learned of it here."""
    first, number = f"the {predictor.gpu.short_name} first", predictor.matrices
    if not number:
        return first
    return f"{first}, calibrated by {'one matrix' if number == 1 else f'{units.count(number)} matrices'} measured here"


def _how_sure(close: Sequence[str], sure: bool, gpu: Gpu) -> str:
    """Whether the first choice on such a GPU can be taken, or measuring decides."""
    said = (
        f"No other kernel is predicted within 20 % of {close[0]}."
        if len(close) == 1
        else f"{units.count(len(close))} kernels are predicted within 20 % of each other: {join(close, NAMED)}."
    )
    if not sure:
        return f"{said} The costs were fitted to larger matrices with shorter rows: measure which is fastest."
    if not gpu.is_judged:
        return f"{said} Predictions were never judged on the {gpu.short_name}: measure which is fastest."
    return f"{said} On the {gpu.short_name} the first can be taken unmeasured."


def _beside(results: Results) -> Predicted:
    """What the advisor said beforehand of each kernel that was measured, and what its first choice costs."""
    figure = FORMATS.figure("predicted")
    caption, table, version = contents(figure, results.data, len(results.measurements), figure.matrices_min)
    every = results.selection.with_(kernels="all")
    said = tuple(regret.said(panel) for panel in regret.info(results.data).panels)
    return Predicted(chart(figure.name, every, version, caption), table, said)


def _findings(results: Mapping[str, Results], matrix_id: str) -> tuple[FindingLine, ...]:
    """What every study says of a matrix, on every device."""
    lines = (finding_lines(page, results[page.name]) for page in PAGES)
    return tuple(line for of_study in lines for line in of_study if line.finding.matrix_id == matrix_id)


def _history(session: Session, row: MatrixRow, followed: Selection) -> History:
    """The figure of a matrix over its jobs; it is hidden where no device has two in either cache state."""
    every = over_jobs(session, row.id, Selection(cache=CACHES))
    info = over_jobs(session, row.id, followed)
    (cache, *_) = followed.cache or (CACHE_DEFAULT,)
    address = f"/matrices/{row.id}"
    links = (Link(each, f"{address}?{followed.with_(cache=each).query}", each == cache) for each in CACHES)
    kernels = sorted({kernel for own in every for visit in own.visits for kernel in visit.taken})
    query, version = (
        followed.with_(matrix=row.id).query,
        sum(len(visit.taken) for own in every for visit in own.visits),
    )
    return History(
        Chart(f"{HISTORY.name}-chart", f"/api/v1/figures/{HISTORY.name}?{query}", str(version), summary(info)),
        table(info),
        LinkSwitch("Cache", tuple(links)),
        tuple(Choice(kernel, kernel, kernel in followed.kernel) for kernel in kernels),
        tuple(("cache", each) for each in followed.cache),
    )


def _results(session: Session, study: str, matrix_id: str) -> Results:
    """The results of a study of one matrix on every device."""
    measured = queue.list_jobs(session, study=study, matrix_id=matrix_id, measured=True).items
    here = (job.device for job in measured)
    names = tuple(dict.fromkeys((*here, *recorded_results.device_ids(session, study, matrix_id))))
    return results_of(session, study, Selection(matrix=(matrix_id,), device=names))


def _origin(session: Session, row: MatrixRow) -> Origin:
    """How the values of a recorded matrix get here, or where they are already."""
    call = recorded_results.generate_call(row)
    twins = catalogue.ready_twins(session, row)
    return Origin(
        generate=tuple((name, value if isinstance(value, str) else dumps(value)) for name, value in call.items()),
        collection=str(row.source.get("name", "")),
        twins=tuple(Link(twin.name, f"/matrices/{twin.id}") for twin in twins),
    )


def _charts(row: MatrixRow) -> tuple[Chart, ...]:
    query = Selection(matrix=(row.id,)).query
    spy = f"Where the {units.count(row.nnz)} entries of {row.name} lie: entries per cell, on a log scale."
    lengths = f"How many rows have how many entries: {units.number(row.features.get('ave'))} on average, "
    lengths += f"{units.count(row.features.get('max'))} at most."
    return (
        Chart("spy", f"/api/v1/figures/spy?{query}", row.fingerprint[:12], spy),
        Chart("row-lengths", f"/api/v1/figures/row-lengths?{query}", row.fingerprint[:12], lengths),
    )


def _lacks_values(row: MatrixRow) -> bool:
    """Whether it is a matrix of the collection that came without values, or was not got."""
    return kind_of(row.source) == "collection" and row.state in (MatrixState.RECORDED, MatrixState.FAILED)


def _fetched(source: dict[str, Any]) -> tuple[str, ...]:
    """Where the file of a matrix was fetched from, as a sentence."""
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
        return f"the file {source.get('filename')}, elsewhere"
    return f"uploaded, {units.size(source['bytes'])}"


def _span(row: MatrixRow) -> str:
    return f"{units.count(row.features.get('min'))} … {units.count(row.features.get('max'))}"


def _pair(row: MatrixRow, first: str, second: str) -> str:
    return f"{units.count(row.features.get(first))}, {units.count(row.features.get(second))}"


def _symmetric(row: MatrixRow) -> Any:
    return row.features.get("symmetric_pattern")
