"""The performance model: seconds per SpMV from the work of a kernel, its costs, and published data of a GPU.

T = launch + memory ⊕ lanes ⊕ mean row + (longest row − mean row) + conflicts · time per conflict

memory = bytes moved / bandwidth + sectors of x · time per sector + entries in long rows · time per entry
lanes  = slots · time per slot + started lanes · time per lane
a ⊕ b  = (aᵖ + bᵖ)^(1/p), p = SHARPNESS: about the maximum, and more if both are similar

The costs were fitted to times of one H200 on the matrices of gpu_bench, except `collection` and `held out`, by
least squares of log(predicted / measured), weighted towards the fastest kernels of each matrix, and by the regret.
The costs of tiles and LONG_S were fitted to an H200 and an H100 together: `python -m tools.advisor_fit`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gpu_engine.advisor import work
from gpu_engine.advisor.gpus import FITTED, Gpu
from gpu_engine.advisor.work import Features, Work
from gpu_engine.matrices.features import SECTOR
from gpu_engine.matrices.pellr_counts import WARP
from gpu_engine.records import Cache

REACHED = 0.894
"""Share of the published bandwidth that a copy reaches on an H200: 4.29 of 4.8 TB/s."""

CACHED_RATE = 1.3
"""Streaming rate of a working set in L2, relative to memory."""

CACHED_STEP = 0.82
"""Time of a dependent load from L2, relative to a load from memory."""

SECTOR_NEAR_S = 3.8e-12
"""Seconds per sector of x from L2, with the whole GPU fetching; scales with the multiprocessors of a GPU."""

SECTOR_FAR_S = 1.4e-11
"""Seconds per sector of x from memory; scales with the bandwidth of a GPU."""

FIRST_LEVEL = 3e5
"""Bytes of x that the L1 cache of one multiprocessor can hold."""

HALF = 0.61
"""Share of the L2 that serves one multiprocessor, because each half of the GPU has its own copy of x."""

SHARED_FROM = 0.53
"""Sectors per nonzero below which consecutive nonzeros mostly hit the L1 cache."""

LAUNCH_S: Mapping[Cache, float] = {"warm": 1.2e-6, "cold": 4.9e-6}
"""Seconds per launch: warm back to back; cold after all caches, including address caches, are flushed."""

NEXT_LAUNCH_S = 1.3e-6

LONG_S = 2.2e-12
"""Seconds per nonzero of a tile that is summed with most lanes idle."""

CONFLICT_S = 1.2e-9
"""Seconds per atomic addition to an element of y that another thread is updating."""

SHARPNESS = 2.1


@dataclass(frozen=True, slots=True)
class Costs:
    """Costs of a kernel in addition to memory traffic, in seconds on FITTED.

    slot_s   per slot, with the whole GPU at work
    lane_s   per started lane
    step_s   per nonzero of the longest row, if one thread processes it
    start_s  serial work before the first and after the last nonzero
    """

    slot_s: float
    lane_s: float
    step_s: float
    start_s: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """Predicted seconds per SpMV, and their parts."""

    seconds: float
    launch_s: float
    stream_s: float
    gather_s: float
    lanes_s: float
    longest_s: float


PELLR_WARP = Costs(1.2e-12, 1.2e-11, 2.3e-7, 4.3e-7)
SLICES = Costs(9.5e-13, 4.9e-12, 1.3e-7, 2.4e-7)

MODELS: Mapping[str, tuple[Callable[[Features], Work], Costs]] = {
    "csr/scalar": (work.csr(lambda _: 1), Costs(1.6e-12, 7.8e-12, 1.4e-7, 5.1e-7)),
    "csr/vector": (work.csr(lambda _: 32), Costs(6.5e-13, 4e-12, 2.1e-7, 4e-7)),
    "csr/vector16": (work.csr(lambda _: 16), Costs(9.8e-13, 3.9e-12, 2.9e-7, 2.6e-7)),
    "csr/smart": (work.csr(work.smart_lanes), Costs(7e-13, 4.2e-12, 1.9e-7, 2.9e-7)),
    "csri/warp": (work.by_entries, Costs(5.2e-12, 1.9e-11, 2e-7, 3.4e-6)),
    "split/tile": (work.tiles, Costs(3.6e-12, 4.3e-13, 2e-8, 1.9e-6)),
    "packed/tile": (work.packed_tiles, Costs(3.8e-12, 6.7e-13, 2e-8, 2.2e-6)),
    "csc/atomic": (work.columns, Costs(6.3e-12, 2.8e-12, 4.8e-8, 4.1e-7)),
    "coo/segmented": (work.coordinates, Costs(1.7e-12, 6.5e-12, 2e-7, 3.4e-7)),
    "ell/thread": (work.ell, Costs(1.2e-12, 4.8e-12, 3e-7, 4.3e-7)),
    "ellr/thread": (work.ellr, Costs(2e-12, 5.3e-12, 2.6e-7, 3.6e-7)),
    "pellr/thread": (work.pellr, Costs(1.2e-12, 1.2e-11, 2.5e-7, 4.3e-7)),
    "pellr/warp": (work.pellr_by_warp, PELLR_WARP),
    # Not fitted to times of this kernel.
    "pellr-sliced/warp": (work.pellr_sliced, PELLR_WARP),
    "sellp/t1": (work.slices(1), SLICES),
    "sellp/t2": (work.slices(2), Costs(1.1e-12, 5.9e-12, 1.5e-7, 4e-7)),
    "sellp/t4": (work.slices(4), Costs(1.3e-12, 4.3e-12, 3.4e-7, 5.1e-7)),
    "sellp/t8": (work.slices(8), Costs(1.5e-12, 4.1e-12, 4e-7, 6.2e-7)),
    "sellp/t16": (work.slices(16), Costs(1.1e-12, 3.9e-12, 3.4e-7, 3.9e-7)),
    "sellp/t32": (work.slices(32), Costs(1.5e-12, 5.3e-12, 3e-7, 7.1e-7)),
    "sellp-64/t1": (work.slices(1, 2 * WARP), SLICES),
    "sellp-sorted/t1": (work.sorted_slices(1), Costs(1.3e-12, 8.4e-12, 1.6e-7, 4.2e-7)),
    "sellp-sorted/t2": (work.sorted_slices(2), Costs(1.3e-12, 7.9e-12, 1.8e-7, 4.9e-7)),
    "sellp-packed/t1": (work.packed_slices(1), Costs(9.1e-13, 6.2e-12, 2.9e-7, 4.4e-7)),
    "sellp-packed/t2": (work.packed_slices(2), Costs(1.2e-12, 5.4e-12, 3.1e-7, 4e-7)),
    "hyb/segmented": (work.hybrid(8.0), Costs(1.5e-12, 3.3e-12, 2.3e-7, 4.2e-7)),
    "hyb-mean/segmented": (work.hybrid(6.0), Costs(1.8e-12, 4.7e-12, 3.8e-7, 3.9e-7)),
    "jad/thread": (work.diagonals, Costs(1.4e-12, 1.2e-11, 5e-7, 3.9e-7)),
    "biell/warp": (work.bisected, Costs(1.5e-12, 1.9e-11, 3.3e-7, 4.3e-7)),
    "bijad/warp": (work.bisected_diagonals, Costs(1.6e-12, 1.5e-11, 3.8e-7, 3.9e-7)),
}
"""Kernel → (function from features to work, costs)."""

UNPREDICTED = ("cache-blocked/tile", "propagation-blocked/tile", "symmetric/t1", "symmetric/t2", "symmetric/t4")
"""Kernels without a prediction, which are never advised.

