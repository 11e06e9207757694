"""Conclusions of the MSREP paper, checked against the `scaling` measurements.

Source: MSREP paper, §2.3 and §5.4 to §5.7.
"""

from collections.abc import Callable, Sequence

from gpu_engine.findings.conclusions import Conclusion, Statement, Trial, table_of
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.scaling.cases import COLD, RESIDENT, phases_of, share_of
from gpu_engine.findings.scaling.groups import Series, WorkGroup, devices_in_words, number_of, work_groups
from gpu_engine.findings.scaling.row_length_sweep import point_of
from gpu_engine.multigpu.from_host.strategies import PAPER_STRATEGIES, find_strategy
from gpu_engine.multigpu.partition import PARTITIONINGS
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Table
from gpu_engine.verdicts.verdict import compare, verdict_text

BASELINE, BALANCED, OPTIMIZED = (strategy.name for strategy in PAPER_STRATEGIES)

AXES = {partitioning.name: partitioning.axis for partitioning in PARTITIONINGS}
"""Partitioning → the axis that it divides: rows or columns."""

NEAR = 0.1
"""Relative difference up to which a measured speed equals its limit, and up to which a phase takes no longer."""

Judge = Callable[[WorkGroup, StudyData], Trial | None]
"""Function that checks a statement on one group."""

PARTITION_MAX = 0.02
POINTERS = {"Summit": (0.038, 0.09), "DGX-1": (0.005, 0.023)}
COORDINATES = {"Summit": (0.72, 0.85), "DGX-1": (0.38, 0.62)}
"""Ranges of the share of partitioning in the time: POINTERS for CSR and CSC, COORDINATES for COO (§5.4)."""

MERGE_MAX = {"pCSR": 0.038, "pCSC": 0.09, "pCOO": 0.17}
"""Partitioning → largest share of merging in the time (§5.5)."""

NUMA_OFF = {("placement", "none"), ("placement", "one"), ("affinity", "off")}
"""Options that switch off the NUMA optimizations of p*-opt."""

GROWTH = 0.5
"""Share of a growth proportional to the devices from which a time counts as growing with them."""

EFFICIENCY_MIN = 6.2 / 8
"""Least efficiency that the paper calls near linear (§5.7, §8)."""


def conclusions(data: StudyData) -> list[Conclusion]:
    """Return the conclusion of each statement per machine, for the chosen number of devices, else the most timed ones.

    Only Sparsight kernels count, because the paper has no library kernels. Cases with another merge than in the paper
    are left out.
    """
    groups = [group for group in work_groups(data, (COLD, RESIDENT)) if group.ranked(group.most)]
    places = dict.fromkeys((group.machine, group.cache) for group in groups)
    if not places:
        return [statement.unjudged() for statement in STATEMENTS]
    return [
        _conclusion(statement, [group for group in groups if (group.machine, group.cache) == place], data, *place)
        for place in places
        for statement in STATEMENTS
    ]


def table(data: StudyData) -> Table:
    """Return a table with one row per statement, machine, and cache state."""
    return table_of(conclusions(data))


def _conclusion(
    statement: Statement[WorkGroup], groups: list[WorkGroup], data: StudyData, machine: str, cache: str
) -> Conclusion:
    trials = [
        (f"{data.matrix(group.matrix_id).name} {group.partitioning}", trial)
        for group in groups
        if (trial := statement.judge(group, data))
    ]
    return statement.conclusion(trials, machine, cache)


def _strategy(group: WorkGroup, name: str) -> Series | None:
    """Return the series of SpMV from the host with an unmodified strategy; a gather may also merge on all devices."""
    axis = AXES.get(group.partitioning)
    if group.work != COLD or axis is None:
        return None
    merge = find_strategy(name).merge_place(axis)
    merges = ("gather", "device") if merge == "gather" else (merge,)
    by_options = {series.options: series for series in group.series if series.variant == name}
    return next((by_options[options] for merge in merges if (options := (("merge", merge),)) in by_options), None)


def _measured(group: WorkGroup, name: str, data: StudyData) -> Measurement | None:
    series = _strategy(group, name)
    return series.on(number_of(group, data)) if series else None


def _equal_rows(group: WorkGroup, data: StudyData) -> Trial | None:
    """Check a point of the sweep over row lengths, unless all rows have the same length."""
    point = point_of(group, data) if group.work == RESIDENT else None
    if point is None or point.ratio == 1.0:
        return None
    numbers = f"r = {units.number(point.ratio)}: limit {units.percent(point.allowed)}, measured "
    return Trial(abs(point.measured / point.allowed - 1) <= NEAR, numbers + units.percent(point.measured))


