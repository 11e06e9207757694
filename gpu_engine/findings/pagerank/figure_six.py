"""Statements of the CPMS PageRank paper on complete runs of its kernels: Figures 5 and 6, and Section IV."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpu_engine.findings.conclusions import EXAMPLES, Conclusion, Says, Scope, Statement, Trial
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank.realizations import (
    CSR,
    LAYOUTS,
    SEVERAL_THREADS,
    GraphRuns,
    Realizations,
    short_name,
)
from gpu_engine.findings.pagerank.runs import FP64, Run, has_right_ranks
from gpu_engine.findings.pagerank.shares import CHANGE, iteration_s, precision_shares
from gpu_engine.findings.printed import Printed
from gpu_engine.findings.verdict_reasons import reason_of_existence
from gpu_engine.text import units
from gpu_engine.verdicts.verdict import Verdict, VerdictKind, compare, verdict_text

SPEEDUPS = Printed("1.1", "1.2")
"""Speedup of two segments over fp64 on all matrices but Rgg and Brk."""

RGG, BRK = "Rgg", "Brk"
SPEEDUP_OF_RGG, SPEEDUP_OF_BRK = Printed("1.3"), Printed("1.0")
"""Speedup of two segments on these matrices: `almost 30 % faster`, and `comparable`."""

LARGEST_SPEEDUP = Printed("1.3")
"""Largest speedup of all runs, as in the abstract."""

LAST_DIGIT = 0.1
"""Last digit of the printed speedups; speedups, or shares of a run, that differ by less are similar."""

SAME = Printed("1.0")
"""Ratio of two times per iteration that the paper calls the same."""

Judge = Callable[[GraphRuns, StudyData], Trial | None]


@dataclass(frozen=True, slots=True)
class Existence(Statement[GraphRuns]):
    """Statement that some graphs confirm: a single one is enough; largest: its examples have the largest factors."""

    largest: bool = False

    def conclusion(
        self, trials: Sequence[tuple[str, Trial]], device: str, cache: str, scope: Scope = "paper"
    ) -> Conclusion:
        """Return the conclusion from all trials of a scope, given as (name of the graph, trial)."""
        if not trials:
            return Statement.conclusion(self, trials, device, cache, scope)
        holding = [entry for entry in trials if entry[1].holds]
        ordered = sorted(holding or trials, key=lambda entry: entry[1].factor or 0.0, reverse=self.largest)
        named = "; ".join(f"{name} {trial.number}" for name, trial in ordered[:EXAMPLES])
        word = "Such as" if holding else "Nearest:"
        numbers = f"Holds for {len(holding)} of {len(trials)}. {word} {named}."
        says: Says = "agrees" if holding else "disagrees"
        why = reason_of_existence(len(holding), len(trials), ordered[0])
        return Conclusion(self.text, says, numbers, device, cache, self.place, scope, len(trials), why)


def _verdict(base: Run | None, run: Run | None) -> Verdict | None:
    return compare(base.measurement, run.measurement) if base and run else None


def _trial(verdict: Verdict | None, holds: Callable[[VerdictKind], bool], after: str = "") -> Trial | None:
    if verdict is None:
        return None
    number = f"{units.ratio(verdict.ratio)} ({verdict_text(verdict.kind)}){after}"
    return Trial(holds(verdict.kind), number, verdict.ratio)


def _never_slower(runs: Realizations) -> Trial | None:
    return _trial(_verdict(runs.full, runs.two), lambda kind: kind != "slower")


def _more_than_four(runs: Realizations) -> Trial | None:
    return _trial(_verdict(runs.four, runs.two), lambda kind: kind == "faster")


def _small_changes(runs: Realizations) -> Trial | None:
    """Check that changes take less time than the iterations of each precision that has more than a few."""
    if runs.two is None or runs.four is None:
        return None
    two, four = precision_shares(runs.two), precision_shares(runs.four)
    if not two or not four:
        return None
    holds = two[CHANGE] < min(two.get(32, 0.0), two.get(64, 0.0)) and four[CHANGE] < min(
        four.get(32, 0.0), four.get(48, 0.0)
    )
    return Trial(holds, f"{units.percent(two[CHANGE])} and {units.percent(four[CHANGE])} of the time")


def _same_shares(graph: GraphRuns, data: StudyData) -> Trial | None:  # noqa: ARG001
    """Check that the shares of the time by precision in CSR and ELL differ by less than LAST_DIGIT."""
    csr, ell = (graph.unfused[layout] for layout in LAYOUTS)
    pairs = [
        (precision_shares(first), precision_shares(second))
        for first, second in ((csr.two, ell.two), (csr.four, ell.four))
        if first and second
    ]
    gaps = [
        abs(first.get(part, 0.0) - second.get(part, 0.0))
        for first, second in pairs
        if first and second
        for part in {*first, *second}
    ]
    return Trial(max(gaps) < LAST_DIGIT, f"largest difference {units.percent(max(gaps))} of a run") if gaps else None


def _same_after_conversion(runs: Realizations) -> Trial | None:
    """Check iterations of two segments after the conversion against those of fp64: pull and norm, medians."""
    if runs.full is None or runs.two is None:
        return None
    full, converted = iteration_s(runs.full, 0), iteration_s(runs.two, runs.two.segments)
    if not full or not converted:
        return None
    # Three decimals show on which side of half a unit a ratio lies.
    number = f"{converted / full:.3f}{units.THIN}×"
    return Trial(SAME.holds(converted / full), number, converted / full, accepts=SAME.range_text())


def _in_layout(layout: str, judge: Callable[[Realizations], Trial | None]) -> Judge:
    """Return a check of the runs of the paper's kernels in one layout."""
    return lambda graph, data: judge(graph.unfused[layout])  # noqa: ARG005


