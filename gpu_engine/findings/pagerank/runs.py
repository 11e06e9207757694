"""Runs of PageRank: what their kernels and cases say, and which of them may be compared."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache

from gpu_engine.findings.data import KEPT, StudyData
from gpu_engine.findings.finding import gain
from gpu_engine.pagerank import PageRankParams
from gpu_engine.records import Measurement, Trace
from gpu_engine.text.axes import axis_text
from gpu_engine.text.units import scientific

SCHEDULE = ("start_segments", "raise_at", "stall_ratio")
"""The axes of a case that the switch rule knows."""

PARAMETERS = tuple(field.name for field in fields(PageRankParams))
"""The axes that are parameters of PageRank itself; all others say how a kernel went about it."""

SYMBOLS = {"damping": "δ", "epsilon": "ε"}
"""Parameters that have one."""

FP64, FREE = "fp64", "pattern"
UNFUSED = "unfused-"
"""What the precisions of kernels begin with that launch every thing by itself, as the paper does."""

REFINED = ("ir32", "ir64")
"""Those that mend ranks by corrections in so many bits, without matrix values."""

FULL = (FP64, FREE, f"{UNFUSED}{FP64}")
"""Precisions that compute in fp64 from the first iteration on, with matrix values and without."""

PRECISIONS = (
    *(FP64, "fp32", "cpms2", "cpms4"),
    *(FREE, "pattern-cpms2", "pattern-cpms4"),
    *(f"{UNFUSED}{precision}" for precision in (FP64, "cpms2", "cpms4")),
    *REFINED,
    *(f"{how}short-cpms{segments}" for how in ("", f"{FREE}-", UNFUSED) for segments in (2, 4)),
)
"""In the order in which they are compared: what everybody has first."""


@lru_cache
def segments_of(precision: str) -> int:
    """Of a value in that precision: 2 or 4; 0 where values have none."""
    found = re.search(r"cpms(\d)$", precision)
    return int(found[1]) if found else 0


def triangles(triangle: str) -> str:
    """What of the graphs ran where it is not all of them: `lower triangles`; else empty."""
    return "" if triangle == "full" else f"{triangle} triangles"


def in_words(parameter: str, value: str) -> str:
    """A parameter of PageRank that differs from its default: `lower triangle`, `δ 0.9`, `dangling ignore`."""
    if parameter == "triangle":
        return f"{value} triangle"
    return f"{SYMBOLS.get(parameter, parameter.replace('_', ' '))} {value}"


def place_of(device: str, triangle: str) -> str:
    """The device, and what of the graphs ran where it is not all of them."""
    return ", ".join(filter(None, (device, triangles(triangle))))


@dataclass(frozen=True, slots=True)
class Run:
    """A run of PageRank until it converged, or the reason why there is none; trace: None where it has none."""

    measurement: Measurement
    trace: Trace | None = None

    @property
    def layout(self) -> str:
        """`csr/thread` of `csr/thread+cpms4`."""
        return self.measurement.kernel.partition("+")[0]

    @property
    def precision(self) -> str:
        """`fp64`, `fp32`, `cpms4`, `pattern`, `pattern-cpms2` …; empty of another library."""
        return self.measurement.kernel.partition("+")[2]

    @property
    def storage(self) -> str:
        """The precision, whether its kernels are fused or not: what an iteration computes depends on it alone."""
        return self.precision.removeprefix(UNFUSED)

    @property
    def fused(self) -> bool:
        """Whether its kernels do several things at once."""
        return self.storage == self.precision

    @property
    def segments(self) -> int:
        """Of a value: 2 or 4; 0 where values have none."""
        return segments_of(self.precision)

    @property
    def precisions(self) -> int:
        """Those that its iterations are counted by: segments of a value, or 32 and 64 bits of a refinement; 0: one."""
        return 2 if self.precision == REFINED[0] else self.segments

    @property
    def in_fewer_bits(self) -> bool:
        """Whether some iteration wrote fewer bits than there are: a schedule may begin with all of them."""
        return any(self.measurement.details.iterations_by_segments[:-1])

    @property
    def is_adaptive(self) -> bool:
        """Whether its precision adapts as in the CPMS paper: some iteration reads fewer segments of values."""
        return self.segments > 0 and self.in_fewer_bits

    @property
    def is_refined(self) -> bool:
        """Whether it refines the ranks iteratively: corrections in 32 or 64 bits, and no segments."""
        return self.precision in REFINED

    @property
    def parameters(self) -> str:
        """Parameters of PageRank that differ from their defaults, in words; runs compare where these are equal."""
        return ", ".join(in_words(name, value) for name, value in self.measurement.axes.items() if name in PARAMETERS)

    def array(self, name: str) -> tuple[float, ...]:
        """An array of the trace; empty where it has none."""
        return tuple(self.trace.arrays.get(name, ())) if self.trace else ()


@dataclass(frozen=True)
class RunGroup:
    """The runs that may be compared: of one matrix, on one device, with the same parameters of PageRank.

    runs  the fastest first, then those without a time
    """

    matrix_id: str
    device: str
    parameters: str
    runs: tuple[Run, ...]

    @property
    def axes(self) -> dict[str, str]:
        """The parameters of PageRank that differ from their defaults, by name."""
        return {name: value for name, value in self.runs[0].measurement.axes.items() if name in PARAMETERS}

    @property
    def place(self) -> str:
        """The device, and whether the graphs are lower triangles, as the paper's are: means are of one place."""
        return place_of(self.device, self.triangle)

    @property
    def triangle(self) -> str:
        """Of the matrices: `full`, or `lower` of their triangles."""
        return self.axes.get("triangle", "full")

    @cached_property
    def timed(self) -> tuple[Run, ...]:
        """The runs with a time."""
        return tuple(run for run in self.runs if run.measurement.median_s)

    @cached_property
    def converged(self) -> tuple[Run, ...]:
        """Those of them that came under ε: the others' times are of nothing."""
        return tuple(run for run in self.timed if run.measurement.state == "ok")

    @property
    def fastest_full(self) -> Run | None:
        """The fastest run in fp64 that converged: what every claim is held against."""
        return next((run for run in self.converged if run.precision in FULL), None)

    def fastest(self, kind: Callable[[Run], bool], n: int) -> Run | None:
        """The fastest run of a kind whose ranks of n pages are right: the one that every sentence speaks of."""
        return next((run for run in self.converged if kind(run) and is_right(run, n)), None)

    def plain(self, run: Run) -> Run | None:
        """The run of the same kernel in fp64 that converged, without values or unfused as the run is."""
        without = run.is_refined or run.precision.startswith(f"{FREE}-")
        wanted = FREE if without else FP64 if run.fused else f"{UNFUSED}{FP64}"
        return next((r for r in self.converged if (r.layout, r.precision) == (run.layout, wanted)), None)

    def bound(self, run: Run) -> float | None:
        """Compulsory bytes of the same kernel in fp64 over those of the run; None without both."""
        base, roofline_s = self.plain(run), run.measurement.roofline_s
        return base.measurement.roofline_s / roofline_s if base and base.measurement.roofline_s and roofline_s else None

    def fused(self, run: Run) -> Run | None:
        """The run of the fused kernels that converged, in the precision and schedule of one that is not; else None."""
        wanted = run.layout, run.storage, run.measurement.axes
        found = ((r, (r.layout, r.precision, r.measurement.axes)) for r in self.converged)
        return None if run.fused else next((r for r, own in found if own == wanted), None)

    def label(self, run: Run) -> str:
        """The kernel, and of several schedules of it what sets this one apart: `csr/thread+cpms4, start segments 2`."""
        namesakes = [r.measurement.axes for r in self.runs if r.measurement.kernel == run.measurement.kernel]
        names = [name for name in run.measurement.axes if name not in PARAMETERS]
        apart = [name for name in names if len({axes.get(name) for axes in namesakes}) > 1]
        return ", ".join((run.measurement.kernel, *(axis_text(name, run.measurement.axes[name]) for name in apart)))


