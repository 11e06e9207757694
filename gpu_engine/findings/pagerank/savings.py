"""What segments gain over the same kernel in fp64, over all graphs: whole runs, and products of their iterations."""

from collections.abc import Iterator

from gpu_engine.findings.comparisons import SPREAD, spread
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank.pulls import pull_gains, pull_times
from gpu_engine.findings.pagerank.runs import FP64, Run, RunGroup, run_groups, speed_up, triangles
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import MISSING, percent, ratio, seconds

READ = (1, 2, 3)
"""Segments that a product on fewer bits than fp64 reads."""

BOUND_MIN = 1.005
"""Bytes that save no more allow nothing that could be shared."""

USUAL = {"raise_at": "16", "start_segments": "1"}
"""The schedule of the paper, as axes."""

FASTEST = "the layout that is fastest in fp64 with values, each graph its own, two segments"

Values = dict[str, list[tuple[str, float]]]
"""(graph, number) by run."""


def savings(data: StudyData) -> Table:
    """Return a row per kernel and end: speed-ups of whole runs, and the share of what the bytes allow to save."""
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
    heads = (Head(f"{what}, {head.text}", head.unit) for what in ("speed-up", "share of the saving") for head in SPREAD)
    rows = (
        (name, str(len(gains[name])), *spread(gains[name]), *spread(shares[name], percent)) for name in sorted(gains)
    )
    return Table((Head("run", numeric=False), Head("graphs"), *heads), tuple(rows))


def pull_means(data: StudyData) -> Table:
    """Return a row per kernel: how many times as fast as in fp64 a product on the first segment alone is."""
    found: Values = {}
    for group in run_groups(data):
        full = next((run for run in group.timed if run.precision == FP64), None)
        for kernel, run in _by_kernel(group).items():
            gain = pull_gains(group.plain(run), run).get(1)
            is_fastest = full is not None and group.triangle == "full" and kernel == f"{full.layout}+cpms2"
            for name in (_name(group, kernel), *([FASTEST] if is_fastest else [])):
                found.setdefault(name, []).extend([(data.matrix(group.matrix_id).name, gain.gain)] if gain else [])
    rows = ((name, str(len(found[name])), *spread(found[name])) for name in sorted(found) if found[name])
    return Table((Head("run", numeric=False), Head("graphs"), *SPREAD), tuple(rows))


def pulls(data: StudyData) -> Table:
    """Return a row per graph and kernel: products over those in fp64 by the segments read, and the probe's ratio."""
    rows = []
    for group in run_groups(data):
        for kernel, run in _by_kernel(group).items():
            full = group.plain(run)
            found, whole = pull_gains(full, run), pull_times(full).get(0) if full else None
            reads = [found.get(read) if read < run.segments else None for read in READ]
            cells = (f"{ratio(r.gain)}{f' of {ratio(r.bound)}' if r.bound else ''}" if r else MISSING for r in reads)
            if whole:
                rows.append((_name(group, data.matrix(group.matrix_id).name), kernel, seconds(whole.time_s), *cells))
    heads = (Head("graph", numeric=False), Head("kernel", numeric=False), Head("product", "in fp64"))
    return Table((*heads, *(Head("speed-up of the probe’s", f"{read} read") for read in READ)), tuple(rows))


def usual(group: RunGroup) -> Iterator[Run]:
    """Yield the timed runs with segments and the schedule of the paper, whatever becomes of values at the end."""
    for run in group.timed:
        axes = run.measurement.axes
        if run.segments and all(axes.get(name, value) == value for name, value in USUAL.items()):
            yield run


def _by_kernel(group: RunGroup) -> dict[str, Run]:
    """The faster of two ends: the products of a kernel do not depend on them."""
    return {run.measurement.kernel: run for run in reversed([*usual(group)])}


def _name(group: RunGroup, name: str) -> str:
    """With what of the graphs ran where it is not all of them."""
    return ", ".join(filter(None, (name, triangles(group.triangle))))
