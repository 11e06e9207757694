"""The tables of the benchmark, in Markdown: every figure is computed from the records, none is measured here."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from gpu_engine.competitors import BEST
from gpu_engine.formats import find_kernel
from gpu_engine.gpu_bench.subjects import SMALL, Group, Subject
from gpu_engine.recordings import MatrixRecord, Recording
from gpu_engine.records import CACHES, Cache, Measurement

PELLR = ("pellr/thread", "pellr/warp")
RIVALS_OF_PELLR: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("ELLR", ("ellr/thread",)),
    ("HYB", ("hyb/segmented", "hyb-mean/segmented")),
    ("BiELL", ("biell/warp",)),
    ("BiJAD", ("bijad/warp",)),
    ("cuCSR", ("cusparse/csr_alg1", "cusparse/csr_alg2")),
)
"""The formats of Figures 6 and 8 to 11 of the PELLR paper, by the kernels here; of several the fastest counts."""


@dataclass(frozen=True, slots=True)
class Contest:
    """A matrix in one cache state: the fastest of our kernels that may take part, beside what it is judged by.

    ours     the fastest kernel; rival: the library's fastest algorithm
    """

    matrix: MatrixRecord
    ours: Measurement
    rival: Measurement | None

    @property
    def ratio(self) -> float | None:
        """Time of the library over ours."""
        return _time(self.rival) / _time(self.ours) if self.rival else None

    @property
    def of_floor(self) -> float:
        """Floor of the 12 bytes a nonzero over our time: above 1 only for a compressed layout or a warm cache."""
        return (self.ours.floor_s or 0.0) / _time(self.ours)

    @property
    def of_gather(self) -> float:
        """Time of the probe that streams columns and values and gathers x over our time."""
        return (self.ours.gather_floor_s or 0.0) / _time(self.ours)


class Findings:
    """The measurements of a recording, by matrix, kernel and cache state."""

    def __init__(self, subjects: Sequence[Subject], recording: Recording) -> None:
        self._subjects = {subject.name: subject for subject in subjects}
        self._matrices = recording.matrices
        self.timed = [m for m in recording.measurements if m.median_s is not None]

    def matrices(self, among: Callable[[Subject], bool]) -> list[MatrixRecord]:
        """The recorded matrices of the subjects for which `among` holds."""
        return [matrix for matrix in self._matrices if among(self._subjects[matrix.id])]

    def fastest(self, matrix: MatrixRecord, cache: Cache, may: Callable[[str], bool]) -> Measurement | None:
        """The fastest of the kernels that may take part."""
        found = (m for m in self.timed if m.matrix_id == matrix.id and m.cache == cache and may(m.kernel))
        return min(found, key=_time, default=None)

    def contests(self, matrices: Iterable[MatrixRecord], cache: Cache, may: Callable[[str], bool]) -> list[Contest]:
        """One contest a matrix that has a time."""
        found = []
        for matrix in matrices:
            ours = self.fastest(matrix, cache, may)
            if ours is not None:
                found.append(Contest(matrix, ours, self.fastest(matrix, cache, lambda name: name == BEST)))
        return found


def report(subjects: Sequence[Subject], recording: Recording) -> str:
    """All tables."""
    findings = Findings(subjects, recording)
    lines = [f"# {recording.device.name}, {recording.created_at}"]
    for cache in CACHES:
        for title, among, may in CONTESTS:
            lines += _contests(f"{title}, {cache}", findings.contests(findings.matrices(among), cache, may))
        lines += _orders(findings, cache)
        lines += _pellr(findings, cache)
    return "\n".join(lines) + "\n"


def is_ours(kernel: str) -> bool:
    """Whether the kernel is of FORMATS and runs in the given order."""
    return not kernel.startswith("cusparse/") and "+" not in kernel


def is_plain(kernel: str) -> bool:
    """Whether it also keeps 12 bytes a nonzero or more."""
    return is_ours(kernel) and not find_kernel(kernel)[0].compressed


def _is_family(subject: Subject) -> bool:
    return subject.group == "families"


def _is_collected(subject: Subject) -> bool:
    return subject.group == "collection" and subject.name not in SMALL


def _is_in(group: Group) -> Callable[[Subject], bool]:
    return lambda subject: subject.group == group


CONTESTS: tuple[tuple[str, Callable[[Subject], bool], Callable[[str], bool]], ...] = (
    ("eleven matrices, no compression", _is_family, is_plain),
    ("eleven matrices, one kernel for all of them", _is_family, lambda kernel: kernel == "split/tile"),
    ("eleven matrices, compressed layouts in the choice", _is_family, is_ours),
    ("graphs with all values 1, compressed layouts in the choice", lambda s: s.is_natural, is_ours),
    ("matrices held out from the advisor, no compression", _is_in("held out"), is_plain),
    ("unlike row lengths, no compression", _is_in("row lengths"), is_plain),
    ("matrices of the collection, no compression", _is_collected, is_plain),
    ("matrices of the collection, compressed layouts in the choice", _is_collected, is_ours),
)
"""(title, which subjects, which kernels): a table and its geometric means."""

HEAD = "matrix | n | nnz | floor µs | gather floor µs | cuSPARSE µs | ours µs | kernel | ratio | of floor | of gather"
ORDERED_HEAD = (
    "matrix | order | gather floor as given µs | best as given µs | best in the order µs | kernel | "
    "gather floor / time | s to order on the host | µs to move x and y | pays off after products"
)


def _table(title: str, head: str, lines: Iterable[str]) -> Iterator[str]:
    yield from (f"\n## {title}\n", f"| {head} |", "|" + " --- |" * (head.count(" | ") + 1), *lines)


def _contests(title: str, contests: Sequence[Contest]) -> Iterator[str]:
    if not contests:
        return
    yield from _table(title, HEAD, ())
    for c in contests:
        rival = f"{_us(c.rival.median_s)} ({c.rival.note})" if c.rival else "–"
        yield (
            f"| {c.matrix.name} | {c.matrix.n_rows} | {c.matrix.nnz} | {_us(c.ours.floor_s)} | "
            f"{_us(c.ours.gather_floor_s)} | {rival} | {_us(c.ours.median_s)} | {c.ours.kernel} | {_number(c.ratio)} | "
            f"{c.of_floor:.2f} | {c.of_gather:.2f} |"
        )
    ratios = [c.ratio for c in contests if c.ratio is not None]
    mean = _number(geometric_mean(ratios) if ratios else None)
    floor, gather = (geometric_mean([getattr(c, name) for c in contests]) for name in ("of_floor", "of_gather"))
    yield f"| geometric mean | | | | | | | | {mean} | {floor:.2f} | {gather:.2f} |"
    if ratios:
        past = sum(c.of_floor > 1 for c in contests)
        yield f"\nLowest ratio {min(ratios):.2f}; past the floor of 12 bytes a nonzero: {past} of {len(contests)}."


def _orders(findings: Findings, cache: Cache) -> Iterator[str]:
    """The fastest kernel in each new order beside the gather floor of the given one, and what the order costs."""
    lines = []
    for matrix in findings.matrices(_is_family):
        given = findings.fastest(matrix, cache, is_plain)
        orders = sorted({m.kernel.partition("+")[2] for m in findings.timed if m.matrix_id == matrix.id} - {""})
        for order in orders:
            ours = findings.fastest(matrix, cache, lambda name, end=f"+{order}": _is_ordered(name, end))  # type: ignore[misc]
            if ours is None or given is None:
                continue
            saved = _time(given) - _time(ours)
            products = f"{(ours.order_s or 0.0) / saved:.0f}" if saved > 0 else "never"
            cells = (
                matrix.name,
                order,
                *(_us(seconds) for seconds in (given.gather_floor_s, given.median_s, ours.median_s)),
                ours.kernel,
                f"{(given.gather_floor_s or 0.0) / _time(ours):.2f}",
                f"{ours.order_s or 0.0:.2f}",
                _us(ours.permute_s),
                products,
            )
            lines.append(f"| {' | '.join(cells)} |")
    if lines:
        yield from _table(f"eleven matrices in a new order, {cache}", ORDERED_HEAD, lines)


def _is_ordered(kernel: str, end: str) -> bool:
    return kernel.endswith(end) and is_ours(kernel.removesuffix(end))


def _pellr(findings: Findings, cache: Cache) -> Iterator[str]:
    """Time of each rival over that of PELLR: Figures 6 and 8 to 11 of the paper, for matrices ascending by σ."""
    matrices = findings.matrices(lambda s: s.group in ("row lengths", "families", "collection"))
    rows = [(matrix, ratios_of_pellr(findings, matrix, cache)) for matrix in matrices]
    rows = sorted((row for row in rows if row[1]), key=lambda row: float(row[0].features["sigma"]))
    if not rows:
        return
    names = [name for name, _ in RIVALS_OF_PELLR]
    head = f"matrix | n | mean row | σ | max − min | {' | '.join(names)}"
    yield from _table(f"PELLR against other formats, {cache}: their time over its time", head, ())
    for matrix, ratios in rows:
        f = matrix.features
        cells = " | ".join(_number(ratios.get(name)) for name in names)
        yield f"| {matrix.name} | {matrix.n_rows} | {f['ave']:.1f} | {f['sigma']:.1f} | {f['max_min']} | {cells} |"


def ratios_of_pellr(findings: Findings, matrix: MatrixRecord, cache: Cache) -> dict[str, float]:
    """By rival: its time over that of the faster PELLR kernel, where both have one."""
    pellr = findings.fastest(matrix, cache, lambda name: name in PELLR)
    if pellr is None:
        return {}
    found = {}
    for name, kernels in RIVALS_OF_PELLR:
        rival = findings.fastest(matrix, cache, lambda kernel, kernels=kernels: kernel in kernels)  # type: ignore[misc]
        if rival is not None:
            found[name] = _time(rival) / _time(pellr)
    return found


def _time(m: Measurement | None) -> float:
    return m.median_s if m is not None and m.median_s is not None else float("inf")


def _us(seconds: float | None) -> str:
    return f"{(seconds or 0.0) * 1e6:.1f}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
