"""GPUS: the GPU models with predictions, described by their published data."""

from collections.abc import Mapping
from dataclasses import dataclass, field

WARPS = 64
"""Resident warps per multiprocessor of these models: 2,048 threads."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU model.

    bandwidth      published memory bandwidth, bytes/s
    cache_bytes    L2
    memory_bytes   memory; layouts that exceed most of it are not predicted
    processors     streaming multiprocessors; clock_hz: their maximum clock rate
    factors        kernel → measured over predicted time, for models with measurements; 1 otherwise:
                   `python -m tools.advisor_fit --factors h100`
    """

    name: str
    bandwidth: float
    cache_bytes: float
    memory_bytes: float
    processors: int
    clock_hz: float
    factors: Mapping[str, float] = field(default_factory=dict, compare=False)

    @property
    def short_name(self) -> str:
        """Part of the name that all devices of this model contain: `H100` of `H100-SXM`."""
        return self.name.partition("-")[0]

    @property
    def is_judged(self) -> bool:
        """Whether predictions for it were validated with times of matrices outside the calibration."""
        return self == FITTED or bool(self.factors)

    @property
    def issue_rate(self) -> float:
        """Cycles per second of all multiprocessors, which determine the instruction rate."""
        return self.processors * self.clock_hz

    @property
    def resident_warps(self) -> int:
        """Maximum number of resident warps, unless a kernel needs too many registers."""
        return self.processors * WARPS


H100_FACTORS: Mapping[str, float] = {
    "csr/scalar": 1.07,
    "csr/vector": 1.02,
    "csr/vector16": 1.05,
    "csr/smart": 1.04,
    "csri/warp": 1.17,
    "split/tile": 1.08,
    "packed/tile": 1.08,
    "csc/atomic": 1.03,
    "coo/segmented": 1.01,
    "ell/thread": 0.98,
    "ellr/thread": 1.02,
    "pellr/thread": 1.04,
    "pellr/warp": 1.06,
    "pellr-sliced/warp": 1.08,
    "sellp/t1": 1.06,
    "sellp/t2": 1.07,
    "sellp/t4": 1.05,
    "sellp/t8": 1.04,
    "sellp/t16": 1.08,
    "sellp/t32": 1.02,
    "sellp-64/t1": 1.06,
    "sellp-sorted/t1": 1.04,
    "sellp-sorted/t2": 1.06,
    "sellp-packed/t1": 1.10,
    "sellp-packed/t2": 1.05,
    "hyb/segmented": 0.93,
    "hyb-mean/segmented": 0.95,
    "jad/thread": 0.86,
    "biell/warp": 0.97,
    "bijad/warp": 0.98,
}

FITTED = Gpu("H200", 4800e9, 50e6, 141e9, 132, 1.98e9)
"""GPU model of the times to which the costs of `model.py` were fitted; default for rankings."""

GPUS: tuple[Gpu, ...] = (
    Gpu("P100", 732e9, 4e6, 16e9, 56, 1.48e9),
    Gpu("V100", 900e9, 6e6, 32e9, 80, 1.53e9),
    Gpu("A100-40", 1555e9, 40e6, 40e9, 108, 1.41e9),
    Gpu("H100-SXM", 3350e9, 50e6, 80e9, 132, 1.98e9, H100_FACTORS),
    FITTED,
)


def gpu_named(device: str) -> Gpu | None:
    """Return the model of a device by its driver name, such as `NVIDIA H200`; None if it is not in GPUS."""
    words = device.replace("-", " ").split()
    return next((gpu for gpu in GPUS if gpu.short_name in words), None)
