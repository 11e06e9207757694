"""The tables of study `formats`: our kernels beside cuSPARSE and the floors, new orders, PELLR beside its rivals."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from gpu_engine.competitors import BEST
from gpu_engine.findings.finding import gain, share
from gpu_engine.findings.formats.conclusions import table as papers_conclusions
from gpu_engine.findings.formats.groups import group_by_facet
from gpu_engine.findings.formats.iterations import iterations_saved
from gpu_engine.findings.formats.paper import fastest_by_name
from gpu_engine.formats import find_kernel
from gpu_engine.gpu_bench.markdown import (
    BenchmarkData,
    Section,
    Tables,
    fastest,
    mean,
    number,
    section,
    us,
)
from gpu_engine.gpu_bench.subjects import SMALL, Group, Subject
from gpu_engine.records import CACHES, Cache, Measurement
from gpu_engine.verdicts.verdict import Verdict, compare

RIVALS_OF_PELLR = ("ELLR", "ELL", "JAD", "HYB", "BiELL", "BiJAD", "CSRV", "cuCSR")
"""The formats of the figures of the PELLR paper, by its names."""

RESAMPLES = 10_000
"""Of the matrices, for the interval of a mean over them."""

HEADS = "matrix | n | nnz | floor µs | gather floor µs | cuSPARSE µs | ours µs | kernel | ratio | of floor | of gather"
ORDERED_HEADS = (
    "matrix | order | gather floor as given µs | best as given µs | best in the order µs | kernel | "
    "gather floor / time | s to order on the host | µs to move x and y | pays off after products"
)


def is_ours(kernel: str) -> bool:
    """Whether the kernel is of FORMATS and runs in the given order."""
    return not kernel.startswith("cusparse/") and "+" not in kernel


def is_plain(kernel: str) -> bool:
    """Whether it also keeps 12 bytes a nonzero or more."""
    return is_ours(kernel) and not find_kernel(kernel)[0].compressed


def _is_collected(subject: Subject) -> bool:
    return subject.group == "collection" and subject.name not in SMALL


def _is_in(*groups: Group) -> Callable[[Subject], bool]:
    return lambda subject: subject.group in groups


CONTESTS: tuple[tuple[str, Callable[[Subject], bool], Callable[[str], bool]], ...] = (
    ("eleven matrices, no compression", _is_in("families"), is_plain),
    ("eleven matrices, one kernel for all of them", _is_in("families"), lambda kernel: kernel == "split/tile"),
    ("eleven matrices, compressed layouts in the choice", _is_in("families"), is_ours),
    ("graphs with all values 1, compressed layouts in the choice", lambda s: s.is_natural, is_ours),
    ("matrices held out from the advisor, no compression", _is_in("held out"), is_plain),
    ("unlike row lengths, no compression", _is_in("row lengths"), is_plain),
    ("matrices of the collection, no compression", _is_collected, is_plain),
    ("matrices of the collection, compressed layouts in the choice", _is_collected, is_ours),
)
"""(title, which subjects, which kernels): a table and its geometric means."""


def contests(data: BenchmarkData) -> Iterator[Section]:
    """Per cache state and contest the fastest of our kernels that may take part, beside the library's fastest."""
    for cache in CACHES:
        for title, among, may in CONTESTS:
            found = [(name, fastest(timed, may), timed) for name, timed in _facets(data, among, cache)]
            pairs = [(name, ours, fastest(timed, BEST.__eq__)) for name, ours, timed in found if ours]
            rows = [_contest(data, *pair) for pair in pairs]
            ratios = [ratio for _, ours, rival in pairs if (ratio := gain(rival, ours))]
            of_floor = [share(ours.floor_s, ours) for _, ours, _ in pairs]
            means = mean(ratios), mean(of_floor), mean(share(ours.gather_floor_s, ours) for _, ours, _ in pairs)
            past = f"{sum((ours.floor_s or 0.0) > (ours.median_s or 0.0) for _, ours, _ in pairs)} of {len(pairs)}"
            note = f"Lowest ratio {min(ratios):.2f}; past the floor of 12 bytes a nonzero: {past}." if ratios else ""
            last = [("geometric mean", *[""] * 7, *means)] if rows else []
            yield from section(f"{title}, {cache}", HEADS, [*rows, *last], note)


def _contest(data: BenchmarkData, matrix_id: str, ours: Measurement, rival: Measurement | None) -> Sequence[str]:
    matrix = data.study.matrix(matrix_id)
    return (
        *(matrix.name, str(matrix.n_rows), str(matrix.nnz), us(ours.floor_s), us(ours.gather_floor_s)),
        f"{us(rival.median_s)} ({rival.note})" if rival else us(None),
        *(us(ours.median_s), ours.kernel, number(gain(rival, ours))),
        *(number(share(bound, ours)) for bound in (ours.floor_s, ours.gather_floor_s)),
    )


