"""Converts the caller's vectors to arrays of NumPy or CuPy, and results to the caller's kind."""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gpu_engine.errors import DeviceError, ParameterError
from gpu_engine.operators import forks
from gpu_engine.operators.operands import check_numbers

FP64 = np.dtype(np.float64)
COMPLEX = np.dtype(np.complex128)
CONTIGUOUS = (FP64.itemsize,)
"""Strides of a contiguous float64 vector; in CuPy, comparing them is much faster than creating its flags."""

HOST = 1
"""DLPack's device type of a CPU."""


def _namespace(vector: Any) -> Any:
    """Return the module whose `from_dlpack` creates vectors of this kind."""
    if hasattr(vector, "__array_namespace__"):
        return vector.__array_namespace__()
    return sys.modules.get(type(vector).__module__.partition(".")[0])


def _device_kind(vector: Any) -> int:
    """Return DLPack's device type of a vector; HOST without one."""
    return int(vector.__dlpack_device__()[0]) if hasattr(vector, "__dlpack_device__") else HOST


@contextmanager
def _reading(vector: Any, name: str) -> Iterator[None]:
    """Raise ParameterError if a library cannot export the memory of its vector."""
    try:
        yield
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise ParameterError(
            f"{name} is a {type(vector).__name__}, which cannot be read as an array: {error}"
        ) from error


@contextmanager
def use_device(ordinal: int) -> Iterator[None]:
    """Make a GPU current in this thread; in a new thread, the call of the runtime also binds the context."""
    import cupy

    runtime = cupy.cuda.runtime
    before = runtime.getDevice()
    runtime.setDevice(ordinal)
    try:
        yield
    finally:
        if before != ordinal:
            runtime.setDevice(before)


def share_on_gpu(array: Any) -> Any:
    """Return an array with CUDA's array interface as a CuPy array, without the copy that CuPy makes across GPUs."""
    import cupy

    pointer = array.__cuda_array_interface__["data"][0]
    if not pointer:
        return cupy.asarray(array)
    with use_device(cupy.cuda.runtime.pointerGetAttributes(pointer).device):
        return cupy.asarray(array)


def current_device(array: Any) -> AbstractContextManager[None]:
    """Return a context in which the GPU of an array is current; an empty one for host arrays."""
    return nullcontext() if isinstance(array, np.ndarray) else use_device(int(array.data.device_id))


