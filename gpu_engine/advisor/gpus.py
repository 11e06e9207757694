"""GPUS: the models of GPU that times are predicted for, by their published figures."""

from collections.abc import Mapping
from dataclasses import dataclass, field

WARPS = 64
"""That a multiprocessor of these models holds at once: 2,048 threads."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """A model of GPU.

    bandwidth      of its memory, bytes/s, as published
    cache_bytes    L2
    memory_bytes   a layout past most of it is not offered
    processors     streaming multiprocessors; clock_hz  their highest clock
    factors        by kernel, measured over predicted time on a model that was measured, 1 for others:
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
        """What the names of such devices contain, whatever their memory and board: `H100` of `H100-SXM`."""
        return self.name.partition("-")[0]

    @property
    def is_judged(self) -> bool:
        """Whether predictions for it were compared with times of one, on matrices that no costs were fitted to."""
        return self == FITTED or bool(self.factors)

    @property
    def issue_rate(self) -> float:
        """Cycles of all multiprocessors a second: what instructions take their time from."""
        return self.processors * self.clock_hz

    @property
    def resident_warps(self) -> int:
        """How many warps it holds at once, where no kernel takes too many registers for that."""
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
"""The model whose measured times the costs of `model.py` were fitted to; rankings are its."""

GPUS: tuple[Gpu, ...] = (
    Gpu("P100", 732e9, 4e6, 16e9, 56, 1.48e9),
    Gpu("V100", 900e9, 6e6, 32e9, 80, 1.53e9),
    Gpu("A100-40", 1555e9, 40e6, 40e9, 108, 1.41e9),
    Gpu("H100-SXM", 3350e9, 50e6, 80e9, 132, 1.98e9, H100_FACTORS),
    FITTED,
)


def gpu_named(device: str) -> Gpu | None:
    """The model of a device by what its driver calls it, `NVIDIA H200`; None where it is none of GPUS."""
    words = device.replace("-", " ").split()
    return next((gpu for gpu in GPUS if gpu.short_name in words), None)
