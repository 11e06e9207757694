"""Kernels that only load and store segments: what compiles and checks the header where no kernel of ours does yet."""

from typing import Any

import numpy as np

from gpu_engine.cpms import SEGMENTS, Segmented
from gpu_engine.cpms.convert import CODES
from gpu_engine.cuda.load import CudaSource

PRECISIONS = [(segments, k) for segments in SEGMENTS for k in range(1, segments + 1)]
"""(segments, k) of everything that can be read and written."""

SOURCE = CudaSource(
    __package__,
    "segments.cu",
    tuple(
        f"{kernel}<{segments}, {k}, {code}>"
        for kernel in ("read_segments", "write_segments")
        for segments, k in PRECISIONS
        for code in CODES.values()
    ),
)
BLOCK = 128


def read_on_gpu(segmented: Segmented, k: int, xp: Any) -> tuple[Any, Any]:
    """The values cut to k segments, by `load_segments` and by `stream_segments`."""
    loaded, streamed = xp.empty(segmented.n), xp.empty(segmented.n)
    _launch("read_segments", segmented, k, (segmented.storage, loaded, streamed))
    return loaded, streamed


def write_on_gpu(segmented: Segmented, values: Any, k: int, xp: Any) -> Any:
    """Writes k segments of the values; what `store_segments` says that it stored."""
    stored = xp.empty(segmented.n)
    _launch("write_segments", segmented, k, (segmented.storage, values, stored))
    return stored


def _launch(kernel: str, segmented: Segmented, k: int, arrays: tuple[Any, ...]) -> None:
    if segmented.n:
        function = SOURCE.function(f"{kernel}<{segmented.segments}, {k}, {CODES[segmented.short]}>")
        function((-(-segmented.n // BLOCK),), (BLOCK,), (np.int64(segmented.n), *arrays))
