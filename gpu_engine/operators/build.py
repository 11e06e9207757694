"""Builds operators: chooses a kernel for A or Aᵀ, converts the matrix, and binds the kernel to the layout."""

import copy
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import DeviceError
from gpu_engine.formats import find_kernel
from gpu_engine.formats.base import Launch, array_module, transpose
from gpu_engine.formats.csc import CscLayout
from gpu_engine.host.device import cpu_device, list_devices, uuid_at
from gpu_engine.measure.stopwatch import now
from gpu_engine.operators import autotune, choice
from gpu_engine.operators.choice import SHARED, Choice
from gpu_engine.operators.matrices import WrappedMatrix, uploaded
from gpu_engine.operators.transposed_copy import TransposedCopy
from gpu_engine.operators.vectors import DeviceVectors, HostVectors, Vectors
from gpu_engine.records import DeviceInfo
from gpu_engine.text import units

Choose = Literal["auto", "predict", "measure"]


@dataclass(frozen=True, slots=True)
class Wish:
    """Options of an operator: the parameters of `operator`."""

    choose: Choose = "auto"
    kernel: str | None = None
    like: Mapping[str, Any] | None = None
    time_limit_s: float = 0.5
    transposed_copy: bool = True


@dataclass(frozen=True, slots=True)
class Built:
    """A kernel bound to a layout.

    layout  the matrix in the format of the kernel; `launch` is its SpMV
    second  cost of the layout if it is a transposed copy, else None
    """

    choice: Choice
    layout: Any
    launch: Launch
    second: TransposedCopy | None


@dataclass(frozen=True, slots=True)
class Side:
    """The matrix or its transpose, as an SpMV needs it.

    rows     the matrix by rows; None if only the arrays of the transpose may be used
    shared   the layout that shares the arrays of the transpose, for an SpMV across the storage order
    seconds  seconds of the transposition
    mirrors  whether the matrix equals its transpose
    """

    rows: CsrMatrix | None
    shared: CscLayout | None = None
    seconds: float = 0.0
    mirrors: bool = False