@lru_cache(KEPT)
def run_groups(shown: StudyData) -> tuple[RunGroup, ...]:
    """The groups in order of appearance."""
    found: dict[tuple[str, str, str], list[Run]] = {}
    for m in shown.measurements:
        run = Run(m, shown.traces.get((m.device, m.case)))
        found.setdefault((m.matrix_id, m.device, run.parameters), []).append(run)
    return tuple(RunGroup(*place, tuple(sorted(runs, key=_fastest_first))) for place, runs in found.items())


def _fastest_first(run: Run) -> tuple[bool, float]:
    return run.measurement.median_s is None, run.measurement.median_s or 0.0


def by_precision(run: Run) -> tuple[int, str]:
    """A sort key: in the order of PRECISIONS, others last."""
    known = run.precision in PRECISIONS
    return PRECISIONS.index(run.precision) if known else len(PRECISIONS), run.measurement.case


def speed_up(base: Run | None, run: Run | None) -> float | None:
    """How many times as fast as `base`; None without two times."""
    return gain(base.measurement if base else None, run.measurement if run else None)


def tolerance(run: Run, n: int) -> float:
    """What the residual of a run of n pages may be in L1 when its γ has come under ε.

    ‖v‖₁ ≤ √n·‖v‖₂ and ‖v‖₁ ≤ n·‖v‖∞.
    """
    epsilon = float(run.measurement.axes.get("epsilon", PageRankParams().epsilon))
    return epsilon * {"L2": math.sqrt(n), "Linf": float(n)}.get(run.measurement.axes.get("norm", "L1"), 1.0)


def is_right(run: Run, n: int) -> bool:
    """Whether another iteration would change the ranks of n pages by less than ε."""
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
"""What may beat fp64, by the words that every sentence has for it."""


def has_right_ranks(run: Run, shown: StudyData) -> bool:
    """`is_right` with the pages of the matrix that is shown."""
    return is_right(run, shown.matrix(run.measurement.matrix_id).n_rows)


def by_segments(counts: Sequence[int]) -> str:
    """Iterations that wrote 1, 2 … segments: `1/46/61/5`."""
    return "/".join(str(count) for count in counts)


def power(value: float | None) -> str:
    """A small number to two digits: `8.1·10⁻¹¹`; as it is where a power of ten would not be shorter."""
    if value is None or not math.isfinite(value):
        return "–"
    if value == 0 or 0.01 <= value < 1000:
        return f"{value:.2g}"
    return scientific(value)
