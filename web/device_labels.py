"""Short names of devices for sentences and column heads; the full name stands in tables of devices and tooltips."""

import re

RECORDED = " (recorded)"
"""Ending of the names of devices with only reference results."""

MAKER = re.compile(r"\bNVIDIA ")
MEMORY = re.compile(r" \d+ ?GB\b[^(]*?(?= \(|, |$)")


def short(name: str) -> str:
    """Return the short name of a device: `H100` of `NVIDIA H100 80GB HBM3 (recorded)`, `2 × H200`, `cpu`."""
    return MEMORY.sub("", MAKER.sub("", name)).replace(RECORDED, "")
