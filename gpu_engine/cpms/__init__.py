"""Customized precision by mantissa segmentation (CPMS): fp64 values in segments, of which a kernel reads the first k.

Source: CPMS PageRank paper, §IV.
"""

from gpu_engine.cpms.codes import Code, code_of, head_bits
from gpu_engine.cpms.convert import to_cpms, to_ieee
from gpu_engine.cpms.layout import SEGMENTS, SEPARATE, Segmented, allocate, padded, padded_size, read, write

__all__ = [
    "SEGMENTS",
    "SEPARATE",
    "Code",
    "Segmented",
    "allocate",
    "code_of",
    "head_bits",
    "padded",
    "padded_size",
    "read",
    "to_cpms",
    "to_ieee",
    "write",
]
