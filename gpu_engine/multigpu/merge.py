"""From partial results to y := α·Σ py_i + β·y, where py_i = A_i·x of part i; MERGES: where that is done.

Where rows are cut, partial results are segments that overlap in cut rows alone: each part writes the rows that begin in
it, with β, then its share of a row that began earlier is added. Where columns are cut, each result is as long as y.
Source: MSREP paper, §4.3 and Algorithms 3, 5 and 7. As printed, 3 and 7 overwrite the share of a cut row that they
should add, and scale that row by β once more than the others.
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
"""On the host; on every device its rows; on the first device, which gathers all."""

Each = Callable[[Callable[[int], None]], None]
"""Calls a function with the number of each device, one after the other or each in a thread, until all have returned."""


@dataclass(frozen=True, slots=True)
class PartProduct:
    """The product of one part on its device.

    x        float64, the elements of x that the part needs
    partial  float64, py_i: the rows span.first … span.stop − 1 where rows are cut, else all rows
    """

    device: Device
    part: Part
    x: Any
    partial: Any

    @property
    def offset(self) -> int:
        """Elements at the front of a segment that belong to an earlier part: 0 or 1."""
        return int(self.part.span.start_flag)


@dataclass(frozen=True, slots=True)
class PartialResults:
    """The products of all parts, and how the host deals with each of them."""

    products: Sequence[PartProduct]
    axis: Axis
    n_rows: int
    each: Each


class Merge(Protocol):
    """Merges the partial results of all parts again and again; room is allocated once, and only what is used."""

    def __init__(self, results: PartialResults) -> None: ...

    def load(self, y: Any, alpha: float, beta: float) -> None:
        """Brings y to where it is merged, if it is to be read, and makes room for what is to be scaled."""
        ...

    def run(self, y: Any, alpha: float, beta: float) -> None:
        """y := α·Σ py_i + β·y, float64 [n_rows] on the host; β = 0 does not read it."""
        ...


class HostMerge:
    """As the paper does for rows: every device copies its result to the host, which scales and adds.

    Where rows are neither scaled nor added to, they are copied to their places in y at once.
    """

    def __init__(self, results: PartialResults) -> None:
        self._results, self._products = results, results.products
        by_rows = results.axis == "rows"
        self._shares = [self._room(product, product.offset if by_rows else 0) for product in results.products]
        self._copies = [] if by_rows else self._whole()

    def load(self, y: Any, alpha: float, beta: float) -> None:  # noqa: ARG002 (on the host already)
        """Makes room for rows that are scaled."""
        if (alpha, beta) != (1.0, 0.0) and not self._copies:
            self._copies = self._whole()

    def run(self, y: Any, alpha: float, beta: float) -> None:
        """y := α·Σ py_i + β·y."""
        each = self._results.each
        if self._results.axis == "columns":
            each(self._download)
            each(lambda i: self._add(i, y, alpha, beta))
            return
        scaled = (alpha, beta) != (1.0, 0.0)
        each(lambda i: self._write(i, y, alpha, beta) if scaled else self._place(i, y))
        for product, share in zip(self._products, self._copies if scaled else self._shares, strict=True):
            y[product.part.span.first : product.part.span.first + product.offset] += alpha * share[: product.offset]

    def _whole(self) -> list[Any]:
        return [self._room(product, product.partial.size) for product in self._products]

    def _room(self, product: PartProduct, size: int) -> Any:
        return product.device.allocate_host(size, np.float64)

    def _download(self, i: int) -> None:
        device = self._products[i].device
        device.download(self._products[i].partial, self._copies[i])
        device.synchronize()

    def _place(self, i: int, y: Any) -> None:
        """Copies the rows that begin in part i to their places, and what it has of an earlier one apart."""
        product, offset = self._products[i], self._products[i].offset
        if offset:
            product.device.download(product.partial[:offset], self._shares[i])
        product.device.download(product.partial[offset:], y[product.part.span.own])
        product.device.synchronize()

    def _write(self, i: int, y: Any, alpha: float, beta: float) -> None:
        product = self._products[i]
        self._download(i)
        combine(y[product.part.span.own], self._copies[i][product.offset :], alpha, beta)

    def _add(self, i: int, y: Any, alpha: float, beta: float) -> None:
        """Adds up all results in the i-th of as many equal ranges of rows."""
        count, n_rows = len(self._products), self._results.n_rows
        rows = slice(i * n_rows // count, (i + 1) * n_rows // count)
        total = self._copies[0][rows]
        for copy in self._copies[1:]:
            total += copy[rows]
        combine(y[rows], total, alpha, beta)


class DeviceMerge:
    """Every device merges its rows, and copies them to their places in y on the host.

    Where rows are cut they are those that begin in its part. Where columns are cut they are as many for each device.
    """

    def __init__(self, results: PartialResults) -> None:
        self._results, self._products = results, results.products
        count = len(results.products)
        if results.axis == "rows":
            self._rows = [product.part.span.own for product in results.products]
        else:
            self._rows = [slice(i * results.n_rows // count, (i + 1) * results.n_rows // count) for i in range(count)]
        self._mine = [
            product.partial[product.offset :] if results.axis == "rows" else product.partial[rows]
            for product, rows in zip(results.products, self._rows, strict=True)
        ]
        self._others = [self._added(i) for i in range(count)]
        self._inboxes = [
            self._room(i, max((more.size for _, more, _ in self._others[i]), default=0)) for i in range(count)
        ]
        self._y: list[Any] = []

    def load(self, y: Any, alpha: float, beta: float) -> None:  # noqa: ARG002
        """Copies to each device its rows of y where they are read."""
        if beta != 0.0:
            self._y = self._y or [self._room(i, mine.size) for i, mine in enumerate(self._mine)]
            self._results.each(lambda i: self._upload(i, y))

    def run(self, y: Any, alpha: float, beta: float) -> None:
        """y := α·Σ py_i + β·y."""
        events = [product.device.record_event() for product in self._products]
        # Sums are launched from one thread; a copy to memory that is not pinned keeps its thread waiting.
        merged = [self._merge(i, events, alpha, beta) for i in range(len(self._products))]
        self._results.each(lambda i: self._download(i, merged[i], y))

    def _added(self, i: int) -> list[tuple[int, Any, Any]]:
        """(device, what of its result, to what of device i's it is added) of all others that have something of them."""
        if self._results.axis == "columns":
            rows, mine = self._rows[i], self._mine[i]
            return [
                (j, product.partial[rows], mine) for j, product in enumerate(self._products) if j != i and mine.size
            ]
        last = self._mine[i][-1:]
        spans = [product.part.span for product in self._products]
        return [(j, self._products[j].partial[:1], last) for j, owner in enumerate(owners(spans)) if owner == i]

    def _room(self, i: int, size: int) -> Any:
        return self._products[i].device.allocate(size, np.float64)

    def _upload(self, i: int, y: Any) -> None:
        device = self._products[i].device
        device.upload(y[self._rows[i]], self._y[i])
        device.synchronize()

    def _merge(self, i: int, events: Sequence[Any], alpha: float, beta: float) -> Any:
        """Launches the sums of device i; what holds them."""
        device, merged = self._products[i].device, self._mine[i]
        for other, theirs, mine in self._others[i]:
            inbox = self._inboxes[i][: mine.size]
            device.wait_event(events[other])
            device.fetch(theirs, inbox)
            device.call(device.operations.add, mine, inbox, None)
        return _scaled(device, self._y[i] if beta != 0.0 else merged, merged, alpha, beta)

    def _download(self, i: int, merged: Any, y: Any) -> None:
        device = self._products[i].device
        device.download(merged, y[self._rows[i]])
        device.synchronize()


class GatherMerge:
    """As the paper does for columns: the first device gets all results, adds them up and copies y to the host.

    Where rows are cut it puts their segments together.
    """

    def __init__(self, results: PartialResults) -> None:
        self._products, self._n_rows = results.products, results.n_rows
        self._first = results.products[0].device
        self._by_rows = results.axis == "rows"
        self._total = self._room(results.n_rows) if self._by_rows else results.products[0].partial
        self._inbox = self._room(1 if self._by_rows else results.n_rows)
        self._y: Any = None

    def load(self, y: Any, alpha: float, beta: float) -> None:  # noqa: ARG002
        """Copies y to the first device where it is read."""
        if beta != 0.0:
            self._y = self._room(self._n_rows) if self._y is None else self._y
            self._first.upload(y, self._y)
            self._first.synchronize()

    def run(self, y: Any, alpha: float, beta: float) -> None:
        """y := α·Σ py_i + β·y."""
        for product in self._products[1:]:
            self._first.wait_event(product.device.record_event())
        if self._by_rows:
            for product in self._products:
                self._first.fetch(product.partial[product.offset :], self._total[product.part.span.own])
            for product in self._products:
                first = product.part.span.first
                self._take(product.partial[: product.offset], self._total[first : first + product.offset])
        else:
            for product in self._products[1:]:
                self._take(product.partial, self._total)
        merged = _scaled(self._first, self._total if beta == 0.0 else self._y, self._total, alpha, beta)
        self._first.download(merged, y)
        self._first.synchronize()

    def _take(self, theirs: Any, total: Any) -> None:
        """Launches total := total + theirs, which lie on another device."""
        if theirs.size:
            self._first.fetch(theirs, self._inbox[: theirs.size])
            self._first.call(self._first.operations.add, total, self._inbox[: theirs.size], None)

    def _room(self, size: int) -> Any:
        return self._first.allocate(size, np.float64)


MERGES: Mapping[MergePlace, type[Merge]] = {"host": HostMerge, "device": DeviceMerge, "gather": GatherMerge}


def _scaled(device: Device, y: Any, sums: Any, alpha: float, beta: float) -> Any:
    """Launches y := α·sums + β·y where that is anything else than the sums; what holds the result.

    Without β y may be the sums.
    """
    if (alpha, beta) == (1.0, 0.0):
        return sums
    device.call(device.operations.combine, y, sums, alpha, beta)
    return y


def combine(y: Any, sums: Any, alpha: float, beta: float) -> None:
    """y := α·sums + β·y on the device of both, without other memory: sums are lost; β = 0 does not read y."""
    if beta == 0.0:
        array_module(y).multiply(sums, alpha, out=y)
    else:
        sums *= alpha
        y *= beta
        y += sums
