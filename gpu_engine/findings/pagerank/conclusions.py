"""The CPMS PageRank paper's conclusions beside what the runs say of them; Table II, Figures 4 and 6."""

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
from gpu_engine.verdicts.verdict import compare

LAYOUTS = ("csr/thread", "ell/thread")
"""Those of the paper: one thread a row."""

SEVERAL_THREADS = "csr/vector"
"""The layout in which several threads take a row, which the paper mentions (§IV.C)."""

STORED = (FP64, "cpms2", "cpms4")
"""How the paper stores values: in fp64, in two segments, in four."""

PAPERS = tuple(f"{layout}+{how}{stored}" for layout in LAYOUTS for how in ("", UNFUSED) for stored in STORED)
"""The paper's kernels, fused and as it has them."""

JUDGED = (*PAPERS, f"{SEVERAL_THREADS}+{FP64}")
"""The kernels by whose runs the statements are judged, and which the paper's figures are drawn from."""

SCHEDULE = {
    "start_segments": f"{Schedule().start_segments}",
    "raise_at": f"{Schedule().raise_at:g}",
    "stall_ratio": f"{Schedule().stall_ratio:g}",
}
"""Of the runs that are judged: the rule as it is, and segments that become fp64 at the end, as in the paper."""

FEW = 0.1
"""Iterations in 64 bits are few up to this share of all."""

ALIKE = 0.1
"""Two gains are similar up to this relative distance."""


@dataclass(frozen=True, slots=True)
class Realizations:
    """The runs of a graph in one layout of the paper: in fp64, in two segments, in four; None: not with right ranks.

    fused  whether its kernels do several things at once; the paper's own do not, and are taken where there are any
    """

    group: RunGroup
    layout: str
    fused: bool
    full: Run | None
    two: Run | None
    four: Run | None

    @property
    def gain(self) -> float | None:
        """How many times as fast as fp64 two segments are."""
        return speed_up(self.full, self.two)

    def graph(self, data: StudyData) -> str:
        """Its name, with parameters of PageRank that are not the defaults and that its place does not say."""
        others = (f"{name}={value}" for name, value in self.group.axes.items() if name != "triangle")
        return ", ".join((data.matrix(self.group.matrix_id).name, *others))

    @property
    def kernels(self) -> str:
        """The layout, and whether its kernels are those that the paper measures: `csr, unfused`."""
        return f"{self.layout.partition('/')[0]}{'' if self.fused else ', unfused'}"


def realizations(data: StudyData) -> tuple[Realizations, ...]:
    """Of each graph, device and parameters of PageRank, a layout after the other."""
    return tuple(_realizations(group, layout, data) for group in run_groups(data) for layout in LAYOUTS)


def conclusions(data: StudyData) -> list[Conclusion]:
    """Every statement of the paper on each device, of whole graphs and of lower triangles apart."""
    places: dict[tuple[str, str], list[tuple[str, Realizations]]] = {}
    for each in realizations(data):
        name = f"{each.graph(data)} in {each.kernels}"
        places.setdefault((each.group.place, "warm"), []).append((name, each))
    return conclude(STATEMENTS, places, data)


def table(data: StudyData) -> Table:
    """A row a statement and device."""
    return table_of(conclusions(data))


def is_needed(case: Case) -> bool:
    """Whether a statement may be judged by the run of a case: one of JUDGED, with the paper's schedule if any."""
    if case.kernel not in JUDGED:
        return False
    return not segments_of(case.kernel) or _is_papers(dict(case.axes))


def _realizations(group: RunGroup, layout: str, data: StudyData) -> Realizations:
    own = {run.precision: run for run in group.converged if run.layout == layout and _is_judged(run, data)}
    fused = not {f"{UNFUSED}{FP64}", f"{UNFUSED}cpms2"} <= own.keys()
    names = STORED if fused else tuple(f"{UNFUSED}{stored}" for stored in STORED)
    return Realizations(group, layout, fused, *map(own.get, names))


def _is_judged(run: Run, data: StudyData) -> bool:
    """Whether it has the schedule of the paper, where it has one, and right ranks."""
    return (run.storage == FP64 or _is_papers(run.measurement.axes)) and has_right_ranks(run, data)


def _is_papers(axes: Mapping[str, str]) -> bool:
    """Whether a schedule with these axes is the paper's."""
    return axes.get("final_storage") == FP64 and all(axes.get(name) == value for name, value in SCHEDULE.items())


def _one_iteration_more(runs: Realizations, data: StudyData) -> Trial | None:  # noqa: ARG001
    if runs.full is None or runs.two is None or runs.four is None:
        return None
    full, *others = (run.measurement.details.iterations or 0 for run in (runs.full, runs.two, runs.four))
    return Trial(max(others) <= full + 1, f"{full} in fp64, {' and '.join(map(str, others))} in segments")