No feature tells how far the columns of a matrix are spread, or, for an operator, whether the matrix is symmetric.
"""


def predict(kernel: str, features: Features, gpu: Gpu = FITTED, cache: Cache = "warm") -> Prediction:
    """Return the predicted time of an SpMV; requires the features in `advisor.NEEDED`."""
    amount, costs = MODELS[kernel][0](features), MODELS[kernel][1]
    hit = _cached_share(amount.moved_bytes, gpu, cache)
    launch = LAUNCH_S[cache] + (amount.launches - 1) * NEXT_LAUNCH_S
    stream = amount.moved_bytes / (REACHED * gpu.bandwidth) * (1.0 - hit + hit / CACHED_RATE)
    fetched = max(0.0, amount.sectors - features["n_cols"] / SECTOR)
    gather = fetched * _sector_s(amount, features, gpu)
    issue = FITTED.issue_rate / gpu.issue_rate
    lanes = (amount.slots * costs.slot_s + amount.lanes * costs.lane_s) * issue
    longest = amount.longest * costs.step_s * (1.0 - hit + hit * CACHED_STEP)
    mean = longest * features["ave"] / max(features["max"], 1)
    memory = stream + gather + amount.in_long_rows * LONG_S * issue
    busy = (memory**SHARPNESS + lanes**SHARPNESS + (costs.start_s + mean) ** SHARPNESS) ** (1.0 / SHARPNESS)
    after = longest - mean + amount.conflicts * CONFLICT_S
    seconds = (launch + busy + after) * gpu.factors.get(kernel, 1.0)
    return Prediction(seconds, launch, stream, gather, lanes, costs.start_s + longest)


def _cached_share(moved_bytes: float, gpu: Gpu, cache: Cache) -> float:
    """Return the share of the streamed bytes that is in L2 after the previous SpMV."""
    if cache == "cold":
        return 0.0
    return min(1.0, gpu.cache_bytes / max(moved_bytes, 1.0)) ** 2


def _sector_s(amount: Work, features: Features, gpu: Gpu) -> float:
    """Return the seconds per sector of x: small if consecutive nonzeros share sectors, larger if x exceeds the caches.

    L1 caches are empty when a kernel starts, so the first fetch of a sector always misses.
    """
    x_bytes = max(8.0 * features["n_cols"], 1.0)
    missed = max(0.0, 1.0 - HALF * gpu.cache_bytes / x_bytes) * (1.0 - features["narrow_runs"])
    again = max(0.0, 1.0 - gpu.processors * features["n_cols"] / SECTOR / max(amount.sectors, 1.0))
    beyond_first = 1.0 - again * min(1.0, FIRST_LEVEL / x_bytes)
    alone = min(1.0, amount.sectors / max(features["nnz"], 1) / SHARED_FROM)
    near = SECTOR_NEAR_S * FITTED.issue_rate / gpu.issue_rate
    far = SECTOR_FAR_S * FITTED.bandwidth / gpu.bandwidth
    return float((near + (far - near) * missed) * alone * beyond_first)
