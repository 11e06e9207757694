"""Access to cuSPARSE: the library of CuPy, or the file that SPARSIGHT_CUSPARSE names, and its handles."""

import ctypes
import functools
import os
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any

from gpu_engine.errors import KernelError
from gpu_engine.spmm.base import Order
from gpu_engine.spmm.operands import leading

VARIABLE = "SPARSIGHT_CUSPARSE"
"""Variable with the path of another libcusparse; a libnvJitLink next to it is loaded too."""

INDEX_32, INDEX_64 = 2, 3
BASE_ZERO = 0
REAL_64 = 1
NO_TRANSPOSE, TRANSPOSE = 0, 1
BY_COLUMNS, BY_ROWS = 1, 2
ONE, ZERO = ctypes.c_double(1.0), ctypes.c_double(0.0)


@functools.cache
def library() -> Any:
    """Return the loaded library; raises KernelError if the file in SPARSIGHT_CUSPARSE cannot be loaded."""
    file = os.environ.get(VARIABLE)
    if not file:
        return ctypes.CDLL(_path_of_cupys())
    path = Path(file).expanduser().absolute()
    try:
        # A library that is requested by name is the first one of that name in the process. Therefore the linker must
        # be of this release, and CuPy's cuSPARSE is loaded before the other one.
        for linker in sorted(path.parent.glob("libnvJitLink.so*"))[:1]:
            ctypes.CDLL(str(linker), mode=ctypes.RTLD_GLOBAL)
        with suppress(RuntimeError):
            _path_of_cupys()
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise KernelError(f"Cannot load {path}: {error}. Set {VARIABLE} to the path of a libcusparse.so.") from None


def _path_of_cupys() -> str:
    """Return the path of the cuSPARSE of CuPy, after loading it; raises RuntimeError if there is none."""
    from cuda.pathfinder import load_nvidia_dynamic_lib

    return str(load_nvidia_dynamic_lib("cusparse").abs_path)


def call(function: str, *arguments: Any) -> None:
    """Call a function of the library; raises KernelError if its status is not 0."""
    status = getattr(library(), function)(*arguments)
    if status:
        raise KernelError(f"{function} failed with cuSPARSE status {status}.")


class LibraryObject:
    """A cuSPARSE object of a matrix, vector, SpMV, or GPU; it is destroyed with its last reference.

    It can be passed as a pointer to calls of the library.
    """

    def __init__(
        self, create: str, destroy: str, *arguments: Any, leading: tuple[Any, ...] = (), needs: Any = None
    ) -> None:
        """Create the object with `create(*leading, &object, *arguments)`; it keeps `needs` alive.

        Raises KernelError if cuSPARSE reports an error.
        """
        self._as_parameter_, self._needs = ctypes.c_void_p(), needs
        call(create, *leading, ctypes.byref(self._as_parameter_), *arguments)
        finalizer = weakref.finalize(self, getattr(library(), destroy), self._as_parameter_)
        # At the end of the process, CUDA may already be unloaded.
        finalizer.atexit = False


def new_handle() -> LibraryObject:
    """Return a new handle of the current GPU, for one thread at a time."""
    return LibraryObject("cusparseCreate", "cusparseDestroy")


@functools.cache
def _handle(device: int) -> LibraryObject:  # noqa: ARG001 (a handle belongs to one device)
    return new_handle()


def shared_handle() -> LibraryObject:
    """Return the shared handle of the current GPU, set to the current stream."""
    import cupy

    handle = _handle(cupy.cuda.runtime.getDevice())
    set_stream(handle)
    return handle


def set_stream(handle: LibraryObject) -> None:
    """Set the stream of a handle to the current stream."""
    import cupy

    call("cusparseSetStream", handle, ctypes.c_void_p(cupy.cuda.get_current_stream().ptr))


@functools.cache
def version() -> dict[str, str]:
    """Return the version of the loaded library: {"cuSPARSE": "12.6.2"}."""
    number = ctypes.c_int()
    call("cusparseGetVersion", new_handle(), ctypes.byref(number))
    return {"cuSPARSE": f"{number.value // 1000}.{number.value // 100 % 10}.{number.value % 100}"}


def pointer(array: Any) -> ctypes.c_void_p:
    """Return the pointer to a device array."""
    return ctypes.c_void_p(array.data.ptr)


def vector(array: Any) -> LibraryObject:
    """Return the descriptor of a float64 vector."""
    sizes = ctypes.c_int64(array.size), pointer(array), ctypes.c_int(REAL_64)
    return LibraryObject("cusparseCreateDnVec", "cusparseDestroyDnVec", *sizes)


class DenseMatrix:
    """Descriptor of float64 matrices of one shape and order; it is made again only for another leading dimension."""

    def __init__(self, order: Order) -> None:
        self._is_by_rows = order == "row"
        self._distance, self._address = 0, 0
        self._descriptor: LibraryObject | None = None

    def describe(self, array: Any) -> LibraryObject:
        """Return the descriptor of an array of the order."""
        distance, address = leading(array if self._is_by_rows else array.T), pointer(array)
        if self._descriptor is None or distance != self._distance:
            sizes = (ctypes.c_int64(size) for size in (*array.shape, distance))
            kind = ctypes.c_int(REAL_64), ctypes.c_int(BY_ROWS if self._is_by_rows else BY_COLUMNS)
            self._descriptor = LibraryObject("cusparseCreateDnMat", "cusparseDestroyDnMat", *sizes, address, *kind)
        elif address.value != self._address:
            call("cusparseDnMatSetValues", self._descriptor, address)
        self._distance, self._address = distance, address.value or 0
        return self._descriptor