class Vectors:
    """Conversion of vectors of one device, with `xp` NumPy or CuPy."""

    backend: ClassVar[str]
    xp: Any
    kind: Any
    """Class of the arrays."""

    def guard(self) -> AbstractContextManager[Any] | None:
        """Return a context that makes the device current, or None if it is; raises DeviceError after a fork."""
        raise NotImplementedError

    def read(self, vector: Any, size: int, has_columns: bool, name: str = "x") -> Any:
        """Return x [size], [size, 1] or, with columns, [size, k], as an array of any real or complex dtype and stride.

        Raises ParameterError for another shape, values that are not numbers, and vectors on another device.
        """
        array = vector if type(vector) is self.kind else self.native(vector, name)
        if array.shape != (size,):
            self._check_shape(array, size, has_columns, name)
        if array.dtype != FP64:
            check_numbers(array, name)
        return array

    def written(self, vector: Any, shape: tuple[int, ...], is_complex: bool) -> Any:
        """Return `out` as an array that shares its memory; raises ParameterError if it cannot hold the result.

        It must have this shape, be contiguous (a matrix in either order), lie on the device, and be float64, or
        complex128 for a complex result.
        """
        array = vector if type(vector) is self.kind else self.native(vector, "out")
        if array.shape != shape:
            raise ParameterError(f"out has the shape {array.shape}; the result needs {shape}.")
        if is_complex and array.dtype != COMPLEX:
            raise ParameterError(
                f"The result is complex, but out is {array.dtype}. Pass a complex128 out, or omit out=."
            )
        if array.dtype not in (FP64, COMPLEX):
            raise ParameterError(f"out is {array.dtype}; expected float64. Pass such an out, or omit out=.")
        if not (array.flags.c_contiguous or array.flags.f_contiguous):
            raise ParameterError("out must be contiguous. Pass such an out, or omit out=.")
        return array

    def is_plain(self, array: Any, size: int) -> bool:
        """Return whether an array of `xp` is float64 [size], contiguous, and on this device."""
        raise NotImplementedError

    def target(self, x: Any, n_cols: int, out: Any, n_rows: int) -> Any:
        """Return the output array for plain vectors: `out` or a new vector; None if one of them is not plain.

        Plain vectors, as solvers pass them, are contiguous float64 arrays of `kind` on this device, which is current.
        """
        if type(x) is not self.kind or self.guard() is not None or not self.is_plain(x, n_cols):
            return None
        if out is None:
            return self.kind(n_rows)
        is_plain = type(out) is self.kind and self.is_plain(out, n_rows) and not self.overlap(x, out)
        return out if is_plain else None

    def empty(self, shape: Any, dtype: Any = FP64) -> Any:
        """Return a new array."""
        return self.xp.empty(shape, dtype)

    def answer(self, array: Any, like: Any) -> Any:
        """Return an array in the kind of `like`, or unchanged if that library does not accept DLPack."""
        if type(like) is self.kind:
            return array
        if isinstance(like, np.matrix):
            return array.view(np.matrix)
        make = getattr(_namespace(like), "from_dlpack", None)
        return array if make is None or isinstance(like, self.kind) else make(array)

    def native(self, vector: Any, name: str) -> Any:
        """Return a vector of any library as an array, sharing its memory if possible."""
        raise NotImplementedError

    def overlap(self, x: Any, y: Any) -> bool:
        """Return whether the two share memory."""
        raise NotImplementedError

    def synchronize(self) -> None:
        """Wait for the work on the current stream."""
        raise NotImplementedError

    def _check_shape(self, array: Any, size: int, has_columns: bool, name: str) -> None:
        shape = array.shape
        if len(shape) == 2 and shape[0] == size and (has_columns or shape[1] == 1):
            return
        takes = f"[{size}] or [{size}, {'k' if has_columns else '1'}]"
        has_several = name == "x" and len(shape) == 2 and shape[0] == size
        advice = "; `A @ x` and `matmat` multiply several columns" if has_several else ""
        raise ParameterError(f"{name} has the shape {shape}; expected {takes}{advice}.")


class HostVectors(Vectors):
    """Conversion of vectors of a CPU."""

    backend = "cpu"
    xp = np
    kind = np.ndarray

    def guard(self) -> AbstractContextManager[Any] | None:
        """Return a context that makes the device current, or None if it is; raises DeviceError after a fork."""
        if forks.FORKS.has_lost_threads:
            raise DeviceError(f"The threads of the CPU kernels are lost after a fork. {forks.ADVICE}")
        return None

    def is_plain(self, array: Any, size: int) -> bool:
        """Return whether an array is float64 [size] and contiguous, and can be written."""
        return bool(array.shape == (size,) and array.dtype == FP64 and array.flags.carray)

    def written(self, vector: Any, shape: tuple[int, ...], is_complex: bool) -> Any:
        """Return `out` as an array; raises ParameterError also if it is read-only."""
        array = super().written(vector, shape, is_complex)
        if not array.flags.writeable:
            raise ParameterError("out is read-only. Pass a writable out, or omit out= and use the returned vector.")
        return array

    def overlap(self, x: Any, y: Any) -> bool:
        """Return whether the two share memory."""
        return np.may_share_memory(x, y)

    def synchronize(self) -> None:
        """Do nothing, because the CPU kernels run synchronously."""

    def native(self, vector: Any, name: str) -> Any:
        """Return a vector of any library as an array, sharing its memory if possible."""
        with _reading(vector, name):
            if hasattr(vector, "__cuda_array_interface__") or _device_kind(vector) != HOST:
                raise ParameterError(
                    f"{name} lies on a GPU and the matrix on the host. Copy one of them to the other device."
                )
            if hasattr(vector, "__dlpack__") and not hasattr(vector, "__array__"):
                return np.from_dlpack(vector)
            if name == "out" and not hasattr(vector, "__array__"):
                raise ParameterError(f"out is a {type(vector).__name__}; expected an array with writable memory.")
            return np.asarray(vector)


