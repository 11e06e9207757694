"""y := α·A·x + β·y on several devices with the matrix in host memory, as a strategy of the paper says.

Source: MSREP paper, Algorithms 3, 5, and 7, §4 and §5.3.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from gpu_engine.errors import InputError, ParameterError
from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.cut import cut_group
from gpu_engine.multigpu.from_host.strategies import Strategy, node_groups
from gpu_engine.multigpu.merge import MERGES, MergePlace, PartialResults, PartProduct
from gpu_engine.multigpu.partition import Part, Span, StoredMatrix, localize, part_of

PHASES = ("partition", "distribute", "compute", "merge")
"""Phases of an SpMV from host memory; each ends when all devices have ended it.

partition   find the borders, and compute the local pointers or lines
distribute  copy partitions and vectors to the devices
compute     SpMVs of the partitions
merge       combine the partial results to y
"""

PACKING = "packing"
"""Phase between partition and distribute: compress the matrix on the host."""

COLD_PHASES = (*PHASES, PACKING)
"""All phases that an SpMV from host memory can have."""


class Phases:
    """Timer that adds up the seconds of each phase over several calls.

    clock    function that returns seconds
    seconds  phase → seconds
    """

    def __init__(self, clock: Callable[[], float], names: Sequence[str] = PHASES) -> None:
        self._clock = clock
        self.seconds = dict.fromkeys(names, 0.0)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add the seconds of a with block to a phase."""
        start = self._clock()
        yield
        self.seconds[name] += self._clock() - start


class DistributedMatrix:
    """Matrix on several devices, partition i on device i; it is distributed once, `multiply` can be called often.

    spans  positions of the partitions
    """

    def __init__(
        self,
        stored: StoredMatrix,
        devices: Sequence[Device],
        strategy: Strategy,
        phases: Phases,
        merge: MergePlace | None = None,
        threads: Sequence[ThreadPoolExecutor] | None = None,
    ) -> None:
        """Partition the host matrix and copy the partitions; `merge` overrides the merge place of the paper.

        threads  host threads of the strategy, which the caller ends; None: the matrix starts and ends them

        Raises ParameterError if there is no device.
        """
        if not devices:
            raise ParameterError("No devices. Give at least one device for the matrix.")
        self.shape = stored.n_rows, stored.n_cols
        self._partitioning, self._strategy, self._devices = stored.partitioning, strategy, tuple(devices)
        self._threads = strategy.start_threads(devices) if threads is None else threads
        self._ends_threads = threads is None
        # Not a method: a reference cycle with the merge would keep its memory until garbage collection.
        self._each = partial(_each, self._threads, len(devices))
        try:
            self._distribute(stored, phases)
            axis = self._partitioning.axis
            place = merge or strategy.merge_place(axis)
            with phases.phase("merge"):
                self._merge = MERGES[place](PartialResults(self._products, axis, stored.n_rows, self._each))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "DistributedMatrix":
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the host threads that the matrix has started; the devices stay open."""
        for thread in self._threads if self._ends_threads else ():
            thread.shutdown()

    def multiply(self, x: Any, y: Any, phases: Phases, alpha: float = 1.0, beta: float = 0.0) -> None:
        """Compute y := α·A·x + β·y with the partitions on the devices; β = 0 does not read y.

        x, y  float64 [n_cols], [n_rows] on the host; other arrays raise InputError
        """
        self._check("x", x, self.shape[1])
        self._check("y", y, self.shape[0])
        with phases.phase("distribute"):
            self._each(lambda i: self._load_x(i, x))
            self._merge.load(y, alpha, beta)
        with phases.phase("compute"):
            # One host thread launches all SpMVs, because the Python interpreter serializes launches.
            for product in self._products:
                arrays, multiply = (product.part, product.x, product.partial), product.device.operations.multiply
                product.device.call(multiply, self._partitioning, *arrays)
            for device in self._devices:
                device.synchronize()
        with phases.phase("merge"):
            self._merge.run(y, alpha, beta)

    def _distribute(self, stored: StoredMatrix, phases: Phases) -> None:
        count, offload = len(self._devices), self._strategy.offload
        majors: list[Any] = [None] * count
        products: list[Any] = [None] * count

        def localize_part(i: int) -> None:
            majors[i] = localize(stored, self.spans[i])

        def copy_part(i: int) -> None:
            products[i] = self._product(i, stored, majors[i])

        with phases.phase("partition"):
            self.spans = self._cut(stored)
            if offload:
                majors = [stored.major_of(span) for span in self.spans]
            else:
                self._each(localize_part)
        with phases.phase("distribute"):
            self._each(copy_part)
        self._products: tuple[PartProduct, ...] = tuple(products)
        if offload:
            with phases.phase("partition"):
                for product in self._products:
                    part, rewrite = product.part, product.device.operations.rewrite
                    product.device.call(rewrite, self._partitioning, part.span, part.major, part.major)
                for device in self._devices:
                    device.synchronize()

    def _cut(self, stored: StoredMatrix) -> tuple[Span, ...]:
        """Return a partition per device; with two steps, one thread per NUMA node computes the second (§3.3, §4.2)."""
        groups = node_groups(self._devices)
        if not (self._threads and self._strategy.balanced and self._strategy.by_node and len(groups) > 1):
            return self._strategy.cut(stored, self._devices)
        firsts = itertools.accumulate(groups[:-1], initial=0)
        futures = [
            self._threads[first].submit(cut_group, stored, groups, number) for number, first in enumerate(firsts)
        ]
        return tuple(span for future in futures for span in future.result())

    def _product(self, i: int, stored: StoredMatrix, major: Any) -> PartProduct:
        """Return partition i with the given `major` on its device, and its vectors."""
        device, on_host = self._devices[i], part_of(stored, self.spans[i], major)
        by_rows = self._partitioning.axis == "rows"
        lines = on_host.span.stop - on_host.span.first
        arrays = [self._copy(device, array) for array in (on_host.major, on_host.minor, on_host.values)]
        x = device.allocate(stored.n_cols if by_rows else lines, np.float64)
        partial = device.allocate(lines if by_rows else stored.n_rows, np.float64)
        device.synchronize()
        return PartProduct(device, Part(on_host.span, *arrays), x, partial)

    def _copy(self, device: Device, host: Any) -> Any:
        array = device.allocate(host.size, host.dtype)
        device.upload(host, array)
        return array

    def _load_x(self, i: int, x: Any) -> None:
        product = self._products[i]
        product.device.upload(x if self._partitioning.axis == "rows" else x[product.part.span.lines], product.x)
        product.device.synchronize()

    def _check(self, name: str, vector: Any, size: int) -> None:
        if vector.dtype != np.float64 or vector.shape != (size,):
            raise InputError(
                f"{name} is {vector.dtype} {vector.shape}, but a matrix of {self.shape[0]} × {self.shape[1]} "
                f"needs float64 ({size},)."
            )


def _each(threads: Sequence[ThreadPoolExecutor], count: int, function: Callable[[int], None]) -> None:
    """Call a function with each device number, in the thread of the device if it has one."""
    if not threads:
        for i in range(count):
            function(i)
    for future in [thread.submit(function, i) for i, thread in enumerate(threads)]:
        future.result()
