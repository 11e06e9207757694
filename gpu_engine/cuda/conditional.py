"""Conditional nodes of CUDA graphs: work that is repeated while, or done if, a kernel sets a condition.

CuPy has no calls for them; the driver has them since CUDA 12.4. A kernel sets a condition with
cudaGraphSetConditional(handle, value).
"""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import cupy

from gpu_engine.errors import DeviceError

NEEDED = 12040
"""Minimum version of the driver with conditional nodes."""

CONDITIONAL = 13
"""CU_GRAPH_NODE_TYPE_CONDITIONAL."""

IF, WHILE = 0, 1
"""CU_GRAPH_COND_TYPE_IF and _WHILE."""

ASSIGN_DEFAULT = SET_DEPENDENCIES = 1
"""CU_GRAPH_COND_ASSIGN_DEFAULT and CU_STREAM_SET_CAPTURE_DEPENDENCIES."""

RELAXED = 2
"""CU_STREAM_CAPTURE_MODE_RELAXED."""


class _Conditional(ctypes.Structure):
    """CUDA_CONDITIONAL_NODE_PARAMS."""

    _fields_ = (
        ("handle", ctypes.c_uint64),
        ("type", ctypes.c_int),
        ("size", ctypes.c_uint),
        ("bodies", ctypes.POINTER(ctypes.c_void_p)),
        ("context", ctypes.c_void_p),
    )


class _Union(ctypes.Union):
    _fields_ = (("conditional", _Conditional), ("padding", ctypes.c_longlong * 29))


class _NodeParams(ctypes.Structure):
    """CUgraphNodeParams."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("reserved", ctypes.c_int * 3),
        ("of", _Union),
        ("reserved_too", ctypes.c_longlong),
    )


def supported() -> bool:
    """Return whether the driver has conditional nodes."""
    return int(cupy.cuda.runtime.driverGetVersion()) >= NEEDED


def is_capturing() -> bool:
    """Return whether the current stream is being captured."""
    return bool(cupy.cuda.runtime.streamIsCapturing(cupy.cuda.get_current_stream().ptr))


def new_handle(default: int) -> int:
    """Return a condition of the graph under capture on the current stream; each launch sets it to `default`."""
    handle = ctypes.c_uint64()
    graph, _, _ = _capture()
    _call("cuGraphConditionalHandleCreate", ctypes.byref(handle), graph, _context(), default, ASSIGN_DEFAULT)
    return handle.value


@contextmanager
def while_true(handle: int) -> Iterator[None]:
    """Repeat the captured launches of the block while the condition is not 0."""
    with _node(WHILE, handle):
        yield


@contextmanager
def if_true(handle: int) -> Iterator[None]:
    """Run the captured launches of the block if the condition is not 0."""
    with _node(IF, handle):
        yield


@contextmanager
def _node(kind: int, handle: int) -> Iterator[None]:
    """Add a node at the end of the capture; its body is captured on a new stream, current in the block."""
    outer = cupy.cuda.get_current_stream()
    graph, dependencies, count = _capture()
    params = _NodeParams(type=CONDITIONAL)
    params.of.conditional = _Conditional(handle, kind, 1, None, _context())
    node = ctypes.c_void_p()
    _call("cuGraphAddNode", ctypes.byref(node), graph, dependencies, count, ctypes.byref(params))
    inner = cupy.cuda.Stream(non_blocking=True)
    body = ctypes.c_void_p(params.of.conditional.bodies[0])
    _call("cuStreamBeginCaptureToGraph", ctypes.c_void_p(inner.ptr), body, None, None, ctypes.c_size_t(0), RELAXED)
    # `with inner` would not restore an outer stream that was made current by `use`.
    inner.use()
    try:
        yield
    finally:
        outer.use()
        _call("cuStreamEndCapture", ctypes.c_void_p(inner.ptr), ctypes.byref(ctypes.c_void_p()))
    nodes = (ctypes.c_void_p * 1)(node.value)
    one = ctypes.c_size_t(1)
    _call("cuStreamUpdateCaptureDependencies", ctypes.c_void_p(outer.ptr), nodes, one, SET_DEPENDENCIES)


def _capture() -> tuple[Any, Any, Any]:
    """Return (graph, last nodes, their number) of the capture of the current stream."""
    stream = ctypes.c_void_p(cupy.cuda.get_current_stream().ptr)
    status, number, graph = ctypes.c_int(), ctypes.c_uint64(), ctypes.c_void_p()
    nodes, count = ctypes.c_void_p(), ctypes.c_size_t()
    outputs = (ctypes.byref(value) for value in (status, number, graph, nodes, count))
    _call("cuStreamGetCaptureInfo_v2", stream, *outputs)
    if not graph.value:
        raise DeviceError("A condition needs a CUDA graph, but the current stream is not being captured.")
    return graph, nodes, count


def _context() -> Any:
    context = ctypes.c_void_p()
    _call("cuCtxGetCurrent", ctypes.byref(context))
    return context


def _call(name: str, *arguments: Any) -> None:
    """Call a function of the driver; raises DeviceError if it fails."""
    function: Callable[..., int] = getattr(ctypes.CDLL("libcuda.so.1"), name)
    if status := function(*arguments):
        raise DeviceError(
            f"The driver function {name} failed (error {status}). Conditional nodes need CUDA 12.4 or newer."
        )
