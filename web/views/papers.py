"""`/papers` and `/papers/{name}`: what each paper printed, what was measured of it, and where that is drawn."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from gpu_engine.errors import ParameterError
from gpu_engine.findings.conclusions import Conclusion
from gpu_engine.findings.data import StudyData
from gpu_engine.gpu_bench.batch_subjects import BATCH_SUBJECTS
from gpu_engine.gpu_bench.subjects import GRAPH_SUBJECTS, SUBJECTS, Subject
from gpu_engine.parameters import parse_params
from gpu_engine.records import DeviceInfo, dumps
from gpu_engine.studies.base import check_device
from gpu_engine.text.tables import Head, Table
from server import catalogue, devices, recorded_results
from server.documents import MATRICES_MAX
from server.models import MatrixRow, MatrixState
from server.result_sources import find_sources
from web.contexts import PaperPage, PapersPage
from web.papers import PAPERS, find_paper
from web.papers.base import Paper, Place, Trial
from web.papers.parts import ExhibitPart, Generation, TrialForm
from web.parts import Chart, Choice, Link
from web.results import Results, device_names, results_of, with_traces
from web.selection import Selection
from web.studies import page_of
from web.views.measure import expected_time, info_of
from web.views.study import chart, contents

HEADS = tuple(Head(text, numeric=False) for text in ("the paper says", "here", "numbers", "device"))
NOT_SAID = "cannot be said"
WORDS = ("agrees", "mostly", "seldom", "disagrees", NOT_SAID)

Seen = Mapping[str, Mapping[str, "Measured"]]
"""Study → device → what was measured; devices of this service first."""


@dataclass(frozen=True, slots=True)
class Measured:
    """All results of a study on a device, with their traces where its figures are drawn of these."""

    results: Results
    data: StudyData


def page() -> PapersPage:
    """All papers."""
    return PapersPage(title="Papers", topics="", papers=PAPERS)


def paper_page(session: Session, name: str, device: str, matrix: str) -> PaperPage:
    """One paper; raises NotFoundError, and ParameterError for a device without results of its studies.

    device  whose figures are drawn and whose verdicts are counted; empty: a recorded one, else the first
    matrix  chosen in the form; empty: those of the paper
    """
    paper = find_paper(name)
    seen = {study: _measured(session, study) for study in paper.judges}
    known = tuple(dict.fromkeys(each for of_study in seen.values() for each in of_study))
    if device and device not in known:
        raise ParameterError(f"There are no results of this paper's studies on {device!r}.")
    chosen = device or next((each for each in known if recorded_results.is_recorded(each)), "") or next(iter(known), "")
    trial, names = _trial(session, paper.trial, matrix), device_names(session)
    return PaperPage(
        title=paper.title,
        topics=f"matrix:{matrix}" if trial.reading else "",
        paper=paper,
        devices=tuple(Link(names.get(each, each), f"{paper.href}?device={each}", each == chosen) for each in known),
        exhibits=_exhibits(paper, seen, chosen, names.get(chosen, chosen)),
        trial=trial,
    )


def _measured(session: Session, study: str) -> dict[str, Measured]:
    """Every device with results of a study, each with all of its matrices that an address holds."""
    found = {}
    for device in find_sources(session, study).devices:
        results = results_of(session, study, Selection(device=(device,)))
        found[device] = Measured(results, _data(session, results))
    return found


def _data(session: Session, results: Results) -> StudyData:
    return with_traces(session, results) if page_of(results.study).with_traces else results.data


def _exhibits(paper: Paper, seen: Seen, chosen: str, name: str) -> tuple[ExhibitPart, ...]:
    """name: of the chosen device, as conclusions have it."""
    judged = _judged(paper, seen)
    shown: dict[str, str] = {}
    parts = []
    for exhibit in paper.exhibits:
        own = [conclusion for conclusion in judged if exhibit.has(conclusion)]
        first = next((place for place in exhibit.places if place.is_figure), None)
        drawn = _chart(first, paper, seen, chosen) if first and first.href() not in shown else None
        above = shown.get(first.href(), "") if first else ""
        if first and drawn:
            shown[first.href()] = exhibit.label
        links = tuple(Link(place.text, place.href(_device(place, seen, chosen))) for place in exhibit.places)
        said = _counted([conclusion for conclusion in own if conclusion.device == name])
        named = replace(drawn, id=f"{exhibit.id}-chart") if drawn else None
        parts.append(ExhibitPart(exhibit, said, _statements(own, name), links, named, above))
    return tuple(parts)


def _judged(paper: Paper, seen: Seen) -> list[Conclusion]:
    """Every statement on each device; one that no study has judged is there once, without a device."""
    found = [c for study, judge in paper.judges.items() for of in seen[study].values() for c in judge(of.data)]
    known = {conclusion.statement for conclusion in found if conclusion.device}
    for study, judge in paper.judges.items():
        for conclusion in judge(StudyData()):
            if conclusion.statement not in known:
                known.add(conclusion.statement)
                found.append(replace(conclusion, numbers=f"Nothing of the study {study} has been measured here."))
    return [conclusion for conclusion in found if conclusion.device or conclusion.numbers]


def _statements(conclusions: Sequence[Conclusion], chosen: str) -> Table | None:
    """A row a statement and device, the chosen one first."""
    order = {text: place for place, text in enumerate(dict.fromkeys(c.statement for c in conclusions))}
    ordered = sorted(conclusions, key=lambda c: (order[c.statement], c.device != chosen))
    rows = tuple((c.statement, _word(c), c.numbers, c.device) for c in ordered)
    return Table(HEADS, rows) if rows else None


def _word(conclusion: Conclusion) -> str:
    return NOT_SAID if conclusion.says == "no data" else conclusion.says


def _counted(conclusions: Sequence[Conclusion]) -> str:
    """`agrees (2), cannot be said (1)`; of a single one its word."""
    counts = Counter(_word(conclusion) for conclusion in conclusions)
    several = len(conclusions) > 1
    return ", ".join(f"{word} ({counts[word]})" if several else word for word in WORDS if counts[word]) or NOT_SAID


def _device(place: Place, seen: Seen, chosen: str) -> str:
    """The chosen device, where the place's study was measured there; else the page's own choice."""
    return chosen if chosen in seen.get(place.study, {}) else ""


def _chart(place: Place, paper: Paper, seen: Seen, chosen: str) -> Chart | None:
    """The figure of a place as its page draws it of the chosen device; None where it would say nothing."""
    measured = seen.get(place.study, {}).get(chosen)
    if measured is None:
        return None
    results = measured.results
    matrices = sorted(results.selection.matrix, key=lambda each: not paper.trial.has(results.features[each].name))[
        : place.most
    ]
    selection = Selection(device=(chosen,), matrix=tuple(matrices)).with_(**place.choice)
    own = tuple(m for m in results.measurements if m.matrix_id in matrices)
    data = replace(replace(results, selection=selection, measurements=own).data, traces=measured.data.traces)
    figure = page_of(place.study).figure(place.part)
    caption, _, version = contents(figure, data, len(own), len({m.matrix_id for m in own}))
    return chart(place.part, selection, version, caption) if version else None


def _trial(session: Session, trial: Trial, matrix: str) -> TrialForm:
    """The form, with the newest square matrices that are not too large."""
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
            Choice(d.id, f"{d.id} · {d.name}{_takes(session, trial, ready, chosen, d)}", n == 0)
            for n, d in enumerate(alive)
            if _can(trial, d)
        ),
        generate=_generate(trial, ready),
        reading=next((row.name for row in rows if row.id == matrix and row.state == MatrixState.INGESTING), ""),
    )


def _takes(
    session: Session, trial: Trial, ready: Sequence[MatrixRow], chosen: Collection[str], device: DeviceInfo
) -> str:
    """How long the study of the chosen matrices takes there, after a dot; empty where there are none."""
    study = page_of(trial.study).study
    infos = [info_of(row) for row in ready if row.id in chosen]
    time = expected_time(session, study, parse_params(study.Params, trial.params), infos, device) if infos else ""
    return f" · about {time} for the chosen matrices" if time else ""


def _can(trial: Trial, device: DeviceInfo) -> bool:
    try:
        check_device(page_of(trial.study).study, device)
    except ParameterError:
        return False
    return True


def _generate(trial: Trial, here: Sequence[MatrixRow]) -> tuple[Generation, ...]:
    """The matrices of the trial that are not here: each by the call that makes it, or one of its kind."""
    found = [(_subject(name).substitute or _subject(name)) for name in trial.generate]
    known = {row.name for row in here}
    return tuple(
        Generation(
            each.name, dumps({"generator": each.source["generator"], **each.source["params"], "name": each.name})
        )
        for each in found
        if each.name not in known
    )


def _subject(name: str) -> Subject:
    return next(subject for subject in (*BATCH_SUBJECTS, *GRAPH_SUBJECTS, *SUBJECTS) if subject.name == name)
