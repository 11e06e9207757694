"""`/papers/{name}`: statements, figures, and tables of a paper, with measured results."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup
from sqlalchemy.orm import Session

from gpu_engine.errors import ParameterError
from gpu_engine.findings.data import StudyData
from gpu_engine.gpu_bench.batch_matrices import BATCH_SUBJECTS
from gpu_engine.gpu_bench.benchmark_matrices import GRAPH_SUBJECTS, SUBJECTS, Subject
from gpu_engine.gpu_bench.multigpu_matrices import PAPER_NNZ, paper_matrices
from gpu_engine.parameters import parse_params
from gpu_engine.records import CACHES, DeviceInfo, dumps
from gpu_engine.studies.base import check_device
from server import catalogue, devices, recorded_results
from server.documents import MATRICES_MAX
from server.models import MatrixRow, MatrixState
from server.result_sources import find_sources
from web.components import Chart, Choice, Link
from web.contexts import PaperPage
from web.device_labels import short
from web.page_cache import PageCache
from web.papers import find_paper
from web.papers.base import Paper, Place, Trial
from web.papers.components import ExhibitPart, Generation, OutlookRow, TrialForm
from web.papers.judgment import Judgment, judge
from web.papers.statements import papers_checks, scoreboard, statement_table, verdict_counts
from web.papers.summary import PaperSummary, summary
from web.results import CACHE_DEFAULT, Results, device_names, results_of, with_traces
from web.selection import Selection, choice_error
from web.studies import page_of
from web.studies.base import StudyPage
from web.views.measure import info_of
from web.views.measure_estimate import expected_time
from web.views.paper_choice import PaperChoice, board_links, verdict_links
from web.views.study_parts import chart, contents

ResultsByStudy = Mapping[str, Mapping[str, "Measured"]]
"""Study → device → its results; devices of this server first."""


@dataclass(frozen=True, slots=True)
class Measured:
    """All results of a study on a device, with traces if its figures need them."""

    results: Results
    data: StudyData


def paper_page(session: Session, pages: PageCache, name: str, options: Mapping[str, str]) -> PaperPage:
    """Return the page of a paper; raises NotFoundError, and ParameterError for a device without results of its studies.

    pages    cache of the results of its studies
    options  PARAMETERS of paper_choice.py. Without a device: the one with most verdicts, else the first
    """
    paper = find_paper(name)
    choice, names = PaperChoice(paper.href, **options).checked(), device_names(session)
    results_by_study = _results(session, pages, paper)
    known = tuple(dict.fromkeys(each for study in paper.judges for each in results_by_study[study]))
    if choice.device and choice.device not in known:
        raise choice_error("device", choice.device, {each: short(names.get(each, each)) for each in known})
    trial = _trial(session, paper.trial, choice.matrix)
    judgment = _judgment(paper, results_by_study, names)
    chosen = choice.device or max(known, key=lambda each: _rank(each, judgment, names), default="")
    chosen_name = names.get(chosen, chosen)
    board = scoreboard(judgment.verdicts, chosen_name)
    whole = summary(judgment.verdicts, paper.exhibits, board.rows, chosen_name, choice.cache)
    return PaperPage(
        title=paper.title,
        topics=f"matrix:{choice.matrix}" if trial.reading else "",
        paper=paper,
        devices=tuple(Link(names.get(each, each), choice.on(each), each == chosen) for each in known),
        summary=whole.with_verdict(choice.word),
        verdict=choice.word,
        verdict_links=verdict_links(choice, whole.counts),
        scoreboard=board,
        board_links=board_links(choice, board, whole, {names.get(each, each): each for each in known}),
        notes=tuple(text for device, text in judgment.notes if device == chosen_name),
        kernels=_kernels(results_by_study),
        exhibits=_exhibits(paper, results_by_study, judgment, chosen, chosen_name),
        outlook=tuple(
            OutlookRow(each.line, each.source, each.state, _links(each.where, results_by_study, chosen), number)
            for each, number in zip(paper.outlook, judgment.numbers, strict=True)
        ),
        trial=trial,
    )


def summarized(session: Session, pages: PageCache, paper: Paper) -> PaperSummary:
    """Return the summary of a paper on the device with most verdicts."""
    results_by_study, names = _results(session, pages, paper), device_names(session)
    judgment = _judgment(paper, results_by_study, names)
    known = dict.fromkeys(each for study in paper.judges for each in results_by_study[study])
    chosen = max(known, key=lambda each: _rank(each, judgment, names), default="")
    board = scoreboard(judgment.verdicts, names.get(chosen, chosen))
    return summary(judgment.verdicts, paper.exhibits, board.rows, names.get(chosen, chosen))


def _results(session: Session, pages: PageCache, paper: Paper) -> ResultsByStudy:
    return {study: pages.get(session, _measured, page_of(study), Selection(cache=CACHES)) for study in _studies(paper)}


def _kernels(results_by_study: ResultsByStudy) -> frozenset[str]:
    """Return the names of all kernels with results, which the page sets as code."""
    every = (measured for by_device in results_by_study.values() for measured in by_device.values())
    return frozenset(m.kernel for measured in every for m in measured.data.measurements if "/" in m.kernel)


def _judgment(paper: Paper, results_by_study: ResultsByStudy, names: Mapping[str, str]) -> Judgment:
    """Return the judgment of a paper; names: device id → name."""
    results = (
        (study, tuple((names.get(device, device), measured.data) for device, measured in by_device.items()))
        for study, by_device in results_by_study.items()
    )
    return judge(paper.name, tuple(results))


def _rank(device: str, judgment: Judgment, names: Mapping[str, str]) -> tuple[bool, int]:
    """Return whether a device has reference results, and its number of verdicts on the paper's matrices."""
    return recorded_results.is_recorded(device), papers_checks(judgment.verdicts, names.get(device, device))


