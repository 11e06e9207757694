"""The page of the `pagerank` study: runs of PageRank compared."""

from collections.abc import Sequence
from dataclasses import replace

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank import conclusions, contests, findings, top_pages
from gpu_engine.findings.pagerank.adaptive import pays
from gpu_engine.findings.pagerank.runs import SCHEDULE, run_groups
from gpu_engine.pagerank import Schedule
from gpu_engine.studies.pagerank import PagerankStudy
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from web.figures.base import Figure
from web.figures.pagerank import breakdown, fusion, gamma, graphs, links, paper, pull, timeline, total, what_if
from web.forms import form_fields
from web.parts import Choice, Field, Link, TitledTable
from web.results import Results
from web.selection import PageParameter
from web.studies.base import Features, Form, Section, StudyPage, by_sigma, conclusions_section, on_cpu

CPU_CAVEAT = (
    "These times are of a CPU: of its cores, its caches and its memory. Whether fewer bits pay depends on what the "
    "bandwidth is to the arithmetic that unpacks them, so ratios here say little about a GPU."
)

FIGURES = (
    Figure("pagerank-total", "How much faster whole runs are", total.draw, total.summary, total.table, info=total.info),
    Figure(
        "pagerank-graphs",
        "All graphs: Figures 4 and 6 of the paper",
        graphs.draw,
        graphs.summary,
        graphs.table,
        info=graphs.info,
        matrices_min=2,
    ),
    Figure("pagerank-links", "How many links pages have", links.draw, links.summary, links.table, info=links.info),
    Figure("pagerank-gamma", "How the runs converge", gamma.draw, gamma.summary, gamma.table, info=gamma.info),
    Figure(
        "pagerank-schedule", "Which precision when", timeline.draw, timeline.summary, timeline.table, info=timeline.info
    ),
    Figure(
        "pagerank-time",
        "Where the time of a run goes",
        breakdown.draw,
        breakdown.summary,
        breakdown.table,
        info=breakdown.info,
    ),
    Figure(
        "pagerank-fusion",
        "What fused kernels gain",
        fusion.draw,
        fusion.summary,
        fusion.table,
        info=fusion.info,
    ),
    Figure("pagerank-pull", "What fewer bits do to a product", pull.draw, pull.summary, pull.table, info=pull.info),
    Figure(
        "pagerank-what-if",
        "What another schedule, or another ε, would do",
        what_if.draw,
        what_if.summary,
        what_if.table,
        info=what_if.info,
    ),
)


FIGURE_4 = (
    Link("Figure 4 by itself: products by the segments that they read, in blocks of several sizes", "/reduced_spmv"),
)


def _graphs(results: Results) -> Table:
    texts = ("pages", "links", "dangling pages", "ave", "σ", "max − min")
    taken = Head("links", "multiplied"), Head("dangling pages", "among them")
    rows = []
    for matrix_id in by_sigma(results):
        known = results.features[matrix_id]
        counts = (units.count(value) for value in (known.n_rows, known.nnz, known.empty_rows))
        lengths = units.number(known.ave), units.number(known.sigma), units.count(known.max_min)
        rows.append((known.name, *counts, *lengths, *_transition(results, matrix_id)))
    return Table((Head("matrix", numeric=False), *(Head(text) for text in texts), *taken), tuple(rows))


def _transition(results: Results, matrix_id: str) -> tuple[str, str]:
    """Links and dangling pages of what runs multiplied by; of several transition matrices, one after the other."""
    own = (m.details for m in results.measurements if m.matrix_id == matrix_id)
    found = dict.fromkeys((run.links, run.dangling_pages) for run in own if run.links is not None)
    links, dangling = zip(*found, strict=True) if found else ((None,), (None,))
    return " / ".join(map(units.count, links)), " / ".join(map(units.count, dangling))


WHAT_IF = (*SCHEDULE, what_if.EPSILON, what_if.REPLAY)
"""Another schedule, where its runs end, and the kernel whose trace is replayed under it."""

UNTIL = "The change γ under which a run ends; empty: where it ended."


def _what_if(data: StudyData) -> Sequence[Field]:
    """The parameters of the switch rule, filled with what the reader chose, and the kernels with a trace to replay."""
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
    ends = Field(what_if.EPSILON, "number", data.choice(what_if.EPSILON), UNTIL, "0", "1", "any", ())
    options = (Choice("", "the run in fp64", not chosen), *(Choice(k, k, k == chosen) for k in kernels))
    return (*numbers, ends, Field(what_if.REPLAY, "choice", chosen, "Trace of", "", "", "", options))


PAGERANK = StudyPage(
    study=PagerankStudy(),
    link="PageRank",
    title="PageRank in fewer bits",
    lead="The power method to convergence, its matrix and ranks stored in fp64, fp32, or segments of fp64 of which an "
    "iteration reads as many as it needs.",
    invitation="Open the matrix of a graph, choose the study pagerank and press Measure, or choose another device or "
    "matrix.",
    recorded_as="see PageRank",
    findings=findings,
    figures=FIGURES,
    job_figures=("pagerank-total",),
    contests=contests,
    overview=pays,
    what="graphs",
    of_paper=lambda kernel: kernel.partition("+")[0] in conclusions.LAYOUTS,
    caveat=lambda data: CPU_CAVEAT if on_cpu(data) else "",
    parameters=tuple(map(PageParameter, WHAT_IF)),
    forms=(Form("pagerank-what-if", WHAT_IF, _what_if, "Replay"),),
    links={"pagerank-graphs": FIGURE_4, "pagerank-pull": FIGURE_4},
    sections=(
        Section(
            "paper",
            "The iterations that the paper prints",
            lambda _: (TitledTable("Iterations of the CPMS PageRank paper", paper.table()),),
            paper.remarks(),
            figure="pagerank-schedule",
        ),
        Section(
            "top",
            "Top ranks",
            lambda data: (TitledTable("Top ranks", top_pages(data)),),
            (
                "The highest ranks in fp64, pages counted from 0, and how many of the runs have the same page in that "
                "place.",
            ),
            figure="pagerank-gamma",
        ),
    ),
    conclusions=conclusions_section(
        "The paper’s conclusions, and this device",
        conclusions.table,
        "Judged by runs of the paper's kernels and schedule with the right ranks, one thread a page in CSR and in "
        "ELL, each beside the same kernel in fp64. Mostly: it holds for more than half of them; seldom: for "
        "fewer; where the paper speaks of most, more than half is enough to agree.",
    ),
    features=Features(
        "Graphs",
        "Of the matrices as they are stored: a row is a page, its entries are its links, an empty row is a dangling "
        "page. Where a study takes the lower triangle of a symmetric matrix, it has other rows: the last columns count "
        "what was multiplied.",
        _graphs,
        "row-lengths",
    ),
    with_traces=True,
)
