"""Study page: a StudyPage filled with the results of a selection."""

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
from web.components import Chart, Choice, Choices, FigureForm, FigureSection, Link, LinkSwitch, TableSection
from web.figures.base import Figure
from web.provenance import provenance_of
from web.results import Results, results_of, with_traces
from web.selection import VALUES_MAX, Selection, study_url
from web.studies import PAGES
from web.studies.base import Section, StudyPage, by_sigma
from web.views import answer, selection_summary, tables
from web.views.list_rows import finding_rows

CHOICES_MAX = 24
"""Maximum number of matrices in the form; all others have their own pages."""

PICTURES_MAX = 6

ALL = "all"
"""Label of the link that shows all devices."""

NO_PICTURES = (
    "No pictures: the values of these matrices are not on this server. The page of a reference matrix explains how to "
    "get its values."
)


def page(session: Session, study: StudyPage, selection: Selection) -> contexts.StudyPage:
    """Return the page of a selection; raises NotFoundError for an unknown job, ParameterError for a bad choice."""
    results = results_of(session, study.name, selection)
    data = with_traces(session, results) if study.with_traces else results.data
    findings = finding_rows(study, results)
    answers = study.answers(results.data)
    figure_kernels = kernels.figure_kernels(study, answers, results.selection)
    figures = _figures(study, results, data, figure_kernels)
    sections, selects = _Sections(data), _selects(study, results)
    pictured = _pictured(session, results) if study.features.picture else {}
    conclusions = next(iter(sections.of([study.conclusions] if study.conclusions else [])), None)
    below = sections.of(section for section in study.sections if not section.figure)
    chooser = answer.chooser(study, results)
    form_names = (*(select.name for select in selects), *(("kernel",) if chooser else ()))
    return contexts.StudyPage(
        title=study.title,
        topics=",".join(f"job:{job.id}" for job in results.jobs if job.finished_at is None),
        study=study.name,
        query=results.requested.query,
        lead=study.lead,
        invitation=study.invitation,
        elsewhere=() if findings else _elsewhere(session, study, results.requested.matrix),
        answers=answer.sections(study, answers, results),
        summary=selection_summary.summary_text(study, results, figure_kernels),
        kernels=chooser,
        contents=_contents(figures, conclusions, below, study) if findings else (),
        overview=tuple(study.overview(data)),
        caveat=study.caveat(data),
        findings=findings,
        switches=(*_switches(study, results), *_devices(results)),
        selects=selects,
        matrices=_matrices(results),
        all_matrices=_all_matrices(results),
        matrix_count=selection_summary.matrix_count_text(session, results),
        hidden=_hidden(results, ("matrix", "set", *form_names)),
        conclusions=conclusions,
        figures=figures,
        hidden_figures=selection_summary.hidden_figures_text(study, results) if findings else "",
        cases_note=study.cases_note,
        sections=below,
        structure=_pictures(pictured, results, study.features.picture),
        features=_features(study, results, len(pictured)),
        downloads=_downloads(results),
        jobs=tuple(Link(job.id[:8], f"/jobs/{job.id}") for job in results.jobs),
        provenance=provenance_of(session, results) if results.measurements else None,
    )


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


def _downloads(results: Results) -> tuple[Link, ...]:
    """Return links to files of the results: all values, the kernel–matrix table, and a report."""
    files = {"CSV": ".csv", "JSON": ".json", "Report": ".html"}
    kernel_matrix_tables = {"Kernel–matrix table": "", "as Markdown": ".md", "as LaTeX": ".tex"}
    endings = files | {text: f"/tables/pivot{ending}" for text, ending in kernel_matrix_tables.items()}
    return tuple(Link(text, f"/{results.study}{ending}?{results.requested.query}") for text, ending in endings.items())


class _Sections:
    """Sections filled with tables, without empty ones."""

    def __init__(self, data: StudyData) -> None:
        self._data = data

    def of(self, sections: Iterable[Section]) -> tuple[TableSection, ...]:
        """Return the sections that have rows."""
        filled = (
            TableSection(s.id, s.heading, s.notes, tuple(t for t in s.tables(self._data) if t.table.rows), s.prose)
            for s in sections
        )
        return tuple(section for section in filled if section.tables)


def _features(study: StudyPage, results: Results, pictured: int) -> TableSection:
    """Return the table of the matrices; pictured: number of matrices with a picture."""
    of, table = study.features, tables.features(study, results)
    lacking = NO_PICTURES if of.picture and table.table.rows and not pictured else ""
    return TableSection(tables.STRUCTURE, of.heading, tuple(filter(None, (of.note, lacking))), (table,), prose=False)


def chart(name: str, selection: Selection, version: int, caption: str) -> Chart:
    """Return the figure of that name for a selection."""
    return Chart(f"{name}-chart", f"/api/v1/figures/{name}?{selection.query}", str(version), caption)


