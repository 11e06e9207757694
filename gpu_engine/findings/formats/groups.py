"""Comparison groups of the `formats` study, baselines, and break-even points."""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from gpu_engine.competitors import BEST
from gpu_engine.findings.data import op_of, subject
from gpu_engine.findings.formats.csr_kernels import fastest_csr
from gpu_engine.findings.identity_key import Identical
from gpu_engine.records import TRANSPOSED, Measurement
from gpu_engine.verdicts.verdict import compare

Facet = tuple[str, str, str]
"""Key of a comparison group: (subject, device, cache). A and Aᵀ are different subjects."""

GROUPINGS_CACHED = 16
"""Number of selections whose groups are cached: each figure of a page asks for the same ones."""

OF_TRANSPOSE = "Aᵀ"
"""Label of results of SpMV with the transpose."""


def group_by_facet(measurements: Iterable[Measurement]) -> Mapping[Facet, tuple[Measurement, ...]]:
    """Return measurements by facet, in order of appearance; in a group the fastest first, those without a time last."""
    return _grouped(Identical(measurements))


@lru_cache(maxsize=GROUPINGS_CACHED)
def _grouped(measurements: Identical) -> Mapping[Facet, tuple[Measurement, ...]]:
    facets: dict[Facet, list[Measurement]] = {}
    for m in measurements:
        facets.setdefault((subject(m), m.device, m.cache), []).append(m)
    return {
        facet: tuple(sorted(group, key=lambda m: (m.median_s is None, m.median_s or 0.0, m.kernel)))
        for facet, group in facets.items()
    }


def of_matrices(measurements: Sequence[Measurement]) -> list[Measurement]:
    """Return the measurements of A without those of Aᵀ, because papers describe the rows of A."""
    return [m for m in measurements if op_of(m) != TRANSPOSED]


def once_s(m: Measurement) -> float | None:
    """Return the one-time cost in seconds: conversion from CSR and reordering; None if unknown."""
    return None if m.details.convert_s is None else m.details.convert_s + (getattr(m.details, "reorder_s", None) or 0.0)


def products_to_pay(m: Measurement, baseline: Measurement | None) -> float | None:
    """Return the break-even: number of SpMVs after which `m`, with its one-time cost, beats the baseline.

    Infinite if never; None if unknown or the verdict is inconclusive. All sentences, tables, and figures use it.
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
    # A speedup within the noise never pays the conversion back.
    return math.ceil(extra / (baseline.median_s - m.median_s)) if verdict == "faster" else math.inf


def baseline_of(timed: Sequence[Measurement], chosen: str) -> Measurement | None:
    """Return the baseline of one facet: the chosen kernel, else the best one of the library, else the fastest of CSR.

    timed  fastest first; the slowest is the baseline if none of these has a time
    """
    # With reordering the kernel is named `csr/vector+rcm`; it replaces csr/vector if that was not measured.
    by_kernel = {m.kernel.partition("+")[0]: m for m in timed} | {m.kernel: m for m in timed}
    known = (by_kernel[name] for name in (chosen, BEST) if name in by_kernel)
    return next(known, fastest_csr(timed) or (timed[-1] if timed else None))


def without_duplicates(timed: Sequence[Measurement]) -> list[Measurement]:
    """Return the measurements without the algorithms that BEST was chosen from, which would count one time twice."""
    library = BEST.partition("/")[0]
    if not any(m.kernel == BEST for m in timed):
        return list(timed)
    return [m for m in timed if m.kernel == BEST or m.format != library]
