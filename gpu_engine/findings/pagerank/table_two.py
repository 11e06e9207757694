"""Statements of the CPMS PageRank paper on iterations, quality, and memory: Table II and Figure 3."""

import re
from collections.abc import Callable, Sequence

from gpu_engine.findings.conclusions import Statement, Trial
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank.paper import MEMORY_BYTES, TOO_LARGE_IN_ELL
from gpu_engine.findings.pagerank.realizations import ELL, LAYOUTS, STORED, GraphRuns, is_papers_schedule
from gpu_engine.findings.pagerank.runs import FP64, Run, by_segments, power, tolerance
from gpu_engine.text import units

NEEDS = re.compile(r"needs ([\d.,]+(?:e[+-]?\d+)?) GB")
"""Pattern of the memory in the note of a run that does not fit: `gpu_engine.formats.base.check_room`."""

MANY_IN_64_BITS = "Brk"
"""Matrix that Table II excepts: it needs many iterations in 64 bits."""

Judge = Callable[[GraphRuns, StudyData], Trial | None]


def _one_iteration_more(graph: GraphRuns, data: StudyData) -> Trial | None:  # noqa: ARG001
    runs = graph.complete.runs if graph.complete else ()
    if not runs:
        return None
    full, *others = (run.measurement.details.iterations or 0 for run in runs)
    return Trial(max(others) <= full + 1, f"{full} in fp64, {' and '.join(map(str, others))} in segments")


def _counts(segments: int, holds: Callable[[Sequence[int]], bool], excepted: str = "") -> Judge:
    """Return a check of the iterations by segments; excepted: abbreviation of a matrix that it does not cover."""

    def judge(graph: GraphRuns, data: StudyData) -> Trial | None:  # noqa: ARG001
        if graph.complete is None or (graph.paper and graph.paper.short == excepted):
            return None
        run = graph.complete.two if segments == 2 else graph.complete.four
        counts = run.measurement.details.iterations_by_segments if run else ()
        return Trial(holds(counts), _iterations_text(counts)) if counts else None

    return judge


def _few_in_64_bits(counts: Sequence[int]) -> bool:
    """Return whether 32 and 48 bits have most iterations, and one of them more than 64 bits."""
    return 2 * (counts[1] + counts[2]) > sum(counts) and counts[3] < max(counts[1], counts[2])


def _iterations_text(counts: Sequence[int]) -> str:
    """Return the iterations by the bits that they wrote: `11/10 iterations in 32/64 bits`."""
    bits = by_segments(tuple(64 // len(counts) * k for k in range(1, len(counts) + 1)))
    return f"{by_segments(counts)} iterations in {bits} bits"


def _same_quality(graph: GraphRuns, data: StudyData) -> Trial | None:
    """Check the residuals of all runs of the paper's kernels and schedule, whether or not they are below ε."""
    runs = [run for run in graph.group.runs if _is_papers(run) and run.measurement.details.residual is not None]
    if {run.storage for run in runs} < set(STORED):
        return None
    worst = max(runs, key=lambda run: run.measurement.details.residual or 0.0)
    residual, pages = worst.measurement.details.residual or 0.0, data.matrix(graph.group.matrix_id).n_rows
    return Trial(residual < tolerance(worst, pages), f"largest residual {power(residual)}")


def _is_papers(run: Run) -> bool:
    has_schedule = run.storage == FP64 or is_papers_schedule(run.measurement.axes)
    return run.layout in LAYOUTS and run.storage in STORED and has_schedule


def _too_large_in_ell(graph: GraphRuns, data: StudyData) -> Trial | None:  # noqa: ARG001
    if graph.paper is None or graph.paper.short not in TOO_LARGE_IN_ELL:
        return None
    runs = (run for run in graph.group.runs if run.layout == ELL and run.storage == FP64)
    needed = next(filter(None, map(_bytes, runs)), None)
    return Trial(needed > MEMORY_BYTES, f"needs {units.size(needed)}") if needed else None


def _bytes(run: Run) -> float | None:
    """Return the memory of a run: stored bytes, or those that it needed and did not get; None if unknown."""
    note = NEEDS.search(run.measurement.note)
    return run.measurement.stored_bytes or (1e9 * float(note[1].replace(",", "")) if note else None)


def _statement(text: str, judge: Judge, source: str = "Table II") -> Statement[GraphRuns]:
    return Statement(text, "graph", judge, source=source)


TABLE_TWO: tuple[Statement[GraphRuns], ...] = (
    _statement("Segments need at most one iteration more than fp64.", _one_iteration_more),
    _statement("With four segments, a single iteration uses 16 bits.", _counts(4, lambda counts: counts[0] == 1)),
    _statement(
        "With four segments, most iterations use 32 or 48 bits, and only a few 64 (except Brk).",
        _counts(4, _few_in_64_bits, MANY_IN_64_BITS),
    ),
    _statement(
        "With two segments, more iterations use 64 bits than 32.",
        _counts(2, lambda counts: counts[1] > counts[0]),
    ),
    _statement("Runs in segments have ranks of the same quality as in fp64 (residual below 10⁻¹⁰).", _same_quality),
)
"""Statements on iterations, which depend neither on the layout nor on the kernels, and on the residual of the ranks."""

MEMORY: tuple[Statement[GraphRuns], ...] = (
    _statement(
        "In ELL, edu, Brk, and Ggl need more than the 16 GB of the paper’s GPU.", _too_large_in_ell, source="Figure 3"
    ),
)
"""Statement on the padding of ELL, which follows from the row lengths of Figure 3."""
