"""The tables of the PageRank benchmark, in Markdown: every figure is computed from the records."""

from collections.abc import Callable, Iterator, Sequence
from statistics import geometric_mean, median

from gpu_engine.gpu_bench.markdown import table
from gpu_engine.gpu_bench.subjects import Subject
from gpu_engine.recordings import MatrixRecord, Recording
from gpu_engine.records import Measurement, Trace

CUGRAPH_COPY = 4.30e12
CUGRAPH: dict[str, tuple[float, float]] = {
    "del20, ones": (213e-6, 4.7e-3),
    "del22, ones": (397e-6, 8.7e-3),
    "rgg20, ones": (224e-6, 24.5e-3),
    "rgg22, ones": (485e-6, 51.4e-3),
    "rmat20, ones": (378e-6, 5.9e-3),
    "road16m, ones": (662e-6, 44.0e-3),
    "web1m, links": (308e-6, 21.8e-3),
    "web10m, links": (1246e-6, 56.8e-3),
}
"""cuGraph 26.10 in fp64 on an H200 whose copy reached CUGRAPH_COPY bytes/s: seconds an iteration, and to 1e-10."""

FP64 = {"cpms2": "fp64", "cpms4": "fp64", "free-cpms2": "free", "free-cpms4": "free"}
"""The precision that each is held against."""


class Runs:
    """The runs of a recording by graph, with their traces; those under `usual` have the schedule of the paper."""

    def __init__(self, recording: Recording) -> None:
        self.matrices = recording.matrices
        self.profile = recording.profile
        self._traces = {trace.case: trace for trace in recording.traces}
        self._timed = [m for m in recording.measurements if m.median_s is not None]

    def of(self, matrix: MatrixRecord, kernel: str = "") -> list[Measurement]:
        """All runs of a graph that have a time, of one kernel or all."""
        return [m for m in self._timed if m.matrix_id == matrix.id and kernel in ("", m.kernel)]

    def usual(self, matrix: MatrixRecord, kernel: str) -> Measurement | None:
        """The run from one segment with near 16; of two ends the faster one."""
        found = [m for m in self.of(matrix, kernel) if not m.axes or m.axes.get("near") == "16"]
        return min((m for m in found if m.axes.get("first", "1") == "1"), key=_time, default=None)

    def trace(self, m: Measurement) -> Trace:
        """The trace of a run."""
        return self._traces[m.case]

    def pull_s(self, m: Measurement, k: int) -> tuple[float, float] | None:
        """Median seconds of the pulls that read and write k segments, and of the probe there; None without such."""
        arrays = self.trace(m).arrays
        rows = zip(arrays["read"], arrays["written"], arrays["pull_s"], arrays["gather_s"], strict=True)
        found = [(pull, gather) for read, written, pull, gather in rows if read == written == k]
        return (median(p for p, _ in found), median(g for _, g in found)) if found else None


def report(_: Sequence[Subject], recording: Recording) -> str:
    """All tables."""
    runs = Runs(recording)
    lines = [f"# PageRank on {recording.device.name}, {recording.created_at}"]
    for part in (_iterations, _pulls, _totals, _fastest, _schedules, _all):
        lines += part(runs)
    return "\n".join(lines) + "\n"


def _time(m: Measurement) -> float:
    return m.median_s or 0.0


def _split(m: Measurement | None) -> str:
    if m is None:
        return "–"
    return f"{' + '.join(map(str, m.iterations_by_segments))} = {m.iterations}"


def _best(runs: Runs, matrix: MatrixRecord, may: Callable[[str], bool]) -> Measurement | None:
    return min((m for m in runs.of(matrix) if may(m.kernel.partition("+")[2])), key=_time, default=None)


def _kernel(m: Measurement) -> tuple[str, str]:
    """(layout with its kernel, precision)."""
    layout, _, precision = m.kernel.partition("+")
    return layout, precision


