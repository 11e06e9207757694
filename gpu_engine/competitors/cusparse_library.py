"""The cuSPARSE that is loaded: CuPy's, or the one that a variable names; its handles and what it keeps."""

import ctypes
import functools
import os
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any

from gpu_engine.errors import KernelError

VARIABLE = "SPARSIGHT_CUSPARSE"
"""Names the file of another libcusparse than the one that CuPy has; a libnvJitLink beside it is loaded with it."""

INDEX_32, INDEX_64 = 2, 3
BASE_ZERO = 0
REAL_64 = 1
NO_TRANSPOSE, TRANSPOSE = 0, 1
ONE, ZERO = ctypes.c_double(1.0), ctypes.c_double(0.0)


@functools.cache
def library() -> Any:
    """The library; raises KernelError where the file that the variable names cannot be loaded."""
    named = os.environ.get(VARIABLE)
    if not named:
        return ctypes.CDLL(_path_of_cupys())
    path = Path(named).expanduser().absolute()
    try:
        # Whoever asks for a library by its name alone gets the first of that name that the process has: the linker has
        # to be of this release, and CuPy is to keep its own cuSPARSE.
        for linker in sorted(path.parent.glob("libnvJitLink.so*"))[:1]:
            ctypes.CDLL(str(linker), mode=ctypes.RTLD_GLOBAL)
        with suppress(RuntimeError):
            _path_of_cupys()
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise KernelError(f"{VARIABLE} names {path}, which cannot be loaded: {error}. Name a libcusparse.so.") from None


def _path_of_cupys() -> str:
    """Where the library lies that CuPy takes, which is loaded; raises RuntimeError where there is none."""
    from cuda.pathfinder import load_nvidia_dynamic_lib

    return str(load_nvidia_dynamic_lib("cusparse").abs_path)


def call(function: str, *arguments: Any) -> None:
    """Calls a function of the library; raises KernelError where it refuses."""
    status = getattr(library(), function)(*arguments)
    if status:
        raise KernelError(f"{function} failed with cuSPARSE status {status}.")


class LibraryObject:
    """What cuSPARSE keeps of a matrix, a vector, a product or a GPU; it is destroyed with the last reference.

    A call of the library takes it as its pointer.
    """

    def __init__(
        self, create: str, destroy: str, *arguments: Any, leading: tuple[Any, ...] = (), needs: Any = None
    ) -> None:
        """`create` takes its place after `leading`; what the object `needs` lives as long as it does.

        Raises KernelError where cuSPARSE refuses.
        """
        self._as_parameter_, self._needs = ctypes.c_void_p(), needs
        call(create, *leading, ctypes.byref(self._as_parameter_), *arguments)
        finalizer = weakref.finalize(self, getattr(library(), destroy), self._as_parameter_)
        # When the process ends, CUDA may be gone before.
        finalizer.atexit = False


def new_handle() -> LibraryObject:
    """A handle of the current GPU; it may serve one thread at a time, and no call by itself."""
    return LibraryObject("cusparseCreate", "cusparseDestroy")


@functools.cache
def _handle(device: int) -> LibraryObject:  # noqa: ARG001 (a handle belongs to one device)
    return new_handle()


def shared_handle() -> LibraryObject:
    """The handle of all callers on the current GPU without one of their own, set to the current stream."""
    import cupy

    handle = _handle(cupy.cuda.runtime.getDevice())
    set_stream(handle)
    return handle


def set_stream(handle: LibraryObject) -> None:
    """Makes calls with the handle launch on the current stream."""
    import cupy

    call("cusparseSetStream", handle, ctypes.c_void_p(cupy.cuda.get_current_stream().ptr))


@functools.cache
def version() -> dict[str, str]:
    """The release of the library that is loaded: {"cuSPARSE": "12.6.2"}."""
    number = ctypes.c_int()
    call("cusparseGetVersion", new_handle(), ctypes.byref(number))
    return {"cuSPARSE": f"{number.value // 1000}.{number.value // 100 % 10}.{number.value % 100}"}


def pointer(array: Any) -> ctypes.c_void_p:
    """Where a device array begins."""
    return ctypes.c_void_p(array.data.ptr)


def vector(array: Any) -> LibraryObject:
    """The descriptor of a vector, float64."""
    sizes = ctypes.c_int64(array.size), pointer(array), ctypes.c_int(REAL_64)
    return LibraryObject("cusparseCreateDnVec", "cusparseDestroyDnVec", *sizes)
