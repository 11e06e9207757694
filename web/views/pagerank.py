"""`/pagerank`: runs of PageRank compared, in words, figures and tables."""

from dataclasses import replace

from sqlalchemy.orm import Session

from gpu_engine.pagerank import Schedule
from web import units
from web.contexts import PageRankPage
from web.figures.base import Head, Table
from web.figures.pagerank import paper, tables, what_if
from web.measured import PAGERANK_STUDY, Measured, measured, with_traces
from web.parts import Choice, Field
from web.runs import SCHEDULE, run_groups
from web.selection import WHAT_IF, Selection
from web.shown import Shown
from web.views import study
from web.views.lines import run_findings
from web.views.matrices import form_fields

FORM = ("matrix",)
"""What the form of the matrices chooses; that of the schedule chooses WHAT_IF, and the address keeps the rest."""

CPU_CAVEAT = (
    "These times are of a CPU: of its cores, its caches and its memory. Whether fewer bits pay depends on what the "
    "bandwidth is to the arithmetic that unpacks them, so ratios here say little about a GPU."
)


def page(session: Session, asked: Selection) -> PageRankPage:
    """The page of a selection; raises NotFoundError for an unknown job, ParameterError for a schedule that is none."""
    seen = measured(session, PAGERANK_STUDY, asked)
    shown = with_traces(session, seen)
    return PageRankPage(
        title="PageRank in fewer bits",
        topics=study.topics(seen),
        findings=run_findings(seen),
        caveat=CPU_CAVEAT if study.on_cpu(seen) else "",
        figures=study.figures("runs", seen, shown),
        runs=tables.runs(shown),
        top=tables.top_pages(shown),
        paper=paper.table(),
        remarks=paper.remarks(),
        graphs=_graphs(seen),
        structure=study.pictures(session, seen, "row-lengths"),
        devices=study.switch(PAGERANK_STUDY, asked, "device", seen.devices, seen.selection.device),
        matrices=study.matrices(seen),
        every=study.every(asked, seen),
        what_if=_fields(shown),
        replays=_replays(shown),
        kept=study.kept(asked, FORM),
        what_if_kept=study.kept(asked, WHAT_IF),
        downloads=study.downloads(PAGERANK_STUDY, asked),
        jobs=study.sources(seen),
    )


def _graphs(seen: Measured) -> Table:
    texts = ("pages", "links", "dangling pages", "ave", "σ", "max − min")
    rows = []
    for matrix_id in study.by_sigma(seen):
        known = seen.features[matrix_id]
        counts = (units.count(value) for value in (known.n_rows, known.nnz, known.empty_rows))
        lengths = units.number(known.ave), units.number(known.sigma), units.count(known.max_min)
        rows.append((known.name, *counts, *lengths))
    return Table((Head("matrix", numeric=False), *(Head(text) for text in texts)), tuple(rows))


def _fields(shown: Shown) -> tuple[Field, ...]:
    """The parameters of the switch rule, filled with what the reader chose."""
    fields = [field for field in form_fields(Schedule) if field.name in SCHEDULE]
    default = Schedule()
    chosen = {field.name: shown.what_if.get(field.name, f"{getattr(default, field.name):g}") for field in fields}
    return tuple(replace(field, value=chosen[field.name]) for field in fields)


def _replays(shown: Shown) -> tuple[Choice, ...]:
    """The kernels with a trace to replay; none chosen: the first in fp64 of each matrix."""
    kernels = dict.fromkeys(run.measurement.kernel for group in run_groups(shown) for run in what_if.replayable(group))
    chosen = shown.what_if.get("replay", "")
    return (Choice("", "the run in fp64", not chosen), *(Choice(k, k, k == chosen) for k in kernels)) if kernels else ()