def orders(data: BenchmarkData) -> Iterator[Section]:
    """The fastest kernel in each new order beside the gather floor of the given one, and what the order costs."""
    for cache in CACHES:
        rows = []
        for name, timed in _facets(data, _is_in("families"), cache):
            given = fastest(timed, is_plain)
            for order in sorted({m.kernel.partition("+")[2] for m in timed} - {""}):
                ours = fastest(timed, lambda kernel, end=f"+{order}": _is_ordered(kernel, end))  # type: ignore[misc]
                if given and ours:
                    rows.append((data.name(name), order, *_ordered(given, ours)))
        yield from section(f"eleven matrices in a new order, {cache}", ORDERED_HEADS, rows)


def _is_ordered(kernel: str, end: str) -> bool:
    return kernel.endswith(end) and is_ours(kernel.removesuffix(end))


def _ordered(given: Measurement, ours: Measurement) -> Sequence[str]:
    saved = (given.median_s or 0.0) - (ours.median_s or 0.0)
    # Of the given order: no share of a floor of ours, so that none is withheld.
    ratio = given.gather_floor_s / ours.median_s if given.gather_floor_s and ours.median_s else None
    return (
        *(us(seconds) for seconds in (given.gather_floor_s, given.median_s, ours.median_s)),
        *(ours.kernel, number(ratio)),
        *(number(ours.details.order_s), us(ours.details.permute_s)),
        f"{(ours.details.order_s or 0.0) / saved:.0f}" if saved > 0 else "never",
    )


def conclusions(data: BenchmarkData) -> Iterator[Section]:
    """What the PELLR paper says, and what the recording says of it."""
    yield Section("Beside the PELLR paper's conclusions (on a Quadro P600)", papers_conclusions(data.study), ())


def pellr(data: BenchmarkData) -> Iterator[Section]:
    """PELLR against the formats of Figures 6 and 8 to 12 of the paper: over all matrices, then ascending by σ."""
    for cache in CACHES:
        groups = {
            i: timed for (i, _, state), timed in group_by_facet(data.study.measurements).items() if state == cache
        }
        every = ((data.study.matrix(i), verdicts_on_pellr(groups[i])) for i in data.study.by_sigma(groups))
        found = [(matrix, verdicts) for matrix, verdicts in every if verdicts]
        over = ((name, [verdicts[name] for _, verdicts in found if name in verdicts]) for name in RIVALS_OF_PELLR)
        title = f"PELLR against other formats, {cache}: their time over its time"
        heads = "format | matrices | geometric mean | 95 % interval | PELLR faster | same | ambiguous | slower"
        yield from section(f"{title}, over all matrices", heads, (_over_all(*each) for each in over if each[1]))
        rows = (
            (
                *(matrix.name, str(matrix.n_rows), number(matrix.ave, 1), number(matrix.sigma, 1)),
                *(number(matrix.max_min, 0), number(iterations_saved(matrix))),
                *(number(verdicts[name].ratio if name in verdicts else None) for name in RIVALS_OF_PELLR),
            )
            for matrix, verdicts in found
        )
        names = " | ".join(RIVALS_OF_PELLR)
        yield from section(title, f"matrix | n | mean row | σ | max − min | eq. (1) ELLR | {names}", rows)


def verdicts_on_pellr(timed: Iterable[Measurement]) -> dict[str, Verdict]:
    """On the fastest PELLR kernel against the fastest of each rival that has a time."""
    own = fastest_by_name(timed)
    return {name: compare(own[name], own["PELLR"]) for name in RIVALS_OF_PELLR if name in own and "PELLR" in own}


def _over_all(name: str, verdicts: Sequence[Verdict]) -> Sequence[str]:
    ratios = [verdict.ratio for verdict in verdicts if verdict.ratio]
    kinds = Counter(verdict.kind for verdict in verdicts)
    counts = (str(kinds[kind]) for kind in ("faster", "same", "ambiguous", "slower"))
    return (name, str(len(verdicts)), mean(ratios), "{:.2f} – {:.2f}".format(*interval_of_mean(ratios)), *counts)


def interval_of_mean(ratios: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the geometric mean, bootstrapped over the matrices."""
    drawn = np.random.default_rng(0).choice(np.log(ratios), (RESAMPLES, len(ratios)))
    low, high = np.exp(np.quantile(drawn.mean(axis=1), (0.025, 0.975)))
    return float(low), float(high)


def _facets(
    data: BenchmarkData, among: Callable[[Subject], bool], cache: Cache
) -> Iterator[tuple[str, tuple[Measurement, ...]]]:
    """The kernels of each matrix in a cache state, the fastest first, of the subjects for which `among` holds."""
    chosen = {subject.name for subject in data.subjects if among(subject)}
    for (matrix_id, _, state), timed in group_by_facet(data.study.measurements).items():
        if matrix_id in chosen and state == cache:
            yield matrix_id, timed


TABLES: Tables = {"contests": contests, "orders": orders, "conclusions": conclusions, "pellr": pellr}
