"""From a matrix to a kernel bound to a layout of it: for A, and for Aᵀ."""

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
from gpu_engine.host.device import find_device, list_devices, uuid_at
from gpu_engine.measure.stopwatch import now
from gpu_engine.operators import choice, trial
from gpu_engine.operators.choice import SHARED, Choice
from gpu_engine.operators.matrices import Adopted, uploaded
from gpu_engine.operators.transposed_copy import TransposedCopy
from gpu_engine.operators.vectors import DeviceVectors, HostVectors, Vectors
from gpu_engine.records import DeviceInfo
from gpu_engine.text import units

Choose = Literal["auto", "predict", "measure"]


@dataclass(frozen=True, slots=True)
class Wish:
    """What the caller asked for: the parameters of `operator`."""

    choose: Choose = "auto"
    kernel: str | None = None
    like: Mapping[str, Any] | None = None
    time_limit_s: float = 0.5
    transposed_copy: bool = True


@dataclass(frozen=True, slots=True)
class Built:
    """A kernel bound to a layout.

    layout  of the matrix in the kernel's format; `launch` multiplies with it
    second  what the layout costs beside the arrays of the matrix; None where it is not a second one
    """

    choice: Choice
    layout: Any
    launch: Launch
    second: TransposedCopy | None


@dataclass(frozen=True, slots=True)
class Side:
    """A, or Aᵀ.

    rows     by rows; None where only the arrays of the transpose are to be used
    shared   the layout that has those arrays, of a product across the order of storage
    seconds  that sorting out the rows took
    mirrors  whether it is its own transpose
    """

    rows: CsrMatrix | None
    shared: CscLayout | None = None
    seconds: float = 0.0
    mirrors: bool = False


class Source:
    """The arrays of a matrix, and where its products run."""

    def __init__(self, adopted: Adopted, wish: Wish) -> None:
        self.adopted, self.wish = adopted, wish
        self.vectors: Vectors = _vectors(adopted.stored)

    @property
    def ordinal(self) -> int | None:
        """The number of the GPU of the arrays in the CUDA runtime; None on the host."""
        return self.vectors.ordinal if isinstance(self.vectors, DeviceVectors) else None

    def current(self) -> AbstractContextManager[Any]:
        """Return what makes the device of the arrays current; raise DeviceError where it cannot be used here."""
        return self.vectors.guard() or nullcontext()

    def duplicate(self, memo: dict[int, Any]) -> "Source":
        """Return a source of copied arrays, as copy.deepcopy makes them."""
        return Source(replace(self.adopted, stored=copy.deepcopy(self.adopted.stored, memo)), self.wish)

    def packed(self) -> tuple[Adopted, int | None, Wish]:
        """Return what `unpacked` makes a source of in another process: arrays of the host, and the GPU they go to."""
        with self.current():
            return replace(self.adopted, stored=self.adopted.stored.on_host()), self.ordinal, self.wish

    @cached_property
    def device(self) -> DeviceInfo:
        """The device of the arrays; raises DeviceError where it is not found."""
        if self.ordinal is None:
            return find_device("cpu")
        import cupy

        uuid = uuid_at(cupy.cuda.runtime.deviceGetPCIBusId(self.ordinal))
        gpus = (device for device in list_devices() if device.backend == "cuda" and not device.is_several)
        for gpu in gpus:
            if gpu.uuid == uuid:
                return gpu
        raise DeviceError(f"NVML does not list the GPU cuda:{self.ordinal}, on which the matrix lies.")

    def side(self, transposed: bool) -> Side:
        """A or Aᵀ as a product finds it; where it may have a second layout, the rows for that are sorted out."""
        if transposed == self.adopted.by_columns:
            return Side(self.adopted.stored)
        with self.current():
            return self._across()

    def _across(self) -> Side:
        """The product across the order of storage."""
        stored, wish = self.adopted.stored, self.wish
        shared = CscLayout(stored.n_cols, stored.n_rows, stored.indptr, stored.indices, stored.values)
        if not wish.transposed_copy or wish.kernel == SHARED:
            return Side(None, shared)
        rows, seconds = self._timed(lambda: transpose(stored))
        return Side(stored, mirrors=True) if _equal(rows, stored) else Side(rows, shared, seconds)

    def build(self, side: Side, choice: Choice | None = None) -> Built:
        """The kernel that was asked for, or the one that is chosen, bound to its layout; `choice` says which anyway."""
        with self.current():
            chosen = choice or (self._unasked() if side.rows is None else self._chosen(side.rows, side.shared))
            return self._bound(side, chosen)

    def _bound(self, side: Side, chosen: Choice) -> Built:
        f, kernel = find_kernel(chosen.kernel)
        if side.shared is not None and chosen.kernel == SHARED:
            return Built(chosen, side.shared, kernel.bound(self.vectors.backend, side.shared), None)
        rows: Any = side.rows
        layout, seconds = self._timed(lambda: f.from_csr(rows))
        second = TransposedCopy(layout.stored_bytes, side.seconds + seconds, chosen.product_s, chosen.shared_s)
        return Built(chosen, layout, kernel.bound(self.vectors.backend, layout), second if side.shared else None)

    def _unasked(self) -> Choice:
        """Across the order of storage, without a second layout."""
        stored = self.adopted.stored
        more = units.size(12 * stored.nnz + stored.indptr.itemsize * (stored.n_cols + 1))
        return Choice(SHARED, f"no second layout was asked for, of which CSR takes {more}; it adds to y instead")

    def _chosen(self, rows: CsrMatrix, shared: CscLayout | None) -> Choice:
        wish, backend = self.wish, self.vectors.backend
        if wish.kernel is not None:
            return choice.named(wish.kernel, backend)
        if wish.like is not None:
            return choice.like(wish.like, backend)
        # A CPU's kernel is chosen without a look at the matrix unless a trial is asked for.
        if wish.choose == "predict" or not rows.nnz or (wish.choose == "auto" and backend == "cpu"):
            return choice.predicted(rows if backend == "cpu" else rows.on_host(), self.device)
        host = rows.on_host()
        certain = choice.certain(host, self.device) if wish.choose == "auto" else None
        return certain or trial.tried(host, rows, shared, self.device, wish.time_limit_s)

    def _timed(self, work: Callable[[], Any]) -> tuple[Any, float]:
        """The result of a conversion, and its seconds."""
        begin = now()
        result = work()
        self.vectors.synchronize()
        return result, now() - begin


def unpacked(packed: tuple[Adopted, int | None, Wish]) -> Source:
    """Return the source of what `packed` gave; raise DeviceError where no GPU answers."""
    adopted, ordinal, wish = packed
    return Source(adopted if ordinal is None else uploaded(adopted, ordinal), wish)


def _vectors(matrix: CsrMatrix) -> Vectors:
    if isinstance(matrix.values, np.ndarray):
        return HostVectors()
    return DeviceVectors(int(matrix.values.data.device_id))


def _equal(first: CsrMatrix, second: CsrMatrix) -> bool:
    """Whether two canonical matrices are one."""
    if first.shape != second.shape:
        return False
    xp = array_module(first.values)
    names = ("indptr", "indices", "values")
    return all(bool(xp.array_equal(getattr(first, name), getattr(second, name))) for name in names)
