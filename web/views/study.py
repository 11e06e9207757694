"""Study page: a StudyPage filled with the results of a selection."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from server.result_sources import find_sources
from web import contexts, kernels
from web.components import Link, LinkSwitch, TableSection
from web.explore import ExploreAnswer
from web.figures.base import Figure
from web.provenance import provenance_of
from web.results import Results, results_of, with_traces
from web.selection import Selection, choice_error, study_url
from web.studies import PAGES
from web.studies.base import Section, StudyPage
from web.views import answer, chips, selection_summary, study_parts, tables
from web.views.list_rows import finding_rows

RANKING, VERDICTS, CONCLUSIONS, CASES = "ranking", "verdicts", "conclusions", "cases"
"""Names of the parts that all studies have."""

MODELS, TABLES = "Models and distributions", "Tables"
"""Labels of the groups of parts."""


def page(session: Session, study: StudyPage, selection: Selection, *, is_whole: bool = False) -> contexts.StudyPage:
    """Return the page of a selection; raises NotFoundError for an unknown job, ParameterError for a bad choice.

    is_whole  whether all figures are filled, not only the open one
    """
    results = results_of(session, study.name, selection)
    data = with_traces(session, results) if study.with_traces else results.data
    findings = finding_rows(study, results)
    answers = study.answers(results.data)
    explore = study.explore(results) if study.explore and findings else None
    sections = study_parts.Sections(data)
    below = sections.of(section for section in study.sections if not section.figure)
    default = CASES if len(findings) == 1 else _first_view(explore)
    parts = _open(study, results, below if findings else None, default, is_whole=is_whole)
    figure_kernels = kernels.figure_kernels(study, answers, results.selection)
    pictured = study_parts.pictured(session, results) if study.features.picture and parts.has_pictures else {}
    opened = next(iter(selection.open), "")
    return contexts.StudyPage(
        title=study.title,
        topics=",".join(f"job:{job.id}" for job in results.jobs if job.finished_at is None),
        study=study.name,
        query=results.requested.data.query,
        lead=study.lead,
        invitation=study.invitation,
        elsewhere=() if findings else _elsewhere(session, study, results.requested.matrix),
        explore=explore,
        drawer=study.drawer(results, opened) if study.drawer and opened else None,
        close=study_url(study.name, results.requested.with_(open=())),
        answers=answer.sections(study, answers, results),
        summary=selection_summary.summary_text(study, results, figure_kernels),
        kernels=answer.chooser(study, results),
        views=parts.links,
        view=parts.view,
        overview=tuple(study.overview(data)),
        caveat=study.caveat(data),
        findings=findings,
        switches=(*chips.devices(results), *chips.switches(study, results)),
        selects=chips.selects(study, results),
        numbers=chips.numbers(study, results),
        matrices=chips.matrices(results),
        all_matrices=chips.all_matrices(results),
        matrix_count=selection_summary.matrix_count_text(session, results),
        hidden=tuple(results.requested.pairs),
        conclusions=next(iter(sections.of(parts.conclusions)), None),
        figures=study_parts.figures(study, results, data, figure_kernels, parts.figures),
        hidden_figures=selection_summary.hidden_figures_text(study, results) if findings else "",
        cases_note=study.cases_note,
        sections=below,
        structure=study_parts.pictures(pictured, results, study.features.picture),
        features=study_parts.features(study, results, len(pictured)),
        jobs=tuple(Link(job.id[:8], f"/jobs/{job.id}") for job in results.jobs),
        provenance=provenance_of(session, results) if results.measurements else None,
    )


@dataclass(frozen=True, slots=True)
class _Open:
    """What is open on a page; links: those that open a part; view: the name of the open one, or empty."""

    view: str
    links: tuple[LinkSwitch, ...] = ()
    figures: tuple[Figure[Any], ...] = ()
    conclusions: tuple[Section, ...] = ()
    has_pictures: bool = False


def _first_view(explore: ExploreAnswer | None) -> str:
    """Return the part that is open below an answer: nothing below pictures, the reasons if it has none."""
    if explore is None:
        return RANKING
    return "" if explore.pictures else VERDICTS


def _open(
    study: StudyPage, results: Results, below: Sequence[TableSection] | None, default: str, *, is_whole: bool
) -> _Open:
    """Return what the address opens, else the default; below: None without results, where nothing can be opened."""
    figures = study_parts.possible(study, results) if below is not None else []
    parts = _parts(study, below) if below is not None else {}
    names = {figure.name: figure.title for figure in figures}
    view = _view(results.selection, {**names, **parts}, default)
    return _Open(
        view,
        _views(results, names, parts, view),
        tuple(figure for figure in figures if is_whole or figure.name == view),
        (study.conclusions,) if study.conclusions and parts and (is_whole or view == CONCLUSIONS) else (),
        view == tables.STRUCTURE,
    )


def _parts(study: StudyPage, below: Sequence[TableSection]) -> dict[str, str]:
    """Return name → label of the tables that the page can open."""
    return {
        RANKING: "Overall ranking",
        VERDICTS: "Verdicts",
        CASES: "All cases",
        **({CONCLUSIONS: study.conclusions.heading} if study.conclusions else {}),
        **{section.id: section.heading for section in below},
        tables.STRUCTURE: study.features.heading,
    }


def _view(selection: Selection, known: Mapping[str, str], default: str) -> str:
    """Return the name of the open part; raises ParameterError for a name that no study page has."""
    (view,) = selection.view or (default,)
    if view not in known and view not in _every_view() and view:
        raise choice_error("view", view, known)
    return view if view in known else ""


def _every_view() -> set[str]:
    """Return the names of the parts of all study pages: a part without results is not an error."""
    names = {name for page in PAGES for name in (*(f.name for f in page.figures), *(s.id for s in page.sections))}
    return names | {RANKING, VERDICTS, CONCLUSIONS, CASES, tables.STRUCTURE}


def _views(results: Results, names: Mapping[str, str], parts: Mapping[str, str], view: str) -> tuple[LinkSwitch, ...]:
    """Return the links that open a part; the link of the open one closes it."""
    groups = (
        LinkSwitch(
            label,
            tuple(
                Link(
                    text,
                    f"{study_url(results.study, results.requested.with_(view=() if name == view else name))}",
                    name == view,
                )
                for name, text in members.items()
            ),
        )
        for label, members in ((MODELS, names), (TABLES, parts))
    )
    return tuple(group for group in groups if group.links)


def _elsewhere(session: Session, study: StudyPage, matrices: Sequence[str]) -> tuple[Link, ...]:
    """Return links to other studies with results of the chosen matrices."""
    links = []
    for other in PAGES if matrices else ():
        devices = find_sources(session, other.name).devices
        known = find_sources(session, other.name, devices=devices).matrices
        measured = tuple(matrix for matrix in matrices if matrix in known)
        if measured and other.name != study.name:
            links.append(Link(other.link, study_url(other.name, Selection(matrix=measured))))
    return tuple(links)