def _studies(paper: Paper) -> tuple[str, ...]:
    """Return the studies that judge the statements of a paper or have a place of its outlook."""
    places = (place for each in paper.outlook for place in each.where if isinstance(place, Place))
    return tuple(dict.fromkeys((*paper.judges, *(place.study for place in places))))


def _measured(session: Session, page_of_study: StudyPage, selection: Selection) -> dict[str, Measured]:
    """Return the results of a study by device, with as many matrices as an address can name."""
    study, by_device = page_of_study.name, {}
    for device in find_sources(session, study).devices:
        results = results_of(session, study, selection.with_(device=device))
        by_device[device] = Measured(results, _data(session, results))
    return by_device


def _data(session: Session, results: Results) -> StudyData:
    return with_traces(session, results) if page_of(results.study).with_traces else results.data


def _exhibits(
    paper: Paper, results_by_study: ResultsByStudy, judgment: Judgment, chosen: str, chosen_name: str
) -> tuple[ExhibitPart, ...]:
    """Return the exhibits with their figures and statements."""
    labels: dict[str, str] = {}
    parts = []
    for exhibit in paper.exhibits:
        statements = [verdict for verdict in judgment.verdicts if exhibit.has(verdict.conclusion)]
        first = next((place for place in exhibit.places if place.is_figure), None)
        figure = _chart(first, paper, results_by_study, chosen) if first and first.href() not in labels else None
        above = labels.get(first.href(), "") if first else ""
        if first and figure:
            labels[first.href()] = exhibit.label
        parts.append(
            ExhibitPart(
                exhibit,
                verdict_counts(statements, chosen_name),
                statement_table(statements, chosen_name),
                exhibit.drawing() if exhibit.drawing else Markup(""),
                judgment.tables.get(exhibit.label),
                _links(exhibit.places, results_by_study, chosen),
                replace(figure, id=f"{exhibit.id}-chart") if figure else None,
                above,
            )
        )
    return tuple(parts)


def _links(places: Sequence[Place | Link], results_by_study: ResultsByStudy, chosen: str) -> tuple[Link, ...]:
    """Return the links to places, for the chosen device if it has results of the study; links stay unchanged."""
    return tuple(
        place if isinstance(place, Link) else Link(place.text, place.href(_device(place, results_by_study, chosen)))
        for place in places
    )


