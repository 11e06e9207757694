"""The model: seconds of a product from what a kernel has to do, its costs, and the published figures of a GPU.

T = launch + max(memory ⊕ lanes, mean row) + what the longest row takes longer than the mean row

memory = bytes moved / bandwidth + sectors of x · time of a sector + entries in long rows · time of one
lanes  = slots · time of a slot + lanes started · time of one
a ⊕ b  = (a³ + b³)^⅓: the longer of the two, and a little more where they are alike; 3 is SHARPNESS

The costs were fitted to one H200.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gpu_engine.advisor import work
from gpu_engine.advisor.gpus import FITTED, Gpu
from gpu_engine.advisor.work import Features, Work
from gpu_engine.features import SECTOR
from gpu_engine.records import Cache
from gpu_engine.warps import WARP

REACHED = 0.894
"""Share of the published bandwidth that a copy reaches on an H200: 4.29 of 4.8 TB/s."""

CACHED_RATE = 1.7
"""How many times faster a working set in L2 streams than one in memory."""

CACHED_STEP = 0.4
"""Time of a dependent load from L2, over that of one from memory."""

SECTOR_NEAR_S, SECTOR_FAR_S = 3.5e-12, 7.0e-12
"""A sector of x from L2 and from memory, the whole GPU fetching at once."""

FIRST_LEVEL = 200e3
"""Bytes of x that the first-level cache of one processor holds."""

HALF = 0.5
"""Of the cache, what serves any one processor: each half of the GPU keeps its own copy of x."""

SHARED_FROM = 0.5
"""Sectors over entries below which entries that follow each other mostly find their sector in the first-level cache."""

LAUNCH_S: Mapping[Cache, float] = {"warm": 2.0e-6, "cold": 8.0e-6}
"""One kernel back to back; with all caches, those of addresses too, rewritten before it."""

NEXT_LAUNCH_S = 1.3e-6

LONG_S = 1.8e-12
"""An entry of a tile that is summed with most lanes idle."""

SHARPNESS = 3.0


@dataclass(frozen=True, slots=True)
class Costs:
    """What a kernel costs beside memory, in seconds on FITTED.

    slot_s   a slot that is walked over, the whole GPU walking
    lane_s   a lane that is started
    step_s   an entry of the longest row, one thread walking it alone
    start_s  what happens one after the other before the first and after the last entry
    """

    slot_s: float
    lane_s: float
    step_s: float = 0.2e-6
    start_s: float = 0.4e-6


@dataclass(frozen=True, slots=True)
class Prediction:
    """Predicted seconds of a product, and what they are made of."""

    seconds: float
    launch_s: float
    stream_s: float
    gather_s: float
    lanes_s: float
    longest_s: float


SLICES = Costs(1.5e-12, 6.9e-12, 0.19e-6)
SHARED_SLICES = Costs(1.4e-12, 5.6e-12, 0.22e-6, start_s=0.6e-6)
SORTED_SLICES = Costs(1.6e-12, 6.6e-12)
LANES_A_ROW = Costs(1.1e-12, 4.6e-12, 0.15e-6)

LANES = (1, 2, 4, 8, 16, 32)

MODELS: Mapping[str, tuple[Callable[[Features], Work], Costs]] = {
    "csr/scalar": (work.csr(lambda _: 1), Costs(1.8e-12, 6.2e-12, 0.11e-6)),
    "csr/vector": (work.csr(lambda _: 32), LANES_A_ROW),
    "csr/vector16": (work.csr(lambda _: 16), LANES_A_ROW),
    "csr/smart": (work.csr(work.smart_lanes), LANES_A_ROW),
    "csri/warp": (work.by_entries, Costs(5.0e-12, 19e-12)),
    "split/tile": (work.tiles, Costs(2.6e-12, 3.1e-12, start_s=0.8e-6)),
    "packed/tile": (work.packed_tiles, Costs(3.8e-12, 2.3e-12, start_s=1.0e-6)),
    "csc/atomic": (work.columns, Costs(7.6e-12, 2.9e-12, 0.05e-6)),
    "coo/segmented": (work.coordinates, Costs(3.5e-12, 9.2e-12)),
    "ell/thread": (work.ell, Costs(1.5e-12, 5.5e-12)),
    "ellr/thread": (work.ellr, Costs(2.7e-12, 5.2e-12, 0.44e-6)),
    "pellr/thread": (work.pellr, Costs(1.4e-12, 13.5e-12, 0.4e-6)),
    "pellr/warp": (work.pellr, Costs(1.4e-12, 13.5e-12, 0.4e-6)),
    **{f"sellp/t{lanes}": (work.slices(lanes), SLICES if lanes == 1 else SHARED_SLICES) for lanes in LANES},
    "sellp-64/t1": (work.slices(1, 2 * WARP), SLICES),
    "sellp-sorted/t1": (work.sorted_slices(1), SORTED_SLICES),
    "sellp-sorted/t2": (work.sorted_slices(2), SORTED_SLICES),
    "sellp-packed/t1": (work.packed_slices(1), Costs(1.8e-12, 6.4e-12)),
    "sellp-packed/t2": (work.packed_slices(2), Costs(1.8e-12, 5.5e-12)),
    "hyb/segmented": (work.hybrid(8.0), Costs(2.8e-12, 5.0e-12, 0.17e-6)),
    "hyb-mean/segmented": (work.hybrid(6.0), Costs(2.9e-12, 6.6e-12, 0.35e-6)),
    "jad/thread": (work.diagonals, Costs(1.6e-12, 13e-12, 0.6e-6)),
    "biell/warp": (work.bisected, Costs(2.3e-12, 16.5e-12, 0.25e-6)),
    "bijad/warp": (work.bisected_diagonals, Costs(2.0e-12, 15.5e-12, 0.3e-6)),
}
"""By kernel: what it has to do, and its costs."""


def predict(kernel: str, features: Features, gpu: Gpu = FITTED, cache: Cache = "warm") -> Prediction:
    """The time of a product; needs the features that `advisor.NEEDED` names."""
    counted, costs = MODELS[kernel][0](features), MODELS[kernel][1]
    slower = FITTED.bandwidth / gpu.bandwidth
    hit = _cached_share(counted.moved_bytes, gpu, cache)
    launch = LAUNCH_S[cache] + (counted.launches - 1) * NEXT_LAUNCH_S
    stream = counted.moved_bytes / (REACHED * gpu.bandwidth) * (1.0 - hit + hit / CACHED_RATE)
    fetched = max(0.0, counted.sectors - features["n_cols"] / SECTOR)
    gather = fetched * _sector_s(counted, features, gpu) * slower
    issue = FITTED.issue_rate / gpu.issue_rate
    lanes = (counted.slots * costs.slot_s + counted.lanes * costs.lane_s) * issue
    longest = counted.longest * costs.step_s * (1.0 - hit + hit * CACHED_STEP)
    mean = longest * features["ave"] / max(features["max"], 1)
    memory = stream + gather + counted.in_long_rows * LONG_S * issue
    busy = (memory**SHARPNESS + lanes**SHARPNESS) ** (1.0 / SHARPNESS)
    seconds = launch + max(busy, costs.start_s + mean) + longest - mean
    return Prediction(seconds, launch, stream, gather, lanes, costs.start_s + longest)


def _cached_share(moved_bytes: float, gpu: Gpu, cache: Cache) -> float:
    """Of what streams, the share that is still in L2 from the product before."""
    if cache == "cold":
        return 0.0
    return min(1.0, gpu.cache_bytes / max(moved_bytes, 1.0)) ** 2


def _sector_s(counted: Work, features: Features, gpu: Gpu) -> float:
    """Nearly nothing where entries that follow each other share sectors; more the less of x the caches hold."""
    x_bytes = max(8.0 * features["n_cols"], 1.0)
    missed = max(0.0, 1.0 - HALF * gpu.cache_bytes / x_bytes) * (1.0 - features["narrow_runs"])
    beyond_first = max(0.0, 1.0 - FIRST_LEVEL / x_bytes)
    alone = min(1.0, counted.sectors / max(features["nnz"], 1) / SHARED_FROM)
    return float((SECTOR_NEAR_S + (SECTOR_FAR_S - SECTOR_NEAR_S) * missed) * alone * beyond_first)
