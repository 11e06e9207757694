"""Conclusions of the batched-SpMV paper, checked against the batches."""

from collections.abc import Iterable, Sequence

from gpu_engine.findings.batched.groups import BATCH, PAPER, BatchGroup, batch_groups, is_balanced, largest, name_of
from gpu_engine.findings.conclusions import Conclusion, Statement, Trial, table_of
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import gain
from gpu_engine.findings.ranking import rank
from gpu_engine.text import units
from gpu_engine.text.tables import Table

COO, SCALAR, VECTOR, SMART, CSRI, ELL = PAPER
ON_CSR = (SCALAR, VECTOR, SMART, CSRI)
WITHOUT_PREPROCESSING = (SCALAR, VECTOR, SMART)

SHORT_ROW = 4.0
"""Nonzeros per row up to which csr/scalar is good (§4.2)."""

LEAST_GAIN = 10.0
"""Speedup of every kernel of the paper over a launch loop (§4.2)."""


def conclusions(data: StudyData) -> list[Conclusion]:
    """Return the conclusion of each statement per device and cache state, from batches of the chosen size.

    Without a chosen size, the largest batch per matrix and mixture in which the kernels were timed counts. A kernel is
    the best if it is fastest or tied; only kernels of the paper compete.
    """
    groups = [group for group in batch_groups(data) if group.timed]
    places = dict.fromkeys((group.device, group.cache) for group in groups)
    if not places:
        return [statement.unjudged() for statement in STATEMENTS]
    return [
        _conclusion(statement, [group for group in groups if (group.device, group.cache) == place], data, *place)
        for place in places
        for statement in STATEMENTS
    ]


def table(data: StudyData) -> Table:
    """Return a table with one row per statement, device, and cache state."""
    return table_of(conclusions(data))


def _conclusion(
    statement: Statement[BatchGroup], groups: Sequence[BatchGroup], data: StudyData, device: str, cache: str
) -> Conclusion:
    usable = [group for group in groups if statement.judge(group, data) is not None]
    chosen = largest(usable, data.number(BATCH))
    trials = [(name_of(g, data), trial) for g in chosen if (trial := statement.judge(g, data))]
    return statement.conclusion(trials, device, cache)


def _leads(group: BatchGroup, kernel: str, among: Iterable[str]) -> Trial | None:
    """Check whether a kernel is fastest or tied among some kernels, with its speedup over the next one."""
    candidate, rivals = group.of(kernel), group.among([name for name in among if name != kernel])
    if candidate is None or not rivals:
        return None
    ranking = rank((candidate, *rivals))
    if ranking.busy:
        return None
    return Trial(candidate in ranking.leaders, f"{units.ratio(gain(rivals[0], candidate))} {rivals[0].kernel}")


def _coo_is_best_mixed(group: BatchGroup, data: StudyData) -> Trial | None:  # noqa: ARG001
    return _leads(group, COO, PAPER) if group.compose == "mixed" else None


def _coo_is_best_or_next(group: BatchGroup, data: StudyData) -> Trial | None:  # noqa: ARG001
    """Check on uniform batches whether at most one other kernel of the paper is faster."""
    trial = _leads(group, COO, PAPER) if group.compose == "uniform" else None
    if trial is None:
        return None
    return Trial(trial.holds or COO in [m.kernel for m in group.among(PAPER)[:2]], trial.number)


def _coo_before_csr(group: BatchGroup, data: StudyData) -> Trial | None:  # noqa: ARG001
    return _leads(group, COO, ON_CSR) if group.compose == "uniform" else None


def _csri_or_smart(group: BatchGroup, data: StudyData) -> Trial | None:  # noqa: ARG001
    """Check whether one of the two is the best CSR kernel."""
    if group.compose != "uniform":
        return None
    trials = [trial for kernel in (CSRI, SMART) if (trial := _leads(group, kernel, ON_CSR))]
    return max(trials, key=lambda trial: trial.holds, default=None)


def _ell_is_best_balanced(group: BatchGroup, data: StudyData) -> Trial | None:
    return _leads(group, ELL, PAPER) if _balanced(group, data) else None


def _scalar_up_to_four(group: BatchGroup, data: StudyData) -> Trial | None:
    """Check whether csr/scalar is the best CSR kernel up to SHORT_ROW, and not beyond."""
    trial = _leads(group, SCALAR, ON_CSR) if _balanced(group, data) else None
    ave = data.matrix(group.matrix_id).ave
    if trial is None or ave is None:
        return None
    return Trial(trial.holds == (ave <= SHORT_ROW), f"({units.number(ave, 2)} per row) {trial.number}")


def _csri_for_dense_rows(group: BatchGroup, data: StudyData) -> Trial | None:
    """Check matrices with few dense rows: σ exceeds the mean row length."""
    known = data.matrix(group.matrix_id)
    few = group.compose == "uniform" and known.ave is not None and known.sigma is not None and known.sigma > known.ave
    return _leads(group, CSRI, ON_CSR) if few else None


def _smart_without_preprocessing(group: BatchGroup, data: StudyData) -> Trial | None:  # noqa: ARG001
    return _leads(group, SMART, WITHOUT_PREPROCESSING)


def _ten_times_a_loop(group: BatchGroup, data: StudyData) -> Trial | None:  # noqa: ARG001
    paper = group.among(PAPER)
    slowest = gain(group.loop, paper[-1]) if group.loop and paper else None
    if slowest is None or group.loop is None:
        return None
    fastest = f"{paper[0].kernel} {units.ratio(gain(group.loop, paper[0]))}"
    return Trial(slowest >= LEAST_GAIN, f"{paper[-1].kernel} {units.ratio(slowest)}, {fastest} {group.loop.kernel}")


def _balanced(group: BatchGroup, data: StudyData) -> bool:
    return group.compose == "uniform" and bool(is_balanced(data.matrix(group.matrix_id)))


STATEMENTS: tuple[Statement[BatchGroup], ...] = (
    Statement(
        "COO is the best kernel for heterogeneous batches.",
        "mixed batch",
        _coo_is_best_mixed,
        source="Figure 7",
    ),
    Statement(
        "ELL is the best kernel for balanced matrices.",
        "balanced matrix",
        _ell_is_best_balanced,
        source="Figure 5",
    ),
    Statement(
        "COO is the best or the second-best kernel for uniform batches.",
        "uniform batch",
        _coo_is_best_or_next,
        source="Figure 3",
    ),
    Statement(
        "No CSR kernel is as fast as COO for uniform batches.",
        "uniform batch",
        _coo_before_csr,
        source="Figure 5",
    ),
    Statement(
        "CSR-I or CSR-smart is the best CSR kernel for uniform batches in most cases.",
        "uniform batch",
        _csri_or_smart,
        mostly=True,
        source="Figure 5",
    ),
    Statement(
        "Of the CSR kernels, CSR-scalar is the best only up to about 4 nonzeros per row.",
        "balanced matrix",
        _scalar_up_to_four,
        source="Figure 4",
    ),
    Statement(
        "Of the CSR kernels, CSR-I is the best if few rows are dense (here: σ above the mean).",
        "matrix with few dense rows",
        _csri_for_dense_rows,
        source="Figure 4",
    ),
    Statement(
        "Of the kernels on CSR without preprocessing, CSR-smart is the best.",
        "batch",
        _smart_without_preprocessing,
        source="Figure 5",
    ),
    Statement(
        "Every batched kernel is at least 10× as fast as a launch loop.",
        "batch",
        _ten_times_a_loop,
        source="Figure 3",
    ),
)
"""Statements of §4.2 of the paper, measured there on a P100."""