def _device(place: Place, results_by_study: ResultsByStudy, chosen: str) -> str:
    """Return the chosen device if it has results of the study; else empty, the default of the page."""
    return chosen if chosen in results_by_study.get(place.study, {}) else ""


def _chart(place: Place, paper: Paper, results_by_study: ResultsByStudy, chosen: str) -> Chart | None:
    """Return the figure for the chosen device as its study page draws it; None if it has no data."""
    measured = results_by_study.get(place.study, {}).get(chosen)
    if measured is None:
        return None
    results = measured.results
    matrices = sorted(results.selection.matrix, key=lambda each: not paper.trial.has(results.features[each].name))[
        : place.most
    ]
    selection = Selection(device=(chosen,), matrix=tuple(matrices)).with_(**place.choice)
    caches = selection.cache or (CACHE_DEFAULT,)
    measurements = tuple(m for m in results.measurements if m.matrix_id in matrices and m.cache in caches)
    data = replace(replace(results, selection=selection, measurements=measurements).data, traces=measured.data.traces)
    figure = page_of(place.study).figure(place.part)
    caption, _, version = contents(figure, data, len(measurements), len({m.matrix_id for m in measurements}))
    return chart(place.part, selection, version, caption) if version else None


def _trial(session: Session, trial: Trial, matrix: str) -> TrialForm:
    """Return the form with the newest square matrices up to the size limit."""
    rows = [
        row
        for row in catalogue.list_matrices(session, limit=MATRICES_MAX).items
        if row.n_rows == row.n_cols and not 0 < trial.rows_max < row.n_rows
    ]
    ready = [row for row in rows if row.state == MatrixState.READY]
    chosen = {row.id for row in ready if row.id == matrix or trial.has(row.name)}
    chosen = chosen or {row.id for row in ready[:1]}
    alive = devices.offered(session)
    return TrialForm(
        study=trial.study,
        body=dumps({"study": trial.study, "params": trial.params}),
        note=trial.note,
        matrices=tuple(
            Choice(row.id, row.name, row.id in chosen)
            for row in sorted(ready, key=lambda r: (r.id not in chosen, r.name))
        ),
        devices=tuple(
            Choice(d.id, f"{d.id} · {d.name}{_duration(session, trial, ready, chosen, d)}", n == 0)
            for n, d in enumerate(alive)
            if _can(trial, d)
        ),
        generate=_generate(trial, ready),
        reading=next((row.name for row in rows if row.id == matrix and row.state == MatrixState.INGESTING), ""),
    )


def _duration(
    session: Session, trial: Trial, ready: Sequence[MatrixRow], chosen: Collection[str], device: DeviceInfo
) -> str:
    """Return the estimated run time for the chosen matrices, after a dot; empty without matrices."""
    study = page_of(trial.study).study
    infos = [info_of(row) for row in ready if row.id in chosen]
    time = expected_time(session, study, parse_params(study.Params, trial.params), infos, device) if infos else ""
    return f" · about {time} for the selected matrices" if time else ""


def _can(trial: Trial, device: DeviceInfo) -> bool:
    try:
        check_device(page_of(trial.study).study, device)
    except ParameterError:
        return False
    return True


def _generate(trial: Trial, here: Sequence[MatrixRow]) -> tuple[Generation, ...]:
    """Return the missing matrices of the trial with the request that generates each one or a stand-in."""
    subjects = [_subject(trial.study, name) for name in trial.generate]
    known = {row.name for row in here}
    return tuple(
        Generation(
            each.name, dumps({"generator": each.source["generator"], **each.source["params"], "name": each.name})
        )
        for each in (subject.substitute or subject for subject in subjects)
        if each.name not in known
    )


def _subject(study: str, name: str) -> Subject:
    """Return a benchmark matrix by name; that of `scaling` is of the MSREP paper, because two papers have a wb-edu."""
    subjects = paper_matrices(PAPER_NNZ) if study == "scaling" else (*BATCH_SUBJECTS, *GRAPH_SUBJECTS, *SUBJECTS)
    return next(subject for subject in subjects if subject.name == name)
