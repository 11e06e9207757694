"""`/matrices/{id}`: the answer on a matrix, its kernels, structure, and history."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from sqlalchemy.orm import Session

from gpu_engine.findings.formats.conversion_forecast import predicted_costs
from gpu_engine.findings.formats.decision import Decision
from gpu_engine.findings.formats.for_n import SPMVS, SPMVS_MAX, KernelCost, total_s
from gpu_engine.findings.solvers.choice import ITERATIONS, ITERATIONS_MAX
from gpu_engine.recordings.files import kind_of
from gpu_engine.records import CACHES, dumps
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from server import catalogue, devices, recorded_results
from server.jobs import queue
from server.jobs.documents import job_documents
from server.models import JobRow, MatrixRow, MatrixState
from server.predictors import Predictor
from server.store import Store
from web.components import Chart, FindingRowView, Link
from web.figures.formats import regret
from web.figures.history import HISTORY, summary, table
from web.histories import over_jobs
from web.job_contexts import LiveJob
from web.matrix_contexts import AnswerCard, History, MatrixActions, MatrixPage, MatrixPictures, Origin
from web.results import CACHE_DEFAULT, Results, results_of
from web.selection import Selection, choice_error, clamped
from web.share import OWN_KERNEL, Share, share_of
from web.studies import PAGES
from web.studies.formats import FORMATS
from web.views import matrix_answer, matrix_kernels
from web.views.job_live import live_job
from web.views.list_rows import finding_rows, job_rows, matrix_row
from web.views.matrix_actions import measure_button, use_of
from web.views.matrix_card import answer_card, prediction_card
from web.views.matrix_conversion import forecasts_for
from web.views.matrix_devices import DeviceOption, choose, device_options, newest_first
from web.views.matrix_prediction import predicted_times
from web.views.matrix_results import Measured, measured_on
from web.views.matrix_solve import has_system, solve_card
from web.views.matrix_structure import structure_of

JOBS_SHOWN = 10
OPTIONS = ("n", "iterations", "device", "cache")
"""Parameters of the address."""


@dataclass(frozen=True, slots=True)
class Question:
    """The question in the address: numbers of SpMVs and of iterations of a solve, device, and cache state.

    An empty device or cache state is the default; note: why a number is not that of the address, or empty.
    """

    n: int = SPMVS
    iterations: int = ITERATIONS
    device: str = ""
    cache: str = ""
    note: str = ""

    def url(self, matrix_id: str, **changes: str) -> str:
        """Return the address with some values replaced."""
        return f"/matrices/{matrix_id}?{self.query(**changes)}"

    def query(self, **changes: str) -> str:
        """Return the query of the address with some values replaced or added."""
        iterations = "" if self.iterations == ITERATIONS else str(self.iterations)
        values = {"n": str(self.n), "iterations": iterations, "device": self.device, "cache": self.cache} | changes
        return urlencode({name: value for name, value in values.items() if value})


def question_of(options: Mapping[str, str]) -> Question:
    """Return the question of an address, with the nearest possible numbers; raises ParameterError."""
    if options["cache"] and options["cache"] not in CACHES:
        raise choice_error("cache", options["cache"], dict.fromkeys(CACHES, ""))
    n, note = clamped("n", options["n"], SPMVS_MAX, SPMVS, "SpMVs")
    iterations, more = clamped("iterations", options["iterations"], ITERATIONS_MAX, ITERATIONS, "iterations")
    return Question(n, iterations, options["device"], options["cache"], " ".join(filter(None, (note, more))))


@dataclass(frozen=True, slots=True)
class Known:
    """What is known about the question.

    measured   results on the device; predictor: the performance model for it; None: none
    job, live  unfinished job on the device, and its race
    """

    row: MatrixRow
    device: DeviceOption
    n: int
    measured: Measured | None
    predictor: Predictor | None
    job: JobRow | None
    live: LiveJob | None

    @property
    def decision(self) -> Decision | None:
        """Decision from the measurements; None without them."""
        return self.measured.decision if self.measured else None


def matrix_page(session: Session, store: Store, matrix_id: str, question: Question, can_fetch: bool) -> MatrixPage:
    """Return the page of a matrix; raises NotFoundError, and ParameterError for an unknown device.

    can_fetch  whether the server can download matrices of the collection
    """
    row = catalogue.get_matrix(session, matrix_id)
    options = device_options(session, row.id)
    device = choose(session, options, question.device)
    question = replace(question, device=device.value)
    jobs = queue.list_jobs(session, matrix_id=row.id, limit=JOBS_SHOWN).items
    running = [job for job in jobs if job.finished_at is None]
    known = _known(session, row, device, question, running)
    measured, decision, card = known.measured, known.decision, _card(session, known)
    times = predicted_times(known.predictor, row.features) if known.predictor else {}
    forecasts = forecasts_for(session, known.predictor.gpu, row) if known.predictor and times and not decision else {}
    costs = predicted_costs(times, forecasts)
    watched = [f"matrix:{row.id}"] if row.state == MatrixState.INGESTING else [f"job:{job.id}" for job in running]
    return MatrixPage(
        title=row.name,
        topics=",".join(watched),
        matrix=matrix_row(row),
        eyebrow=_eyebrow(row),
        n=question.n,
        n_max=SPMVS_MAX,
        iterations=question.iterations,
        iterations_max=ITERATIONS_MAX,
        n_note=question.note,
        device=device.value,
        cache=question.cache,
        devices=tuple(Link(each.label, question.url(row.id, device=each.value), each == device) for each in options),
        caches=tuple(Link(each, question.url(row.id, cache=each)) for each in measured.caches if each != measured.cache)
        if measured
        else (),
        card=card,
        has_system=has_system(row),
        solve=solve_card(session, row, device, question.iterations, measured, known.predictor),
        actions=_actions(session, known, card.kernel, _share(known, question), can_fetch),
        pictures=_pictures(known, times, costs),
        running=tuple(_running(job, known.job if known.live else None) for job in running),
        kernels=matrix_kernels.kernel_table(measured.group, decision, measured.busy) if measured and decision else None,
        advice=_advice(known, known.predictor, times, costs) if known.predictor and times else None,
        regret=_regret(session, row.id) if measured else (),
        structure=structure_of(store, row),
        jobs=job_rows(session, jobs, matrix=row.id),
        history=_history(session, row.id, question.cache or CACHE_DEFAULT) if len(jobs) > 1 else None,
        others=_others(session, row.id),
    )


def _known(
    session: Session, row: MatrixRow, device: DeviceOption, question: Question, running: Sequence[JobRow]
) -> Known:
    """Return what is known: results, the performance model, and the job that measures the matrix on the device."""
    measured = measured_on(session, row.id, device, question.n, question.cache) if device.is_measured else None
    predictor = device.predictor(session) if row.features else None
    job = next((job for job in running if (job.study, job.device) == (FORMATS.name, device.value)), None)
    # A job that measures again does not replace the answer.
    live = live_job(session, job) if job and (measured is None or measured.job == job.id) else None
    live = live if live and live.matrix_id == row.id else None
    return Known(row, device, question.n, measured, predictor, job, live)


def _card(session: Session, known: Known) -> AnswerCard:
    """Return the answer: measured, being measured, predicted, or why there is none."""
    row, device, predictor = known.row, known.device, known.predictor
    if known.decision or not (known.job and known.live):
        return answer_card(session, row, device, known.n, known.measured, predictor)
    (document,) = job_documents(session, [known.job])
    left = f"{units.about(document['estimate_s'])} left" if document["estimate_s"] is not None else ""
    predicted = prediction_card(session, row, device, known.n, predictor)
    return matrix_answer.live_card(known.job, known.live, predicted, left)


def _actions(session: Session, known: Known, kernel: str, share: Share, can_fetch: bool) -> MatrixActions:
    """Return what the reader can do; kernel: that of the answer."""
    row, device = known.row, known.device
    return MatrixActions(
        use=use_of(known.measured, kernel),
        measure=measure_button(session, row, device) if row.state == MatrixState.READY and not known.live else None,
        share=share,
        is_idle=not (known.decision or known.live or devices.offered(session)),
        fetch=str(row.source["name"]) if can_fetch and _lacks_values(row) else "",
        origin=_origin(session, row) if row.state == MatrixState.RECORDED else None,
    )


def _share(known: Known, question: Question) -> Share:
    """Return the files of the results that the question is about, or of the prediction."""
    if known.measured:
        return share_of(FORMATS.name, question.query(matrix=known.row.id, cache=known.measured.cache))
    return Share((Link("JSON", catalogue.matrix_path(known.row.id)),), OWN_KERNEL)


def _pictures(known: Known, times: Mapping[str, float], costs: Sequence[KernelCost]) -> MatrixPictures:
    """Return the picture of the answer."""
    measured, decision = known.measured, known.decision
    if known.live:
        return MatrixPictures(known.live, None, None)
    if measured and decision:
        return MatrixPictures(None, None if measured.busy else matrix_kernels.lines_of(decision), None)
    dots = matrix_kernels.predicted_dots(known.predictor, times, costs, known.n) if known.predictor and times else None
    return MatrixPictures(None, None, dots)


def _running(job: JobRow, raced: JobRow | None) -> Link:
    """Return the link to a job that has not ended; raced: the job whose race the page has."""
    text = "Open the job" if job is raced else f"Another job on this matrix: {job.message or job.state}"
    return Link(text, f"/jobs/{job.id}")


def _eyebrow(row: MatrixRow) -> str:
    """Return name, size, and row lengths in one line; only the name of a matrix that was not read."""
    if not row.features:
        return row.name
    shape = units.count(row.n_rows) + (f" × {units.count(row.n_cols)}" if row.n_rows != row.n_cols else "") + " rows"
    lengths = f"{units.number(row.features.get('ave'))} per row, longest {units.count(row.features.get('max'))}"
    return " · ".join((row.name, shape, f"{units.count(row.nnz)} nonzeros", lengths))


def _advice(known: Known, predictor: Predictor, times: Mapping[str, float], costs: Sequence[KernelCost]) -> Table:
    """Return the predicted best kernels and those of the picture, with the times on all GPUs and the reason.

    With forecasts of the conversions, the first number is the time for n SpMVs, and the least one comes first.
    """
    advised = predictor.advise(known.row.features, matrix_kernels.pictured_kernels(times, costs, known.n))
    gpus = newest_first(predictor.gpu)
    totals = {cost.kernel: total_s(cost, known.n) for cost in costs}
    rows = (
        (
            a.kernel,
            *([matrix_answer.time_text(totals[a.kernel]) if a.kernel in totals else units.MISSING] if costs else []),
            *(units.seconds(a.predicted_s[gpu.name]) for gpu in gpus),
            units.count(a.cold_place),
            a.reason,
        )
        for a in sorted(advised, key=lambda each: totals.get(each.kernel, math.inf))
    )
    total = [Head(matrix_answer.spmvs(known.n))] if costs else []
    heads = (Head("kernel", numeric=False), *total, *(Head(gpu.short_name) for gpu in gpus), Head("cold rank"))
    return Table((*heads, Head("reason", numeric=False)), tuple(rows))


def _regret(session: Session, matrix_id: str) -> tuple[str, ...]:
    """Return the slowdown of the predicted kernel on every device that measured the matrix."""
    return tuple(
        regret.regret_text(panel) for panel in regret.info(_results(session, FORMATS.name, matrix_id).data).panels
    )


def _history(session: Session, matrix_id: str, cache: str) -> History | None:
    """Return the times over the formats jobs in one cache state; None unless a device has two of them."""
    panels = over_jobs(session, matrix_id, Selection(cache=(cache,)))
    if not panels:
        return None
    query = Selection(matrix=(matrix_id,), cache=(cache,)).query
    number = sum(len(visit.points) for panel in panels for visit in panel.visits)
    url = f"/api/v1/figures/{HISTORY.name}?{query}"
    return History(Chart(f"{HISTORY.name}-chart", url, str(number), summary(panels)), table(panels))


def _others(session: Session, matrix_id: str) -> tuple[FindingRowView, ...]:
    """Return the findings of the other studies on a matrix, for all devices."""
    others = (page for page in PAGES if page is not FORMATS)
    rows = (row for page in others for row in finding_rows(page, _results(session, page.name, matrix_id)))
    return tuple(row for row in rows if row.finding.matrix_id == matrix_id)


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
        file=str(row.source.get("filename", "")),
        twins=tuple(Link(twin.name, f"/matrices/{twin.id}") for twin in twins),
    )


def _lacks_values(row: MatrixRow) -> bool:
    """Return whether a matrix of the collection has no values, or its download failed."""
    return kind_of(row.source) == "collection" and row.state in (MatrixState.RECORDED, MatrixState.FAILED)