@dataclass(frozen=True, slots=True)
class _Pointer:
    """A stream of another library, in the protocol of CuPy."""

    pointer: int

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.pointer


class DeviceVectors(Vectors):
    """Conversion of vectors of one GPU.

    ordinal  number of the GPU in the CUDA runtime
    """

    backend = "cuda"

    def __init__(self, ordinal: int) -> None:
        import cupy

        self.ordinal = ordinal
        self.xp, self.kind = cupy, cupy.ndarray
        self._before_fork = forks.FORKS.count
        self._driver, self._current_device = cupy.cuda.driver, cupy.cuda.runtime.getDevice
        with use_device(ordinal):
            self._context = self._driver.ctxGetCurrent()

    def guard(self) -> AbstractContextManager[Any] | None:
        """Return a context that makes the device current, or None if it is; raises DeviceError after a fork."""
        if forks.FORKS.count != self._before_fork:
            raise DeviceError(f"A forked process cannot use a GPU that its parent has used. {forks.ADVICE}")
        return None if self._driver.ctxGetCurrent() == self._context else self._in_context()

    @contextmanager
    def _in_context(self) -> Iterator[None]:
        """Make the context of the GPU current in this thread, then restore the previous one."""
        before, device = self._driver.ctxGetCurrent(), self._current_device()
        self._driver.ctxSetCurrent(self._context)
        try:
            yield
        finally:
            # A thread that had no context keeps this one, so that its next SpMV is not slower.
            if before or device != self.ordinal:
                self._driver.ctxSetCurrent(before)

    def overlap(self, x: Any, y: Any) -> bool:
        """Return whether the two share memory."""
        first, second = x.data.ptr, y.data.ptr
        return bool(first < second + y.nbytes and second < first + x.nbytes)

    def synchronize(self) -> None:
        """Wait for the work on the current stream."""
        self.xp.cuda.get_current_stream().synchronize()

    def on_stream(self, pointer: int) -> AbstractContextManager[Any] | None:
        """Return a context that makes a stream of another library current in CuPy, or None if it is."""
        if pointer == self.xp.cuda.get_current_stream().ptr:
            return None
        stream: AbstractContextManager[Any] = self.xp.cuda.Stream.from_external(_Pointer(pointer))
        return stream

    def is_plain(self, array: Any, size: int) -> bool:
        """Return whether an array is float64 [size], contiguous, and on this GPU."""
        return bool(
            array.shape == (size,)
            and array.dtype == FP64
            and array.strides == CONTIGUOUS
            and array.data.device_id == self.ordinal
        )

    def read(self, vector: Any, size: int, has_columns: bool, name: str = "x") -> Any:
        """Return x as an array; raises ParameterError also if it lies on another GPU."""
        return self._here(super().read(vector, size, has_columns, name), name)

    def written(self, vector: Any, shape: tuple[int, ...], is_complex: bool) -> Any:
        """Return `out` as an array; raises ParameterError also if it lies on another GPU."""
        return self._here(super().written(vector, shape, is_complex), "out")

    def native(self, vector: Any, name: str) -> Any:
        """Return a vector of any library as an array, sharing its memory if possible."""
        if isinstance(vector, self.kind):
            return vector
        with _reading(vector, name):
            # DLPack first: it synchronizes the vector with our stream, which JAX's other interface does not.
            if hasattr(vector, "__dlpack__") and _device_kind(vector) != HOST:
                return self.xp.from_dlpack(vector)
            if hasattr(vector, "__cuda_array_interface__"):
                return share_on_gpu(vector)
        raise ParameterError(
            f"{name} lies on the host and the matrix on a GPU. Copy it to the GPU once, with cupy.asarray."
        )

    def _here(self, array: Any, name: str) -> Any:
        if array.data.device_id != self.ordinal and array.nbytes:
            raise ParameterError(
                f"{name} lies on cuda:{array.data.device_id} and the matrix on cuda:{self.ordinal}. Copy one to "
                "the other GPU."
            )
        return array
