"""Whether a machine was too busy for its times to name a leader: a pure function of the records."""

import statistics
from collections.abc import Sequence

from gpu_engine.records import Measurement
from gpu_engine.verdict import NOISE_MAX

SPREAD_MAX = 2.0
"""Third quartile of the rounds over the quickest round, of the typical kernel. On a quiet machine it is under 1.3."""

PROBE_MAX = 1.5
"""A floor over the time of a kernel that moves no fewer bytes. Over 4,518 kernels of an H200 the highest is 1.03."""

BYTES_PER_NONZERO = 12
"""Of a kernel without compression: a value of 8 bytes and a column of 4."""


def noise(group: Sequence[Measurement]) -> str:
    """Why the times of kernels measured together name no leader, as one sentence; empty where they may.

    group  the measurements of one matrix on one device in one cache state; those without a time say nothing
    """
    timed = [m for m in group if m.median_s]
    reason = _differs_from_itself(timed) or _rounds_differ(timed) or _probe_is_beaten(timed)
    return f"This machine was busy: {reason}. Nothing leads here; measure again in quiet." if reason else ""


def _differs_from_itself(timed: Sequence[Measurement]) -> str:
    gap = max((m.reference_gap or 0.0 for m in timed), default=0.0)
    return f"the reference kernel differs from itself by {gap:.1%}" if gap > NOISE_MAX else ""


def _rounds_differ(timed: Sequence[Measurement]) -> str:
    """All kernels share the rounds, so that a busy machine shows in most of them and an unsteady kernel in one."""
    spreads = [m.q3_s / m.min_s for m in timed if m.q3_s and m.min_s]
    typical = statistics.median(spreads) if spreads else 0.0
    return f"a quarter of the rounds took over {typical:.1f} times the quickest" if typical > SPREAD_MAX else ""


def _probe_is_beaten(timed: Sequence[Measurement]) -> str:
    """A kernel that moves all that a probe moves cannot be far quicker: then the probe was held up."""
    plain = [m for m in timed if _is_plain(m)]
    probes = {
        "the gather probe": max(
            (m.gather_floor_s / m.median_s for m in plain if m.gather_floor_s and m.median_s), default=0.0
        ),
        "the copy probe": max((m.floor_s / m.median_s for m in plain if m.floor_s and m.median_s), default=0.0),
    }
    name, most = max(probes.items(), key=lambda probe: probe[1])
    return f"{name} took {most:.1f} times as long as a kernel that moves as much" if most > PROBE_MAX else ""


def _is_plain(m: Measurement) -> bool:
    """Whether it is one product by a layout that stores at least value and column of each nonzero."""
    if not m.gflops or not m.median_s or m.stored_bytes is None or not m.details.is_one_product:
        return False
    nnz = m.gflops * m.median_s * 1e9 / 2
    # nnz is rounded here, and the bytes are exact.
    return m.stored_bytes >= BYTES_PER_NONZERO * nnz * (1 - 1e-9)
