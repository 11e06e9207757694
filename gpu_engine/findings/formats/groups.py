"""Products of one matrix: which of them may be compared, and with what."""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from gpu_engine.competitors import BEST
from gpu_engine.findings.data import op_of, subject
from gpu_engine.findings.identical import Identical
from gpu_engine.records import TRANSPOSED, Measurement
from gpu_engine.verdicts.verdict import compare

BASELINES = (BEST, "csr/vector", "csr/scalar", "ginkgo/csr")
"""The first one measured is the baseline, unless the reader chooses another: what people use today."""

Facet = tuple[str, str, str]
"""(subject, device, cache): A and Aᵀ, devices and cache states are never ranked together."""

KEPT = 16
"""Of how many selections the groups are kept: each figure of a page asks for those of the page."""

OF_TRANSPOSE = "Aᵀ"
"""What the results of transposes are called where those of matrices stand beside them."""


def group_by_facet(measurements: Iterable[Measurement]) -> Mapping[Facet, tuple[Measurement, ...]]:
    """Facets in order of appearance; within one, the fastest kernel first, then the kernels without a time."""
    return _grouped(Identical(measurements))


@lru_cache(maxsize=KEPT)
def _grouped(measurements: Identical) -> Mapping[Facet, tuple[Measurement, ...]]:
    facets: dict[Facet, list[Measurement]] = {}
    for m in measurements:
        facets.setdefault((subject(m), m.device, m.cache), []).append(m)
    return {
        facet: tuple(sorted(group, key=lambda m: (m.median_s is None, m.median_s or 0.0, m.kernel)))
        for facet, group in facets.items()
    }


def of_matrices(measurements: Sequence[Measurement]) -> list[Measurement]:
    """Those of A: what papers say is of the rows of a matrix as it is."""
    return [m for m in measurements if op_of(m) != TRANSPOSED]


def once_s(m: Measurement) -> float | None:
    """Seconds that are spent once: the conversion from CSR, and finding the order; None where they are not known."""
    return None if m.details.convert_s is None else m.details.convert_s + (getattr(m.details, "reorder_s", None) or 0.0)


def time_to(m: Measurement, products: int) -> float | None:
    """Seconds of what is spent once and of so many products; None where one is not known."""
    once = once_s(m)
    return None if once is None or not m.median_s else once + products * m.median_s


def products_to_pay(m: Measurement, baseline: Measurement | None) -> float | None:
    """Return the break-even: products after which `time_to` of `m` is no more than that of the baseline.

    inf: never; None: unknown or not settled. Every sentence, table and figure takes it from here.
    """
    once = once_s(m)
    if baseline is None or not m.median_s or not baseline.median_s or once is None:
        return None
    verdict = compare(baseline, m).kind
    if verdict == "inconclusive":
        return None
    extra = once - (once_s(baseline) or 0.0)
    if extra <= 0 and verdict != "slower":
        return 0.0
    # A gain that is not more than a kernel differs from itself pays nothing back.
    return math.ceil(extra / (baseline.median_s - m.median_s)) if verdict == "faster" else math.inf


def crossovers(group: Sequence[Measurement]) -> tuple[tuple[int, Measurement], ...]:
    """Return (n, kernel) in ascending n: which kernel of one matrix takes least for n products, from that n on.

    A kernel takes over after `products_to_pay` against the one before it: a gain that is not settled changes nothing.
    """
    known = [m for m in group if time_to(m, 1) is not None]
    if not known:
        return ()
    steps = [(1, min(known, key=lambda m: (time_to(m, 1) or 0.0, m.kernel)))]
    while True:
        last, holder = steps[-1]
        later = [(max(n, last), m) for m in known if (n := _takes_over(m, holder)) < math.inf]
        if not later:
            return tuple(steps)
        # Of those that pay from one n on, the quicker one.
        n, holder = min(later, key=lambda step: (step[0], step[1].median_s or 0.0))
        steps = [step for step in steps if step[0] < n] + [(int(n), holder)]


def _takes_over(m: Measurement, holder: Measurement) -> float:
    """The break-even of a quicker kernel; inf of one that is not."""
    if (m.median_s or math.inf) >= (holder.median_s or 0.0):
        return math.inf
    pays = products_to_pay(m, holder)
    return math.inf if pays is None else pays


def baseline_of(timed: Sequence[Measurement], wanted: str) -> Measurement | None:
    """The wanted kernel, else the first of BASELINES, else the slowest; `timed` of one facet, fastest first."""
    # In a new order a kernel is called `csr/vector+rcm`: it stands for csr/vector where that is not among them.
    by_kernel = {m.kernel.partition("+")[0]: m for m in timed} | {m.kernel: m for m in timed}
    known = (by_kernel[name] for name in (wanted, *BASELINES) if name in by_kernel)
    return next(known, timed[-1] if timed else None)


def without_duplicates(timed: Sequence[Measurement]) -> list[Measurement]:
    """All but the algorithms that BEST was chosen from: naming both would count one time twice."""
    library = BEST.partition("/")[0]
    if not any(m.kernel == BEST for m in timed):
        return list(timed)
    return [m for m in timed if m.kernel == BEST or m.format != library]
