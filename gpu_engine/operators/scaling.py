"""y := α·s + β·y: what follows a product where α or β asks for it."""

from typing import Any

import numpy as np

from gpu_engine.cuda.load import CudaSource

SOURCE = CudaSource(__package__, "scaling.cu", ("scaled_sum",))
BLOCK = 256


def scale(alpha: float, s: Any, beta: float, y: Any) -> None:
    """y := α·s + β·y in place; float64 vectors of one length on one device. With β = 0 y is not read, and may be s.

    s is overwritten where β is not 0. Launches on the current stream, and allocates nothing.
    """
    if isinstance(y, np.ndarray):
        np.multiply(s, alpha, out=s if beta else y)
        if beta:
            np.multiply(y, beta, out=y)
            np.add(y, s, out=y)
    elif y.size:
        arguments = np.int64(y.size), np.float64(alpha), s, np.float64(beta), y
        SOURCE.function("scaled_sum")((-(-y.size // BLOCK),), (BLOCK,), arguments)
