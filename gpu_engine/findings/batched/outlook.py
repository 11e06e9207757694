"""Numbers for the future work of the batched SpMV paper (§5): resources by matrix, energy, and other devices."""

from statistics import geometric_mean

from gpu_engine.findings.batched.energy import by_device, of_paper
from gpu_engine.findings.batched.groups import AUTO, PAPER, batch_groups, largest
from gpu_engine.findings.batched.paper import is_mixed_as_printed, is_uniform
from gpu_engine.findings.batched.trials import COO
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import gain
from gpu_engine.findings.ranking import join
from gpu_engine.text import units

FLEXIBLE = f"{AUTO}/flexible"
"""Kernel that chooses resources by the matrices of a batch."""


def resources_text(data: StudyData) -> str:
    """Return the speedup of FLEXIBLE over the best kernel of the paper per device; empty without results.

    Warm batches of the paper's matrices count, uniform and mixed ones, except those with noisy timings.
    """
    gains: dict[str, list[float]] = {}
    for group in largest([group for group in batch_groups(data) if group.timed and group.cache == "warm"]):
        if group.ranking.busy or not (is_uniform(group, data) or is_mixed_as_printed(group, data)):
            continue
        if over := gain(next(iter(group.among(PAPER)), None), group.of(FLEXIBLE)):
            gains.setdefault(group.device, []).append(over)
    means = [
        f"{units.ratio(geometric_mean(values))} on {device} ({len(values)} batches)" for device, values in gains.items()
    ]
    return f"{FLEXIBLE}: speedup over the best kernel of the paper {join(means)}, geometric mean." if means else ""


def energy_text(data: StudyData) -> str:
    """Return the energy of FLEXIBLE over that of the fastest kernel of the paper per device; empty without energies.

    Warm uniform batches of the paper's matrices count, except those with noisy timings.
    """
    ratios: dict[str, list[float]] = {}
    for group in of_paper(data):
        papers, flexible = next(iter(group.among(PAPER)), None), group.of(FLEXIBLE)
        if papers and papers.energy_j and flexible and flexible.energy_j:
            ratios.setdefault(group.device, []).append(flexible.energy_j / papers.energy_j)
    means = [
        f"{units.ratio(geometric_mean(values))} on {device} ({len(values)} batches)"
        for device, values in ratios.items()
    ]
    over = f"{FLEXIBLE}: energy over that of the fastest kernel of the paper"
    return f"{over} {join(means)}, geometric mean." if means else ""


def devices_text(data: StudyData) -> str:
    """Return the GFLOP/s per watt of the automatic kernel and of COO, the paper's best one, by device."""
    texts = [text for kernel in (FLEXIBLE, COO) if (text := by_device(data, kernel))]
    return f"GFLOP/s per watt, geometric mean: {'; '.join(texts)}." if texts else ""