def _iterations(runs: Runs) -> Iterator[str]:
    """Iterations and whether the ranks are right: the worst over the kernels of a precision."""
    rows = []
    for matrix in runs.matrices:
        chosen = {
            name: next((m for m in (runs.usual(matrix, f"{f}+{name}") for f in LAYOUTS) if m), None)
            for name in ("fp64", "cpms2", "cpms4")
        }
        everything = [m for m in runs.of(matrix) if m.axes.get("near", "16") == "16"]
        worst = [
            f"{max(getattr(m, name) or 0.0 for m in everything):.1e}" if everything else "–"
            for name in ("residual", "distance", "mass_error")
        ]
        fp64 = chosen["fp64"]
        rows.append(
            [
                matrix.name,
                str(matrix.n_rows),
                str(matrix.nnz),
                str(fp64.iterations if fp64 else "–"),
                *(_split(chosen[name]) for name in ("cpms2", "cpms4")),
                *worst,
            ]
        )
    head = "graph | pages | links | fp64 | two segments | four segments | residual | distance to fp64 | mass error"
    yield from table(
        "Iterations by precision; the worst residual, distance and mass of all runs with near 16", head, rows
    )


LAYOUTS = ("split/tile", "sellp/thread", "csr/thread", "ell/thread")


def _pulls(runs: Runs) -> Iterator[str]:
    """Figure 4: pulls on heads against the same kernel in fp64, beside the probe's ratio."""
    rows, gains = [], dict[tuple[str, str], list[float]]()
    for matrix in runs.matrices:
        for layout in LAYOUTS:
            for precision, plain in FP64.items():
                heads, whole = runs.usual(matrix, f"{layout}+{precision}"), runs.usual(matrix, f"{layout}+{plain}")
                if heads is None or whole is None:
                    continue
                fp64 = runs.pull_s(whole, 0)
                cells = [matrix.name, f"{layout}+{precision}", _us(fp64[0] if fp64 else None)]
                for k in (1, 2, 3):
                    found = runs.pull_s(heads, k) if k < int(precision[-1]) else None
                    if found is None or fp64 is None:
                        cells.append("–")
                        continue
                    bound = f" of {fp64[1] / found[1]:.2f}" if found[1] and fp64[1] else ""
                    cells.append(f"{fp64[0] / found[0]:.2f}{bound}")
                    if k == 1 and precision == "cpms2":
                        gains.setdefault((layout, precision), []).append(fp64[0] / found[0])
                rows.append(cells)
    head = "graph | kernel | fp64 µs | 1 segment | 2 segments | 3 segments"
    yield from table(
        "Pulls on the first segments against the same kernel in fp64: ratio of the probe's ratio", head, rows
    )
    for (layout, precision), ratios in gains.items():
        mean, kernel = geometric_mean(ratios), f"{layout}+{precision}"
        yield f"\n{kernel}, one segment: geometric mean {mean:.2f}, lowest {min(ratios):.2f} of {len(ratios)} graphs."
    fastest = [gain for gain in (_gain_of_fastest(runs, matrix) for matrix in runs.matrices) if gain]
    if fastest:
        mean = geometric_mean(fastest)
        yield (
            "\nThe layout that is fastest with values in fp64, each graph its own, two segments, one of them read: "
            f"geometric mean {mean:.2f}, lowest {min(fastest):.2f} of {len(fastest)} graphs."
        )


def _gain_of_fastest(runs: Runs, matrix: MatrixRecord) -> float | None:
    """Pulls on heads against fp64 in the layout whose runs in fp64 are the fastest of those with values."""
    whole = _best(runs, matrix, lambda precision: precision == "fp64")
    heads = runs.usual(matrix, f"{_kernel(whole)[0]}+cpms2") if whole else None
    if whole is None or heads is None:
        return None
    fp64, one = runs.pull_s(whole, 0), runs.pull_s(heads, 1)
    return fp64[0] / one[0] if fp64 and one else None


