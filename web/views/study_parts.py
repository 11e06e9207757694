"""Parts of a study page that are opened one at a time: figures with their tables, and tables with their notes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from gpu_engine.findings.data import StudyData
from gpu_engine.text import units
from gpu_engine.text.tables import Table
from server import catalogue
from server.models import MatrixRow
from web import kernels
from web.components import Chart, FigureForm, FigureSection, TableSection
from web.figures.base import Figure
from web.results import Results
from web.selection import Selection
from web.studies.base import Section, StudyPage, by_sigma
from web.views import chips, tables

PICTURES_MAX = 6

NO_PICTURES = (
    "No pictures: the values of these matrices are not on this server. The page of a reference matrix explains how to "
    "get its values."
)


class Sections:
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


def features(study: StudyPage, results: Results, pictured: int) -> TableSection:
    """Return the table of the matrices; pictured: number of matrices with a picture."""
    of, table = study.features, tables.features(study, results)
    lacking = NO_PICTURES if of.picture and table.table.rows and not pictured else ""
    return TableSection(tables.STRUCTURE, of.heading, tuple(filter(None, (of.note, lacking))), (table,), prose=False)


def chart(name: str, selection: Selection, version: int, caption: str) -> Chart:
    """Return the figure of that name for a selection."""
    return Chart(f"{name}-chart", f"/api/v1/figures/{name}?{selection.data.query}", str(version), caption)


def possible(study: StudyPage, results: Results) -> list[Figure[Any]]:
    """Return the figures for which enough matrices and devices are chosen."""
    matrices, devices = ({getattr(m, name) for m in results.measurements} for name in ("matrix_id", "device"))
    return [
        figure
        for figure in study.figures
        if figure.matrices_min <= len(matrices) <= (figure.matrices_max or len(matrices))
        and figure.devices_min <= len(devices)
    ]


def figures(
    study: StudyPage, results: Results, data: StudyData, names: Sequence[str], chosen: Sequence[Figure[Any]]
) -> tuple[FigureSection, ...]:
    """Return the chosen figures with their forms and tables; figures without data say so.

    names  kernels of the figures that show a few
    """
    number, sections = len({m.matrix_id for m in results.measurements}), Sections(data)
    filled = []
    for figure in chosen:
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
                switches=chips.switches(study, results, figure.name),
                forms=tuple(
                    FigureForm(tuple(fields), chips.hidden(results, form.parameters), form.button)
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


def pictured(session: Session, results: Results) -> dict[str, MatrixRow]:
    """Return the matrices, by ascending sigma, whose values are on this server, under this or another id."""
    known: dict[str, MatrixRow] = {}
    for matrix_id, row in catalogue.with_values(session, by_sigma(results)).items():
        if row not in known.values():
            known[matrix_id] = row
    return known


def pictures(rows: Mapping[str, MatrixRow], results: Results, name: str) -> tuple[Chart, ...]:
    """Return the figure of that name for the first of these matrices."""
    charts: list[Chart] = []
    for matrix_id, row in list(rows.items())[:PICTURES_MAX]:
        known = results.features[matrix_id]
        caption = f"{known.name}: {units.count(known.nnz)} nonzeros, σ {units.number(known.sigma)}"
        query = Selection(matrix=(row.id,)).query
        charts.append(Chart(f"{name}-{row.id}", f"/api/v1/figures/{name}?{query}", row.fingerprint[:12], caption))
    return tuple(charts)
