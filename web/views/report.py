"""`/{study}.html`: report of a study page as one file that works offline, without a script; and its citation."""

import base64
import gzip
import time
from collections.abc import Sequence
from dataclasses import replace

from markupsafe import Markup
from sqlalchemy.orm import Session

from gpu_engine import release
from gpu_engine.findings.data import StudyData
from gpu_engine.studies.results import busy_measurements
from gpu_engine.text import units
from web import assets, contexts, download, figure_svg, kernels
from web.figures import busy
from web.figures.whiskers import clip
from web.provenance import BIBTEX, provenance_of
from web.results import results_of, with_traces
from web.selection import Selection, study_url
from web.studies.base import StudyPage
from web.views import study as studies
from web.views import tables
from web.views.matrix_report import answer_for_n

CASES_MAX = 3
"""Maximum number of comparison groups with a table of their cases; the file of values has the cases of all."""


def page(session: Session, study: StudyPage, selection: Selection, site: str) -> contexts.ReportPage:
    """Return the report of a selection; site: address of the server for its links."""
    results = results_of(session, study.name, selection)
    data = with_traces(session, results) if study.with_traces else results.data
    view, provenance = studies.page(session, study, selection, is_whole=True), provenance_of(session, results)
    of_matrix = answer_for_n(session, results) if view.explore else None
    view = replace(view, explore=of_matrix) if of_matrix else view
    answers = study.answers(results.data)
    chosen = kernels.figure_kernels(study, answers, results.selection)
    address = site + study_url(study.name, selection)
    return contexts.ReportPage(
        title=study.title,
        address=address,
        written=units.moment(time.time()),
        study=view,
        query=selection.query,
        figures=_figures(study, data, chosen, [each.name for each in view.figures if each.chart.version != "0"]),
        tables=tables.kernel_matrix(study, results, data, answers),
        cases=view.findings if len(view.findings) <= CASES_MAX else (),
        provenance=provenance,
        bibtex=_bibtex(address, provenance.measured),
        values=_packed(_csv(session, study, selection)),
        style=assets.text(assets.STYLES),
    )


def bibtex(session: Session, study: StudyPage, selection: Selection, site: str) -> str:
    """Return the citation of the results of a selection."""
    provenance = provenance_of(session, results_of(session, study.name, selection))
    return _bibtex(site + study_url(study.name, selection), provenance.measured) + "\n"


def _bibtex(address: str, measured: str) -> str:
    # A percent sign begins a comment in TeX.
    plain = address.replace("%3A", ":").replace("%2F", "/")
    return BIBTEX.format(address=plain, release=release(), measured=measured)


def _figures(study: StudyPage, data: StudyData, chosen: Sequence[str], names: Sequence[str]) -> dict[str, Markup]:
    """Return the drawings of these figures by name; chosen: kernels of the figures that show a few."""
    doubtful = busy.keys(busy_measurements(data))
    drawings = {}
    for name in names:
        source = study.figure(name)
        picture = source.draw(source.info(kernels.data_of(study, source, data, chosen)))
        drawings[name] = Markup(figure_svg.draw(busy.gray(clip(picture), doubtful)))
    return drawings


def _csv(session: Session, study: StudyPage, selection: Selection) -> str:
    """Return the file of all values, as the server gives it."""
    data = study.used(results_of(session, study.name, selection, named=False).data)
    return download.csv(data, study.study.findings(data), study.csv_fields(data))


def _packed(text: str) -> str:
    """Return a text as the address of a gzip file that holds it."""
    packed = gzip.compress(text.encode(), 9, mtime=0)
    return f"data:application/gzip;base64,{base64.b64encode(packed).decode()}"