def _totals(runs: Runs) -> Iterator[str]:
    """Figure 6: whole runs against the same kernel in fp64, beside the bound by bytes."""
    rows, shares = [], dict[str, list[float]]()
    for matrix in runs.matrices:
        for m in runs.of(matrix):
            layout, precision = _kernel(m)
            whole = runs.usual(matrix, f"{layout}+{FP64[precision]}") if precision in FP64 else None
            if whole is None or m.axes.get("near") != "16" or m.axes.get("first") != "1":
                continue
            gain, bound = _time(whole) / _time(m), (whole.floor_s or 0.0) / (m.floor_s or 1.0)
            share = (gain - 1) / (bound - 1) if bound > 1.005 else None
            end = m.axes.get("at_end", "fp64")
            shown = "–" if share is None else f"{share:.2f}"
            rows.append([matrix.name, m.kernel, end, _ms(whole), _ms(m), f"{gain:.3f}", f"{bound:.3f}", shown])
            if share is not None:
                shares.setdefault(f"{m.kernel}, {end}", []).append(share)
    head = "graph | kernel | values at the end | fp64 ms | ms | gain | bound by bytes | share of the saving"
    yield from table("Runs to convergence against the same kernel in fp64", head, rows)
    for name, found in shares.items():
        # A share may be negative: then there is no geometric mean.
        mean = f"geometric mean {geometric_mean(found):.2f}" if min(found) > 0 else f"median {median(found):.2f}"
        yield f"\n{name}: share of the saving: {mean}, lowest {min(found):.2f}, {len(found)} graphs."


def _fastest(runs: Runs) -> Iterator[str]:
    """Ours in fp64 against cuGraph, and what segments add."""
    rows, ratios = [], []
    copy = runs.profile.memory.copy if runs.profile else CUGRAPH_COPY
    for matrix in runs.matrices:
        fp64 = _best(runs, matrix, lambda precision: precision in ("fp64", "free"))
        heads = _best(runs, matrix, lambda precision: "cpms" in precision)
        if fp64 is None:
            continue
        each = _time(fp64) / (fp64.iterations or 1)
        theirs = CUGRAPH.get(matrix.name)
        cells = ["–"] * 3
        if theirs:
            scaled = [seconds * CUGRAPH_COPY / copy for seconds in theirs]
            ratios.append(scaled[0] / each)
            cells = [_us(scaled[0]), f"{ratios[-1]:.2f}", f"{scaled[1] / _time(fp64):.2f}"]
        added = f"{_time(fp64) / _time(heads):.3f} ({heads.kernel})" if heads else "–"
        rows.append([matrix.name, fp64.kernel, _us(each), _ms(fp64), *cells, added])
    head = "graph | fastest in fp64 | µs an iteration | ms | cuGraph µs, scaled | iteration | to 1e-10 | segments add"
    yield from table(f"The fastest run in fp64; cuGraph scaled to a copy of {copy / 1e12:.2f} TB/s", head, rows)
    if ratios:
        mean = geometric_mean(ratios)
        yield f"\nAn iteration of cuGraph over ours: geometric mean {mean:.2f}, lowest {min(ratios):.2f}."


def _schedules(runs: Runs) -> Iterator[str]:
    """Schedules that the paper did not try, of one kernel, against its own."""
    rows = []
    for matrix in runs.matrices:
        for m in runs.of(matrix):
            axes, base = m.axes, runs.usual(matrix, m.kernel)
            if base is None or not axes or (axes["near"], axes["first"]) == ("16", "1"):
                continue
            gain = f"{_time(base) / _time(m):.3f}"
            rows.append([matrix.name, m.kernel, axes["first"], axes["near"], _split(base), _split(m), gain])
    head = "graph | kernel | first | near | iterations, first 1 and near 16 | iterations | time of that over this"
    yield from table("Other schedules", head, rows)


def _all(runs: Runs) -> Iterator[str]:
    """Every run."""
    rows = [
        [matrix.name, m.kernel, ", ".join(f"{k} {v}" for k, v in m.axes.items()), str(m.iterations), _ms(m)]
        for matrix in runs.matrices
        for m in sorted(runs.of(matrix), key=_time)
    ]
    yield from table("All runs, the fastest first", "graph | kernel | schedule | iterations | ms", rows)


def _us(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds * 1e6:.1f}"


def _ms(m: Measurement) -> str:
    return f"{_time(m) * 1e3:.3f}"
