"""Conversion of IEEE fp64 to CPMS and back, in place: each group is reordered by itself, in parallel.

Source: CPMS PageRank paper, §IV.A.
"""

from typing import Any

import numpy as np

from gpu_engine.cpms.codes import Code
from gpu_engine.cpms.layout import BLOCK_BYTES, SEGMENTS, Segmented, group_size
from gpu_engine.cuda.load import CudaSource
from gpu_engine.errors import ParameterError
from gpu_engine.host.jit import numba

TO_CPMS, TO_IEEE = "to_cpms", "to_ieee"
CODES = {False: "Ieee", True: "Short"}
"""C++ type of the code, by whether exponents are short."""

SOURCE = CudaSource(
    __package__,
    "convert.cu",
    tuple(f"{to}<{segments}, {code}>" for to in (TO_CPMS, TO_IEEE) for segments in SEGMENTS for code in CODES.values()),
)
BLOCK = 256


def to_cpms(storage: Any, n: int, segments: int, short: bool = False) -> Segmented:
    """Split n values into segments in place; raise ParameterError if the storage does not have whole groups.

    storage  float64 [whole groups], the values followed by zeros, as from `padded`; the result keeps it
    short    with short exponents; Segmented documents the values that they can represent
    """
    segmented = Segmented(storage, n, segments, short=short)
    if isinstance(storage, np.ndarray):
        code = segmented.code
        _to_cpms(segmented.units, group_size(segments), segments, code, code.last, numba.get_num_threads())
    else:
        _cuda(TO_CPMS, segmented)
    return segmented


def to_ieee(segmented: Segmented) -> Any:
    """Join the segments in place and return the values: float64 [n], a view of the storage."""
    if segmented.block_bytes != BLOCK_BYTES:
        raise ParameterError(
            f"Blocks of {segmented.block_bytes} bytes cannot be converted in place. Use {BLOCK_BYTES}."
        )
    if isinstance(segmented.storage, np.ndarray):
        segments = segmented.segments
        _to_ieee(segmented.units, group_size(segments), segments, segmented.code, numba.get_num_threads())
    else:
        _cuda(TO_IEEE, segmented)
    return segmented.storage[: segmented.n]


def _cuda(kernel: str, segmented: Segmented) -> None:
    storage, segments = segmented.storage, segmented.segments
    if storage.data.ptr % BLOCK_BYTES:
        raise ParameterError(
            f"The storage does not begin at a multiple of {BLOCK_BYTES} bytes. Create it with `padded` or `allocate`."
        )
    groups = storage.size // group_size(segments)
    if groups:
        blocks = -(-groups // (BLOCK // 32))
        code = CODES[segmented.short]
        SOURCE.function(f"{kernel}<{segments}, {code}>")((blocks,), (BLOCK,), (np.int64(groups), storage))


# Both loops take one array, because Numba tells the compiler that the arguments of a parallel loop do not overlap.


@numba.njit(parallel=True, cache=True)
def _to_cpms(units: Any, values: int, segments: int, code: Code, last: np.uint64, threads: int) -> None:
    """Convert groups of `values` values, equally many per thread, each through a buffer of its thread."""
    size = values * segments
    groups = units.size // size
    for thread in numba.prange(threads):
        bits = np.empty(values, np.uint64)
        units_of_bits = bits.view(units.dtype)
        for group in range(groups * thread // threads, groups * (thread + 1) // threads):
            begin = group * size
            units_of_bits[:] = units[begin : begin + size]
            for value in range(values):
                bits[value] = (min(max(bits[value], code.base), last) - code.base << code.up) + code.half
            for segment in range(segments):
                shift = np.uint64(64 - (segment + 1) * 64 // segments)
                block = units[begin + segment * values : begin + (segment + 1) * values]
                for value in range(values):
                    block[value] = bits[value] >> shift


@numba.njit(parallel=True, cache=True)
def _to_ieee(units: Any, values: int, segments: int, code: Code, threads: int) -> None:
    """Undo `_to_cpms`."""
    size = values * segments
    groups = units.size // size
    for thread in numba.prange(threads):
        bits = np.empty(values, np.uint64)
        units_of_bits = bits.view(units.dtype)
        for group in range(groups * thread // threads, groups * (thread + 1) // threads):
            begin = group * size
            bits[:] = 0
            for segment in range(segments):
                shift = np.uint64(64 - (segment + 1) * 64 // segments)
                block = units[begin + segment * values : begin + (segment + 1) * values]
                for value in range(values):
                    bits[value] |= np.uint64(block[value]) << shift
            for value in range(values):
                bits[value] = (bits[value] - code.half >> code.up) + code.base
            units[begin : begin + size] = units_of_bits
