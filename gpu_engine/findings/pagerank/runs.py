"""PageRank runs: properties of their kernels and cases, and groups of comparable runs."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache

from gpu_engine.findings.data import FINDINGS_CACHED, StudyData
from gpu_engine.findings.finding import gain
from gpu_engine.pagerank import PageRankParams
from gpu_engine.records import Measurement, Trace
from gpu_engine.text.axes import axis_text
from gpu_engine.text.units import scientific

SCHEDULE = ("start_segments", "raise_at", "stall_ratio")
"""Axes of the precision schedule."""

PARAMETERS = tuple(field.name for field in fields(PageRankParams))
"""Axes that are parameters of PageRank itself; all other axes are options of the kernel."""

SYMBOLS = {"damping": "δ", "epsilon": "ε"}
"""Symbols of parameters."""

FP64, FREE = "fp64", "pattern"
UNFUSED = "unfused-"
"""Prefix of the precisions of unfused kernels, as in the paper."""

REFINED = ("ir32", "ir64")
"""Precisions of iterative refinement: corrections in 32 or 64 bits, without matrix values."""

FULL = (FP64, FREE, f"{UNFUSED}{FP64}")
"""Precisions that compute in fp64 in all iterations, with or without matrix values."""

PRECISIONS = (
    *(FP64, "fp32", "cpms2", "cpms4"),
    *(FREE, "pattern-cpms2", "pattern-cpms4"),
    *(f"{UNFUSED}{precision}" for precision in (FP64, "cpms2", "cpms4")),
    *REFINED,
    *(f"{how}short-cpms{segments}" for how in ("", f"{FREE}-", UNFUSED) for segments in (2, 4)),
)
"""All precisions in the order of the page, the common ones first."""


@lru_cache
def segments_of(precision: str) -> int:
    """Return the number of segments of a value in a precision: 2 or 4; 0 without segments."""
    match = re.search(r"cpms(\d)$", precision)
    return int(match[1]) if match else 0


def triangles(triangle: str) -> str:
    """Return `lower triangles` if only these ran; empty for whole matrices."""
    return "" if triangle == "full" else f"{triangle} triangles"


def in_words(parameter: str, value: str) -> str:
    """Return the text of a non-default PageRank parameter: `lower triangle`, `δ 0.9`, `dangling ignore`."""
    if parameter == "triangle":
        return f"{value} triangle"
    return f"{SYMBOLS.get(parameter, parameter.replace('_', ' '))} {value}"


def place_of(device: str, triangle: str) -> str:
    """Return the device, with `lower triangles` if only these ran."""
    return ", ".join(filter(None, (device, triangles(triangle))))


@dataclass(frozen=True, slots=True)
class Run:
    """A PageRank run, or the reason why there is none; trace: its arrays per iteration, None without."""

    measurement: Measurement
    trace: Trace | None = None

    @property
    def layout(self) -> str:
        """Layout and thread mapping: `csr/thread` of `csr/thread+cpms4`."""
        return self.measurement.kernel.partition("+")[0]

    @property
    def precision(self) -> str:
        """Precision: `fp64`, `fp32`, `cpms4`, `pattern`, `pattern-cpms2` …; empty for another library."""
        return self.measurement.kernel.partition("+")[2]

    @property
    def storage(self) -> str:
        """Precision without the prefix of unfused kernels; it determines the result of an iteration."""
        return self.precision.removeprefix(UNFUSED)

    @property
    def fused(self) -> bool:
        """Whether its kernels are fused."""
        return self.storage == self.precision

    @property
    def segments(self) -> int:
        """Number of segments of a value: 2 or 4; 0 without segments."""
        return segments_of(self.precision)

    @property
    def precisions(self) -> int:
        """Number of precisions that its iterations are counted by: segments, or 2 for `ir32`; 0 for a single one."""
        return 2 if self.precision == REFINED[0] else self.segments

    @property
    def in_fewer_bits(self) -> bool:
        """Whether some iteration wrote fewer than all bits; a schedule may start with all of them."""
        return any(self.measurement.details.iterations_by_segments[:-1])

    @property
    def is_adaptive(self) -> bool:
        """Whether its precision is adaptive as in the CPMS paper: some iteration reads fewer segments."""
        return self.segments > 0 and self.in_fewer_bits

    @property
    def is_refined(self) -> bool:
        """Whether it uses iterative refinement: corrections in 32 or 64 bits, without segments."""
        return self.precision in REFINED

    @property
    def parameters(self) -> str:
        """Non-default PageRank parameters as text; only runs with equal parameters are compared."""
        return ", ".join(in_words(name, value) for name, value in self.measurement.axes.items() if name in PARAMETERS)

    def array(self, name: str) -> tuple[float, ...]:
        """Return an array of the trace; empty if it has none."""
        return tuple(self.trace.arrays.get(name, ())) if self.trace else ()


@dataclass(frozen=True)
class RunGroup:
    """Comparable runs: one matrix, one device, equal PageRank parameters.

    runs  the fastest first, those without a time last
    """

    matrix_id: str
    device: str
    parameters: str
    runs: tuple[Run, ...]

    @property
    def axes(self) -> dict[str, str]:
        """Non-default PageRank parameters by name."""
        return {name: value for name, value in self.runs[0].measurement.axes.items() if name in PARAMETERS}

    @property
    def place(self) -> str:
        """Device, with `lower triangles` if only these ran; means are over the graphs of one place."""
        return place_of(self.device, self.triangle)

    @property
    def triangle(self) -> str:
        """Part of the matrices: `full` or `lower`."""
        return self.axes.get("triangle", "full")

    @cached_property
    def timed(self) -> tuple[Run, ...]:
        """Runs with a time."""
        return tuple(run for run in self.runs if run.measurement.median_s)

    @cached_property
    def converged(self) -> tuple[Run, ...]:
        """Timed runs that converged (γ < ε); the times of the others have no meaning."""
        return tuple(run for run in self.timed if run.measurement.state == "ok")

    @property
    def fastest_full(self) -> Run | None:
        """Fastest converged run in fp64, the baseline of all comparisons."""
        return next((run for run in self.converged if run.precision in FULL), None)

    def fastest(self, kind: Callable[[Run], bool], n: int) -> Run | None:
        """Return the fastest run of a kind with verified ranks of n pages; None if there is none."""
        return next((run for run in self.converged if kind(run) and is_right(run, n)), None)

    def plain(self, run: Run) -> Run | None:
        """Return the converged fp64 run of the same kernel, pattern-only or unfused like the run; None without one."""
        without = run.is_refined or run.precision.startswith(f"{FREE}-")
        precision = FREE if without else FP64 if run.fused else f"{UNFUSED}{FP64}"
        return next((r for r in self.converged if (r.layout, r.precision) == (run.layout, precision)), None)

    def bound(self, run: Run) -> float | None:
        """Return the upper bound of the speedup: compulsory bytes in fp64 / those of the run; None without both."""
        base, roofline_s = self.plain(run), run.measurement.roofline_s
        return base.measurement.roofline_s / roofline_s if base and base.measurement.roofline_s and roofline_s else None

    def fused(self, run: Run) -> Run | None:
        """Return the converged run of the fused kernels that matches an unfused run; None without one."""
        key = run.layout, run.storage, run.measurement.axes
        keys = ((r, (r.layout, r.precision, r.measurement.axes)) for r in self.converged)
        return None if run.fused else next((r for r, fused_key in keys if fused_key == key), None)

    def label(self, run: Run) -> str:
        """Return the kernel, with the options that distinguish its schedules: `csr/thread+cpms4, start segments 2`."""
        namesakes = [r.measurement.axes for r in self.runs if r.measurement.kernel == run.measurement.kernel]
        names = [name for name in run.measurement.axes if name not in PARAMETERS]
        distinct = [name for name in names if len({axes.get(name) for axes in namesakes}) > 1]
        return ", ".join((run.measurement.kernel, *(axis_text(name, run.measurement.axes[name]) for name in distinct)))


@lru_cache(FINDINGS_CACHED)
def run_groups(data: StudyData) -> tuple[RunGroup, ...]:
    """Return the groups in order of appearance."""
    runs_by_key: dict[tuple[str, str, str], list[Run]] = {}
    for m in data.measurements:
        run = Run(m, data.traces.get((m.device, m.case)))
        runs_by_key.setdefault((m.matrix_id, m.device, run.parameters), []).append(run)
    return tuple(RunGroup(*key, tuple(sorted(runs, key=_fastest_first))) for key, runs in runs_by_key.items())


def _fastest_first(run: Run) -> tuple[bool, float]:
    return run.measurement.median_s is None, run.measurement.median_s or 0.0


def by_precision(run: Run) -> tuple[int, str]:
    """Return a sort key: position in PRECISIONS, others last."""
    known = run.precision in PRECISIONS
    return PRECISIONS.index(run.precision) if known else len(PRECISIONS), run.measurement.case


def speed_up(base: Run | None, run: Run | None) -> float | None:
    """Return the speedup over `base` (above 1 is faster); None without two times."""
    return gain(base.measurement if base else None, run.measurement if run else None)


def tolerance(run: Run, n: int) -> float:
    """Return the largest valid residual (L1) of a converged run of n pages (γ < ε in its norm).

    Follows from ‖v‖₁ ≤ √n·‖v‖₂ and ‖v‖₁ ≤ n·‖v‖∞.
    """
    epsilon = float(run.measurement.axes.get("epsilon", PageRankParams().epsilon))
    return epsilon * {"L2": math.sqrt(n), "Linf": float(n)}.get(run.measurement.axes.get("norm", "L1"), 1.0)


def is_right(run: Run, n: int) -> bool:
    """Return whether the ranks of n pages are verified: another iteration would change them by less than ε."""
    residual = run.measurement.details.residual
    return run.measurement.state == "ok" and residual is not None and residual < tolerance(run, n)


def is_adaptive(run: Run) -> bool:
    """Return `run.is_adaptive`, as a kind of `RunGroup.fastest`."""
    return run.is_adaptive


def is_refined(run: Run) -> bool:
    """Return `run.is_refined`, as a kind of `RunGroup.fastest`."""
    return run.is_refined


KINDS: Mapping[str, Callable[[Run], bool]] = {
    "adaptive precision": is_adaptive,
    "iterative refinement": is_refined,
}
"""Kinds of runs compared with fp64, by their name in all sentences."""


def has_right_ranks(run: Run, data: StudyData) -> bool:
    """Return `is_right` for the number of pages of the run's matrix."""
    return is_right(run, data.matrix(run.measurement.matrix_id).n_rows)


def by_segments(counts: Sequence[int]) -> str:
    """Return the numbers of iterations that wrote 1, 2 … segments: `1/46/61/5`."""
    return "/".join(str(count) for count in counts)


def power(value: float | None) -> str:
    """Return a small number with two digits: `8.1·10⁻¹¹`, or `0.012` if a power of ten would not be shorter."""
    if value is None or not math.isfinite(value):
        return "–"
    if value == 0 or 0.01 <= value < 1000:
        return f"{value:.2g}"
    return scientific(value)
