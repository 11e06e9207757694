"""Products of one matrix: which of them may be compared, and with what."""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from gpu_engine.competitors import BEST
from gpu_engine.findings.data import op_of, subject
from gpu_engine.findings.identical import Identical
from gpu_engine.records import TRANSPOSED, Measurement
from gpu_engine.verdict import compare

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


def products_to_pay(m: Measurement, baseline: Measurement | None) -> float | None:
    """Products after which converting to the format of `m` has paid off; inf: never; None: unknown or not settled."""
    if baseline is None or not m.median_s or not baseline.median_s or m.details.convert_s is None:
        return None
    verdict = compare(baseline, m).kind
    if verdict == "ambiguous":
        return None
    extra = m.details.convert_s - (baseline.details.convert_s or 0.0)
    if extra <= 0 and verdict != "slower":
        return 0.0
    # A gain that is not more than a kernel differs from itself pays nothing back.
    return math.ceil(extra / (baseline.median_s - m.median_s)) if verdict == "faster" else math.inf


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
