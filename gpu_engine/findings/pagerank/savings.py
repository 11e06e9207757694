"""Speedup of mantissa segments over the same kernel in fp64, over all graphs: complete runs and single pulls."""

from collections.abc import Iterator

from gpu_engine.findings.comparisons import SPREAD, spread
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank.pulls import pull_gains, pull_times
from gpu_engine.findings.pagerank.runs import FP64, Run, RunGroup, run_groups, speed_up, triangles
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import MISSING, percent, ratio, seconds

READ = (1, 2, 3)
"""Numbers of segments that a pull on fewer bits than fp64 reads."""

BOUND_MIN = 1.005
"""Least upper bound by bytes for which a share of the saving is computed."""

USUAL = {"raise_at": "16", "start_segments": "1"}
"""Schedule of the paper, as axes."""

FASTEST = "two segments, in the layout that is fastest in fp64 on each graph"
"""Name of the row over the best layout of each graph."""

Values = dict[str, list[tuple[str, float]]]
"""Pairs of (graph, number) by run."""


def savings(data: StudyData) -> Table:
    """Return a table with one row per kernel and final storage: speedup of complete runs and share of the saving."""
    gains: Values = {}
    shares: Values = {}
    for group in run_groups(data):
        for run in usual(group):
            gain, bound = speed_up(group.plain(run), run), group.bound(run)
            if gain:
                name = _name(group, f"{run.measurement.kernel}, {run.measurement.axes['final_storage']} at the end")
                graph = data.matrix(group.matrix_id).name
                gains.setdefault(name, []).append((graph, gain))
                of = shares.setdefault(name, [])
                of += [(graph, (gain - 1) / (bound - 1))] if bound and bound > BOUND_MIN else []
    heads = (Head(f"{what}, {head.text}", head.unit) for what in ("speedup", "share of the saving") for head in SPREAD)
    rows = (
        (name, str(len(gains[name])), *spread(gains[name]), *spread(shares[name], percent)) for name in sorted(gains)
    )
    return Table((Head("run", numeric=False), Head("graphs"), *heads), tuple(rows))


def pull_means(data: StudyData) -> Table:
    """Return a table with one row per kernel: speedup of a pull that reads only the first segment."""
    speedups: Values = {}
    for group in run_groups(data):
        full = next((run for run in group.timed if run.precision == FP64), None)
        for kernel, run in _by_kernel(group).items():
            gain = pull_gains(group.plain(run), run).get(1)
            is_fastest = full is not None and group.triangle == "full" and kernel == f"{full.layout}+cpms2"
            for name in (_name(group, kernel), *([FASTEST] if is_fastest else [])):
                speedups.setdefault(name, []).extend([(data.matrix(group.matrix_id).name, gain.gain)] if gain else [])
    rows = ((name, str(len(speedups[name])), *spread(speedups[name])) for name in sorted(speedups) if speedups[name])
    return Table((Head("run", numeric=False), Head("graphs"), *SPREAD), tuple(rows))


def pulls(data: StudyData) -> Table:
    """Return a table with one row per graph and kernel: speedup of a pull and of the probe, by segments read."""
    rows = []
    for group in run_groups(data):
        for kernel, run in _by_kernel(group).items():
            full = group.plain(run)
            gains, whole = pull_gains(full, run), pull_times(full).get(0) if full else None
            reads = [gains.get(read) if read < run.segments else None for read in READ]
            cells = (f"{ratio(r.gain)}{f' of {ratio(r.bound)}' if r.bound else ''}" if r else MISSING for r in reads)
            if whole:
                rows.append((_name(group, data.matrix(group.matrix_id).name), kernel, seconds(whole.time_s), *cells))
    heads = (Head("graph", numeric=False), Head("kernel", numeric=False), Head("pull", "in fp64"))
    return Table((*heads, *(Head("speedup of the probe’s", f"{read} read") for read in READ)), tuple(rows))


def usual(group: RunGroup) -> Iterator[Run]:
    """Yield the timed runs with segments and the schedule of the paper, with any final storage."""
    for run in group.timed:
        axes = run.measurement.axes
        if run.segments and all(axes.get(name, value) == value for name, value in USUAL.items()):
            yield run


def _by_kernel(group: RunGroup) -> dict[str, Run]:
    """Return the run by kernel; of two final storages the faster, because pulls do not depend on it."""
    return {run.measurement.kernel: run for run in reversed([*usual(group)])}


def _name(group: RunGroup, name: str) -> str:
    """Return the name, with `lower triangles` if only these ran."""
    return ", ".join(filter(None, (name, triangles(group.triangle))))
