"""`/papers` and `/papers/{name}`: figures, tables, and statements of papers, with measured results."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from gpu_engine.errors import ParameterError
from gpu_engine.findings.conclusions import Conclusion
from gpu_engine.findings.data import StudyData
from gpu_engine.gpu_bench.batch_matrices import BATCH_SUBJECTS
from gpu_engine.gpu_bench.benchmark_matrices import GRAPH_SUBJECTS, SUBJECTS, Subject
from gpu_engine.parameters import parse_params
from gpu_engine.records import DeviceInfo, dumps
from gpu_engine.studies.base import check_device
from gpu_engine.text.tables import Head, Table
from server import catalogue, devices, recorded_results
from server.documents import MATRICES_MAX
from server.models import MatrixRow, MatrixState
from server.result_sources import find_sources
from web.components import Chart, Choice, Link
from web.contexts import PaperPage, PapersPage
from web.papers import PAPERS, find_paper
from web.papers.base import Paper, Place, Trial
from web.papers.components import ExhibitPart, Generation, TrialForm
from web.results import Results, device_names, results_of, with_traces
from web.selection import Selection
from web.studies import page_of
from web.views.measure import expected_time, info_of
from web.views.study import chart, contents

HEADS = tuple(Head(text, numeric=False) for text in ("statement of the paper", "verdict", "values", "device"))
NOT_CHECKED = "not checked"
WORDS = ("agrees", "mostly", "seldom", "disagrees", NOT_CHECKED)

ResultsByStudy = Mapping[str, Mapping[str, "Measured"]]
"""Study → device → its results; devices of this server first."""


@dataclass(frozen=True, slots=True)
class Measured:
    """All results of a study on a device, with traces if its figures need them."""

    results: Results
    data: StudyData


def page() -> PapersPage:
    """Return the page of all papers."""
    return PapersPage(title="Papers", topics="", papers=PAPERS)


def paper_page(session: Session, name: str, device: str, matrix: str) -> PaperPage:
    """Return the page of a paper; raises NotFoundError, and ParameterError for a device without results of its studies.

    device  device of the figures and verdicts; empty: one with reference results, else the first
    matrix  matrix selected in the form; empty: those of the paper
    """
    paper = find_paper(name)
    results_by_study = {study: _measured(session, study) for study in paper.judges}
    known = tuple(dict.fromkeys(each for of_study in results_by_study.values() for each in of_study))
    if device and device not in known:
        raise ParameterError(f"No results of the studies of this paper on {device!r}. Choose another device.")
    chosen = device or next((each for each in known if recorded_results.is_recorded(each)), "") or next(iter(known), "")
    trial, names = _trial(session, paper.trial, matrix), device_names(session)
    return PaperPage(
        title=paper.title,
        topics=f"matrix:{matrix}" if trial.reading else "",
        paper=paper,
        devices=tuple(Link(names.get(each, each), f"{paper.href}?device={each}", each == chosen) for each in known),
        exhibits=_exhibits(paper, results_by_study, chosen, names.get(chosen, chosen)),
        trial=trial,
    )


def _measured(session: Session, study: str) -> dict[str, Measured]:
    """Return the results of a study by device, with as many matrices as an address can name."""
    by_device = {}
    for device in find_sources(session, study).devices:
        results = results_of(session, study, Selection(device=(device,)))
        by_device[device] = Measured(results, _data(session, results))
    return by_device


def _data(session: Session, results: Results) -> StudyData:
    return with_traces(session, results) if page_of(results.study).with_traces else results.data


def _exhibits(paper: Paper, results_by_study: ResultsByStudy, chosen: str, name: str) -> tuple[ExhibitPart, ...]:
    """Return the exhibits with their figures and statements; name: the chosen device, as in conclusions."""
    conclusions = _conclusions(paper, results_by_study)
    labels: dict[str, str] = {}
    parts = []
    for exhibit in paper.exhibits:
        statements = [conclusion for conclusion in conclusions if exhibit.has(conclusion)]
        first = next((place for place in exhibit.places if place.is_figure), None)
        figure = _chart(first, paper, results_by_study, chosen) if first and first.href() not in labels else None
        above = labels.get(first.href(), "") if first else ""
        if first and figure:
            labels[first.href()] = exhibit.label
        links = tuple(
            Link(place.text, place.href(_device(place, results_by_study, chosen))) for place in exhibit.places
        )
        counts = _verdict_counts([conclusion for conclusion in statements if conclusion.device == name])
        named = replace(figure, id=f"{exhibit.id}-chart") if figure else None
        parts.append(ExhibitPart(exhibit, counts, _statements(statements, name), links, named, above))
    return tuple(parts)


def _conclusions(paper: Paper, results_by_study: ResultsByStudy) -> list[Conclusion]:
    """Return all statements for each device; a statement without results appears once, without a device."""
    conclusions = [
        c for study, judge in paper.judges.items() for of in results_by_study[study].values() for c in judge(of.data)
    ]
    known = {conclusion.statement for conclusion in conclusions if conclusion.device}
    for study, judge in paper.judges.items():
        for conclusion in judge(StudyData()):
            if conclusion.statement not in known:
                known.add(conclusion.statement)
                conclusions.append(replace(conclusion, numbers=f"No results of the study {study}."))
    return [conclusion for conclusion in conclusions if conclusion.device or conclusion.numbers]


def _statements(conclusions: Sequence[Conclusion], chosen: str) -> Table | None:
    """Return a table with one row per statement and device, the chosen device first."""
    order = {text: place for place, text in enumerate(dict.fromkeys(c.statement for c in conclusions))}
    ordered = sorted(conclusions, key=lambda c: (order[c.statement], c.device != chosen))
    rows = tuple((c.statement, _word(c), c.numbers, c.device) for c in ordered)
    return Table(HEADS, rows) if rows else None


def _word(conclusion: Conclusion) -> str:
    return NOT_CHECKED if conclusion.says == "no data" else conclusion.says


def _verdict_counts(conclusions: Sequence[Conclusion]) -> str:
    """Return `agrees (2), not checked (1)`, or the word of a single statement."""
    counts = Counter(_word(conclusion) for conclusion in conclusions)
    several = len(conclusions) > 1
    return ", ".join(f"{word} ({counts[word]})" if several else word for word in WORDS if counts[word]) or NOT_CHECKED


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
    measurements = tuple(m for m in results.measurements if m.matrix_id in matrices)
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
    subjects = [(_subject(name).substitute or _subject(name)) for name in trial.generate]
    known = {row.name for row in here}
    return tuple(
        Generation(
            each.name, dumps({"generator": each.source["generator"], **each.source["params"], "name": each.name})
        )
        for each in subjects
        if each.name not in known
    )


def _subject(name: str) -> Subject:
    return next(subject for subject in (*BATCH_SUBJECTS, *GRAPH_SUBJECTS, *SUBJECTS) if subject.name == name)