def _counted(counts: Sequence[int]) -> str:
    """Iterations by the bits that they wrote: `11/10 iterations in 32/64 bits`."""
    bits = by_segments(tuple(64 // len(counts) * k for k in range(1, len(counts) + 1)))
    return f"{by_segments(counts)} iterations in {bits} bits"


def _one_in_16_bits(runs: Realizations, data: StudyData) -> Trial | None:  # noqa: ARG001
    counts = runs.four.measurement.details.iterations_by_segments if runs.four else ()
    return Trial(counts[0] == 1, _counted(counts)) if counts else None


def _few_in_64_bits(runs: Realizations, data: StudyData) -> Trial | None:  # noqa: ARG001
    counts = runs.four.measurement.details.iterations_by_segments if runs.four else ()
    return Trial(counts[-1] <= FEW * sum(counts), _counted(counts)) if counts else None


def _more_in_full(runs: Realizations, data: StudyData) -> Trial | None:  # noqa: ARG001
    counts = runs.two.measurement.details.iterations_by_segments if runs.two else ()
    return Trial(counts[1] >= counts[0], _counted(counts)) if counts else None


def _product(runs: Realizations, segments: int, read: int) -> float | None:
    """Over fp64, from the pulls of a run."""
    found = pull_gains(runs.full, runs.two if segments == 2 else runs.four).get(read)
    return found.gain if found else None


def _never_slower(runs: Realizations, data: StudyData) -> Trial | None:  # noqa: ARG001
    if runs.full is None or runs.two is None:
        return None
    verdict = compare(runs.full.measurement, runs.two.measurement)
    return Trial(verdict.kind != "slower", f"{units.ratio(verdict.ratio)} ({verdict.kind})", verdict.ratio)


def _a_tenth_faster(runs: Realizations, data: StudyData) -> Trial | None:  # noqa: ARG001
    return None if runs.gain is None else Trial(runs.gain >= 1.1, units.ratio(runs.gain), runs.gain)


def _more_than_four(runs: Realizations, data: StudyData) -> Trial | None:  # noqa: ARG001
    if runs.two is None or runs.four is None:
        return None
    verdict = compare(runs.four.measurement, runs.two.measurement)
    return Trial(verdict.kind == "faster", f"{units.ratio(verdict.ratio)} ({verdict.kind})", verdict.ratio)


def _alike_in_both(runs: Realizations, data: StudyData) -> Trial | None:
    csr, ell = (_realizations(runs.group, layout, data).gain for layout in LAYOUTS)
    if runs.layout != LAYOUTS[0] or csr is None or ell is None:
        return None
    return Trial(abs(csr / ell - 1) <= ALIKE, f"{units.ratio(csr)} and {units.ratio(ell)} in ell")


def _several_threads_are_no_faster(runs: Realizations, data: StudyData) -> Trial | None:
    """Of fused kernels: there are no others with several threads."""
    if runs.layout != LAYOUTS[0]:
        return None
    full = {run.layout: run for run in runs.group.converged if run.precision == FP64 and has_right_ranks(run, data)}
    one, several = (full.get(layout) for layout in (runs.layout, SEVERAL_THREADS))
    if one is None or several is None:
        return None
    verdict = compare(one.measurement, several.measurement)
    return Trial(verdict.kind != "faster", f"{units.ratio(verdict.ratio)} ({verdict.kind})", verdict.ratio)


STATEMENTS: tuple[Statement[Realizations], ...] = (
    Statement(
        "Segments cost at most one iteration more than fp64.",
        "graph",
        _one_iteration_more,
        source="Table II",
    ),
    Statement(
        "Of four segments, 16 bits serve a single iteration.",
        "graph",
        _one_in_16_bits,
        source="Table II",
    ),
    Statement(
        "With four segments few iterations need 64 bits (here: a tenth at most).",
        "graph",
        _few_in_64_bits,
        True,
        source="Table II",
    ),
    Statement(
        "With two segments more iterations are in 64 bits than in 32.",
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
        "A run with two segments is 1.1 to 1.3 times as fast as in fp64.",
        "graph",
        _a_tenth_faster,
        True,
        source="Figure 6",
    ),
    Statement(
        "Two segments gain more than four.",
        "graph",
        _more_than_four,
        True,
        source="Figure 6",
    ),
    Statement(
        "CSR and ELL gain alike (here: within a tenth).",
        "graph",
        _alike_in_both,
        True,
        source="Figure 6",
    ),
    Statement(
        "Several threads a row do not make CSR faster (here: in fp64, with fused kernels).",
        "graph",
        _several_threads_are_no_faster,
        source="Section IV",
    ),
)
"""As §IV and §V of the paper have them, on a V100; a single case against one that speaks of most does not refute it."""
