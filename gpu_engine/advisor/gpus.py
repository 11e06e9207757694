"""GPUS: the models of GPU that times are predicted for, by their published figures."""

from dataclasses import dataclass

WARPS = 64
"""That a multiprocessor of these models holds at once: 2,048 threads."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """A model of GPU.

    bandwidth      of its memory, bytes/s, as published
    cache_bytes    L2
    memory_bytes   a layout past most of it is not offered
    processors     streaming multiprocessors; clock_hz  their highest clock
    """

    name: str
    bandwidth: float
    cache_bytes: float
    memory_bytes: float
    processors: int
    clock_hz: float

    @property
    def issue_rate(self) -> float:
        """Cycles of all multiprocessors a second: what instructions take their time from."""
        return self.processors * self.clock_hz

    @property
    def resident_warps(self) -> int:
        """How many warps it holds at once, where no kernel takes too many registers for that."""
        return self.processors * WARPS


FITTED = Gpu("H200", 4800e9, 50e6, 141e9, 132, 1.98e9)
"""The model whose measured times the costs of `model.py` were fitted to; rankings are its."""

GPUS: tuple[Gpu, ...] = (
    Gpu("P100", 732e9, 4e6, 16e9, 56, 1.48e9),
    Gpu("V100", 900e9, 6e6, 32e9, 80, 1.53e9),
    Gpu("A100-40", 1555e9, 40e6, 40e9, 108, 1.41e9),
    Gpu("H100-SXM", 3350e9, 50e6, 80e9, 132, 1.98e9),
    FITTED,
)


def gpu_named(device: str) -> Gpu | None:
    """The model of a device by what its driver calls it, `NVIDIA H200`; None where it is none of GPUS."""
    words = device.replace("-", " ").split()
    return next((gpu for gpu in GPUS if gpu.name.partition("-")[0] in words), None)
