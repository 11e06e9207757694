"""Conclusions of the batched-SpMV paper, checked against the batches."""

from gpu_engine.findings.batched import row_length_trials, trials
from gpu_engine.findings.batched.groups import BATCH, PAPER, BatchGroup, batch_groups, largest, name_of
from gpu_engine.findings.batched.paper import BALANCED, EXPERIMENTS, NAMES, RATES, SIMILAR
from gpu_engine.findings.batched.trials import COO, CSRI, ELL, ON_CSR, SCALAR, SMART, VECTOR, WITHOUT_PREPROCESSING
from gpu_engine.findings.conclusions import Conclusion, Statement, table_of
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.printed import Printed
from gpu_engine.text.tables import Table

FIGURE_6, FIGURE_7 = RATES["Figure 6"], RATES["Figure 7"]
"""Throughputs of the kernels in both figures, as printed."""

STANDARD_GFLOPS, LEAST_GAIN, SUMMARY_GAIN = map(Printed, ("5", "10", "25"))
"""Throughput of standard kernels in GFLOP/s, and speedups over them (§4.2 and §5)."""

SAME = Printed("1.0")
"""Ratio of throughputs that are the same."""

SIMILAR_MIXTURE, MIXTURE = trials.mixture(SIMILAR), trials.mixture(NAMES)
"""Conditions: the mixtures of Figure 6 and of Figure 7."""


def conclusions(data: StudyData) -> list[Conclusion]:
    """Return the conclusions of each statement per device and cache state, from batches of the chosen size.

    Without a chosen size, the largest batch per matrix and mixture in which the kernels were timed counts. A kernel is
    the best if it is fastest or tied; only kernels of the paper compete. The matrices of the paper are those of the
    experiment to which the statement belongs: EXPERIMENTS.
    """
    groups = [group for group in batch_groups(data) if group.timed]
    places = dict.fromkeys((group.device, group.cache) for group in groups)
    if not places:
        return [statement.unjudged() for statement in STATEMENTS]
    return [
        conclusion
        for device, cache in places
        for statement in STATEMENTS
        for conclusion in _conclusions(
            statement, [group for group in groups if (group.device, group.cache) == (device, cache)], data
        )
    ]


def table(data: StudyData) -> Table:
    """Return a table with one row per statement, scope, device, and cache state."""
    return table_of(conclusions(data))


def _conclusions(statement: Statement[BatchGroup], groups: list[BatchGroup], data: StudyData) -> list[Conclusion]:
    usable = [group for group in groups if statement.judge(group, data) is not None]
    cases = [(name_of(group, data), group) for group in largest(usable, data.number(BATCH))]
    belongs = EXPERIMENTS[statement.place]
    return statement.conclusions(cases, data, lambda group: belongs(group, data), groups[0].device, groups[0].cache)


