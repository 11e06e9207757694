"""Numbers for the future work of the PELLR paper (§5): storage and time of PELLR in less memory."""

from collections.abc import Iterator, Sequence
from statistics import geometric_mean

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.formats.groups import group_by_facet, of_matrices
from gpu_engine.findings.formats.paper import original
from gpu_engine.records import CACHES, Measurement
from gpu_engine.text import units

PELLR, SLICED = "pellr/thread", "pellr-sliced/warp"
"""Kernels of PELLR as in the paper, and of PELLR in slices of 32 rows, each padded to its longest row."""

Pair = tuple[Measurement, Measurement]
"""PELLR and PELLR in slices, of one matrix on one device in one cache state."""


def sliced_pairs(data: StudyData) -> dict[tuple[str, str], dict[str, Pair]]:
    """Return (device, cache) → matrix of the paper → both kernels with a time."""
    places: dict[tuple[str, str], dict[str, Pair]] = {}
    for (matrix_id, device, cache), group in group_by_facet(of_matrices(data.measurements)).items():
        timed = {m.kernel: m for m in group if m.state == "ok" and m.median_s and m.stored_bytes}
        name = original(data.matrix(matrix_id).name)
        if name and PELLR in timed and SLICED in timed:
            places.setdefault((device, cache), {})[name] = timed[PELLR], timed[SLICED]
    return places


def sliced_text(data: StudyData) -> str:
    """Return the storage of PELLR in slices over that of PELLR, and its speedup per device; empty without results."""
    places = sliced_pairs(data)
    pairs = {name: pair for of_place in places.values() for name, pair in of_place.items()}
    if not pairs:
        return ""
    stored = {name: (sliced.stored_bytes or 0) / (whole.stored_bytes or 1) for name, (whole, sliced) in pairs.items()}
    least = min(stored, key=stored.__getitem__)
    return (
        f"{units.percent(geometric_mean(stored.values()))} of the bytes of pellr, geometric mean over {len(pairs)} "
        f"matrices of the paper; {units.percent(stored[least])} on {least}. "
        f"Speedup over pellr: {'; '.join(_speedups(places))}."
    )


def _speedups(places: dict[tuple[str, str], dict[str, Pair]]) -> Iterator[str]:
    """Return one text per device: `0.96 × warm and 0.99 × cold on NVIDIA H200`."""
    for device in dict.fromkeys(device for device, _ in places):
        means = {
            cache: _mean_speedup(list(places[place].values()))
            for cache in CACHES
            if (place := (device, cache)) in places
        }
        numbers = [f"{units.ratio(mean)} {cache}" for cache, mean in reversed(means.items())]
        yield f"{' and '.join(numbers)} on {device}"


def _mean_speedup(pairs: Sequence[Pair]) -> float:
    return geometric_mean((whole.median_s or 0.0) / (sliced.median_s or 1.0) for whole, sliced in pairs)
