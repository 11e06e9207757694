"""The tables of the batched benchmark, in Markdown: every figure is computed from the records."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from gpu_engine.competitors import BEST
from gpu_engine.gpu_bench.markdown import table
from gpu_engine.gpu_bench.subjects import SIMILAR, Group, Subject
from gpu_engine.recordings import MatrixRecord, Recording
from gpu_engine.records import CACHES, Cache, Case, Measurement

CHAIN, BRANCHES = "cusparse/chain", "cusparse/branches"
LIBRARIES = ("cusparse", "scipy")
AUTO = "auto"
ADDED, REPLACED = "y=Ax+y", "y=Ax"

PAPER_GAIN = "the paper: 10 to 25"
"""Of a batched kernel over one call after the other, on a P100 (§4.2, §5)."""

OF_FLOOR, AUTO_OF_BEST, MIXED_RATIO = 0.80, 0.95, 1.30
RATIOS: dict[tuple[bool, Cache], float] = {
    (True, "cold"): 1.15,
    (True, "warm"): 1.15,
    (False, "cold"): 1.35,
    (False, "warm"): 1.2,
}
"""What is aimed at over cuSPARSE: (whether n is about 1,000, cache state)."""


@dataclass(frozen=True, slots=True)
class Batch:
    """One measured batch in one cache state; of a mixed one the matrix is the first of `names`."""

    matrix: MatrixRecord
    problems: int
    names: tuple[str, ...]
    operation: str
    cache: Cache
    times: tuple[Measurement, ...]

    def of(self, kernel: str) -> Measurement | None:
        """The measurement of a kernel, if it has a time."""
        return next((m for m in self.times if m.kernel == kernel), None)

    @property
    def best(self) -> Measurement | None:
        """The fastest of all our kernels."""
        return min((m for m in self.times if m.format not in LIBRARIES), key=_time, default=None)

    def fastest(self, chooses: bool) -> Measurement | None:
        """The fastest of our kernels that choose for themselves, or of those that are what they are."""
        ours = (m for m in self.times if m.format not in LIBRARIES and (m.format == AUTO) == chooses)
        return min(ours, key=_time, default=None)

    def ratio(self, rival: str) -> float | None:
        """Time of a rival over that of our fastest."""
        theirs, ours = self.of(rival), self.best
        return _time(theirs) / _time(ours) if theirs and ours else None


class Batches:
    """The batches of a recording, in the order of its subjects."""

    def __init__(self, subjects: Sequence[Subject], recording: Recording) -> None:
        groups = {subject.name: subject.group for subject in subjects}
        matrices = {matrix.id: matrix for matrix in recording.matrices}
        found: dict[tuple[str, str, Cache], list[Measurement]] = {}
        for m in recording.measurements:
            if m.median_s is not None:
                found.setdefault((m.matrix_id, Case.parse(m.case).axes_text, m.cache), []).append(m)
        self._batches = []
        for (matrix, _, cache), times in found.items():
            given = times[0].axes
            names = tuple(filter(None, times[0].environment.get("matrices", "").split(", ")))
            batch = Batch(matrices[matrix], int(given["batch"]), names, given["operation"], cache, tuple(times))
            self._batches.append((groups[matrix], batch))

    def copies(self, *groups: Group, operation: str = ADDED, cache: Cache = "warm") -> list[Batch]:
        """Homogeneous batches of the subjects of these groups."""
        chosen = (b for group, b in self._batches if group in groups and not b.names)
        return [b for b in chosen if (b.operation, b.cache) == (operation, cache)]

    def mixed(self, cache: Cache) -> list[Batch]:
        """Heterogeneous batches."""
        return [b for _, b in self._batches if b.names and b.cache == cache]

    def all(self, cache: Cache) -> list[tuple[str, Batch]]:
        """(group or `mixed`, batch) of every batch."""
        return [("mixed" if b.names else group, b) for group, b in self._batches if b.cache == cache]


def report(subjects: Sequence[Subject], recording: Recording) -> str:
    """All tables."""
    batches = Batches(subjects, recording)
    lines = [f"# Batches on {recording.device.name}, {recording.created_at}"]
    for cache in CACHES:
        for operation in (ADDED, REPLACED):
            lines += _random(batches, operation, cache)
        for part in (_growing, _rows, _collected, _mixed, _auto, _winners):
            lines += part(batches, cache)
    return "\n".join(lines) + "\n"


def _random(batches: Batches, operation: str, cache: Cache) -> Iterator[str]:
    """Random matrices against the floor and cuSPARSE, beside what is aimed at."""
    found = [b for b in batches.copies("batch random", operation=operation, cache=cache) if b.best]
    if not found:
        return
    head = "matrix | problems | floor µs | cuSPARSE µs | ours µs | kernel | of floor | ratio | to chain | to branches"
    yield from table(f"Random matrices, {operation}, {cache}", head, map(_against_libraries, found))
    for is_large, size in ((True, "n of about 1,000"), (False, "n = 100")):
        among = [b for b in found if (b.matrix.n_rows >= 1000) == is_large]
        if among:
            floor, ratio = _mean(map(_of_floor, among)), _mean(b.ratio(BEST) for b in among)
            aims = f"(aim {OF_FLOOR:.2f}), ratio {ratio} (aim {RATIOS[is_large, cache]:.2f})"
            yield f"\n{size}: geometric mean of floor {floor} {aims}."


def _against_libraries(b: Batch) -> list[str]:
    rival, ours = b.of(BEST), b.best
    ratios = (b.ratio(name) for name in (BEST, CHAIN, BRANCHES))
    cells = [b.matrix.name, str(b.problems), _us(ours.floor_s if ours else None)]
    cells.append(f"{_us(rival.median_s)} ({rival.note})" if rival else "–")
    cells += [_us(_time(ours)), ours.kernel if ours else "–", _number(_of_floor(b))]
    return [*cells, *map(_number, ratios)]


def _growing(batches: Batches, cache: Cache) -> Iterator[str]:
    """Figure 3: batches of growing size against one call after the other."""
    found = [b for b in batches.copies("batch paper", cache=cache) if b.matrix.name in SIMILAR and b.best]
    if not found:
        return
    head = "matrix | problems | ours GFLOP/s | kernel | chain GFLOP/s | to chain | to branches | to block-diagonal"
    rows = (
        [
            *(b.matrix.name, str(b.problems), _rate(b.best), b.best.kernel if b.best else "–", _rate(b.of(CHAIN))),
            *(_number(b.ratio(name)) for name in (CHAIN, BRANCHES, BEST)),
        ]
        for b in found
    )
    yield from table(f"Batches of growing size (Figure 3), {cache}", head, rows)
    for name in (CHAIN, BRANCHES, BEST):
        ratios = [ratio for b in found if (ratio := b.ratio(name))]
        if ratios:
            against = f" ({PAPER_GAIN})" if name == CHAIN else ""
            yield f"\nOver {name}{against}: geometric mean {_mean(ratios)}, lowest {min(ratios):.2f}, of {len(ratios)}."


def _rows(batches: Batches, cache: Cache) -> Iterator[str]:
    """Figure 4: rates by row length, balanced and in few rows."""
    groups: tuple[tuple[Group, str], ...] = (("batch balanced", "left"), ("batch few rows", "right"))
    for group, side in groups:
        yield from _rates(
            f"1,000 problems of {group.removeprefix('batch ')} (Figure 4, {side})",
            batches.copies(group, cache=cache),
            cache,
        )


def _collected(batches: Batches, cache: Cache) -> Iterator[str]:
    """Figure 5: rates of every kernel on the paper's matrices, by ascending mean row length."""
    copies = batches.copies("batch paper", cache=cache)
    most = max((b.problems for b in copies), default=0)
    found = sorted((b for b in copies if b.problems == most), key=lambda b: b.matrix.nnz / b.matrix.n_rows)
    yield from _rates(f"{most:,} problems of the paper's matrices (Figure 5)", found, cache)
    ratios = [ratio for b in found if (ratio := b.ratio(BEST))]
    if ratios:
        yield f"\nOver {BEST}: geometric mean {_mean(ratios)}, lowest {min(ratios):.2f}, of {len(ratios)} matrices."