def _speedup(layout: str, printed: Printed, only: str = "", without: tuple[str, ...] = ()) -> Judge:
    """Return a check of the printed speedup of two segments; only, without: abbreviations of matrices."""
    holds = printed.is_reached if only == RGG else printed.holds
    accepts = printed.reached_text() if only == RGG else printed.range_text()

    def judge(graph: GraphRuns, data: StudyData) -> Trial | None:  # noqa: ARG001
        short, gain = graph.paper.short if graph.paper else "", graph.unfused[layout].gain
        if gain is None or (only and short != only) or short in without:
            return None
        # Three decimals show on which side of half a unit a speedup lies.
        return Trial(holds(gain), f"{gain:.3f}{units.THIN}×", gain, accepts=accepts)

    return judge


def _some_slower(graph: GraphRuns, data: StudyData) -> Trial | None:  # noqa: ARG001
    verdicts = [(layout, _verdict(graph.unfused[layout].full, graph.unfused[layout].four)) for layout in LAYOUTS]
    trials = [
        trial
        for layout, verdict in verdicts
        if (trial := _trial(verdict, lambda kind: kind == "slower", f" in {short_name(layout).upper()}"))
    ]
    return min(trials, key=lambda trial: (not trial.holds, trial.factor or 0.0), default=None)


def _largest(graph: GraphRuns, data: StudyData) -> Trial | None:  # noqa: ARG001
    gains = [
        (gain, f"{units.ratio(gain)} in {short_name(layout).upper()}, {segments} segments")
        for layout in LAYOUTS
        for segments, gain in (("two", graph.unfused[layout].gain), ("four", graph.unfused[layout].gain_of_four))
        if gain
    ]
    if not gains:
        return None
    gain, text = max(gains)
    return Trial(LARGEST_SPEEDUP.is_reached(gain), text, gain, accepts=LARGEST_SPEEDUP.reached_text())


def _both(graph: GraphRuns, of_four: bool) -> tuple[float, float] | None:
    """Return the speedups in CSR and in ELL; None without both."""
    csr, ell = (graph.unfused[layout].gain_of_four if of_four else graph.unfused[layout].gain for layout in LAYOUTS)
    return (csr, ell) if csr and ell else None


