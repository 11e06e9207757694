"""Page of the `pagerank` study: comparison of complete PageRank runs."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank import conclusions, contests, findings, top_pages
from gpu_engine.findings.pagerank.adaptive import pays
from gpu_engine.findings.pagerank.realizations import LAYOUTS
from gpu_engine.findings.pagerank.runs import SCHEDULE, run_groups
from gpu_engine.pagerank import Schedule
from gpu_engine.studies.pagerank import PagerankStudy
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from web.components import Choice, Field, Link, TitledTable
from web.figures.base import Figure
from web.figures.pagerank import (
    breakdown,
    figure_five,
    fusion,
    gamma,
    graphs,
    links,
    paper,
    pull,
    timeline,
    total,
    what_if,
)
from web.forms import form_fields
from web.results import Results
from web.selection import PageParameter
from web.setting_labels import label_of
from web.studies.answers import pagerank as answer
from web.studies.answers import pagerank_graph
from web.studies.base import Features, Form, Section, StudyPage, by_sigma, conclusions_section, on_cpu

CPU_CAVEAT = (
    "These timings are from a CPU. Whether reduced precision is faster depends on the ratio of bandwidth to "
    "arithmetic, so speedups are different on a GPU."
)

FIGURES = (
    Figure("pagerank-total", "Speedup of complete runs", total.draw, total.summary, total.table, info=total.info),
    Figure(
        "pagerank-graphs",
        "All graphs: Figure 6 of the paper",
        graphs.draw,
        graphs.summary,
        graphs.table,
        info=graphs.info,
        matrices_min=2,
    ),
    Figure(
        "pagerank-shares",
        "Time by precision: Figure 5 of the paper",
        figure_five.draw,
        figure_five.summary,
        figure_five.table,
        info=figure_five.info,
    ),
    Figure("pagerank-links", "Links per page", links.draw, links.summary, links.table, info=links.info),
    Figure("pagerank-gamma", "Convergence", gamma.draw, gamma.summary, gamma.table, info=gamma.info),
    Figure(
        "pagerank-schedule",
        "Precision per iteration",
        timeline.draw,
        timeline.summary,
        timeline.table,
        info=timeline.info,
    ),
    Figure(
        "pagerank-time",
        "Time per phase",
        breakdown.draw,
        breakdown.summary,
        breakdown.table,
        info=breakdown.info,
    ),
    Figure(
        "pagerank-fusion",
        "Gain from kernel fusion",
        fusion.draw,
        fusion.summary,
        fusion.table,
        info=fusion.info,
    ),
    Figure(
        "pagerank-pull", "Effect of reduced precision on one SpMV", pull.draw, pull.summary, pull.table, info=pull.info
    ),
    Figure(
        "pagerank-what-if",
        "Simulate another schedule or ε",
        what_if.draw,
        what_if.summary,
        what_if.table,
        info=what_if.info,
    ),
)


FIGURE_4 = (Link("Figure 4 in detail: reduced-precision SpMV by segments and block size", "/reduced_spmv"),)

SEED_SETS = (Link("Many seed sets at once, and warm starts after changed links", "/seeded"),)


def _graphs(results: Results) -> Table:
    texts = ("pages", "links", "dangling pages", "ave", "σ", "max − min")
    used = Head("links", "used"), Head("dangling pages", "used")
    rows = []
    for matrix_id in by_sigma(results):
        known = results.features[matrix_id]
        counts = (units.count(value) for value in (known.n_rows, known.nnz, known.empty_rows))
        lengths = units.number(known.ave), units.number(known.sigma), units.count(known.max_min)
        rows.append((known.name, *counts, *lengths, *_transition(results, matrix_id)))
    return Table((Head("matrix", numeric=False), *(Head(text) for text in texts), *used), tuple(rows))


def _transition(results: Results, matrix_id: str) -> tuple[str, str]:
    """Return links and dangling pages of the transition matrices of a graph, separated by slashes."""
    details = (m.details for m in results.measurements if m.matrix_id == matrix_id)
    counts = dict.fromkeys((run.links, run.dangling_pages) for run in details if run.links is not None)
    links, dangling = zip(*counts, strict=True) if counts else ((None,), (None,))
    return " / ".join(map(units.count, links)), " / ".join(map(units.count, dangling))


WHAT_IF = (*SCHEDULE, what_if.EPSILON, what_if.REPLAY)
"""Parameters of the simulation: a schedule, ε, and the kernel whose trace it replays."""

UNTIL = "Convergence threshold for γ (default: that of the run)."


def _what_if(data: StudyData) -> Sequence[Field]:
    """Return the fields of the simulation: parameters of the schedule, ε, and kernels with a trace."""
    kernels = dict.fromkeys(run.measurement.kernel for group in run_groups(data) for run in what_if.replayable(group))
    if not kernels:
        return ()
    default = Schedule()
    numbers = [
        replace(field, value=data.choice(field.name, f"{getattr(default, field.name):g}"))
        for field in form_fields(Schedule)
        if field.name in SCHEDULE
    ]
    chosen = data.choice(what_if.REPLAY)
    value, label = data.choice(what_if.EPSILON), label_of(what_if.EPSILON)
    ends = Field(what_if.EPSILON, "number", value, UNTIL, "0", "1", "any", (), label=label)
    options = (Choice("", "fp64 run", not chosen), *(Choice(k, k, k == chosen) for k in kernels))
    return (*numbers, ends, Field(what_if.REPLAY, "choice", chosen, "Trace of", "", "", "", options))


PAGERANK = StudyPage(
    study=PagerankStudy(),
    link="PageRank",
    subpages=("seeded", "reduced_spmv"),
    title="PageRank with reduced precision",
    lead="PageRank by power iteration, with matrix and ranks stored in fp64, in fp32, or as mantissa segments. Each "
    "iteration reads only the segments it needs.",
    invitation="Open the matrix of a graph, choose PageRank, and press Measure.",
    findings=findings,
    explore=answer.explore,
    drawer=pagerank_graph.drawer,
    figures=FIGURES,
    contests=contests,
    overview=pays,
    what="graphs",
    of_paper=lambda kernel: kernel.partition("+")[0] in LAYOUTS,
    caveat=lambda data: CPU_CAVEAT if on_cpu(data) else "",
    parameters=tuple(PageParameter(name, partial(what_if.check, name)) for name in WHAT_IF),
    forms=(Form("pagerank-what-if", WHAT_IF, _what_if, "Replay"),),
    links={"pagerank-total": SEED_SETS, "pagerank-graphs": FIGURE_4, "pagerank-pull": FIGURE_4},
    sections=(
        Section(
            "paper",
            "Matrices and iterations in the paper",
            lambda data: (
                TitledTable("Table I of the paper and the measured matrices", paper.table_one(data)),
                TitledTable("Table II of the paper and the measured iterations", paper.table_two(data)),
            ),
            paper.remarks(),
            figure="pagerank-schedule",
        ),
        Section(
            "top",
            "Top ranks",
            lambda data: (TitledTable("Top ranks", top_pages(data)),),
            (
                "Pages with the highest ranks in fp64 (pages counted from 0), and the number of runs with the same "
                "page at this rank.",
            ),
            figure="pagerank-gamma",
        ),
    ),
    conclusions=conclusions_section(
        "Statements of the paper on this device",
        conclusions.table,
        "Times are judged by verified runs of the paper's unfused kernels and schedule, with one thread per page. Only "
        "GPUs have these kernels. Each is compared with the same kernel in fp64. The paper's matrices: lower triangles "
        "of symmetric ones, or of stand-ins. A printed number holds if the measured one rounds to it. Mostly: for "
        "more than half of them. Seldom: for half or fewer. More than half is enough to agree if the paper says "
        "generally.",
    ),
    features=Features(
        "Graphs",
        "Counts of the stored matrices: rows are pages, nonzeros are links, and empty rows are dangling "
        "pages. Runs on the lower triangle of a symmetric matrix use fewer links; see the last columns.",
        _graphs,
        "row-lengths",
    ),
    with_traces=True,
)
