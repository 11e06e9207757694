"""The caller's vectors as arrays of NumPy or CuPy, and answers in the caller's kind."""

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
"""The strides of a float64 vector without gaps; CuPy takes longer to make its flags than all else that is asked."""

HOST = 1
"""DLPack's number of a CPU."""


def _namespace(vector: Any) -> Any:
    """The module whose `from_dlpack` makes vectors of this kind."""
    if hasattr(vector, "__array_namespace__"):
        return vector.__array_namespace__()
    return sys.modules.get(type(vector).__module__.partition(".")[0])


def _device_kind(vector: Any) -> int:
    """DLPack's number of the kind of device; HOST for what has none."""
    return int(vector.__dlpack_device__()[0]) if hasattr(vector, "__dlpack_device__") else HOST


@contextmanager
def _reading(vector: Any, name: str) -> Iterator[None]:
    """Raise ParameterError where a library cannot give the memory of its vector, whatever it says of that."""
    try:
        yield
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise ParameterError(f"{name}, a {type(vector).__name__}, is not readable as an array: {error}") from error


@contextmanager
def use_device(ordinal: int) -> Iterator[None]:
    """Make a GPU current in this thread; a new thread gets its context, which only a call of the runtime binds."""
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
    """Return an array with CUDA's array interface as CuPy's, not copied: CuPy copies one of a GPU that is not current."""
    import cupy

    pointer = array.__cuda_array_interface__["data"][0]
    if not pointer:
        return cupy.asarray(array)
    with use_device(cupy.cuda.runtime.pointerGetAttributes(pointer).device):
        return cupy.asarray(array)


def current_device(array: Any) -> AbstractContextManager[None]:
    """Return what makes the GPU of an array current; nothing for one of the host."""
    return nullcontext() if isinstance(array, np.ndarray) else use_device(int(array.data.device_id))


class Vectors:
    """Vectors of one device, as arrays of `xp`: NumPy or CuPy."""

    backend: ClassVar[str]
    xp: Any
    kind: Any
    """The class of the arrays."""

    def guard(self) -> AbstractContextManager[Any] | None:
        """Return what makes the device current in this thread, None where it is; raise DeviceError after a fork."""
        raise NotImplementedError

    def read(self, vector: Any, size: int, has_columns: bool) -> Any:
        """Return x [size], [size, 1] or, with columns, [size, k], as an array of any real or complex dtype and stride.

        Raises ParameterError for another shape, what are no numbers, and what lies on another device.
        """
        array = vector if type(vector) is self.kind else self.native(vector, "x")
        if array.shape != (size,):
            self._check_shape(array, size, has_columns)
        if array.dtype != FP64:
            check_numbers(array, "x")
        return array

    def written(self, vector: Any, shape: tuple[int, ...], is_complex: bool) -> Any:
        """Return `out` as an array that shares its memory; raise ParameterError where the product cannot be written.

        It has that shape, is contiguous, on the device, and float64; complex128, where the product is complex.
        """
        array = vector if type(vector) is self.kind else self.native(vector, "out")
        if array.shape != shape:
            raise ParameterError(f"out has the shape {array.shape}; {shape}, as the product has, was expected.")
        if is_complex and array.dtype != COMPLEX:
            raise ParameterError(f"The product is complex and out is {array.dtype}. Give a complex128 out, or none.")
        if array.dtype not in (FP64, COMPLEX):
            raise ParameterError(f"out is {array.dtype}; float64 was expected. Give such an out, or none.")
        if not array.flags.c_contiguous:
            raise ParameterError("out is strided; contiguous memory was expected. Give such an out, or none.")
        return array

    def is_plain(self, array: Any, size: int) -> bool:
        """Return whether an array of `xp` is float64 [size], contiguous, and on this device."""
        raise NotImplementedError

    def target(self, x: Any, n_cols: int, out: Any, n_rows: int) -> Any:
        """Return where a product of usual vectors is written: `out`, or a new vector; None where one is unusual.

        Usual is what solvers pass: contiguous float64 vectors of our kind on this device, which is current.
        """
        if type(x) is not self.kind or self.guard() is not None or not self.is_plain(x, n_cols):
            return None
        if out is None:
            return self.kind(n_rows)
        is_usual = type(out) is self.kind and self.is_plain(out, n_rows) and not self.overlap(x, out)
        return out if is_usual else None

    def empty(self, shape: Any, dtype: Any = FP64) -> Any:
        """Return a new array."""
        return self.xp.empty(shape, dtype)

    def answer(self, array: Any, like: Any) -> Any:
        """Return an array of ours in the kind of another one; as it is where that kind takes no DLPack."""
        if type(like) is self.kind:
            return array
        if isinstance(like, np.matrix):
            return array.view(np.matrix)
        make = getattr(_namespace(like), "from_dlpack", None)
        return array if make is None or isinstance(like, self.kind) else make(array)

    def native(self, vector: Any, name: str) -> Any:
        """Return a vector of any library as an array that shares its memory, where it has some."""
        raise NotImplementedError

    def overlap(self, x: Any, y: Any) -> bool:
        """Return whether the two share memory."""
        raise NotImplementedError

    def synchronize(self) -> None:
        """Wait for what was launched on the current stream."""
        raise NotImplementedError

    def _check_shape(self, array: Any, size: int, has_columns: bool) -> None:
        shape = array.shape
        if len(shape) == 2 and shape[0] == size and (has_columns or shape[1] == 1):
            return
        takes = f"[{size}] or [{size}, {'k' if has_columns else '1'}]"
        advice = "; `A @ x` and `matmat` multiply several columns" if len(shape) == 2 and shape[0] == size else ""
        raise ParameterError(f"x has the shape {shape}; {takes} was expected{advice}.")


