"""Live bars: provisional and predicted times of a running job for one matrix, as server-side SVG in a table."""

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
"""Size of the cell of a bar, in pixels."""

BARS_MAX = 12
SLOWEST = 4.0
"""A bar of this multiple of the shortest time fills its cell; longer times are cut."""

JsonInterim = Mapping[str, float | str | bool | None]


@dataclass(frozen=True, slots=True)
class InterimBar:
    """A kernel with its provisional time; bar, low, high, and predicted are pixels or None, texts the same numbers.

    decision  `decided` or `undecided`; empty before the first sample
    """

    kernel: str
    color: str
    bar: float | None
    low: float | None
    high: float | None
    predicted: float | None
    texts: tuple[str, str, str]
    decision: str


@dataclass(frozen=True, slots=True)
class InterimBars:
    """The bars of one matrix in one cache state, the shortest first; kernels with only a prediction come last.

    head  title of the column of intervals
    """

    caption: str
    scale: str
    head: str
    width: int
    height: int
    forecast: bool
    bars: tuple[InterimBar, ...]


def matrix_of(interim: Sequence[JsonInterim], current_case: str) -> str:
    """Return the id of the matrix that is measured or prepared; empty between two matrices."""
    key = str(interim[0]["case"]) if interim else current_case
    return Case.parse(key).matrix_id if key else ""


def bars(
    interim: Sequence[JsonInterim], name: str, features: Features, gpu: Gpu | None, kernels: Sequence[str]
) -> InterimBars | None:
    """Return the bars of the provisional results of one matrix; None if nothing is known yet.

    interim  provisional results, as JSON
    gpu      model of the device, for predicted times; None: no predictions
    kernels  kernels that the job measures; empty: all
    """
    times = [(Case.parse(str(entry["case"])), entry) for entry in interim]
    states = {case.cache for case, _ in times}
    cache: Cache = "warm" if "warm" in states or not states else "cold"
    so_far = {f"{case.kernel} {case.axes_text}".strip(): entry for case, entry in times if case.cache == cache}
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
    rows = tuple(_bar(n, so_far.get(n), predicted.get(n), end) for n in names)
    scale = f"up to {SLOWEST:g}{units.THIN}× the fastest"
    return InterimBars(caption, scale, head, WIDTH, HEIGHT, bool(first), rows)


def _predicted(features: Features, gpu: Gpu | None, cache: Cache) -> dict[str, float]:
    """Return the predicted time of each kernel in seconds, the shortest first."""
    if gpu is None or not can_advise(features):
        return {}
    return {kernel: prediction.seconds for kernel, prediction in rank(features, gpu, cache)}


def _caption(name: str, cache: Cache, spread: str, forecast: bool, left: int) -> str:
    sentences = [
        f"{name}, {cache}: provisional medians ({spread}) of the rounds so far." if spread else f"{name}, {cache}."
    ]
    sentences += ["Hollow bars: predicted times."] if forecast else []
    sentences += [f"{left} slower kernels are not shown."] if left else []
    return " ".join(sentences)


def _bar(kernel: str, so_far: JsonInterim | None, predicted: float | None, end: float) -> InterimBar:
    median = float(so_far["median_s"] or 0.0) if so_far else None
    low, high = _ends(so_far) if so_far else (None, None)
    spread = units.interval_or_rounds(_rounds(so_far), (low, high), (low, high)) if so_far else units.MISSING
    texts = (units.seconds(median), spread, units.seconds(predicted))
    color = style(kernel.partition("/")[0]).color
    decision = ("decided" if so_far.get("decided") else "undecided") if so_far else ""
    return InterimBar(kernel, color, _x(median, end), _x(low, end), _x(high, end), _x(predicted, end), texts, decision)


def _ends(so_far: JsonInterim) -> tuple[float | None, float | None]:
    """Return the ends of the interval in seconds, or the fastest and slowest round if there are too few rounds."""
    names = ("ci_low_s", "ci_high_s") if has_interval(_rounds(so_far)) else ("min_s", "max_s")
    low, high = (None if (end := so_far.get(name)) is None else float(end) for name in names)
    return low, high


def _rounds(so_far: JsonInterim) -> int:
    return int(so_far.get("rounds") or 0)


def _x(time_s: float | None, end: float) -> float | None:
    return None if time_s is None else round(WIDTH * min(time_s / end, 1.0), 1)
