"""BatchKernel: the interface of every kernel of batched SpMV."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gpu_engine.batched.batch import Batch
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats.base import source_hash

BatchProduct = Callable[[Any, Any, Any, bool], None]
"""Batched SpMV `(layout, x, y, adds)`: y := A·x for every matrix, or y := A·x + y if it `adds`.

x float64 [n_cols], y float64 [n_rows] of the batch. It launches on the current stream and neither waits nor allocates.
Without `adds` it does not read y and writes every element, including those of empty rows.
"""


@dataclass(frozen=True)
class BatchKernel:
    """A kernel of batched SpMV; `cpu` or `cuda` is None on a backend that it does not support.

    name         `format/variant`, in records, parameters and pages
    store        batch → layout, on the device of the batch; the layout has `stored_bytes`, padding included, and
                 `to_batch()`, which returns exactly the same batch
    bytes_needed bytes of the layout of a batch, without large allocations
    moved_bytes  bytes of the layout that an SpMV must read; default: all stored bytes
    remark       layout → note in the record on how the batch is stored; default: none
    libraries    version of each library that it calls, by name
    captured     whether a GPU replays all launches of an SpMV as one CUDA graph while it is timed; else the host
                 launches them
    """

    name: str
    summary: str
    store: Callable[[Batch], Any]
    bytes_needed: Callable[[Batch], int]
    cpu: BatchProduct | None = None
    cuda: BatchProduct | None = None
    source: CudaSource | None = None
    moved_bytes: Callable[[Any], int] | None = None
    remark: Callable[[Any], str] | None = None
    libraries: Callable[[], Mapping[str, str]] = dict
    captured: bool = True

    @property
    def sources(self) -> tuple[CudaSource, ...]:
        """CUDA sources of the kernel."""
        return (self.source,) if self.source is not None else ()

    def product(self, backend: str) -> BatchProduct | None:
        """Return the SpMV function of `cpu` or `cuda`."""
        return self.cuda if backend == "cuda" else self.cpu

    def layout_bytes(self, layout: Any) -> int:
        """Return the bytes of the layout that an SpMV must read."""
        return self.moved_bytes(layout) if self.moved_bytes else int(layout.stored_bytes)

    def source_hash(self, backend: str) -> str:
        """Return the first 16 hex digits of the sha256 of its source on a backend."""
        return source_hash(self.product(backend), self.source if backend == "cuda" else None)
