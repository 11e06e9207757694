"""Conclusions of the CPMS PageRank paper (Table II, Figures 4 and 6), checked against the runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpu_engine.findings.conclusions import Conclusion, Statement, Trial, conclude, table_of
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank.figure_four import figure_four
from gpu_engine.findings.pagerank.pulls import pull_gains
from gpu_engine.findings.pagerank.runs import (
    FP64,
    UNFUSED,
    Run,
    RunGroup,
    by_segments,
    has_right_ranks,
    run_groups,
    segments_of,
    speed_up,
)
from gpu_engine.pagerank.schedule import Schedule
from gpu_engine.records import Case
from gpu_engine.text import units
from gpu_engine.text.tables import Table
from gpu_engine.verdicts.verdict import compare, verdict_text

LAYOUTS = ("csr/thread", "ell/thread")
"""Layouts of the paper, with one thread per row."""

SEVERAL_THREADS = "csr/vector"
"""Layout with several threads per row, which the paper mentions (§IV.C)."""

STORED = (FP64, "cpms2", "cpms4")
"""Storage of values in the paper: fp64, two segments, four segments."""

PAPERS = tuple(f"{layout}+{how}{stored}" for layout in LAYOUTS for how in ("", UNFUSED) for stored in STORED)
"""Kernels of the paper, fused and unfused (the paper has unfused ones)."""

NEEDED = (*PAPERS, f"{SEVERAL_THREADS}+{FP64}")
"""Kernels whose runs the statements and the paper's figures need."""

SCHEDULE = {
    "start_segments": f"{Schedule().start_segments}",
    "raise_at": f"{Schedule().raise_at:g}",
    "stall_ratio": f"{Schedule().stall_ratio:g}",
}
"""Schedule of the runs that the statements are checked on, as axes; it is that of the paper."""

FEW = 0.1
"""Share of all iterations up to which iterations in 64 bits count as few."""

ALIKE = 0.1
"""Relative difference up to which two speedups count as similar."""


@dataclass(frozen=True, slots=True)
class Realizations:
    """Runs of a graph in one layout of the paper: fp64, two segments, four segments; None without verified ranks.

    fused  whether the kernels are fused; the unfused kernels of the paper are preferred if they were measured
    """

    group: RunGroup
    layout: str
    fused: bool
    full: Run | None
    two: Run | None
    four: Run | None

    @property
    def gain(self) -> float | None:
        """Speedup of two segments over fp64; None without both."""
        return speed_up(self.full, self.two)

    def graph(self, data: StudyData) -> str:
        """Return the name of the graph with its non-default PageRank parameters, except the triangle."""
        others = (f"{name}={value}" for name, value in self.group.axes.items() if name != "triangle")
        return ", ".join((data.matrix(self.group.matrix_id).name, *others))

    @property
    def kernels(self) -> str:
        """Layout and fusion of the kernels: `csr`, or `csr, unfused` for the kernels of the paper."""
        return f"{self.layout.partition('/')[0]}{'' if self.fused else ', unfused'}"


def realizations(data: StudyData) -> tuple[Realizations, ...]:
    """Return the runs of each graph, device, and PageRank parameters, one entry per layout."""
    return tuple(_realizations(group, layout, data) for group in run_groups(data) for layout in LAYOUTS)


def conclusions(data: StudyData) -> list[Conclusion]:
    """Return the conclusion of each statement per device, separately for complete graphs and lower triangles."""
    places: dict[tuple[str, str], list[tuple[str, Realizations]]] = {}
    for each in realizations(data):
        name = f"{each.graph(data)} in {each.kernels}"
        places.setdefault((each.group.place, "warm"), []).append((name, each))
    return conclude(STATEMENTS, places, data)


def table(data: StudyData) -> Table:
    """Return a table with one row per statement and device."""
    return table_of(conclusions(data))


def is_needed(case: Case) -> bool:
    """Return whether a statement needs the run of a case: a kernel of NEEDED, with the schedule of the paper."""
    if case.kernel not in NEEDED:
        return False
    return not segments_of(case.kernel) or _is_papers(dict(case.axes))


def _realizations(group: RunGroup, layout: str, data: StudyData) -> Realizations:
    by_precision = {run.precision: run for run in group.converged if run.layout == layout and _is_comparable(run, data)}
    fused = not {f"{UNFUSED}{FP64}", f"{UNFUSED}cpms2"} <= by_precision.keys()
    names = STORED if fused else tuple(f"{UNFUSED}{stored}" for stored in STORED)
    return Realizations(group, layout, fused, *map(by_precision.get, names))


def _is_comparable(run: Run, data: StudyData) -> bool:
    """Return whether a run has the schedule of the paper (if it has one) and verified ranks."""
    return (run.storage == FP64 or _is_papers(run.measurement.axes)) and has_right_ranks(run, data)


def _is_papers(axes: Mapping[str, str]) -> bool:
    """Return whether a schedule with these axes is that of the paper."""
    return axes.get("final_storage") == FP64 and all(axes.get(name) == value for name, value in SCHEDULE.items())


def _one_iteration_more(runs: Realizations, data: StudyData) -> Trial | None:  # noqa: ARG001
    if runs.full is None or runs.two is None or runs.four is None:
        return None
    full, *others = (run.measurement.details.iterations or 0 for run in (runs.full, runs.two, runs.four))
    return Trial(max(others) <= full + 1, f"{full} in fp64, {' and '.join(map(str, others))} in segments")


