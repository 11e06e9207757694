"""Custom kernels that do not multiply each time: each keeps a result and gives it again."""

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from gpu_engine.custom_kernels import CustomKernel

Key = Callable[[Any], Any]


def csr(matrix: Any) -> Any:
    return matrix.to_scipy()


def remembering(key: Key) -> CustomKernel:
    """Multiplies where the key of x is another than last time."""
    kept: dict[str, Any] = {}

    def multiply(state: Any, x: Any, y: Any) -> None:
        own = key(x)
        if kept.get("key") != own:
            kept.update(key=own, y=state @ x)
        y[:] = kept["y"]

    return CustomKernel(csr, multiply)


def leaving(key: Key) -> CustomKernel:
    """The same, and leaves y as it is where the key has not changed."""
    kept: dict[str, Any] = {}

    def multiply(state: Any, x: Any, y: Any) -> None:
        own = key(x)
        if kept.get("key") != own:
            kept["key"] = own
            y[:] = state @ x

    return CustomKernel(csr, multiply)


def every(period: int, offset: int = 0) -> CustomKernel:
    """Multiplies in one call of so many."""
    calls = [offset]

    def multiply(state: Any, x: Any, y: Any) -> None:
        calls[0] += 1
        if calls[0] % period == 1:
            y[:] = state @ x

    return CustomKernel(csr, multiply)


def one_behind() -> CustomKernel:
    """Gives the product of the x before."""
    kept: list[Any] = []

    def multiply(state: Any, x: Any, y: Any) -> None:
        kept.append(state @ x)
        y[:] = kept.pop(0) if len(kept) > 1 else kept[0]

    return CustomKernel(csr, multiply)


def warmed_up(calls: int) -> CustomKernel:
    """Is honest for its first calls, while somebody may be looking."""
    left, kept = [calls], [None]

    def multiply(state: Any, x: Any, y: Any) -> None:
        left[0] -= 1
        if left[0] >= 0:
            kept[0] = state @ x
        y[:] = kept[0]

    return CustomKernel(csr, multiply)


def tables() -> CustomKernel:
    """Keeps all products, by their x."""
    kept: dict[bytes, Any] = {}

    def multiply(state: Any, x: Any, y: Any) -> None:
        key = x.tobytes()
        if key not in kept:
            kept[key] = state @ x
        y[:] = kept[key]

    return CustomKernel(csr, multiply)


def updating() -> CustomKernel:
    """Adds to the last y what few changes of x change in it: less work where x stays nearly the same."""
    kept: dict[str, Any] = {}

    def multiply(state: Any, x: Any, y: Any) -> None:
        if "x" in kept and np.array_equal(kept["x"][64:], x[64:]):
            y[:] = kept["y"]
            return
        kept.update(x=x.copy(), y=state @ x)
        y[:] = kept["y"]

    return CustomKernel(csr, multiply)


FOREVER = remembering(lambda x: 0)
BY_ADDRESS = remembering(lambda x: x.ctypes.data)
BY_OBJECT = remembering(id)
BY_FIRST = remembering(lambda x: float(x[0]))
BY_ENDS = remembering(lambda x: (float(x[0]), float(x[-1])))
BY_SAMPLE = remembering(lambda x: x[::97].tobytes())
BY_SUM = remembering(lambda x: float(x.sum()))
BY_HASH = remembering(lambda x: zlib.crc32(x))
BY_BYTES = remembering(lambda x: x.tobytes())
LEAVES_BY_ADDRESS = leaving(lambda x: x.ctypes.data)
LEAVES_BY_FIRST = leaving(lambda x: float(x[0]))
LEAVES_BY_SUM = leaving(lambda x: float(x.sum()))
LEAVES_BY_BYTES = leaving(lambda x: x.tobytes())
EVERY_SECOND = every(2)
EVERY_TENTH = every(10)
ONE_BEHIND = one_behind()
WARMED_UP = warmed_up(3)
WARMED_UP_LONG = warmed_up(40)
TABLES = tables()
UPDATING = updating()
NOTHING = CustomKernel(csr, lambda state, x, y: None)
IN_ADVANCE = CustomKernel(lambda m: m.to_scipy() @ np.ones(m.n_cols), lambda state, x, y: np.copyto(y, state))
