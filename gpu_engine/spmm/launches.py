"""Launch of a kernel of SpMM: a group of lanes per row, segment, or row of blocks."""

from typing import Any

import numpy as np

from gpu_engine.cuda.load import CudaSource
from gpu_engine.spmm.groups import BLOCK, Groups
from gpu_engine.spmm.operands import leading


def launch_groups(
    source: CudaSource,
    kernel: str,
    groups: Groups,
    count: int,
    arrays: tuple[Any, ...],
    operands: tuple[Any, Any, float, float],
    more: tuple[Any, ...] = (),
) -> None:
    """Launch an instantiation for `count` groups; nothing for an empty Y.

    arrays    arguments before k, width, and split; operands: (X, Y, α, β); more: arguments after them
    """
    x, y, alpha, beta = operands
    k = y.shape[1]
    if count and k:
        shape = np.int32(k), np.int32(groups.width), np.int32(groups.split)
        scaled = (np.float64(alpha), x, np.int64(leading(x)), np.float64(beta), y, np.int64(leading(y)))
        source.function(kernel)(groups.grid(count, k), (BLOCK,), (*arrays, *shape, *scaled, *more))
