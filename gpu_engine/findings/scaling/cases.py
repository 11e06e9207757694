"""Properties of one case of the `scaling` study: workload, phases, partitions, and speedup."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpu_engine.multigpu.from_host.spmv import COLD_PHASES
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.verdicts.verdict import UNKNOWN_GAP, VerdictKind, compare

COLD, RESIDENT, ITERATE, PAGERANK, SOLVE = "cold", "resident", "iterate", "pagerank", "solve"

WORKS: Mapping[str, str] = {
    COLD: "from the host",
    RESIDENT: "resident",
    ITERATE: "iterated",
    PAGERANK: "PageRank",
    SOLVE: "CG",
}
"""Workload → its name in headings, in the order of the page. Workloads are never compared with each other."""

ONCE: Mapping[str, str] = {
    COLD: "SpMV from the host",
    RESIDENT: "resident SpMV",
    ITERATE: "iteration",
    PAGERANK: "PageRank iteration",
    SOLVE: "CG iteration",
}
"""Workload → the operation that its time is measured per."""

STAYING = tuple(work for work in WORKS if work != COLD)
"""Workloads whose matrix stays on the devices."""

COMPUTE, EXCHANGE = "compute", "exchange"

IN_PHASES = (*COLD_PHASES, EXCHANGE)
"""Phases of an SpMV from the host, then the exchange, which only iterations have."""

VIRTUAL = "virtual devices"
"""Mark in the note of a measurement on simulated devices."""


@dataclass(frozen=True, slots=True)
class SpeedUp:
    """Speedup over one device; low, high: from the ends of both 95 % CIs, None without them; kind: the verdict."""

    value: float
    low: float | None
    high: float | None
    kind: VerdictKind


ITSELF = SpeedUp(1.0, 1.0, 1.0, "same")
"""Speedup of a base over itself."""


def is_virtual(m: Measurement) -> bool:
    """Return whether the devices of a measurement are simulated by CPU threads."""
    return m.backend == "cpu" or VIRTUAL in m.note


def speed_up(base: Measurement | None, m: Measurement) -> SpeedUp | None:
    """Return the speedup over `base`; None without two times."""
    if base is None or not base.median_s or not m.median_s:
        return None
    if m is base:
        return ITSELF
    low = base.ci_low_s / m.ci_high_s if base.ci_low_s and m.ci_high_s else None
    high = base.ci_high_s / m.ci_low_s if base.ci_high_s and m.ci_low_s else None
    return SpeedUp(base.median_s / m.median_s, low, high, compare(base, m).kind)


def phases_of(m: Measurement) -> dict[str, float]:
    """Return the seconds of the phases in their order; the exchange is left out with a single device."""
    names = (name for name in IN_PHASES if name != EXCHANGE or m.details.devices != 1)
    return {name: m.details.phases_s[name] for name in names if name in m.details.phases_s}


def share_of(m: Measurement, *phases: str) -> float | None:
    """Return the share of the time that some phases take together; None if one of them is missing."""
    seconds = phases_of(m)
    return sum(seconds[name] for name in phases) / m.median_s if m.median_s and set(phases) <= set(seconds) else None


def hidden_share(m: Measurement) -> float | None:
    """Return the share of the exchange that overlaps with computation (0 to 1); None without overlap."""
    phases = phases_of(m)
    if m.axes.get("overlap") != "on" or not m.median_s or not phases.get(EXCHANGE):
        return None
    return min(1.0, max(0.0, (sum(phases.values()) - m.median_s) / phases[EXCHANGE]))


def imbalance(m: Measurement) -> float | None:
    """Return nonzeros of the largest partition / mean; its inverse is the largest possible efficiency."""
    entries = m.details.nonzeros_by_device
    return max(entries) * len(entries) / sum(entries) if sum(entries) else None


def has_control(m: Measurement) -> bool:
    """Return whether a control kernel ran twice in the rounds of a measurement (A/A)."""
    return m.aa_gap is not None


def no_control_text() -> str:
    """Return the sentence on records without a control kernel, with the noise that verdicts assume."""
    return (
        f"Recorded without a control kernel (A/A): differences below {units.percent(UNKNOWN_GAP['scaling'])} are noise."
    )