def _compared(holds: Callable[[float, float], bool], of_four: bool) -> Judge:
    """Return a check of the speedups in both layouts."""

    def judge(graph: GraphRuns, data: StudyData) -> Trial | None:  # noqa: ARG001
        gains = _both(graph, of_four)
        return Trial(holds(*gains), "{} in CSR and {} in ELL".format(*map(units.ratio, gains))) if gains else None

    return judge


def _several_threads_are_no_faster(graph: GraphRuns, data: StudyData) -> Trial | None:
    """Check fused kernels, because only these exist with several threads per row."""
    full = {run.layout: run for run in graph.group.converged if run.precision == FP64 and has_right_ranks(run, data)}
    return _trial(_verdict(full.get(CSR), full.get(SEVERAL_THREADS)), lambda kind: kind != "faster", ", fused")


def _by_layout(
    text: str, judge: Callable[[str], Judge], mostly: bool = False, source: str = "Figure 6"
) -> tuple[Statement[GraphRuns], ...]:
    """Return the statement for CSR and for ELL, which the paper draws apart; text: without its first words."""
    return tuple(
        Statement(f"In {short_name(layout).upper()}, {text}", "graph", judge(layout), mostly, source)
        for layout in LAYOUTS
    )


FIGURE_FIVE: tuple[Statement[GraphRuns], ...] = (
    *_by_layout(
        "changes of precision take less time than the iterations in 32 bits, 48 bits, or (two segments) 64 bits.",
        lambda layout: _in_layout(layout, _small_changes),
        source="Figure 5",
    ),
    Statement(
        "The shares of the precisions are the same in CSR and in ELL (differ by less than a tenth of a run).",
        "graph",
        _same_shares,
        source="Figure 5",
    ),
)
"""Statements on the part `precision change`, and on the shares of the precisions, which the paper draws."""

FIGURE_SIX: tuple[Statement[GraphRuns], ...] = (
    *_by_layout(
        "a run with two segments is never slower than in fp64.", lambda layout: _in_layout(layout, _never_slower)
    ),
    *_by_layout(
        "a run with two segments is 1.1\u202f× to 1.2\u202f× as fast as in fp64 (without Rgg and Brk).",
        lambda layout: _speedup(layout, SPEEDUPS, without=(RGG, BRK)),
    ),
    *_by_layout(
        "a run with two segments is almost 1.3\u202f× as fast as in fp64 on Rgg.",
        lambda layout: _speedup(layout, SPEEDUP_OF_RGG, only=RGG),
    ),
    Statement(
        "In CSR, a run with two segments is 1.0\u202f× as fast as in fp64 on Brk.",
        "graph",
        _speedup(CSR, SPEEDUP_OF_BRK, only=BRK),
        source="Figure 6",
    ),
    *_by_layout(
        "the speedup of two segments is generally above that of four.",
        lambda layout: _in_layout(layout, _more_than_four),
        mostly=True,
    ),
    Existence(
        "A run with four segments is slower than in fp64 in some cases.", "graph", _some_slower, source="Figure 6"
    ),
    Statement(
        "The speedup of four segments is higher in ELL than in CSR.",
        "graph",
        _compared(lambda csr, ell: ell > csr, of_four=True),
        source="Figure 6",
    ),
    Statement(
        "The speedups of two segments in CSR and ELL are similar (differ by less than 0.1).",
        "graph",
        _compared(lambda csr, ell: abs(csr - ell) < LAST_DIGIT, of_four=False),
        source="Figure 6",
    ),
    Existence(
        "The speedup over fp64 reaches 1.3\u202f× (abstract).", "graph", _largest, source="Figure 6", largest=True
    ),
)
"""Statements on complete runs of the paper's kernels, measured there on a V100."""

SECTION_FOUR: tuple[Statement[GraphRuns], ...] = (
    Statement(
        "Several threads per row do not make CSR faster (here: in fp64, with fused kernels).",
        "graph",
        _several_threads_are_no_faster,
        source="Section IV",
    ),
    *_by_layout(
        "an iteration after the conversion to fp64 takes as long as in an fp64 run (two segments).",
        lambda layout: _in_layout(layout, _same_after_conversion),
        source="Section IV",
    ),
)
"""Statements on the number of threads per row, and on the end of a run."""