def _iterations_text(counts: Sequence[int]) -> str:
    """Return the iterations by the bits that they wrote: `11/10 iterations in 32/64 bits`."""
    bits = by_segments(tuple(64 // len(counts) * k for k in range(1, len(counts) + 1)))
    return f"{by_segments(counts)} iterations in {bits} bits"


def _one_in_16_bits(runs: Realizations, data: StudyData) -> Trial | None:  # noqa: ARG001
    counts = runs.four.measurement.details.iterations_by_segments if runs.four else ()
    return Trial(counts[0] == 1, _iterations_text(counts)) if counts else None


def _few_in_64_bits(runs: Realizations, data: StudyData) -> Trial | None:  # noqa: ARG001
    counts = runs.four.measurement.details.iterations_by_segments if runs.four else ()
    return Trial(counts[-1] <= FEW * sum(counts), _iterations_text(counts)) if counts else None


def _more_in_full(runs: Realizations, data: StudyData) -> Trial | None:  # noqa: ARG001
    counts = runs.two.measurement.details.iterations_by_segments if runs.two else ()
    return Trial(counts[1] >= counts[0], _iterations_text(counts)) if counts else None


def _product(runs: Realizations, segments: int, read: int) -> float | None:
    """Return the speedup over fp64 of a pull that reads `read` of the segments; None without a time."""
    gain = pull_gains(runs.full, runs.two if segments == 2 else runs.four).get(read)
    return gain.gain if gain else None


def _never_slower(runs: Realizations, data: StudyData) -> Trial | None:  # noqa: ARG001
    if runs.full is None or runs.two is None:
        return None
    verdict = compare(runs.full.measurement, runs.two.measurement)
    return Trial(
        verdict.kind != "slower", f"{units.ratio(verdict.ratio)} ({verdict_text(verdict.kind)})", verdict.ratio
    )


def _a_tenth_faster(runs: Realizations, data: StudyData) -> Trial | None:  # noqa: ARG001
    return None if runs.gain is None else Trial(runs.gain >= 1.1, units.ratio(runs.gain), runs.gain)


def _more_than_four(runs: Realizations, data: StudyData) -> Trial | None:  # noqa: ARG001
    if runs.two is None or runs.four is None:
        return None
    verdict = compare(runs.four.measurement, runs.two.measurement)
    return Trial(
        verdict.kind == "faster", f"{units.ratio(verdict.ratio)} ({verdict_text(verdict.kind)})", verdict.ratio
    )


def _alike_in_both(runs: Realizations, data: StudyData) -> Trial | None:
    csr, ell = (_realizations(runs.group, layout, data).gain for layout in LAYOUTS)
    if runs.layout != LAYOUTS[0] or csr is None or ell is None:
        return None
    return Trial(abs(csr / ell - 1) <= ALIKE, f"{units.ratio(csr)} and {units.ratio(ell)} in ell")


def _several_threads_are_no_faster(runs: Realizations, data: StudyData) -> Trial | None:
    """Check fused kernels, because only these exist with several threads per row."""
    if runs.layout != LAYOUTS[0]:
        return None
    full = {run.layout: run for run in runs.group.converged if run.precision == FP64 and has_right_ranks(run, data)}
    one, several = (full.get(layout) for layout in (runs.layout, SEVERAL_THREADS))
    if one is None or several is None:
        return None
    verdict = compare(one.measurement, several.measurement)
    return Trial(
        verdict.kind != "faster", f"{units.ratio(verdict.ratio)} ({verdict_text(verdict.kind)})", verdict.ratio
    )


STATEMENTS: tuple[Statement[Realizations], ...] = (
    Statement(
        "Segments need at most one iteration more than fp64.",
        "graph",
        _one_iteration_more,
        source="Table II",
    ),
    Statement(
        "With four segments, a single iteration uses 16 bits.",
        "graph",
        _one_in_16_bits,
        source="Table II",
    ),
    Statement(
        "With four segments, few iterations need 64 bits (here: at most 10 %).",
        "graph",
        _few_in_64_bits,
        True,
        source="Table II",
    ),
    Statement(
        "With two segments, more iterations use 64 bits than 32.",
        "graph",
        _more_in_full,
        True,
        source="Table II",
    ),
    *figure_four(_product),
    Statement(
        "A run with two segments is never slower than in fp64.",
        "graph",
        _never_slower,
        source="Figure 6",
    ),
    Statement(
        "A run with two segments is 1.1× to 1.3× as fast as in fp64.",
        "graph",
        _a_tenth_faster,
        True,
        source="Figure 6",
    ),
    Statement(
        "The speedup of two segments is above that of four.",
        "graph",
        _more_than_four,
        True,
        source="Figure 6",
    ),
    Statement(
        "CSR and ELL have similar speedups (here: within 10 %).",
        "graph",
        _alike_in_both,
        True,
        source="Figure 6",
    ),
    Statement(
        "Several threads per row do not make CSR faster (here: in fp64, with fused kernels).",
        "graph",
        _several_threads_are_no_faster,
        source="Section IV",
    ),
)
"""Statements of §IV and §V of the paper, measured there on a V100. One case does not refute a statement about most."""