STATEMENTS: tuple[Statement[BatchGroup], ...] = (
    Statement(
        "A loop of standard kernels never exceeds 5 GFLOP/s.",
        "uniform batch",
        trials.standard_is_slow(STANDARD_GFLOPS),
        source="Figure 3",
    ),
    Statement(
        "Every batched kernel is at least 10\u202f× as fast as a loop of its standard counterpart.",
        "batch",
        trials.gains_over_loops(LEAST_GAIN, PAPER, trials.uniform),
        source="Figure 3",
    ),
    Statement(
        "COO is the fastest kernel for uniform batches in most cases.",
        "uniform batch",
        trials.best(COO, PAPER, trials.uniform),
        mostly=True,
        source="Figure 3",
    ),
    Statement(
        "COO is the best or the second-best kernel for uniform batches.",
        "uniform batch",
        trials.coo_is_first_or_second,
        source="Figure 3",
    ),
    Statement(
        "For dwt_992, gr_30_30, and nos3, no kernel is as fast as ELL.",
        "batch of these matrices",
        trials.best(ELL, PAPER, trials.named(*BALANCED)),
        source="Figure 3",
    ),
    Statement(
        "For west0989, CSR-scalar and COO are the fastest kernels.",
        "batch of this matrix",
        trials.scalar_and_coo,
        source="Figure 3",
    ),
    Statement(
        "For ex25, with unbalanced rows, CSR-I is faster than ELL.",
        "batch of this matrix",
        trials.faster((CSRI,), ELL, trials.named("ex25")),
        source="Figure 3",
    ),
    Statement(
        "Above 4 nonzeros per row, the throughput of CSR-scalar drops.",
        "matrix with equal rows",
        row_length_trials.drops_with_length(SCALAR),
        source="Figure 4",
    ),
    Statement(
        "The throughput of CSR-vector grows with the nonzeros per row.",
        "matrix with equal rows",
        row_length_trials.grows_with_length(VECTOR),
        source="Figure 4",
    ),
    Statement(
        "With few nonzeros per row (here: up to 4), CSR-scalar and CSR-smart are faster than CSR-I.",
        "matrix with equal, short rows",
        trials.faster((SCALAR, SMART), CSRI, row_length_trials.short_rows),
        source="Figure 4",
    ),
    Statement(
        "With more nonzeros per row (here: above 4), CSR-I is as fast as CSR-smart, or faster.",
        "matrix with equal, longer rows",
        trials.faster((CSRI,), SMART, row_length_trials.long_rows, or_tied=True),
        source="Figure 4",
    ),
    Statement(
        "Of the CSR kernels, CSR-I is the best if few rows are dense (here: σ above the mean).",
        "matrix with few dense rows",
        trials.best(CSRI, ON_CSR, trials.few_dense_rows),
        source="Figure 4",
    ),
    Statement(
        "A loop of the standard CSR kernel never exceeds 5 GFLOP/s.",
        "uniform batch",
        trials.standard_is_slow(STANDARD_GFLOPS, ("cusparse/loop",)),
        source="Figure 4",
    ),
    Statement(
        "ELL is the best kernel for balanced matrices (here: less than 10 % padding).",
        "balanced matrix",
        trials.best(ELL, PAPER, trials.balanced),
        source="Figure 5",
    ),
    Statement(
        "ELL is not the best kernel for matrices that are not balanced.",
        "matrix that is not balanced",
        trials.not_best(ELL, PAPER, trials.unbalanced),
        source="Figure 5",
    ),
    Statement(
        "No CSR kernel is as fast as COO for uniform batches.",
        "uniform batch",
        trials.best(COO, (COO, *ON_CSR), trials.uniform),
        source="Figure 5",
    ),
    Statement(
        "CSR-I or CSR-smart is the best CSR kernel for uniform batches in most cases.",
        "uniform batch",
        trials.csri_or_smart,
        mostly=True,
        source="Figure 5",
    ),
    Statement(
        "In a mixed batch, the order of throughput is COO, CSR-I, CSR-smart, ELL.",
        "mixed batch",
        trials.ordered((COO, CSRI, SMART, ELL), trials.mixed),
        source="Figure 6",
    ),
    Statement(
        "In a mixed batch, ELL has the highest bandwidth with its padding, COO the second, CSR-smart and CSR-I less.",
        "mixed batch",
        trials.by_bandwidth(((ELL,), (COO,), (SMART, CSRI)), trials.mixed),
        source="Figure 6",
    ),
    Statement(
        "ELL has 0.73 of the throughput of COO (40 of 55 GFLOP/s).",
        "mixed batch of the twelve matrices",
        trials.rate_ratio(ELL, COO, (FIGURE_6[ELL], FIGURE_6[COO]), SIMILAR_MIXTURE),
        source="Figure 6",
    ),
    Statement(
        "CSR-I has 0.91 of the throughput of COO (50 of 55 GFLOP/s).",
        "mixed batch of the twelve matrices",
        trials.rate_ratio(CSRI, COO, (FIGURE_6[CSRI], FIGURE_6[COO]), SIMILAR_MIXTURE),
        source="Figure 6",
    ),
    Statement(
        "CSR-smart has 0.82 of the throughput of COO (45 of 55 GFLOP/s).",
        "mixed batch of the twelve matrices",
        trials.rate_ratio(SMART, COO, (FIGURE_6[SMART], FIGURE_6[COO]), SIMILAR_MIXTURE),
        source="Figure 6",
    ),
    Statement(
        "With all matrices, ELL has at most 0.55 of the throughput of COO (30 of more than 55 GFLOP/s).",
        "mixed batch of all 32 matrices",
        trials.rate_ratio(ELL, COO, (FIGURE_7[ELL], FIGURE_7[COO]), MIXTURE, at_most=True),
        source="Figure 7",
    ),
    Statement(
        "With all matrices, ELL falls to 0.75 of its throughput with the twelve (30 of 40 GFLOP/s).",
        "mixed batch of all 32 matrices",
        trials.ratio_to_similar(ELL, (FIGURE_7[ELL], FIGURE_6[ELL]), MIXTURE),
        source="Figure 7",
    ),
    Statement(
        "With all matrices, CSR-smart, CSR-I, and COO do not fall below their throughput with the twelve.",
        "mixed batch of all 32 matrices",
        trials.not_slower_than_similar((SMART, CSRI, COO), SAME, MIXTURE),
        source="Figure 7",
    ),
    Statement(
        "COO is the best kernel for heterogeneous batches.",
        "mixed batch",
        trials.best(COO, PAPER, trials.mixed),
        source="§4.2",
    ),
    Statement(
        "Of the kernels on CSR without preprocessing, CSR-smart is the best for heterogeneous batches.",
        "mixed batch",
        trials.best(SMART, WITHOUT_PREPROCESSING, trials.mixed),
        source="§4.2",
    ),
    Statement(
        "CSR-I is faster than CSR-smart for batches of matrices that are not balanced.",
        "matrix that is not balanced",
        trials.faster((CSRI,), SMART, trials.unbalanced),
        source="§4.2",
    ),
    Statement(
        "COO, CSR-I, and CSR-smart are 25\u202f× as fast as a loop of standard kernels for mixed batches.",
        "mixed batch",
        trials.gains_over_loops(SUMMARY_GAIN, (COO, CSRI, SMART), trials.mixed),
        source="§5",
    ),
)
"""Statements of §4.2 and §5 of the paper, measured there on a P100."""
