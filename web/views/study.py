"""The page of a study: a StudyPage filled with the results of a selection."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy.orm import Session

from gpu_engine.findings.data import StudyData
from gpu_engine.text import units
from gpu_engine.text.tables import Table
from server import catalogue
from server.models import MatrixRow
from server.result_sources import find_sources
from web import contexts, kernels
from web.figures.base import Figure
from web.parts import Chart, Choice, Choices, FigureForm, FigureSection, Link, LinkSwitch, TableSection
from web.provenance import provenance_of
from web.results import Results, results_of, with_traces
from web.selection import VALUES_MAX, Selection, study_url
from web.studies import PAGES
from web.studies.base import Section, StudyPage, by_sigma
from web.views import answer, shown, tables
from web.views.lines import finding_lines

CHOICES_MAX = 24
"""Most matrices offered beside each other; the others have their own pages."""

PICTURES_MAX = 6

ALL = "all"
"""Devices, beside each other."""

NO_PICTURES = (
    "None of these matrices is here with its values, so there is no picture of them. The page of a recorded matrix "
    "says how its values get here."
)


def page(session: Session, study: StudyPage, asked: Selection) -> contexts.StudyPage:
    """The page of a selection; raises NotFoundError for an unknown job, ParameterError for a choice that is none."""
    results = results_of(session, study.name, asked)
    data = with_traces(session, results) if study.with_traces else results.data
    findings = finding_lines(study, results)
    answered = study.answers(results.data)
    drawn = kernels.drawn(study, answered, results.selection)
    figures = _figures(study, results, data, drawn)
    sections, selects = _Sections(data), _selects(study, results)
    pictured = _pictured(session, results) if study.features.picture else {}
    conclusions = next(iter(sections.of([study.conclusions] if study.conclusions else [])), None)
    below = sections.of(section for section in study.sections if not section.figure)
    chooser = answer.chooser(study, results)
    own_fields = (*(select.name for select in selects), *(("kernel",) if chooser else ()))
    return contexts.StudyPage(
        title=study.title,
        topics=",".join(f"job:{job.id}" for job in results.jobs if job.finished_at is None),
        study=study.name,
        query=results.asked.query,
        lead=study.lead,
        invitation=study.invitation,
        elsewhere=() if findings else _elsewhere(session, study, results.asked.matrix),
        answers=answer.sections(study, answered, results),
        says=shown.says(study, results, drawn),
        kernels=chooser,
        contents=_contents(figures, conclusions, below, study) if findings else (),
        overview=tuple(study.overview(data)),
        caveat=study.caveat(data),
        findings=findings,
        switches=(*_switches(study, results), *_devices(results)),
        selects=selects,
        matrices=_matrices(results),
        every=_every(results),
        shown=shown.matrices(session, results),
        hidden=_hidden(results, ("matrix", "set", *own_fields)),
        conclusions=conclusions,
        figures=figures,
        few=shown.few(study, results) if findings else "",
        cases_note=study.cases_note,
        sections=below,
        structure=_pictures(pictured, results, study.features.picture),
        features=_features(study, results, len(pictured)),
        downloads=_downloads(results),
        jobs=tuple(Link(job.id[:8], f"/jobs/{job.id}") for job in results.jobs),
        provenance=provenance_of(session, results) if results.measurements else None,
    )


def _elsewhere(session: Session, study: StudyPage, matrices: Sequence[str]) -> tuple[Link, ...]:
    """The pages of other studies with results of the chosen matrices."""
    found = []
    for other in PAGES if matrices else ():
        devices = find_sources(session, other.name).devices
        known = find_sources(session, other.name, devices=devices).matrices
        own = tuple(matrix for matrix in matrices if matrix in known)
        if own and other.name != study.name:
            found.append(Link(other.link, study_url(other.name, Selection(matrix=own))))
    return tuple(found)


def _downloads(results: Results) -> tuple[Link, ...]:
    """What is shown as files: every number, a table of kernels by matrices, and all of it in one."""
    files = {"CSV": ".csv", "JSON": ".json", "Report": ".html"}
    pivots = {"Kernels by matrices": "", "as Markdown": ".md", "as LaTeX": ".tex"}
    endings = files | {text: f"/tables/pivot{ending}" for text, ending in pivots.items()}
    return tuple(Link(text, f"/{results.study}{ending}?{results.asked.query}") for text, ending in endings.items())


class _Sections:
    """Sections filled with tables; those without a row are left out."""

    def __init__(self, data: StudyData) -> None:
        self._data = data

    def of(self, sections: Iterable[Section]) -> tuple[TableSection, ...]:
        """The filled ones."""
        filled = (
            TableSection(s.id, s.heading, s.notes, tuple(t for t in s.tables(self._data) if t.table.rows), s.prose)
            for s in sections
        )
        return tuple(section for section in filled if section.tables)


def _features(study: StudyPage, results: Results, pictured: int) -> TableSection:
    """The table of the matrices; pictured: how many of them have a picture."""
    of, table = study.features, tables.features(study, results)
    lacking = NO_PICTURES if of.picture and table.table.rows and not pictured else ""
    return TableSection(tables.STRUCTURE, of.heading, tuple(filter(None, (of.note, lacking))), (table,), prose=False)


def chart(name: str, selection: Selection, version: int, caption: str) -> Chart:
    """The figure of that name of a selection."""
    return Chart(f"{name}-chart", f"/api/v1/figures/{name}?{selection.query}", str(version), caption)


def _figures(study: StudyPage, results: Results, data: StudyData, names: Sequence[str]) -> tuple[FigureSection, ...]:
    """Every figure in the order of the page, with what belongs below its heading; hidden where it would say nothing.

    names  of the kernels that are drawn where a figure shows a few
    """
    number, sections = len({m.matrix_id for m in results.measurements}), _Sections(data)
    filled = []
    for figure in study.figures:
        seen = kernels.data_of(study, figure, data, names)
        caption, table, version = contents(figure, seen, len(results.measurements), number)
        if version:
            caption = kernels.remarked(caption, data, seen)
        hidden = tuple(form for form in study.forms if form.figure == figure.name)
        filled.append(
            FigureSection(
                name=figure.name,
                heading=figure.title,
                note=caption if version == 0 and table is None and number >= figure.matrices_min else "",
                chart=chart(figure.name, results.selection, version, caption),
                table=table,
                switches=_switches(study, results, figure.name),
                forms=tuple(
                    FigureForm(tuple(fields), _hidden(results, form.parameters), form.button)
                    for form in hidden
                    if (fields := form.fields(data))
                ),
                sections=sections.of(section for section in study.sections if section.figure == figure.name),
                links=study.links.get(figure.name, ()),
            )
        )
    return tuple(filled)


def contents(figure: Figure[Any], data: StudyData, version: int, matrices: int) -> tuple[str, Table | None, int]:
    """The caption and the numbers of a figure, and its version: 0 where there is nothing to draw."""
    if matrices < figure.matrices_min or len({m.device for m in data.measurements}) < figure.devices_min:
        return "", None, 0
    info = figure.info(data)
    table = figure.table(info) if figure.table else None
    if table is not None and not table.rows:
        return figure.summary(info), None, 0
    return figure.summary(info), table, version


def _pictured(session: Session, results: Results) -> dict[str, MatrixRow]:
    """The matrices shown, by ascending sigma, that are here with their values: themselves, or as another one."""
    found: dict[str, MatrixRow] = {}
    for matrix_id, row in catalogue.with_values(session, by_sigma(results)).items():
        if row not in found.values():
            found[matrix_id] = row
    return found


def _pictures(pictured: Mapping[str, MatrixRow], results: Results, name: str) -> tuple[Chart, ...]:
    """The figure of that name of the first of these."""
    charts: list[Chart] = []
    for matrix_id, row in list(pictured.items())[:PICTURES_MAX]:
        known = results.features[matrix_id]
        caption = f"{known.name}: {units.count(known.nnz)} nonzeros, σ {units.number(known.sigma)}"
        query = Selection(matrix=(row.id,)).query
        charts.append(Chart(f"{name}-{row.id}", f"/api/v1/figures/{name}?{query}", row.fingerprint[:12], caption))
    return tuple(charts)


def _switches(study: StudyPage, results: Results, figure: str = "") -> tuple[LinkSwitch, ...]:
    """Those of the page, or of one of its figures, that have something to choose from."""
    found = (
        LinkSwitch(
            each.label,
            _links(results, each.parameter, each.options(results), each.current(results), each.values),
        )
        for each in study.switches
        if each.figure == figure
    )
    return tuple(switch for switch in found if switch.links)


def _selects(study: StudyPage, results: Results) -> tuple[Choices, ...]:
    """The fields that have something to choose from; what the address says of the others it goes on saying."""
    found = (Choices(each.id, each.parameter, each.label, tuple(each.choices(results))) for each in study.selects)
    return tuple(field for field in found if field.options)


def _devices(results: Results) -> tuple[LinkSwitch, ...]:
    links = _links(results, "device", results.devices, results.selection.device)
    links = tuple(replace(link, text=results.names.get(link.text, link.text)) for link in links)
    if len(results.devices) > 1:
        every = len(results.selection.device) == len(results.devices)
        links = tuple(replace(link, current=link.current and not every) for link in links)
        links += (Link(ALL, study_url(results.study, results.asked.with_(device=results.devices)), every),)
    return (LinkSwitch("Device", links),) if links else ()


def _links(
    results: Results,
    parameter: str,
    options: Sequence[str],
    current: Sequence[str],
    values: Mapping[str, tuple[str, ...]] | None = None,
) -> tuple[Link, ...]:
    """One address per option, values: of some that are none themselves; a device's own matrices are chosen anew."""
    asked = results.asked.with_(matrix=()) if parameter == "device" else results.asked
    chosen = {option: (values or {}).get(option, (option,)) for option in options}
    return tuple(
        Link(option, study_url(results.study, asked.with_(**{parameter: chosen[option]})), option in current)
        for option in options
    )


