"""Merging of partial results: y := α·Σ py_i + β·y with py_i = A_i·x of partition i, at one of three places (MERGES).

Partitioned by rows, partial results are segments that overlap only in cut rows: each partition writes the rows that
start in it, with β, then its share of a row that starts earlier is added. Partitioned by columns, each partial result
has the length of y. Source: MSREP paper, §4.3 and Algorithms 3, 5, and 7. As printed, Algorithms 3 and 7 overwrite the
share of a cut row instead of adding it, and scale that row by β once more than the others.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from gpu_engine.formats.base import array_module
from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.exchange import owners
from gpu_engine.multigpu.partition import Axis, Part

MergePlace = Literal["host", "device", "gather"]
"""Place of the merge: the host, every device for its rows, or the first device for all rows."""

Each = Callable[[Callable[[int], None]], None]
"""Function that calls a function with each device number, sequentially or in threads, and returns after all calls."""


@dataclass(frozen=True, slots=True)
class PartProduct:
    """SpMV of one partition on its device.

    x        float64, elements of x that the partition needs
    partial  float64, py_i: rows span.first … span.stop − 1 if partitioned by rows, otherwise all rows
    """

    device: Device
    part: Part
    x: Any
    partial: Any

    @property
    def offset(self) -> int:
        """Return the number of leading elements that an earlier partition owns: 0 or 1."""
        return int(self.part.span.start_flag)


@dataclass(frozen=True, slots=True)
class PartialResults:
    """SpMVs of all partitions, and the function with which the host visits the devices."""

    products: Sequence[PartProduct]
    axis: Axis
    n_rows: int
    each: Each


class Merge(Protocol):
    """Repeated merge of the partial results of all partitions; buffers are allocated once, and only if used."""

    def __init__(self, results: PartialResults) -> None: ...

    def load(self, y: Any, alpha: float, beta: float) -> None:
        """Copy y to the place of the merge if it will be read, and allocate the buffers for scaling."""
        ...

    def run(self, y: Any, alpha: float, beta: float) -> None:
        """Compute y := α·Σ py_i + β·y, float64 [n_rows] on the host; β = 0 does not read y."""
        ...


class HostMerge:
    """Merge on the host, as the paper does for rows: devices copy their results to the host, which scales and adds.

    Rows that need no scaling and no sum are copied directly to y.
    """

    def __init__(self, results: PartialResults) -> None:
        self._results, self._products = results, results.products
        by_rows = results.axis == "rows"
        self._shares = [self._buffer(product, product.offset if by_rows else 0) for product in results.products]
        self._copies = [] if by_rows else self._result_buffers()

    def load(self, y: Any, alpha: float, beta: float) -> None:  # noqa: ARG002 (y lies on the host)
        """Allocate buffers for rows that are scaled."""
        if (alpha, beta) != (1.0, 0.0) and not self._copies:
            self._copies = self._result_buffers()

    def run(self, y: Any, alpha: float, beta: float) -> None:
        """Compute y := α·Σ py_i + β·y."""
        each = self._results.each
        if self._results.axis == "columns":
            each(self._download)
            each(lambda i: self._add(i, y, alpha, beta))
            return
        scaled = (alpha, beta) != (1.0, 0.0)
        each(lambda i: self._write(i, y, alpha, beta) if scaled else self._place(i, y))
        for product, share in zip(self._products, self._copies if scaled else self._shares, strict=True):
            y[product.part.span.first : product.part.span.first + product.offset] += alpha * share[: product.offset]

    def _result_buffers(self) -> list[Any]:
        return [self._buffer(product, product.partial.size) for product in self._products]

    def _buffer(self, product: PartProduct, size: int) -> Any:
        return product.device.allocate_host(size, np.float64)

    def _download(self, i: int) -> None:
        device = self._products[i].device
        device.download(self._products[i].partial, self._copies[i])
        device.synchronize()

    def _place(self, i: int, y: Any) -> None:
        """Copy the rows that start in partition i to y, and its share of an earlier row to a separate buffer."""
        product, offset = self._products[i], self._products[i].offset
        if offset:
            product.device.download(product.partial[:offset], self._shares[i])
        product.device.download(product.partial[offset:], y[product.part.span.owned])
        product.device.synchronize()

    def _write(self, i: int, y: Any, alpha: float, beta: float) -> None:
        product = self._products[i]
        self._download(i)
        combine(y[product.part.span.owned], self._copies[i][product.offset :], alpha, beta)

    def _add(self, i: int, y: Any, alpha: float, beta: float) -> None:
        """Add all results in the i-th of `count` equal ranges of rows."""
        count, n_rows = len(self._products), self._results.n_rows
        rows = slice(i * n_rows // count, (i + 1) * n_rows // count)
        total = self._copies[0][rows]
        for copy in self._copies[1:]:
            total += copy[rows]
        combine(y[rows], total, alpha, beta)


class DeviceMerge:
    """Merge on every device for its rows, which are then copied to y on the host.

    Partitioned by rows, a device merges the rows that start in its partition; by columns, an equal range of rows.
    """

    def __init__(self, results: PartialResults) -> None:
        self._results, self._products = results, results.products
        count = len(results.products)
        if results.axis == "rows":
            self._rows = [product.part.span.owned for product in results.products]
        else:
            self._rows = [slice(i * results.n_rows // count, (i + 1) * results.n_rows // count) for i in range(count)]
        self._totals = [
            product.partial[product.offset :] if results.axis == "rows" else product.partial[rows]
            for product, rows in zip(results.products, self._rows, strict=True)
        ]
        self._summands = [self._summands_of(i) for i in range(count)]
        self._receive_buffers = [
            self._buffer(i, max((summand.size for _, summand, _ in self._summands[i]), default=0)) for i in range(count)
        ]
        self._y: list[Any] = []

    def load(self, y: Any, alpha: float, beta: float) -> None:  # noqa: ARG002
        """Copy to each device its rows of y if they will be read."""
        if beta != 0.0:
            self._y = self._y or [self._buffer(i, total.size) for i, total in enumerate(self._totals)]
            self._results.each(lambda i: self._upload(i, y))

    def run(self, y: Any, alpha: float, beta: float) -> None:
        """Compute y := α·Σ py_i + β·y."""
        events = [product.device.record_event() for product in self._products]
        # One thread launches all sums, but a copy to unpinned memory blocks its thread.
        merged = [self._merge(i, events, alpha, beta) for i in range(len(self._products))]
        self._results.each(lambda i: self._download(i, merged[i], y))

    def _summands_of(self, i: int) -> list[tuple[int, Any, Any]]:
        """Return (device, its partial result, rows of device i) for all devices that contribute to rows of device i."""
        if self._results.axis == "columns":
            rows, total = self._rows[i], self._totals[i]
            return [
                (j, product.partial[rows], total) for j, product in enumerate(self._products) if j != i and total.size
            ]
        last = self._totals[i][-1:]
        spans = [product.part.span for product in self._products]
        return [(j, self._products[j].partial[:1], last) for j, owner in enumerate(owners(spans)) if owner == i]

    def _buffer(self, i: int, size: int) -> Any:
        return self._products[i].device.allocate(size, np.float64)

    def _upload(self, i: int, y: Any) -> None:
        device = self._products[i].device
        device.upload(y[self._rows[i]], self._y[i])
        device.synchronize()

    def _merge(self, i: int, events: Sequence[Any], alpha: float, beta: float) -> Any:
        """Launch the sums of device i and return the array that gets them."""
        device, merged = self._products[i].device, self._totals[i]
        for other, summand, total in self._summands[i]:
            buffer = self._receive_buffers[i][: total.size]
            device.wait_event(events[other])
            device.fetch(summand, buffer)
            device.call(device.operations.add, total, buffer, None)
        return _scaled(device, self._y[i] if beta != 0.0 else merged, merged, alpha, beta)

    def _download(self, i: int, merged: Any, y: Any) -> None:
        device = self._products[i].device
        device.download(merged, y[self._rows[i]])
        device.synchronize()


class GatherMerge:
    """Merge on the first device, as the paper does for columns: it fetches and adds all results.

    Partitioned by rows, it concatenates the segments.
    """

    def __init__(self, results: PartialResults) -> None:
        self._products, self._n_rows = results.products, results.n_rows
        self._first = results.products[0].device
        self._by_rows = results.axis == "rows"
        self._total = self._buffer(results.n_rows) if self._by_rows else results.products[0].partial
        self._receive_buffer = self._buffer(1 if self._by_rows else results.n_rows)
        self._y: Any = None

    def load(self, y: Any, alpha: float, beta: float) -> None:  # noqa: ARG002
        """Copy y to the first device if it will be read."""
        if beta != 0.0:
            self._y = self._buffer(self._n_rows) if self._y is None else self._y
            self._first.upload(y, self._y)
            self._first.synchronize()

    def run(self, y: Any, alpha: float, beta: float) -> None:
        """Compute y := α·Σ py_i + β·y."""
        for product in self._products[1:]:
            self._first.wait_event(product.device.record_event())
        if self._by_rows:
            for product in self._products:
                self._first.fetch(product.partial[product.offset :], self._total[product.part.span.owned])
            for product in self._products:
                first = product.part.span.first
                self._add(product.partial[: product.offset], self._total[first : first + product.offset])
        else:
            for product in self._products[1:]:
                self._add(product.partial, self._total)
        merged = _scaled(self._first, self._total if beta == 0.0 else self._y, self._total, alpha, beta)
        self._first.download(merged, y)
        self._first.synchronize()

    def _add(self, summand: Any, total: Any) -> None:
        """Launch total += summand, which lies on another device."""
        if summand.size:
            self._first.fetch(summand, self._receive_buffer[: summand.size])
            self._first.call(self._first.operations.add, total, self._receive_buffer[: summand.size], None)

    def _buffer(self, size: int) -> Any:
        return self._first.allocate(size, np.float64)


MERGES: Mapping[MergePlace, type[Merge]] = {"host": HostMerge, "device": DeviceMerge, "gather": GatherMerge}


def _scaled(device: Device, y: Any, sums: Any, alpha: float, beta: float) -> Any:
    """Launch y := α·sums + β·y unless it equals the sums; return the array with the result.

    If β = 0, y and sums may be the same array.
    """
    if (alpha, beta) == (1.0, 0.0):
        return sums
    device.call(device.operations.combine, y, sums, alpha, beta)
    return y


def combine(y: Any, sums: Any, alpha: float, beta: float) -> None:
    """Compute y := α·sums + β·y in place on the device of both; sums are overwritten; β = 0 does not read y."""
    if beta == 0.0:
        array_module(y).multiply(sums, alpha, out=y)
    else:
        sums *= alpha
        y *= beta
        y += sums
