"""The tables of study `scaling`: speed-ups, what partitioning and merging take, imbalance, iterations."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from gpu_engine.findings.scaling.cases import COLD, ITERATE, PAGERANK, RESIDENT, imbalance, share_of
from gpu_engine.findings.scaling.groups import BASELINE, PRODUCT, Series, WorkGroup, work_groups
from gpu_engine.findings.scaling.sentences import PAPER_GAINS, VIRTUAL_CAVEAT
from gpu_engine.gpu_bench.markdown import BenchmarkData, Section, Tables, ms, number, section
from gpu_engine.records import Measurement

TITLES = {
    COLD: "Cold products",
    RESIDENT: "Resident products",
    ITERATE: "Iterations",
    PAGERANK: "Iterations of PageRank",
}

OVER = f"Over {BASELINE} on one device, of the same matrix and partitioning"

AXES: Mapping[str, Mapping[str, str]] = {
    COLD: {"merge": "merge"},
    RESIDENT: {"equal": "cut"},
    ITERATE: {"exchange": "exchange", "overlap": "overlap"},
    PAGERANK: {"exchange": "exchange", "overlap": "overlap"},
}
"""Of each work: axes of its cases, by the heads of their columns."""

Curve = tuple[WorkGroup, Series]


def speedups(data: BenchmarkData) -> Iterator[Section]:
    """The time on one device, and the speed-up on more; of products from the host over the baseline on one."""
    for work, title in TITLES.items():
        common = work == COLD
        found = [curve for curve in _curves(data, work) if curve[1].base]
        counts = [count for count in _counts(found) if count > 1 or common]
        rows = (
            (*_names(data, group, series), ms(_seconds(series.base)), *_row(series, counts, _speedup(group)))
            for group, series in found
        )
        paper = f"{OVER}; {PAPER_GAINS} (Figures 21 to 23)." if common else ""
        virtual = VIRTUAL_CAVEAT if any(group.virtual for group, _ in found) else ""
        heads = f"{_heads(work)} | on one, ms{_on(counts)}"
        yield from section(f"{title}: speed-up", heads, rows, paper, virtual)


def _speedup(group: WorkGroup) -> Callable[[Series, Measurement], str]:
    return lambda series, m: number(gain.value if (gain := group.gain(series, m)) else None)


def _seconds(m: Measurement | None) -> float | None:
    return m.median_s if m else None


def overheads(data: BenchmarkData) -> Iterator[Section]:
    """What partitioning, distributing and merging take of cold products."""
    found = _curves(data, COLD)
    counts = _counts(found)
    for title, phases in (
        ("partition and distribute, share of the time (Figure 16)", ("partition", "distribute")),
        ("partition alone, share of the time", ("partition",)),
        ("merge, share of the time (Figure 19)", ("merge",)),
    ):
        rows = ((*_names(data, *curve), *_row(curve[1], counts, _share(*phases))) for curve in found)
        yield from section(f"{TITLES[COLD]}: {title}", f"{_heads(COLD)}{_on(counts)}", rows)


def _share(*phases: str) -> Callable[[Series, Measurement], str]:
    return lambda _, m: f"{share_of(m, *phases) or 0.0:.1%}"


def imbalances(data: BenchmarkData) -> Iterator[Section]:
    """Figure 6, of equal lines beside equal nonzeros: what the largest part allows, and what is measured."""
    heads = "matrix | partitioning | kernel | devices | largest / mean | speed allowed | measured"
    for work in (COLD, RESIDENT):
        rows = []
        for group, series in _curves(data, work):
            for m in series.timed:
                speed, own = group.cut_speed(series, m), imbalance(m) or 1.0
                if speed and (m.details.devices or 0) > 1:
                    cells = str(m.details.devices), number(own), number(1 / own), number(speed)
                    rows.append((*_names(data, group, series)[:3], *cells))
        yield from section(f"{TITLES[work]}: imbalance of equal lines (Figure 6)", heads, rows)


def iterations(data: BenchmarkData) -> Iterator[Section]:
    """Iterations beside their product and exchange by themselves."""
    for work in (ITERATE, PAGERANK):
        rows = (
            (
                *(*_names(data, group, series), str(m.details.devices), ms(m.median_s)),
                *(ms(m.details.phases_s.get(name)) for name in ("compute", "exchange")),
                f"{(m.details.exchanged_bytes or 0) / 1e6:.3f}",
            )
            for group, series in _curves(data, work)
            for m in series.timed
        )
        heads = f"{_heads(work)} | devices | ms | compute ms | exchange ms | exchanged MB"
        yield from section(f"{TITLES[work]}: product and exchange by themselves", heads, rows)


def _curves(data: BenchmarkData, work: str) -> list[Curve]:
    """The kernels of a work with a time on any number of devices."""
    return [(group, series) for group in work_groups(data.study, (work,)) for series in group.series if series.timed]


def _heads(work: str) -> str:
    return " | ".join(("matrix", "partitioning", "kernel", *AXES[work]))


def _names(data: BenchmarkData, group: WorkGroup, series: Series) -> tuple[str, ...]:
    """The first cells of its row, which names the library whose product it is, and what overrides a strategy."""
    options, columns = dict(series.options), AXES[group.work].values()
    others = (f"{name} {value}" for name, value in series.options if name not in (*columns, PRODUCT))
    kernel = ", ".join((series.variant, *others))
    kernel = f"{kernel} ({options[PRODUCT]})" if PRODUCT in options else kernel
    axes = (options[axis] for axis in columns)
    return data.name(group.matrix_id), group.partitioning, kernel, *axes


def _row(series: Series, counts: Sequence[int], cell: Callable[[Series, Measurement], str]) -> list[str]:
    return [cell(series, m) if (m := series.on(count)) else number(None) for count in counts]


def _on(counts: Sequence[int]) -> str:
    return "".join(f" | on {count}" for count in counts)


def _counts(found: Sequence[Curve]) -> list[int]:
    return sorted({m.details.devices or 0 for _, series in found for m in series.timed})


TABLES: Tables = {table.__name__: table for table in (speedups, overheads, imbalances, iterations)}