def _matrices(results: Results) -> tuple[Choice, ...]:
    """The matrices shown and the newest others: a list that stays readable with hundreds measured."""
    chosen = results.selection.matrix
    others = [m for m in results.matrices if m not in chosen]
    left_out = set(others[max(0, CHOICES_MAX - len(chosen)) :])
    offered = dict.fromkeys((*results.matrices, *chosen))
    return tuple(Choice(m, results.features[m].name, m in chosen) for m in offered if m not in left_out)


def _every(results: Results) -> tuple[Link, ...]:
    """All matrices measured, as far as an address holds them."""
    if not results.asked.matrix:
        return ()
    number = min(VALUES_MAX, len(results.matrices))
    return (Link(f"all {number}", study_url(results.study, results.asked.with_(matrix=()))),)


def _contents(
    figures: Sequence[FigureSection], conclusions: TableSection | None, below: Sequence[TableSection], study: StudyPage
) -> tuple[Link, ...]:
    """The parts of the page that have something to show, each at its anchor."""
    return (
        Link("Answer", "#answer"),
        Link("Verdicts", "#verdicts"),
        *((Link(conclusions.heading, "#conclusions"),) if conclusions else ()),
        *(Link(f.heading, f"#{f.name}") for f in figures if f.note or f.chart.version != "0"),
        Link("All cases", "#cases"),
        *(Link(section.heading, f"#{section.id}") for section in below),
        Link(study.features.heading, "#structure"),
    )


def _hidden(results: Results, form: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """What the address says beside the fields of a form."""
    names = set(form)
    return tuple((name, value) for name, value in results.asked.pairs if name not in names)