def _rates(title: str, batches: Sequence[Batch], cache: Cache) -> Iterator[str]:
    """GFLOP/s of every kernel that has a time."""
    kernels = list(dict.fromkeys(m.kernel for b in batches for m in b.times))
    if not kernels:
        return
    rows = (
        [
            b.matrix.name,
            f"{b.matrix.nnz / b.matrix.n_rows:.1f}",
            *(_rate(b.of(kernel)) for kernel in kernels),
            _number(_of_floor(b)),
        ]
        for b in batches
    )
    head = " | ".join(("matrix", "mean row", *kernels, "fastest, of floor"))
    yield from table(f"{title}, GFLOP/s, {cache}", head, rows)


def _mixed(batches: Batches, cache: Cache) -> Iterator[str]:
    """Figures 6 and 7: rates and sustained bandwidth on heterogeneous batches, the fastest kernel first."""
    for b in batches.mixed(cache):
        is_similar = set(b.names) <= set(SIMILAR)
        what = "of similar order (Figure 6)" if is_similar else "of the paper (Figure 7)"
        rows = (
            [m.kernel, _rate(m), _bandwidth(m), _number((m.floor_s or 0.0) / _time(m)), m.note]
            for m in sorted(b.times, key=_time)
        )
        yield from table(
            f"{b.problems:,} problems, {len(b.names)} matrices {what}, {cache}",
            "kernel | GFLOP/s | GB/s | of floor | note",
            rows,
        )
        if b.ratio(BEST) is not None:
            aim = "" if is_similar else f" (aim {MIXED_RATIO:.2f})"
            yield f"\nOver {BEST}: {_number(b.ratio(BEST))}{aim}."


