"""`/{study}.html`: report of a study page as one file that works offline."""

import time

from sqlalchemy.orm import Session

from gpu_engine import release
from gpu_engine.records import dumps
from gpu_engine.studies.results import busy_measurements
from gpu_engine.text import units
from web import assets, contexts
from web.download import document
from web.figures import busy
from web.figures.whiskers import clip
from web.provenance import BIBTEX, name_provenance, provenance_of
from web.results import results_of, with_traces
from web.selection import Selection
from web.studies.base import StudyPage
from web.views import study as studies


def page(session: Session, study: StudyPage, selection: Selection, site: str) -> contexts.ReportPage:
    """Return the report of a selection; site: address of the server for its links."""
    results = results_of(session, study.name, selection)
    data = with_traces(session, results) if study.with_traces else results.data
    view, provenance = studies.page(session, study, selection), provenance_of(session, results)
    address = f"{site}/{study.name}" + (f"?{selection.query}" if selection.query else "")
    figures, doubtful = {}, busy.keys(busy_measurements(data))
    for figure in view.figures:
        if figure.chart.version != "0":
            source = study.figure(figure.name)
            picture = source.draw(source.info(data))
            name_provenance(busy.gray(clip(picture), doubtful), source.title, provenance.lines)
            figures[figure.name] = _in_script(picture.to_json())
    return contexts.ReportPage(
        title=study.title,
        address=address,
        written=units.moment(time.time()),
        study=view,
        query=selection.query,
        figures=figures,
        provenance=provenance,
        bibtex=BIBTEX.format(address=address, release=release(), measured=provenance.measured),
        data=_in_script(dumps(document(data))),
        style=assets.text("app.css"),
        paint=assets.text("paint.js"),
        plotly=assets.text(assets.PLOTLY),
    )


def _in_script(text: str) -> str:
    """Return JSON in which no tag can end its script element."""
    return text.replace("<", "\\u003c")
