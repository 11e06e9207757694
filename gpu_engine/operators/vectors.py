"""The caller's vectors as those of NumPy or CuPy, and answers in the caller's kind: nothing is copied."""

import sys
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.errors import ParameterError

FP64 = np.dtype(np.float64)
HOST = 1
"""DLPack's number of a CPU."""


def _refused(name: str, array: Any, size: int) -> ParameterError:
    """What is wrong with a vector that is not float64 [size] and contiguous."""
    if array.shape != (size,):
        return ParameterError(f"{name} has the shape {array.shape}; one dimension of {size} elements was expected.")
    if array.dtype != FP64:
        return ParameterError(f"{name} is {array.dtype}; float64 was expected: convert it once, outside the loop.")
    return ParameterError(f"{name} is strided; a contiguous vector was expected: copy it once, outside the loop.")


def _namespace(vector: Any) -> Any:
    """The module whose `from_dlpack` makes vectors of this kind."""
    if hasattr(vector, "__array_namespace__"):
        return vector.__array_namespace__()
    return sys.modules.get(type(vector).__module__.partition(".")[0])


def _answer(native: Any, like: Any) -> Any:
    """A vector of ours in the kind of another one; ours where that kind takes no DLPack."""
    if isinstance(like, type(native)):
        return native
    make = getattr(_namespace(like), "from_dlpack", None)
    return native if make is None else make(native)


class HostVectors:
    """Vectors of a CPU."""

    backend = "cpu"
    answer = staticmethod(_answer)

    def read(self, vector: Any, size: int) -> Any:
        """x as a NumPy array; raises ParameterError unless it is float64 [size], contiguous, and on the host."""
        return self._checked(vector, size, "x")

    def written(self, vector: Any, size: int) -> Any:
        """`out` as a NumPy array that shares its memory; raises ParameterError as `read`, and where that cannot be."""
        array = self._checked(vector, size, "out")
        if not array.flags.writeable:
            raise ParameterError("out cannot be written; leave it out, and take what is returned.")
        return array

    def empty(self, size: int) -> Any:
        """A new vector."""
        return np.empty(size)

    def overlap(self, x: Any, y: Any) -> bool:
        """Whether the two share memory."""
        return np.may_share_memory(x, y)

    def synchronize(self) -> None:
        """Nothing runs in the background here."""

    def stream(self, _: Any) -> AbstractContextManager[Any] | None:
        """Nothing is ordered by streams here."""
        return None

    def _checked(self, vector: Any, size: int, name: str) -> Any:
        array = vector if isinstance(vector, np.ndarray) else self._foreign(vector, name)
        if array.dtype != FP64 or array.shape != (size,) or not array.flags.c_contiguous:
            raise _refused(name, array, size)
        return array

    def _foreign(self, vector: Any, name: str) -> Any:
        if hasattr(vector, "__cuda_array_interface__") or _device_kind(vector) != HOST:
            raise ParameterError(f"{name} lies on a GPU and the matrix on the host; bring one to the other.")
        if hasattr(vector, "__array__"):
            return np.asarray(vector)
        if hasattr(vector, "__dlpack__"):
            return np.from_dlpack(vector)
        if name == "out":
            raise ParameterError(f"out is a {type(vector).__name__}; an array with memory to write to was expected.")
        return np.asarray(vector)


@dataclass(frozen=True, slots=True)
class _Pointer:
    """A stream of somebody else, as CuPy takes it."""

    pointer: int

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.pointer


class DeviceVectors:
    """Vectors of one GPU.

    ordinal  its number in the CUDA runtime
    """

    backend = "cuda"
    answer = staticmethod(_answer)

    def __init__(self, ordinal: int) -> None:
        import cupy

        self.ordinal = ordinal
        self._cupy, self._array, self._current = cupy, cupy.ndarray, cupy.cuda.runtime.getDevice

    def read(self, vector: Any, size: int) -> Any:
        """x as a CuPy array; raises ParameterError unless it is float64 [size], contiguous, and on this GPU."""
        return self._checked(vector, size, "x")

    def written(self, vector: Any, size: int) -> Any:
        """`out` as a CuPy array that shares its memory; raises ParameterError as `read`."""
        return self._checked(vector, size, "out")

    def empty(self, size: int) -> Any:
        """A new vector."""
        return self._array(size)

    def overlap(self, x: Any, y: Any) -> bool:
        """Whether the two share memory."""
        first, second = x.data.ptr, y.data.ptr
        return bool(first < second + y.nbytes and second < first + x.nbytes)

    def synchronize(self) -> None:
        """Waits for what was launched on the current stream."""
        self._cupy.cuda.get_current_stream().synchronize()

    def stream(self, vector: Any) -> AbstractContextManager[Any] | None:
        """What makes the stream current that the caller works on; None where it is CuPy's current one already.

        PyTorch has a current stream of its own. Others order their work by DLPack, or work on CuPy's stream.
        """
        if type(vector).__module__.partition(".")[0] != "torch":
            return None
        pointer = sys.modules["torch"].cuda.current_stream(self.ordinal).cuda_stream
        if pointer == self._cupy.cuda.get_current_stream().ptr:
            return None
        stream: AbstractContextManager[Any] = self._cupy.cuda.Stream.from_external(_Pointer(pointer))
        return stream

    def _checked(self, vector: Any, size: int, name: str) -> Any:
        array = vector if isinstance(vector, self._array) else self._foreign(vector, name)
        if array.dtype != FP64 or array.shape != (size,) or not array.flags.c_contiguous:
            raise _refused(name, array, size)
        if array.data.device_id != self.ordinal or self._current() != self.ordinal:
            raise ParameterError(
                f"{name} lies on cuda:{array.data.device_id}, cuda:{self._current()} is current and the matrix lies on "
                f"cuda:{self.ordinal}; all have to be one device."
            )
        return array

    def _foreign(self, vector: Any, name: str) -> Any:
        if hasattr(vector, "__cuda_array_interface__"):
            return self._cupy.asarray(vector)
        if hasattr(vector, "__dlpack__") and _device_kind(vector) != HOST:
            return self._cupy.from_dlpack(vector)
        raise ParameterError(f"{name} lies on the host and the matrix on a GPU; bring it there once: cupy.asarray.")


Vectors = HostVectors | DeviceVectors


def _device_kind(vector: Any) -> int:
    """DLPack's number of the kind of device; HOST for what has none."""
    return int(vector.__dlpack_device__()[0]) if hasattr(vector, "__dlpack_device__") else HOST