class HostVectors(Vectors):
    """Vectors of a CPU."""

    backend = "cpu"
    xp = np
    kind = np.ndarray

    def guard(self) -> AbstractContextManager[Any] | None:
        """Return what makes the device current in this thread, None where it is; raise DeviceError after a fork."""
        if forks.FORKS.has_lost_threads:
            raise DeviceError(f"The threads of the CPU kernels did not survive a fork. {forks.ADVICE}")
        return None

    def is_plain(self, array: Any, size: int) -> bool:
        """Return whether an array is float64 [size] and contiguous, and can be written."""
        return bool(array.shape == (size,) and array.dtype == FP64 and array.flags.carray)

    def written(self, vector: Any, shape: tuple[int, ...], is_complex: bool) -> Any:
        """Return `out`, which can also be written."""
        array = super().written(vector, shape, is_complex)
        if not array.flags.writeable:
            raise ParameterError("out cannot be written; leave it out, and take what is returned.")
        return array

    def overlap(self, x: Any, y: Any) -> bool:
        """Return whether the two share memory."""
        return np.may_share_memory(x, y)

    def synchronize(self) -> None:
        """Nothing runs in the background here."""

    def native(self, vector: Any, name: str) -> Any:
        """Return a vector of any library as an array that shares its memory, where it has some."""
        with _reading(vector, name):
            if hasattr(vector, "__cuda_array_interface__") or _device_kind(vector) != HOST:
                raise ParameterError(f"{name} lies on a GPU and the matrix on the host; bring one to the other.")
            if hasattr(vector, "__dlpack__") and not hasattr(vector, "__array__"):
                return np.from_dlpack(vector)
            if name == "out" and not hasattr(vector, "__array__"):
                raise ParameterError(
                    f"out is a {type(vector).__name__}; an array with memory to write to was expected."
                )
            return np.asarray(vector)


@dataclass(frozen=True, slots=True)
class _Pointer:
    """A stream of another library, as CuPy takes it."""

    pointer: int

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.pointer


class DeviceVectors(Vectors):
    """Vectors of one GPU.

    ordinal  its number in the CUDA runtime
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
        """Return what makes the device current in this thread, None where it is; raise DeviceError after a fork."""
        if forks.FORKS.count != self._before_fork:
            raise DeviceError(f"A GPU cannot be used in a process forked from one that used it. {forks.ADVICE}")
        return None if self._driver.ctxGetCurrent() == self._context else self._in_context()

    @contextmanager
    def _in_context(self) -> Iterator[None]:
        """Make the context of the GPU current in this thread, and the one before again afterwards."""
        before, device = self._driver.ctxGetCurrent(), self._current_device()
        self._driver.ctxSetCurrent(self._context)
        try:
            yield
        finally:
            # A thread that had no context and works on this GPU keeps it: its next product is as fast as others.
            if before or device != self.ordinal:
                self._driver.ctxSetCurrent(before)

    def overlap(self, x: Any, y: Any) -> bool:
        """Return whether the two share memory."""
        first, second = x.data.ptr, y.data.ptr
        return bool(first < second + y.nbytes and second < first + x.nbytes)

    def synchronize(self) -> None:
        """Wait for what was launched on the current stream."""
        self.xp.cuda.get_current_stream().synchronize()

    def on_stream(self, pointer: int) -> AbstractContextManager[Any] | None:
        """Return what makes a stream of another library CuPy's current one; None where it is."""
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

    def read(self, vector: Any, size: int, has_columns: bool) -> Any:
        """Return x, which lies on this GPU."""
        return self._here(super().read(vector, size, has_columns), "x")

    def written(self, vector: Any, shape: tuple[int, ...], is_complex: bool) -> Any:
        """Return `out`, which lies on this GPU."""
        return self._here(super().written(vector, shape, is_complex), "out")

    def native(self, vector: Any, name: str) -> Any:
        """Return a vector of any library as an array that shares its memory, where it has some."""
        if isinstance(vector, self.kind):
            return vector
        with _reading(vector, name):
            # DLPack first: by it a library has its vector ready on our stream, while JAX's other interface names none.
            if hasattr(vector, "__dlpack__") and _device_kind(vector) != HOST:
                return self.xp.from_dlpack(vector)
            if hasattr(vector, "__cuda_array_interface__"):
                return share_on_gpu(vector)
        raise ParameterError(f"{name} lies on the host and the matrix on a GPU; bring it there once: cupy.asarray.")

    def _here(self, array: Any, name: str) -> Any:
        if array.data.device_id != self.ordinal and array.nbytes:
            raise ParameterError(
                f"{name} lies on cuda:{array.data.device_id} and the matrix on cuda:{self.ordinal}; bring one to the "
                "other."
            )
        return array