def _partition(group: WorkGroup, name: str, data: StudyData, low: float, high: float) -> Trial | None:
    """Check whether the share of partitioning is in a range."""
    m = _measured(group, name, data)
    partition = share_of(m, "partition") if m else None
    both = share_of(m, "partition", "distribute") if m else None
    if partition is None:
        return None
    numbers = f"{units.percent(partition)} ({units.percent(both)} with distribution)"
    return Trial(low <= partition < high, numbers)


def _partition_little(group: WorkGroup, data: StudyData) -> Trial | None:
    return _partition(group, OPTIMIZED, data, 0.0, PARTITION_MAX)


def _baseline_between(partitionings: Sequence[str], low: float, high: float) -> Judge:
    """Return a function that checks the share of partitioning of the baseline for some partitionings."""

    def judge(group: WorkGroup, data: StudyData) -> Trial | None:
        return _partition(group, BASELINE, data, low, high) if group.partitioning in partitionings else None

    return judge


def _no_more_partition(group: WorkGroup, data: StudyData) -> Trial | None:
    """Check whether partitioning with p* takes at most about the time of the baseline."""
    before, after = (_partition_s(_measured(group, name, data)) for name in (BASELINE, BALANCED))
    if not before or not after:
        return None
    return Trial(after <= (1 + NEAR) * before, f"{units.seconds(before)} with {BASELINE}, {units.seconds(after)}")


def _partition_gains(group: WorkGroup, data: StudyData) -> Trial | None:
    """Check whether partitioning with p* reaches at least half of the ideal speedup on several devices."""
    series, m = _strategy(group, BALANCED), _measured(group, BALANCED, data)
    before, after = (_partition_s(each) for each in (series.on(1) if series else None, m))
    devices = (m.details.devices if m else None) or 1
    if not before or not after or devices == 1:
        return None
    numbers = f"{units.seconds(before)} on one, {units.seconds(after)} on {units.count(devices)}"
    return Trial(before / after >= 1 + GROWTH * (devices - 1), numbers)


def _partition_s(m: Measurement | None) -> float | None:
    return phases_of(m).get("partition") if m else None


def _merge_little(group: WorkGroup, data: StudyData) -> Trial | None:
    series, m = _strategy(group, OPTIMIZED), _measured(group, OPTIMIZED, data)
    if series is None or dict(series.options)["merge"] == "device":
        return None
    most = MERGE_MAX.get(group.partitioning)
    share = share_of(m, "merge") if m else None
    return None if share is None or most is None else Trial(share < most, f"{units.percent(share)}")


def _merge_growth(group: WorkGroup, data: StudyData) -> tuple[bool, str] | None:
    """Return whether the merge of the baseline takes longer with more devices, and its times as text."""
    series = _strategy(group, BASELINE)
    last = series.on(number_of(group, data)) if series else None
    if series is None or last is None:
        return None
    first = series.timed[0]
    before, after = (phases_of(m).get("merge") for m in (first, last))
    times = (last.details.devices or 1) / (first.details.devices or 1)
    if not before or not after or times <= 1:
        return None
    numbers = f"{units.seconds(before)} on {units.count(first.details.devices)}, {units.seconds(after)} on "
    return after / before >= 1 + GROWTH * (times - 1), numbers + units.count(last.details.devices)


def _columns_grow(group: WorkGroup, data: StudyData) -> Trial | None:
    growth = _merge_growth(group, data) if AXES.get(group.partitioning) == "columns" else None
    return Trial(*growth) if growth else None


def _rows_do_not(group: WorkGroup, data: StudyData) -> Trial | None:
    growth = _merge_growth(group, data) if AXES.get(group.partitioning) == "rows" else None
    return Trial(not growth[0], growth[1]) if growth else None


def _in_order(group: WorkGroup, data: StudyData) -> Trial | None:
    """Check whether each strategy is faster than the one before."""
    first, second, third = (_measured(group, name, data) for name in (BASELINE, BALANCED, OPTIMIZED))
    if first is None or second is None or third is None or first.details.devices == 1:
        return None
    one, two = compare(first, second), compare(second, third)
    balanced = f"{BALANCED} {units.ratio(one.ratio)} {BASELINE} ({verdict_text(one.kind)})"
    numa = f"{OPTIMIZED} {units.ratio(two.ratio)} {BALANCED} ({verdict_text(two.kind)})"
    return Trial(one.kind == two.kind == "faster", f"{balanced}, {numa}")


def _near_linear(group: WorkGroup, data: StudyData) -> Trial | None:
    series, m = _strategy(group, OPTIMIZED), _measured(group, OPTIMIZED, data)
    gain = series.gain(m) if series and m else None
    if m is None or gain is None or not m.details.devices or m.details.devices == 1:
        return None
    return Trial(
        gain.value / m.details.devices >= EFFICIENCY_MIN,
        f"{units.ratio(gain.value)} on {units.count(m.details.devices)}",
    )


