"""bind_arguments: launches whose arguments are created once, because CuPy's work per launch dominates a call."""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

FOLLOWING = 90
"""Minimum compute capability for programmatic dependent launch."""

PROGRAMMATIC_SERIALIZATION = 6
"""CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION."""


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute, with an int value."""

    _fields_ = (("id", ctypes.c_int), ("padding", ctypes.c_int), ("value", ctypes.c_int), ("rest", ctypes.c_int * 15))


class _Launch(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        ("blocks", ctypes.c_uint * 3),
        ("threads", ctypes.c_uint * 3),
        ("shared_mem", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("count", ctypes.c_uint),
    )


def bind_arguments(
    kernel: Any, blocks: int, threads: int, arguments: Sequence[Any], shared_mem: int = 0, follows: bool = False
) -> Callable[..., None]:
    """Return a launch on the current stream and device that takes one vector per argument None.

    kernel     a CuPy RawKernel
    arguments  CuPy arrays, which must not move, and NumPy scalars; None: a vector of each launch
    follows    the kernel calls `await_previous`, and may start before the previous kernel of its stream has ended
               (programmatic dependent launch); older GPUs start it afterwards

    Only one thread may launch at a time.
    """
    from cupy.cuda import Device, get_current_stream

    values = [_value(argument) for argument in arguments]
    slots = [value for value, argument in zip(values, arguments, strict=True) if argument is None]
    pointers = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
    early = follows and int(Device().compute_capability) >= FOLLOWING
    start = (_following if early else _in_turn)(kernel.kernel.ptr, blocks, threads, shared_mem, pointers)

    def call(*vectors: Any, _references: Any = (values, pointers, arguments)) -> None:
        for slot, vector in zip(slots, vectors, strict=True):
            slot.value = vector.data.ptr
        start(get_current_stream().ptr)

    return call


def _in_turn(function: int, blocks: int, threads: int, shared_mem: int, pointers: Any) -> Callable[[int], None]:
    """Return a launch that starts after the previous work of the stream has ended."""
    from cupy.cuda import driver

    launch, at = driver.launchKernel, ctypes.addressof(pointers)
    return lambda stream: launch(function, blocks, 1, 1, threads, 1, 1, shared_mem, stream, at, 0)


def _following(function: int, blocks: int, threads: int, shared_mem: int, pointers: Any) -> Callable[[int], None]:
    """Return a launch that may start before the previous kernel of the stream has ended; CuPy lacks such a call."""
    from cupy.cuda import driver

    attribute = _Attribute(PROGRAMMATIC_SERIALIZATION, 0, 1)
    launch = _Launch((blocks, 1, 1), (threads, 1, 1), shared_mem, None, ctypes.pointer(attribute), 1)
    at, handle = ctypes.byref(launch), ctypes.c_void_p(function)
    start, check = ctypes.CDLL("libcuda.so.1").cuLaunchKernelEx, driver.check_status

    def call(stream: int) -> None:
        launch.stream = stream
        check(start(at, handle, pointers, None))

    return call


def _value(argument: Any) -> Any:
    """Return the argument as a ctypes value for the driver."""
    if argument is None:
        return ctypes.c_void_p()
    if hasattr(argument, "data") and hasattr(argument.data, "ptr"):
        return ctypes.c_void_p(argument.data.ptr)
    return np.ctypeslib.as_ctypes_type(argument.dtype)(argument.item())
