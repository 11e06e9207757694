"""Conclusions of the CPMS PageRank paper on complete runs, checked against the records of the study `pagerank`.

Times are judged on the paper's kernels only, which are not fused. Figure 4 is judged by the study `reduced_spmv`.
"""

from gpu_engine.findings.conclusions import Conclusion, Statement, conclude, table_of
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank.figure_six import FIGURE_FIVE, FIGURE_SIX, SECTION_FOUR
from gpu_engine.findings.pagerank.realizations import (
    LAYOUTS,
    SEVERAL_THREADS,
    STORED,
    GraphRuns,
    graph_runs,
    is_papers_schedule,
)
from gpu_engine.findings.pagerank.runs import FP64, UNFUSED, segments_of
from gpu_engine.findings.pagerank.table_two import MEMORY, TABLE_TWO
from gpu_engine.records import Case
from gpu_engine.text.tables import Table

PAPERS = tuple(f"{layout}+{how}{stored}" for layout in LAYOUTS for how in ("", UNFUSED) for stored in STORED)
"""Kernels of the paper, fused and unfused (the paper has unfused ones)."""

NEEDED = (*PAPERS, f"{SEVERAL_THREADS}+{FP64}")
"""Kernels whose runs the statements and the paper's figures need."""

STATEMENTS: tuple[Statement[GraphRuns], ...] = (*SECTION_FOUR, *MEMORY, *TABLE_TWO, *FIGURE_FIVE, *FIGURE_SIX)
"""Statements of §IV and §V of the paper, measured there on a V100. One case does not refute a statement about most."""


def conclusions(data: StudyData) -> list[Conclusion]:
    """Return the conclusions of each statement per device: on the paper's problems, and on all graphs that ran."""
    places: dict[tuple[str, str], list[tuple[str, GraphRuns]]] = {}
    for graph in graph_runs(data):
        places.setdefault((graph.group.device, "warm"), []).append((graph.name, graph))
    return conclude(STATEMENTS, places, data, lambda graph: graph.is_papers)


def table(data: StudyData) -> Table:
    """Return a table with one row per statement, scope, and device."""
    return table_of(conclusions(data))


def is_needed(case: Case) -> bool:
    """Return whether a statement needs the run of a case: a kernel of NEEDED, with the schedule of the paper."""
    if case.kernel not in NEEDED:
        return False
    return not segments_of(case.kernel) or is_papers_schedule(dict(case.axes))
