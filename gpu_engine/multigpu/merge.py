"""From partial results to y := α·Σ py_i + β·y, where py_i = A_i·x of part i; MERGES: the places where that is done.

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

MergePlace = Literal["host", "device"]

Each = Callable[[Callable[[int], None]], None]
"""Calls a function with the number of each device, one after the other or each in a thread, until all have returned."""


@dataclass(frozen=True, slots=True)
class Share:
    """What one device has of a product.

    x        float64, the elements of x that the part needs
    partial  float64, py_i: the rows span.first … span.stop − 1 where rows are cut, else all rows
    """

    device: Device
    part: Part
    x: Any
    partial: Any

    @property
    def begun(self) -> int:
        """Elements at the front of a segment that belong to an earlier part: 0 or 1."""
        return int(self.part.span.start_flag)


@dataclass(frozen=True, slots=True)
class Team:
    """The shares of all devices, and how the host deals with each of them."""

    shares: Sequence[Share]
    axis: Axis
    n_rows: int
    each: Each


class Merge(Protocol):
    """Merges the partial results of a team again and again; room for them is allocated once."""

    def __init__(self, team: Team) -> None: ...

    def load(self, y: Any, beta: float) -> None:
        """Brings y to where it is merged, if it is to be read."""
        ...

    def run(self, y: Any, alpha: float, beta: float) -> None:
        """y := α·Σ py_i + β·y, float64 [n_rows] on the host; β = 0 does not read it."""
        ...


class HostMerge:
    """As the paper does for rows: every device copies its result to the host, which scales and adds.

    Where rows are neither scaled nor added to, they are copied to their places in y at once.
    """

    def __init__(self, team: Team) -> None:
        self._team, self._shares = team, team.shares
        self._copies = [share.device.allocate_host(share.partial.size, np.float64) for share in team.shares]

    def load(self, y: Any, beta: float) -> None:
        """y is on the host already."""

    def run(self, y: Any, alpha: float, beta: float) -> None:
        """y := α·Σ py_i + β·y."""
        each = self._team.each
        if self._team.axis == "columns":
            each(lambda i: self._download(i, 0, self._copies[i]))
            each(lambda i: self._add(i, y, alpha, beta))
            return
        if (alpha, beta) == (1.0, 0.0):
            each(lambda i: self._download(i, self._shares[i].begun, y[self._shares[i].part.span.own]))
        else:
            each(lambda i: self._write(i, y, alpha, beta))
        for share, copy in zip(self._shares, self._copies, strict=True):
            y[share.part.span.first : share.part.span.first + share.begun] += alpha * copy[: share.begun]

    def _download(self, i: int, begun: int, rest: Any) -> None:
        """The first so many elements to the front of its copy, and the rest."""
        device, partial = self._shares[i].device, self._shares[i].partial
        if begun:
            device.download(partial[:begun], self._copies[i][:begun])
        device.download(partial[begun:], rest)
        device.synchronize()

    def _write(self, i: int, y: Any, alpha: float, beta: float) -> None:
        share, copy = self._shares[i], self._copies[i]
        self._download(i, 0, copy)
        combine(y[share.part.span.own], copy[share.begun :], alpha, beta)

    def _add(self, i: int, y: Any, alpha: float, beta: float) -> None:
        """Adds up all results in the i-th of as many equal ranges of rows."""
        count, n_rows = len(self._shares), self._team.n_rows
        rows = slice(i * n_rows // count, (i + 1) * n_rows // count)
        total = self._copies[0][rows]
        for copy in self._copies[1:]:
            total += copy[rows]
        combine(y[rows], total, alpha, beta)


class DeviceMerge:
    """Every device merges its rows, and copies them to their places in y on the host.

    Where rows are cut they are those that begin in its part. Where columns are cut they are as many for each device;
    the paper has the first device add up everything.
    """

    def __init__(self, team: Team) -> None:
        self._team, self._shares = team, team.shares
        count = len(team.shares)
        if team.axis == "rows":
            self._rows = [share.part.span.own for share in team.shares]
        else:
            self._rows = [slice(i * team.n_rows // count, (i + 1) * team.n_rows // count) for i in range(count)]
        self._mine = [
            share.partial[share.begun :] if team.axis == "rows" else share.partial[rows]
            for share, rows in zip(team.shares, self._rows, strict=True)
        ]
        self._others = [self._added(i) for i in range(count)]
        self._inboxes = [
            self._room(i, max((more.size for _, more, _ in self._others[i]), default=0)) for i in range(count)
        ]
        self._y = [self._room(i, mine.size) for i, mine in enumerate(self._mine)]

    def load(self, y: Any, beta: float) -> None:
        """Copies to each device its rows of y where they are read."""
        if beta != 0.0:
            self._team.each(lambda i: self._upload(i, y))

    def run(self, y: Any, alpha: float, beta: float) -> None:
        """y := α·Σ py_i + β·y."""
        marks = [share.device.mark() for share in self._shares]
        # Sums are launched from one thread; a copy to memory that is not pinned keeps its thread waiting.
        merged = [self._merge(i, marks, alpha, beta) for i in range(len(self._shares))]
        self._team.each(lambda i: self._download(i, merged[i], y))

    def _added(self, i: int) -> list[tuple[int, Any, Any]]:
        """(device, what of its result, to what of device i's it is added) of all others that have something of them."""
        if self._team.axis == "columns":
            rows, mine = self._rows[i], self._mine[i]
            return [(j, share.partial[rows], mine) for j, share in enumerate(self._shares) if j != i and mine.size]
        last = self._mine[i][-1:]
        spans = [share.part.span for share in self._shares]
        return [(j, self._shares[j].partial[:1], last) for j, owner in enumerate(owners(spans)) if owner == i]

    def _room(self, i: int, size: int) -> Any:
        return self._shares[i].device.allocate(size, np.float64)

    def _upload(self, i: int, y: Any) -> None:
        device = self._shares[i].device
        device.upload(y[self._rows[i]], self._y[i])
        device.synchronize()

    def _merge(self, i: int, marks: Sequence[Any], alpha: float, beta: float) -> Any:
        """Launches the sums of device i; what holds them."""
        device, merged = self._shares[i].device, self._mine[i]
        for other, theirs, mine in self._others[i]:
            inbox = self._inboxes[i][: mine.size]
            device.wait(marks[other])
            device.fetch(theirs, inbox)
            device.add(mine, inbox)
        if (alpha, beta) == (1.0, 0.0):
            return merged
        device.combine(self._y[i], merged, alpha, beta)
        return self._y[i]

    def _download(self, i: int, merged: Any, y: Any) -> None:
        device = self._shares[i].device
        device.download(merged, y[self._rows[i]])
        device.synchronize()


MERGES: Mapping[MergePlace, type[Merge]] = {"host": HostMerge, "device": DeviceMerge}


def combine(y: Any, sums: Any, alpha: float, beta: float) -> None:
    """y := α·sums + β·y on the device of both, without other memory: sums are lost; β = 0 does not read y."""
    if beta == 0.0:
        array_module(y).multiply(sums, alpha, out=y)
    else:
        sums *= alpha
        y *= beta
        y += sums
