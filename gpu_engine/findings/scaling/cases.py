"""What one case of a workload that devices share says: its workload, its phases, its parts."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpu_engine.multigpu.from_host.spmv import COLD_PHASES
from gpu_engine.records import Measurement
from gpu_engine.verdicts.verdict import VerdictKind, compare

COLD, RESIDENT, ITERATE, PAGERANK = "cold", "resident", "iterate", "pagerank"

WORKS: Mapping[str, str] = {
    COLD: "from the host",
    RESIDENT: "resident",
    ITERATE: "iterated",
    PAGERANK: "PageRank",
}
"""The works in the order of the page, as headings call them. They are never compared with each other."""

ONCE: Mapping[str, str] = {
    COLD: "a product from the host",
    RESIDENT: "a resident product",
    ITERATE: "an iteration",
    PAGERANK: "an iteration of PageRank",
}
"""What a time of each work is of."""

STAYING = tuple(work for work in WORKS if work != COLD)
"""The works whose matrix stays on the devices."""

COMPUTE, EXCHANGE = "compute", "exchange"

IN_PHASES = (*COLD_PHASES, EXCHANGE)
"""The phases of a product from the host, then that which only an iteration has."""

VIRTUAL = "virtual devices"
"""In the note of a measurement on threads of a CPU."""


@dataclass(frozen=True, slots=True)
class SpeedUp:
    """How many times as fast as on one device; low, high: from the ends of both 95 % intervals, None without these."""

    value: float
    low: float | None
    high: float | None
    kind: VerdictKind


ITSELF = SpeedUp(1.0, 1.0, 1.0, "same")
"""Of a base over itself."""


def is_virtual(m: Measurement) -> bool:
    """Whether its devices are threads of a CPU."""
    return m.backend == "cpu" or VIRTUAL in m.note


def speed_up(base: Measurement | None, m: Measurement) -> SpeedUp | None:
    """How many times as fast as `base`; None without two times."""
    if base is None or not base.median_s or not m.median_s:
        return None
    if m is base:
        return ITSELF
    low = base.ci_low_s / m.ci_high_s if base.ci_low_s and m.ci_high_s else None
    high = base.ci_high_s / m.ci_low_s if base.ci_high_s and m.ci_low_s else None
    return SpeedUp(base.median_s / m.median_s, low, high, compare(base, m).kind)


def phases_of(m: Measurement) -> dict[str, float]:
    """Its phases in their order, as far as it has any; one device has nothing to exchange, whatever that took."""
    names = (name for name in IN_PHASES if name != EXCHANGE or m.details.devices != 1)
    return {name: m.details.phases_s[name] for name in names if name in m.details.phases_s}


def share_of(m: Measurement, *phases: str) -> float | None:
    """The share of its time that some of its phases take together; None where it lacks one of them."""
    own = phases_of(m)
    return sum(own[name] for name in phases) / m.median_s if m.median_s and set(phases) <= set(own) else None


def hidden_share(m: Measurement) -> float | None:
    """The share of the exchange that goes on beside the products, from 0 to 1; None where none is meant to."""
    phases = phases_of(m)
    if m.axes.get("overlap") != "on" or not m.median_s or not phases.get(EXCHANGE):
        return None
    return min(1.0, max(0.0, (sum(phases.values()) - m.median_s) / phases[EXCHANGE]))


def imbalance(m: Measurement) -> float | None:
    """Nonzeros of the largest part over their mean; its inverse is the share of the ideal speed that this allows."""
    entries = m.details.entries_by_device
    return max(entries) * len(entries) / sum(entries) if sum(entries) else None
