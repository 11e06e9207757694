"""Conclusions of the MSREP paper, checked against the `scaling` measurements.

Source: MSREP paper, §2.3 and §5.4 to §5.7. The functions that check them: judges.py.
"""

from collections.abc import Callable, Mapping

from gpu_engine.findings.conclusions import Conclusion, Statement, table_of
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.printed import Printed
from gpu_engine.findings.scaling import judges
from gpu_engine.findings.scaling.cases import COLD, RESIDENT
from gpu_engine.findings.scaling.groups import DEVICES, WorkGroup, work_groups
from gpu_engine.findings.scaling.judges import DeviceCase
from gpu_engine.findings.scaling.paper import FIGURE_19, is_papers, paper_matrix
from gpu_engine.text.tables import Table

MERGES: Mapping[str, tuple[str, Printed]] = {
    "pCSR": ("CSR", Printed("3.8")),
    "pCSC": ("CSC", Printed("9")),
    "pCOO": ("COO", Printed("17")),
}
"""Partitioning → its format, and the largest share of merging in the time, in percent (§5.5)."""

FIGURE_6: tuple[Statement[DeviceCase], ...] = (
    Statement(
        "Unequal nonzeros per GPU slow SpMV down (§2.3, Figure 6; here: resident matrix, equal rows against equal "
        "nonzeros).",
        "matrix of the generator two_level with equal rows and with equal nonzeros",
        judges.imbalance_slows,
        source="Figure 6",
    ),
    Statement(
        "If half of the GPUs have a tenth of the others’ nonzeros, performance falls to about half (559/1028, Figure "
        "6). Here: equal rows take about 2 times as long as equal nonzeros.",
        "matrix of the generator two_level with r = 10, with equal rows and with equal nonzeros",
        judges.imbalance_halves,
    ),
)

PARTITION: tuple[Statement[DeviceCase], ...] = (
    Statement(
        "With p*-opt, partitioning takes less than 2 % of the time in most cases (§5.4, which includes distribution; "
        "here: only partitioning).",
        "SpMV with p*-opt and at least 28 million nonzeros",
        judges.partition_little,
        mostly=True,
    ),
    Statement(
        "With baseline, partitioning COO takes longer than partitioning CSR and CSC (§5.4).",
        "SpMV with baseline, pCOO, pCSR, and pCSC",
        judges.coo_costs_more,
    ),
    Statement(
        "Partitioning with p* takes no longer than with baseline (§5.4).",
        "SpMV with baseline and p*",
        judges.partition_no_more,
    ),
    Statement(
        "Partitioning with p* gets faster with more GPUs (§5.4; here: than on one).",
        "SpMV with p* on one device and on several",
        judges.partition_gains,
    ),
    Statement(
        "p*-opt partitions faster than p*, because the GPUs write pointers and indices (§5.4).",
        "SpMV with p* and p*-opt",
        judges.partition_offloaded,
    ),
)

MERGE_SHARES: tuple[Statement[DeviceCase], ...] = tuple(
    Statement(
        f"With p*-opt, merging takes less than {most.low} % of the time for {text} (§5.5, Figure 19; here: on several "
        "devices).",
        f"SpMV on several devices with {partitioning}, p*-opt, the paper’s merge, and at least 28 million nonzeros",
        judges.merges_at_most(partitioning, most),
        source="§5.5",
    )
    for partitioning, (text, most) in MERGES.items()
)
"""Statements that the paper makes of one matrix, FIGURE_19."""