def _auto(batches: Batches, cache: Cache) -> Iterator[str]:
    """The kernel that chooses by itself against the fastest single one."""
    rows, shares = [], []
    for group, b in batches.all(cache):
        auto, single = b.fastest(chooses=True), b.fastest(chooses=False)
        if auto is None or single is None:
            continue
        shares.append(_time(single) / _time(auto))
        rows.append(
            [group, b.matrix.name, str(b.problems), b.operation, auto.kernel, single.kernel, _number(shares[-1])]
        )
    if not rows:
        return
    head = "group | matrix | problems | operation | auto | fastest single | its time over auto's"
    yield from table(f"Choosing by itself, {cache}", head, rows)
    aim = f"(aim {AUTO_OF_BEST:.2f})"
    yield f"\nGeometric mean {_mean(shares)} {aim}, lowest {min(shares):.2f}, of {len(shares)} batches."


def _winners(batches: Batches, cache: Cache) -> Iterator[str]:
    """How often each kernel is the fastest single one, by group."""
    counts: dict[str, dict[str, int]] = {}
    for group, b in batches.all(cache):
        if single := b.fastest(chooses=False):
            of_group = counts.setdefault(group, {})
            of_group[single.kernel] = of_group.get(single.kernel, 0) + 1
    rows = (
        [group, ", ".join(f"{name} {count}" for name, count in sorted(of.items(), key=lambda item: -item[1]))]
        for group, of in counts.items()
    )
    if counts:
        yield from table(f"Which kernel is the fastest where, {cache}", "group | batches that it wins", rows)


def _of_floor(b: Batch) -> float | None:
    return (b.best.floor_s or 0.0) / _time(b.best) if b.best else None


def _time(m: Measurement | None) -> float:
    return m.median_s if m is not None and m.median_s is not None else float("inf")


def _mean(values: Iterable[float | None]) -> str:
    found = [value for value in values if value]
    return f"{geometric_mean(found):.2f}" if found else "–"


def _rate(m: Measurement | None) -> str:
    return "–" if m is None else f"{m.gflops or 0.0:.1f}"


def _bandwidth(m: Measurement) -> str:
    return f"{((m.stored_bytes or 0) + (m.vector_bytes or 0)) / _time(m) / 1e9:.0f}"


def _us(seconds: float | None) -> str:
    return f"{(seconds or 0.0) * 1e6:.1f}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
