"""bind: a launch whose arguments are made once. CuPy makes all of them anew in each, which is most of a call's time."""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def bind(kernel: Any, blocks: int, threads: int, arguments: Sequence[Any], shared_mem: int = 0) -> Callable[..., None]:
    """A launch on the current stream, of the device that is current now, which takes a vector for each None.

    kernel     a CuPy RawKernel
    arguments  CuPy arrays, which stay where they are, and numbers of NumPy; None: a vector of each launch

    One thread launches at a time.
    """
    from cupy.cuda import driver, get_current_stream

    values = [_value(argument) for argument in arguments]
    slots = [value for value, argument in zip(values, arguments, strict=True) if argument is None]
    places = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
    function, at = kernel.kernel.ptr, ctypes.addressof(places)
    launch, held = driver.launchKernel, (values, places, arguments)

    def call(*vectors: Any, _held: Any = held) -> None:
        for slot, vector in zip(slots, vectors, strict=True):
            slot.value = vector.data.ptr
        launch(function, blocks, 1, 1, threads, 1, 1, shared_mem, get_current_stream().ptr, at, 0)

    return call


def _value(argument: Any) -> Any:
    """The argument as the driver reads it."""
    if argument is None:
        return ctypes.c_void_p()
    if hasattr(argument, "data") and hasattr(argument.data, "ptr"):
        return ctypes.c_void_p(argument.data.ptr)
    return np.ctypeslib.as_ctypes_type(argument.dtype)(argument.item())
