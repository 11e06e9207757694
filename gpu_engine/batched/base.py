"""BatchKernel: the contract of every way to multiply a batch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gpu_engine.batched.batch import Batch
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats.base import source_hash

BatchProduct = Callable[[Any, Any, Any, bool], None]
"""`(layout, x, y, adds)`: y := A·x for every problem, or y := A·x + y where it `adds`.

x float64 [n_cols], y float64 [n_rows] of the batch. Launches on the current stream, neither waits nor allocates.
Without `adds`, y is not read and every element is written, those of empty rows too.
"""


@dataclass(frozen=True)
class BatchKernel:
    """One way to multiply a batch; None for a backend on which it has no meaning.

    name         `format/variant`, as records, parameters and pages call it
    store        batch → layout, on the device of the batch; the layout has `stored_bytes`, padding included, and
                 `to_batch()`, the same batch exactly
    bytes_needed bytes of the layout of a batch, known before anything large is allocated
    moved_bytes  bytes of the layout that any product must read at least; default: all that it stores
    remark       layout → what a record says of how the batch was stored; default: nothing
    libraries    version of each library that it calls, by name
    captured     whether a GPU replays all launches of a product as one CUDA graph while it is timed; else the host
                 launches them then
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
        """The CUDA file behind it."""
        return (self.source,) if self.source is not None else ()

    def product(self, backend: str) -> BatchProduct | None:
        """The product of `cpu` or `cuda`."""
        return self.cuda if backend == "cuda" else self.cpu

    def layout_bytes(self, layout: Any) -> int:
        """Bytes of the layout that a product reads at least."""
        return self.moved_bytes(layout) if self.moved_bytes else int(layout.stored_bytes)

    def source_hash(self, backend: str) -> str:
        """First 16 hex digits of the sha256 of the source that a record of this backend was measured with."""
        return source_hash(self.product(backend), self.source if backend == "cuda" else None)
