"""Interim bars: what a running job says so far of one matrix, beside what was predicted. Server-side SVG in a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpu_engine.advisor import ADVISED, can_advise, rank
from gpu_engine.advisor.gpus import Gpu
from gpu_engine.advisor.work import Features
from gpu_engine.findings.finding import interval_head
from gpu_engine.records import Cache, Case
from gpu_engine.rounds import has_interval
from gpu_engine.text import units
from web.palette import style

WIDTH, HEIGHT = 220, 14
"""Pixels of a bar's cell."""

BARS_MAX = 12
SLOWEST = 4.0
"""So many times the shortest time fills a cell; what takes longer ends there."""

JsonInterim = Mapping[str, float | str | bool | None]


@dataclass(frozen=True, slots=True)
class InterimBar:
    """A kernel; bar, low, high and predicted in pixels, None where there is none; texts are of the same numbers.

    stands  `settled` or `open`; empty of one that has not been sampled
    """

    kernel: str
    color: str
    bar: float | None
    low: float | None
    high: float | None
    predicted: float | None
    texts: tuple[str, str, str]
    stands: str


@dataclass(frozen=True, slots=True)
class InterimBars:
    """The picture: bars of one matrix in one cache state, the shortest first; those only predicted come last.

    head  of the column of intervals
    """

    caption: str
    scale: str
    head: str
    width: int
    height: int
    forecast: bool
    bars: tuple[InterimBar, ...]


def matrix_of(interim: Sequence[JsonInterim], current_case: str) -> str:
    """Id of the matrix that the rounds are over, or that is prepared for them; empty between two matrices."""
    key = str(interim[0]["case"]) if interim else current_case
    return Case.parse(key).matrix_id if key else ""


def bars(
    interim: Sequence[JsonInterim], name: str, features: Features, gpu: Gpu | None, kernels: Sequence[str]
) -> InterimBars | None:
    """The picture of these Interim of one matrix, as JSON; None where nothing is known yet.

    gpu      what the device is, for which times are predicted; None: nothing is
    kernels  the only ones that will be measured; empty: all
    """
    times = [(Case.parse(str(own["case"])), own) for own in interim]
    states = {case.cache for case, _ in times}
    cache: Cache = "warm" if "warm" in states or not states else "cold"
    so_far = {f"{case.kernel} {case.axes_text}".strip(): own for case, own in times if case.cache == cache}
    predicted = _predicted(features, gpu, cache)
    first = [kernel for kernel in predicted if not kernels or kernel in kernels][:ADVISED]
    every = [*so_far, *(kernel for kernel in first if kernel not in so_far)]
    if not every:
        return None
    names = every[:BARS_MAX]
    times_s = [float(so_far[n]["median_s"] or 0.0) for n in names if n in so_far]
    times_s += [predicted[n] for n in names if n in predicted]
    end = SLOWEST * min(times_s)
    head = interval_head(_rounds(so_far[n]) for n in names if n in so_far)
    caption = _caption(name, cache, head if so_far else "", bool(first), len(every) - len(names))
    found = tuple(_bar(n, so_far.get(n), predicted.get(n), end) for n in names)
    scale = f"up to {SLOWEST:g}{units.THIN}× the shortest"
    return InterimBars(caption, scale, head, WIDTH, HEIGHT, bool(first), found)


def _predicted(features: Features, gpu: Gpu | None, cache: Cache) -> dict[str, float]:
    """Kernel → seconds, the shortest first."""
    if gpu is None or not can_advise(features):
        return {}
    return {kernel: prediction.seconds for kernel, prediction in rank(features, gpu, cache)}


def _caption(name: str, cache: Cache, spread: str, forecast: bool, left: int) -> str:
    said = f"{name}, {cache}"
    said += f": provisional medians of the rounds so far, {spread}" if spread else ""
    said += "; hollow is what was predicted" if forecast else ""
    return f"{said}; {left} slower ones are not shown." if left else f"{said}."


def _bar(kernel: str, so_far: JsonInterim | None, predicted: float | None, end: float) -> InterimBar:
    median = float(so_far["median_s"] or 0.0) if so_far else None
    low, high = _ends(so_far) if so_far else (None, None)
    spread = units.interval_or_rounds(_rounds(so_far), (low, high), (low, high)) if so_far else units.MISSING
    texts = (units.seconds(median), spread, units.seconds(predicted))
    color = style(kernel.partition("/")[0]).color
    stands = ("settled" if so_far.get("decided") else "open") if so_far else ""
    return InterimBar(kernel, color, _x(median, end), _x(low, end), _x(high, end), _x(predicted, end), texts, stands)


def _ends(so_far: JsonInterim) -> tuple[float | None, float | None]:
    """Return the ends of the interval in seconds; of too few rounds for one the quickest and the slowest."""
    names = ("ci_low_s", "ci_high_s") if has_interval(_rounds(so_far)) else ("min_s", "max_s")
    low, high = (None if (end := so_far.get(name)) is None else float(end) for name in names)
    return low, high


def _rounds(so_far: JsonInterim) -> int:
    return int(so_far.get("rounds") or 0)


def _x(time_s: float | None, end: float) -> float | None:
    return None if time_s is None else round(WIDTH * min(time_s / end, 1.0), 1)
