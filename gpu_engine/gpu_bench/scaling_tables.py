"""The tables of the scaling benchmark, in Markdown: every figure is computed from the records."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from gpu_engine.gpu_bench.markdown import table
from gpu_engine.gpu_bench.subjects import Subject
from gpu_engine.recordings import Recording
from gpu_engine.records import Measurement

PAPER_SPEEDUP = "the paper: 5.5 on six V100, 6.2 on eight (Figures 21 to 23)"

Curve = tuple[tuple[str, ...], dict[int, Measurement]]
"""What the records of a curve have in common, and the record of each number of devices."""


def report(_subjects: Sequence[Subject], recording: Recording) -> str:
    """All tables; cold products and those that stay on the devices have tables of their own."""
    timed = [m for m in recording.measurements if m.median_s is not None]
    lines = [f"# Scaling on {recording.device.name}, {recording.created_at}", *_labels(timed)]
    cold = curves(timed, "cold", "merge")
    lines += speedups(f"Cold products: speed-up, {PAPER_SPEEDUP}", "strategy | merge", cold)
    lines += _shares("Cold products: partition and distribute, share of the time (Figure 16)", cold, _partition)
    lines += _shares("Cold products: partition alone, share of the time", cold, lambda m: _phase(m, "partition"))
    lines += _shares("Cold products: merge, share of the time (Figure 19)", cold, lambda m: _phase(m, "merge"))
    lines += _imbalance(cold)
    resident = curves(timed, "resident", "cut")
    lines += speedups("Resident products: speed-up", "kernel | equal", resident)
    lines += _resident_imbalance(resident)
    for title, work in (("Iterations", "iterate"), ("Iterations of PageRank", "pagerank")):
        iterated = curves(timed, work, "exchange", "overlap")
        lines += speedups(f"{title}: speed-up", "kernel | exchange | overlap", iterated)
        lines += _iterations(title, iterated)
    return "\n".join(lines) + "\n"


def curves(timed: Sequence[Measurement], work: str, *axes: str) -> list[Curve]:
    """The records of one work by matrix, partitioning, variant and these axes, with ascending numbers of devices.

    The variant names the library whose products they are, unless they are ours.
    """
    found: dict[tuple[str, ...], dict[int, Measurement]] = {}
    for m in timed:
        given = m.axes
        if given["work"] == work:
            variant = m.kernel.partition("/")[2] + (f" ({given['product']})" if "product" in given else "")
            key = (m.matrix_id, m.partitioning, variant, *(given[axis] for axis in axes))
            found.setdefault(key, {})[int(given["devices"])] = m
    return [(key, dict(sorted(by_count.items()))) for key, by_count in found.items()]


def speedups(title: str, names: str, found: Sequence[Curve]) -> Iterator[str]:
    """The time on one device, and the speed-up over it on more of those with which the curve has a time."""
    counts, rows = [count for count in _counts(found) if count > 1], []
    for key, by_count in found:
        alone = by_count.get(1)
        if alone is not None:
            over = _row(by_count, counts, partial(_speedup, alone))
            rows.append((*key, f"{_time(alone) * 1e3:.3f}", *over))
    if rows:
        yield from table(title, f"matrix | partitioning | {names} | on one, ms{_columns(counts)}", rows)


def _shares(title: str, cold: Sequence[Curve], seconds: Callable[[Measurement], float]) -> Iterator[str]:
    counts = _counts(cold)
    rows = [(*key, *_row(by_count, counts, lambda m: f"{seconds(m) / _time(m):.1%}")) for key, by_count in cold]
    if rows:
        yield from table(title, f"matrix | partitioning | strategy | merge{_columns(counts)}", rows)


def _imbalance(cold: Sequence[Curve]) -> Iterator[str]:
    """Of equal lines, beside equal nonzeros: how fast the devices compute, and what the largest part allows."""
    known = dict(cold)
    rows = []
    for (matrix, partitioning, variant, merge), by_count in cold:
        balanced = known.get((matrix, partitioning, "p*", merge), {})
        for count, m in by_count.items():
            if variant == "baseline" and count > 1 and count in balanced:
                even = balanced[count]
                measured = _phase(even, "compute") / _phase(m, "compute")
                cells = f"{imbalance(m):.2f}", f"{imbalance(even):.2f}", f"{1 / imbalance(m):.2f}", f"{measured:.2f}"
                rows.append((matrix, partitioning, str(count), *cells))
    if rows:
        head = "matrix | partitioning | devices | largest / mean | with p* | speed allowed | measured, of p*"
        yield from table("Imbalance of equal lines (Figure 6)", head, rows)


def _resident_imbalance(resident: Sequence[Curve]) -> Iterator[str]:
    """The same of products that stay on the devices, by their times."""
    known = dict(resident)
    rows = []
    for (*start, cut), by_count in resident:
        balanced = known.get((*start, "entries"), {})
        for count, m in by_count.items():
            if cut == "lines" and count in balanced:
                measured = _time(balanced[count]) / _time(m)
                rows.append((*start, str(count), f"{imbalance(m):.2f}", f"{1 / imbalance(m):.2f}", f"{measured:.2f}"))
    if rows:
        head = "matrix | partitioning | kernel | devices | largest / mean | speed allowed | measured"
        yield from table("Imbalance of equal lines, resident (Figure 6)", head, rows)


def _iterations(title: str, iterated: Sequence[Curve]) -> Iterator[str]:
    rows = []
    for key, by_count in iterated:
        for count, m in by_count.items():
            phases = (f"{_phase(m, name) * 1e3:.3f}" for name in ("compute", "exchange"))
            crossed = f"{(m.exchanged_bytes or 0) / 1e6:.3f}"
            rows.append((*key, str(count), f"{_time(m) * 1e3:.3f}", *phases, crossed))
    if rows:
        names = "matrix | partitioning | kernel | exchange | overlap | devices"
        head = f"{names} | ms | compute ms | exchange ms | exchanged MB"
        yield from table(f"{title}: product and exchange by themselves", head, rows)


def imbalance(m: Measurement) -> float:
    """Largest over mean nonzeros of a device; 1 without entries."""
    total = sum(m.entries_by_device)
    return max(m.entries_by_device) * len(m.entries_by_device) / total if total else 1.0


def _labels(timed: Sequence[Measurement]) -> Iterator[str]:
    """What the records say of their times, each once: that devices are virtual."""
    for note in dict.fromkeys(m.note for m in timed if m.note):
        yield f"\nNote: {note}."


def _speedup(alone: Measurement, m: Measurement) -> str:
    return f"{_time(alone) / _time(m):.2f}"


def _row(by_count: Mapping[int, Measurement], counts: Sequence[int], cell: Callable[[Measurement], str]) -> list[str]:
    return [cell(by_count[count]) if count in by_count else "–" for count in counts]


def _columns(counts: Sequence[int]) -> str:
    return "".join(f" | on {count}" for count in counts)


def _counts(found: Sequence[Curve]) -> list[int]:
    return sorted({count for _, by_count in found for count in by_count})


def _partition(m: Measurement) -> float:
    return _phase(m, "partition") + _phase(m, "distribute")


def _phase(m: Measurement, name: str) -> float:
    return m.phases_s[name]


def _time(m: Measurement) -> float:
    """A median that is known to be there."""
    if m.median_s is None:
        raise RuntimeError(f"{m.case} has no time.")
    return m.median_s
