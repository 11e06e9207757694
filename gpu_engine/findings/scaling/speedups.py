"""Tables of a workload over all matrices: time, speedup, and phases of every case."""

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.scaling.cases import COLD, EXCHANGE, IN_PHASES, WORKS, hidden_share, phases_of, share_of
from gpu_engine.findings.scaling.groups import WorkGroup, work_groups
from gpu_engine.findings.scaling.series import BASELINE, Series, option_text
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from gpu_engine.verdicts.verdict import verdict_text

HEADS = (Head("matrix", numeric=False), Head("kernel", numeric=False), Head("devices"), Head("time", "median"))

SHARES = (("partition",), ("partition", "distribute"), ("merge",))
"""Sets of phases whose share of the time the paper reports in Figures 16 and 19."""


def tables(data: StudyData) -> list[tuple[str, Table]]:
    """Return a table per workload, with one row per kernel and number of devices; COLD is over BASELINE on one."""
    return [(work, _table(groups, data)) for work in WORKS if (groups := work_groups(data, (work,)))]


def _table(groups: list[WorkGroup], data: StudyData) -> Table:
    is_cold = groups[0].work == COLD
    cases = [(group, series, m) for group in groups for series in group.series for m in series.timed]
    names = [name for name in IN_PHASES if any(name in phases_of(m) for *_, m in cases)]
    over = f"over {BASELINE} on one" if is_cold else "over one device"
    shares = SHARES if is_cold else ()
    moves = (Head("exchange", "hidden"), Head("exchanged")) if EXCHANGE in names else ()
    heads = (*HEADS, Head("speedup", over), Head("verdict", numeric=False), *map(Head, names))
    rows = []
    for group, series, m in cases:
        gain, phases = group.gain(series, m), phases_of(m)
        cells = units.ratio(gain.value if gain else None), verdict_text(gain.kind) if gain else units.MISSING
        times = (units.seconds(phases.get(name)) for name in names)
        parts = (units.percent(share_of(m, *share)) for share in shares)
        moved = (units.percent(hidden_share(m)), units.size(m.details.exchanged_bytes)) if moves else ()
        rows.append((*_names(group, series, m, data), *cells, *times, *parts, *moved))
    return Table((*heads, *(Head(" and ".join(share), "share") for share in shares), *moves), tuple(rows))


def _names(group: WorkGroup, series: Series, m: Measurement, data: StudyData) -> tuple[str, ...]:
    """Return the cells under HEADS: matrix, kernel with all options of its case, devices, and time."""
    kernel = ", ".join((series.kernel, *(option_text(name, value) for name, value in series.options)))
    return data.matrix(group.matrix_id).name, kernel, units.count(m.details.devices), units.seconds(m.median_s)