def _numa(group: WorkGroup, data: StudyData) -> Trial | None:
    """Check p*-opt against itself without NUMA optimizations, on GPUs of several NUMA nodes."""
    series, m = _strategy(group, OPTIMIZED), _measured(group, OPTIMIZED, data)
    nodes = len({node.strip() for node in m.environment.get("nodes", "").split(",")}) if m else 0
    if series is None or m is None or group.virtual or nodes < 2:
        return None
    number = number_of(group, data)
    candidates = [(_numa_off(other, series), other, there) for other in group.series if (there := other.on(number))]
    off, other, without = max(candidates, key=lambda each: each[0])
    if not off:
        return None
    verdict = compare(without, m)
    where = f"on {devices_in_words(number, virtual=False)} of {units.count(nodes)} nodes"
    return Trial(
        verdict.kind == "faster", f"{units.ratio(verdict.ratio)} {other.label} {where} ({verdict_text(verdict.kind)})"
    )


def _numa_off(series: Series, optimized: Series) -> int:
    """Return the number of NUMA optimizations that are off; 0 if none is, or anything else differs."""
    if series.kernel != optimized.kernel:
        return 0
    more = dict(series.options).items() - dict(optimized.options).items()
    alike = set(optimized.options) <= set(series.options) and more <= NUMA_OFF
    return len(more) if alike else 0


STATEMENTS: tuple[Statement[WorkGroup], ...] = (
    Statement(
        "With equal rows, performance follows the imbalance of the nonzeros. If half of the GPUs have a tenth of the "
        "others' nonzeros, it falls to about half (559/1028, Figure 6; here: resident SpMV, two row lengths, within "
        "10 % of (1 + 1/r)/2).",
        "matrix of the generator two_level with equal rows and with equal nonzeros",
        _equal_rows,
    ),
    Statement(
        "With p*-opt, partitioning takes less than 2 % of the time in most cases (§5.4, which includes distribution; "
        "here: only partitioning).",
        "SpMV with p*-opt",
        _partition_little,
        mostly=True,
    ),
    *(
        Statement(
            f"With baseline, partitioning {formats} takes {100 * low:g} to {100 * high:g} % of the time on {machine} "
            "(§5.4, which includes distribution; here: only partitioning).",
            f"SpMV with {' or '.join(partitionings)} and baseline",
            _baseline_between(partitionings, low, high),
        )
        for formats, partitionings, shares in (
            ("CSR and CSC", ("pCSR", "pCSC"), POINTERS),
            ("COO", ("pCOO",), COORDINATES),
        )
        for machine, (low, high) in shares.items()
    ),
    Statement(
        "Partitioning with p* takes no longer than with baseline (§5.4; here: at most 10 % longer).",
        "SpMV with baseline and p*",
        _no_more_partition,
    ),
    Statement(
        "Partitioning with p* scales well with more GPUs (§5.4; here: at least half of the ideal speedup).",
        "SpMV with p* on one device and on several",
        _partition_gains,
    ),
    Statement(
        "With p*-opt, merging takes less than 3.8 % of the time for CSR, 9 % for CSC, and 17 % for COO (§5.5).",
        "SpMV with p*-opt",
        _merge_little,
    ),
    Statement(
        "Merging columns on the host takes time proportional to the number of GPUs (§5.5; here: baseline).",
        "SpMV partitioned by columns on different numbers of devices",
        _columns_grow,
    ),
    Statement(
        "Merging rows takes little time, because segments are only copied (§5.5; here: with baseline, it does not grow "
        "with the number of GPUs).",
        "SpMV partitioned by rows on different numbers of devices",
        _rows_do_not,
    ),
    Statement(
        "Baseline is the slowest, p* is faster, and p*-opt is the fastest (§5.7, Figure 21).",
        "SpMV with all three strategies on several devices",
        _in_order,
    ),
    Statement(
        "p*-opt scales nearly linearly: speedup 5.5× with six GPUs and 6.2× with eight (§5.7; here: over itself on one "
        "device, efficiency at least 6.2/8).",
        "SpMV with p*-opt on one device and on several",
        _near_linear,
    ),
    Statement(
        "NUMA placement of partitions and threads helps clearly on Summit, not consistently on DGX-1 (§5.6, Figure 20; "
        "here: p*-opt against itself with the matrix on one node and unpinned threads).",
        "SpMV with p*-opt, with and without NUMA placement, on GPUs of several nodes",
        _numa,
    ),
)
"""Statements of the paper, measured there with SpMV from the host on six V100 (Summit) and eight V100 (DGX-1)."""
