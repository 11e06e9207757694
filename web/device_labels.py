"""Short names of devices for sentences and column heads; the full name stands in tables of devices and tooltips."""

import re

from gpu_engine.advisor.gpus import GPUS, gpu_named
from gpu_engine.text.units import THIN

RECORDED = " (reference results)"
"""Ending of the names of devices with only reference results, on pages."""

STORED_RECORDED = " (recorded)"
"""The same ending in the database and in the API."""

CPU, THIS_CPU = "cpu", "CPU"
"""Id of the CPU of this server, and its name on pages."""

MAKER = re.compile(r"\bNVIDIA ")
MEMORY = re.compile(r" \d+ ?GB\b[^(]*?(?= \(|, |$)")


SEVERAL = re.compile(r"(\d+)[ \u202f]×[ \u202f]")
"""Beginning of the name of several equal devices."""


def is_several(name: str) -> bool:
    """Return whether the name is that of several devices: `4 × NVIDIA H200`."""
    return SEVERAL.match(name) is not None


def place_of(name: str) -> tuple[int, int, str]:
    """Return a sort key of devices by name: single devices first, then the newest model first."""
    match, gpu = SEVERAL.match(name), gpu_named(name)
    return int(match[1]) if match else 1, -GPUS.index(gpu) if gpu else 1, name


def short(name: str) -> str:
    """Return the short name of a device: `H100` of `NVIDIA H100 80GB HBM3 (reference results)`, `2 × H200`, `CPU`.

    The name of several devices stays on one line.
    """
    bare = SEVERAL.sub(rf"\1{THIN}×{THIN}", name.replace(RECORDED, "").replace(STORED_RECORDED, ""))
    return THIS_CPU if name == CPU else MEMORY.sub("", MAKER.sub("", bare))