def _figures(study: StudyPage, results: Results, data: StudyData, names: Sequence[str]) -> tuple[FigureSection, ...]:
    """Return all figures of the page with their forms and tables; figures without data are hidden.

    names  kernels of the figures that show a few
    """
    number, sections = len({m.matrix_id for m in results.measurements}), _Sections(data)
    filled = []
    for figure in study.figures:
        figure_data = kernels.data_of(study, figure, data, names)
        caption, table, version = contents(figure, figure_data, len(results.measurements), number)
        if version:
            caption = kernels.with_kernel_count(caption, data, figure_data)
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
    """Return caption, table, and version of a figure; version 0 means that it has no data."""
    if matrices < figure.matrices_min or len({m.device for m in data.measurements}) < figure.devices_min:
        return "", None, 0
    info = figure.info(data)
    table = figure.table(info) if figure.table else None
    if table is not None and not table.rows:
        return figure.summary(info), None, 0
    return figure.summary(info), table, version


def _pictured(session: Session, results: Results) -> dict[str, MatrixRow]:
    """Return the matrices, by ascending sigma, whose values are on this server, under this or another id."""
    pictured: dict[str, MatrixRow] = {}
    for matrix_id, row in catalogue.with_values(session, by_sigma(results)).items():
        if row not in pictured.values():
            pictured[matrix_id] = row
    return pictured


def _pictures(pictured: Mapping[str, MatrixRow], results: Results, name: str) -> tuple[Chart, ...]:
    """Return the figure of that name for the first of these matrices."""
    charts: list[Chart] = []
    for matrix_id, row in list(pictured.items())[:PICTURES_MAX]:
        known = results.features[matrix_id]
        caption = f"{known.name}: {units.count(known.nnz)} nonzeros, σ {units.number(known.sigma)}"
        query = Selection(matrix=(row.id,)).query
        charts.append(Chart(f"{name}-{row.id}", f"/api/v1/figures/{name}?{query}", row.fingerprint[:12], caption))
    return tuple(charts)


def _switches(study: StudyPage, results: Results, figure: str = "") -> tuple[LinkSwitch, ...]:
    """Return the switches of the page, or of a figure, that offer a choice."""
    switches = (
        LinkSwitch(
            each.label,
            _links(results, each.parameter, each.options(results), each.current(results), each.values),
        )
        for each in study.switches
        if each.figure == figure
    )
    return tuple(switch for switch in switches if switch.links)


def _selects(study: StudyPage, results: Results) -> tuple[Choices, ...]:
    """Return the fields that offer a choice; the address keeps the parameters of the others."""
    selects = (Choices(each.id, each.parameter, each.label, tuple(each.choices(results))) for each in study.selects)
    return tuple(field for field in selects if field.options)


def _devices(results: Results) -> tuple[LinkSwitch, ...]:
    links = _links(results, "device", results.devices, results.selection.device)
    links = tuple(replace(link, text=results.names.get(link.text, link.text)) for link in links)
    if len(results.devices) > 1:
        every = len(results.selection.device) == len(results.devices)
        links = tuple(replace(link, current=link.current and not every) for link in links)
        links += (Link(ALL, study_url(results.study, results.requested.with_(device=results.devices)), every),)
    return (LinkSwitch("Device", links),) if links else ()


def _links(
    results: Results,
    parameter: str,
    options: Sequence[str],
    current: Sequence[str],
    values: Mapping[str, tuple[str, ...]] | None = None,
) -> tuple[Link, ...]:
    """Return a link per option; another device resets the matrices.

    values  option → values of the parameter, if they differ from the option
    """
    base = results.requested.with_(matrix=()) if parameter == "device" else results.requested
    chosen = {option: (values or {}).get(option, (option,)) for option in options}
    return tuple(
        Link(option, study_url(results.study, base.with_(**{parameter: chosen[option]})), option in current)
        for option in options
    )


def _matrices(results: Results) -> tuple[Choice, ...]:
    """Return the chosen matrices and the newest others, up to a readable number."""
    chosen = results.selection.matrix
    others = [m for m in results.matrices if m not in chosen]
    left_out = set(others[max(0, CHOICES_MAX - len(chosen)) :])
    offered = dict.fromkeys((*results.matrices, *chosen))
    return tuple(Choice(m, results.features[m].name, m in chosen) for m in offered if m not in left_out)


def _all_matrices(results: Results) -> tuple[Link, ...]:
    """Return a link to all measured matrices, up to the limit of an address."""
    if not results.requested.matrix:
        return ()
    number = min(VALUES_MAX, len(results.matrices))
    return (Link(f"all {number}", study_url(results.study, results.requested.with_(matrix=()))),)


def _contents(
    figures: Sequence[FigureSection], conclusions: TableSection | None, below: Sequence[TableSection], study: StudyPage
) -> tuple[Link, ...]:
    """Return links to the sections of the page that have content."""
    return (
        Link("Ranking", "#answer"),
        Link("Verdicts", "#verdicts"),
        *((Link(conclusions.heading, "#conclusions"),) if conclusions else ()),
        *(Link(f.heading, f"#{f.name}") for f in figures if f.note or f.chart.version != "0"),
        Link("All cases", "#cases"),
        *(Link(section.heading, f"#{section.id}") for section in below),
        Link(study.features.heading, "#structure"),
    )


def _hidden(results: Results, form: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return the parameters of the address that are not fields of a form."""
    names = set(form)
    return tuple((name, value) for name, value in results.requested.pairs if name not in names)