OTHERS: tuple[Statement[DeviceCase], ...] = (
    Statement(
        "Merging columns on the host takes longer with each further GPU (§5.5; here: baseline).",
        "SpMV partitioned by columns on different numbers of devices",
        judges.columns_grow,
    ),
    Statement(
        "Merging rows is cheap, because segments are only copied (§5.5; here: with baseline, faster than merging the "
        "columns of the same matrix).",
        "SpMV partitioned by rows and by columns on several devices",
        judges.rows_merge_faster,
    ),
    Statement(
        "Merging rows takes longer with p* than with baseline, because cut rows overlap (§5.5).",
        "SpMV with baseline and p*, partitioned by rows, on several devices",
        judges.rows_merge_longer,
    ),
    Statement(
        "Baseline is the slowest, p* is faster, and p*-opt is the fastest (§5.7, Figure 21).",
        "SpMV with all three strategies on several devices",
        judges.in_order,
    ),
    Statement(
        "p*-opt scales nearly linearly: speedup 5.5\u202f× with six GPUs and 6.2\u202f× with eight (§5.7). "
        "Here: over itself on one device, efficiency at least 6.2/8.",
        "SpMV with p*-opt on one device and on several",
        judges.near_linear,
    ),
    Statement(
        "NUMA placement helps clearly on Summit and not consistently on DGX-1 (§5.6, Figure 20). Here: p*-opt is never "
        "slower than with the matrix on one node and unpinned threads.",
        "SpMV with p*-opt, with and without NUMA placement, on GPUs of several nodes",
        judges.numa_not_slower,
    ),
)

STATEMENTS: tuple[Statement[DeviceCase], ...] = (*FIGURE_6, *PARTITION, *MERGE_SHARES, *OTHERS)
"""Statements of the paper, measured there with SpMV from the host on six V100 (Summit) and eight V100 (DGX-1).

Ranges that differ between the two machines are not here: partitioning with the baseline takes 3.8 to 9 % for CSR and
CSC on Summit and 0.5 to 2.3 % on DGX-1, for COO 72 to 85 % and 38 to 62 % (§5.4).
"""


def conclusions(data: StudyData) -> list[Conclusion]:
    """Return the conclusions of each statement per machine, on each number of devices, or on the chosen one.

    Only Sparsight kernels count; those of the paper are cuSPARSE's, a small share of an SpMV from the host. Cases with
    another merge than in the paper are left out.
    """
    cases_by_place = _cases(data)
    if not cases_by_place:
        return [statement.unjudged() for statement in STATEMENTS]
    return [
        conclusion
        for place, cases in cases_by_place.items()
        for statement in STATEMENTS
        for conclusion in statement.conclusions(cases, data, _papers(statement), *place)
    ]


def table(data: StudyData) -> Table:
    """Return a table with one row per statement, scope, machine, and cache state."""
    return table_of(conclusions(data))


def _papers(statement: Statement[DeviceCase]) -> Callable[[DeviceCase], bool]:
    """Return the function that says whether a case has a matrix on which the paper makes the statement."""
    return _is_figure_19 if statement in MERGE_SHARES else _is_papers


def _is_papers(case: DeviceCase) -> bool:
    return is_papers(case.matrix)


def _is_figure_19(case: DeviceCase) -> bool:
    known = paper_matrix(case.matrix.name)
    return known is not None and known.name == FIGURE_19


def _cases(data: StudyData) -> dict[tuple[str, str], list[tuple[str, DeviceCase]]]:
    """Return pairs of (name, case) by (machine, cache): SpMV from the host and resident SpMV with Sparsight kernels."""
    groups = [group for group in work_groups(data, (COLD, RESIDENT)) if group.ranked(group.most)]
    peers: dict[tuple[str, str, str, str], dict[str, WorkGroup]] = {}
    for group in groups:
        peers.setdefault(_key(group), {})[group.partitioning] = group
    cases: dict[tuple[str, str], list[tuple[str, DeviceCase]]] = {}
    for group in groups:
        made = [
            DeviceCase(data.matrix(group.matrix_id), group, devices, peers[_key(group)])
            for devices in _numbers(group, data)
        ]
        cases.setdefault((group.machine, group.cache), []).extend((case.name, case) for case in made)
    return cases


def _key(group: WorkGroup) -> tuple[str, str, str, str]:
    return group.matrix_id, group.device, group.cache, group.work


def _numbers(group: WorkGroup, data: StudyData) -> list[int]:
    """Return the numbers of devices with a Sparsight kernel, ascending; only the user's if it is one of them."""
    timed = {m.details.devices or 0 for series in group.series if not series.competitor for m in series.ranked}
    chosen = data.number(DEVICES)
    return [chosen] if chosen in timed else sorted(timed)