class Source:
    """The arrays of a matrix, its operator options, and the device on which its SpMVs run."""

    def __init__(self, wrapped: WrappedMatrix, wish: Wish) -> None:
        self.wrapped, self.wish = wrapped, wish
        self.vectors: Vectors = _vectors(wrapped.stored)

    @property
    def ordinal(self) -> int | None:
        """Number of the GPU of the arrays in the CUDA runtime; None on the host."""
        return self.vectors.ordinal if isinstance(self.vectors, DeviceVectors) else None

    def current(self) -> AbstractContextManager[Any]:
        """Return a context in which the device of the arrays is current; raises DeviceError if it is unusable."""
        return self.vectors.guard() or nullcontext()

    def duplicate(self, memo: dict[int, Any]) -> "Source":
        """Return a source of arrays that copy.deepcopy copied."""
        return Source(replace(self.wrapped, stored=copy.deepcopy(self.wrapped.stored, memo)), self.wish)

    def packed(self) -> tuple[WrappedMatrix, int | None, Wish]:
        """Return the state for `unpacked` in another process: host arrays, number of the GPU, and options."""
        with self.current():
            return replace(self.wrapped, stored=self.wrapped.stored.on_host()), self.ordinal, self.wish

    @cached_property
    def device(self) -> DeviceInfo:
        """Device of the arrays; raises DeviceError if NVML does not list it."""
        if self.ordinal is None:
            return cpu_device()
        import cupy

        uuid = uuid_at(cupy.cuda.runtime.deviceGetPCIBusId(self.ordinal))
        gpus = (device for device in list_devices() if device.backend == "cuda" and not device.is_several)
        for gpu in gpus:
            if gpu.uuid == uuid:
                return gpu
        raise DeviceError(
            f"The matrix lies on the GPU cuda:{self.ordinal}, which NVML does not list. Check the driver."
        )

    def side(self, transposed: bool) -> Side:
        """Return A or Aᵀ for an SpMV; transpose the matrix if a transposed copy is allowed."""
        if transposed == self.wrapped.by_columns:
            return Side(self.wrapped.stored)
        with self.current():
            return self._across()

    def _across(self) -> Side:
        """Return the side whose SpMV goes across the storage order."""
        stored, wish = self.wrapped.stored, self.wish
        shared = CscLayout(stored.n_cols, stored.n_rows, stored.indptr, stored.indices, stored.values)
        if not wish.transposed_copy or wish.kernel == SHARED:
            return Side(None, shared)
        rows, seconds = self._timed(lambda: transpose(stored))
        return Side(stored, mirrors=True) if _equal(rows, stored) else Side(rows, shared, seconds)

    def build(self, side: Side, choice: Choice | None = None) -> Built:
        """Return a kernel bound to its layout: `choice` if given, else the requested or the chosen kernel."""
        with self.current():
            chosen = choice or (self._without_copy() if side.rows is None else self._chosen(side.rows, side.shared))
            return self._bound(side, chosen)

    def _bound(self, side: Side, chosen: Choice) -> Built:
        f, kernel = find_kernel(chosen.kernel)
        if side.shared is not None and chosen.kernel == SHARED:
            return Built(chosen, side.shared, kernel.bound(self.vectors.backend, side.shared), None)
        rows: Any = side.rows
        layout, seconds = self._timed(lambda: f.from_csr(rows))
        second = TransposedCopy(layout.stored_bytes, side.seconds + seconds, chosen.product_s, chosen.shared_s)
        return Built(chosen, layout, kernel.bound(self.vectors.backend, layout), second if side.shared else None)

    def _without_copy(self) -> Choice:
        """Return the choice for an SpMV across the storage order without a transposed copy."""
        stored = self.wrapped.stored
        more = units.size(12 * stored.nnz + stored.indptr.itemsize * (stored.n_cols + 1))
        return Choice(SHARED, f"no transposed copy was requested (CSR: {more}), so this kernel adds to y")

    def _chosen(self, rows: CsrMatrix, shared: CscLayout | None) -> Choice:
        wish, backend = self.wish, self.vectors.backend
        if wish.kernel is not None:
            return choice.named_kernel(wish.kernel, backend)
        if wish.like is not None:
            return choice.kernel_from_results(wish.like, backend)
        # On a CPU the matrix is inspected only for an auto-tuning run.
        if wish.choose == "predict" or not rows.nnz or (wish.choose == "auto" and backend == "cpu"):
            return choice.predicted_kernel(rows if backend == "cpu" else rows.on_host(), self.device)
        host = rows.on_host()
        confident = choice.confident_kernel(host, self.device) if wish.choose == "auto" else None
        return confident or autotune.autotune(host, rows, shared, self.device, wish.time_limit_s)

    def _timed(self, work: Callable[[], Any]) -> tuple[Any, float]:
        """Return the result of a conversion and its seconds."""
        begin = now()
        result = work()
        self.vectors.synchronize()
        return result, now() - begin


def unpacked(packed: tuple[WrappedMatrix, int | None, Wish]) -> Source:
    """Return the source of a state from `packed`; raises DeviceError if no GPU responds."""
    wrapped, ordinal, wish = packed
    return Source(wrapped if ordinal is None else uploaded(wrapped, ordinal), wish)


def _vectors(matrix: CsrMatrix) -> Vectors:
    if isinstance(matrix.values, np.ndarray):
        return HostVectors()
    return DeviceVectors(int(matrix.values.data.device_id))


def _equal(first: CsrMatrix, second: CsrMatrix) -> bool:
    """Return whether two canonical matrices are equal."""
    if first.shape != second.shape:
        return False
    xp = array_module(first.values)
    names = ("indptr", "indices", "values")
    return all(bool(xp.array_equal(getattr(first, name), getattr(second, name))) for name in names)
