"""y := α·A·x + β·y on several devices at once; STRATEGIES: what is balanced, and what is done where.

Source: MSREP paper, Algorithms 3, 5 and 7, §4 and §5.3.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from gpu_engine.errors import InputError, ParameterError, quote
from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.cut import cut_by_entries, cut_by_lines, cut_group
from gpu_engine.multigpu.merge import MERGES, MergePlace, PartialResults, PartProduct
from gpu_engine.multigpu.numa import Placement, thread_beside
from gpu_engine.multigpu.partition import Axis, Part, Span, StoredMatrix, localize, part_of

PHASES = ("partition", "distribute", "compute", "merge")
"""Cutting, and the local lines of each part; copying parts and vectors to the devices; the products; from partial
results to y. Each phase ends when all devices have ended it.
"""

PACKING = "packing"
"""Of what is sent packed, on the host, between the first two."""

COLD_PHASES = (*PHASES, PACKING)


class Phases:
    """Seconds of each phase, added up over the calls that they are handed to.

    clock    seconds since any moment
    seconds  phase → seconds
    """

    def __init__(self, clock: Callable[[], float], names: Sequence[str] = PHASES) -> None:
        self._clock = clock
        self.seconds = dict.fromkeys(names, 0.0)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Adds the seconds of a block to a phase."""
        begin = self._clock()
        yield
        self.seconds[name] += self._clock() - begin


@dataclass(frozen=True, slots=True)
class Strategy:
    """How a product is organised.

    balanced  parts have equal nonzeros, else equal rows or columns
    threads   a thread of the host for each device; else one does everything, device by device
    offload   devices write their own local lines; where columns are cut the first gathers and adds the results
    by_node   the matrix is cut among NUMA nodes first, then by a thread of each among its devices
    placement, affinity  where arrays of the host lie, and whether threads stay on the nodes of their devices
    pipelined  parts of CSR are sent in chunks, and what is there is multiplied and sent back meanwhile
    packed     chunks are sent in fewer bytes where they pack; kept: as they were packed before the product
    """

    name: str
    summary: str
    balanced: bool
    threads: bool
    offload: bool
    by_node: bool
    placement: Placement
    affinity: bool
    pipelined: bool = False
    packed: bool = False
    kept: bool = False

    @property
    def in_chunks(self) -> bool:
        """Whether `chunks.ChunkedProduct` multiplies, which is ours; the others are the paper's."""
        return self.pipelined or self.packed

    def merge_place(self, axis: Axis) -> MergePlace:
        """Where the paper merges (§4.3)."""
        return "gather" if self.offload and axis == "columns" else "host"

    def start_threads(self, devices: Sequence[Device]) -> list[ThreadPoolExecutor]:
        """The thread of the host for each device, if they have any."""
        if not self.threads:
            return []
        return [thread_beside(device) if self.affinity else ThreadPoolExecutor(1) for device in devices]

    def cut(self, stored: StoredMatrix, devices: Sequence[Device], pieces: int = 1) -> tuple[Span, ...]:
        """So many parts for each device."""
        if not self.balanced:
            return cut_by_lines(stored, pieces * len(devices))
        groups = node_groups(devices) if self.by_node else (len(devices),)
        return cut_by_entries(stored, [pieces * group for group in groups])


PAPER_STRATEGIES: tuple[Strategy, ...] = (
    Strategy(
        name="baseline",
        summary="Equal rows or columns for each device; one thread of the host cuts, copies and merges.",
        balanced=False,
        threads=False,
        offload=False,
        by_node=False,
        placement="none",
        affinity=False,
    ),
    Strategy(
        name="p*",
        summary="Equal nonzeros for each device; a thread of the host for each cuts, copies and merges.",
        balanced=True,
        threads=True,
        offload=False,
        by_node=False,
        placement="none",
        affinity=False,
    ),
    Strategy(
        name="p*-opt",
        summary="As p*, cut and placed by NUMA nodes; devices write local lines, and one adds up columns' results.",
        balanced=True,
        threads=True,
        offload=True,
        by_node=True,
        placement="beside",
        affinity=True,
    ),
)

_OURS = {
    "p*-pipelined": (
        "As p*-opt for pCSR, in chunks: one is copied, one multiplied, one sent back.",
        (True, False, False),
    ),
    "p*-packed": (
        "As p*-opt for pCSR, all packed on the host first: fewer bytes over the links.",
        (False, True, False),
    ),
    "p*-packed-pipelined": (
        "Both at once: chunks not packed yet are sent as they are while a link waits.",
        (True, True, False),
    ),
    "p*-kept": ("As p*-packed-pipelined, packed before the product and kept so for many.", (True, True, True)),
}

STRATEGIES: tuple[Strategy, ...] = (
    *PAPER_STRATEGIES,
    *(
        replace(PAPER_STRATEGIES[-1], name=name, summary=summary, pipelined=pipelined, packed=packed, kept=kept)
        for name, (summary, (pipelined, packed, kept)) in _OURS.items()
    ),
)


def find_strategy(name: str) -> Strategy:
    """The strategy of that name; raises ParameterError naming the known ones."""
    for strategy in STRATEGIES:
        if strategy.name == name:
            return strategy
    known = ", ".join(strategy.name for strategy in STRATEGIES)
    raise ParameterError(f"There is no strategy {quote(name)}; known strategies: {known}.")


def node_groups(devices: Sequence[Device]) -> tuple[int, ...]:
    """How many devices in a row hang on the same node."""
    return tuple(len(list(group)) for _, group in itertools.groupby(devices, key=lambda device: device.node))


class DistributedMatrix:
    """A matrix on several devices, part i on device i. Making it is what is done once; `multiply` may be called often.

    spans  where the parts lie
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
        """Cuts the host matrix and copies the parts; `merge` overrides where the paper merges.

        threads  those of the strategy, which the caller ends; None: the matrix starts and ends its own

        Raises ParameterError where there is no device.
        """
        if not devices:
            raise ParameterError("There is no device to hold the matrix; give at least one.")
        self.shape = stored.n_rows, stored.n_cols
        self._partitioning, self._strategy, self._devices = stored.partitioning, strategy, tuple(devices)
        self._threads = strategy.start_threads(devices) if threads is None else threads
        self._ends_threads = threads is None
        # Not a method: with what merges it would be a cycle, whose memory waits for the collector.
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
        """Ends the threads of the host that it started; the devices stay as they are."""
        for thread in self._threads if self._ends_threads else ():
            thread.shutdown()

    def multiply(self, x: Any, y: Any, phases: Phases, alpha: float = 1.0, beta: float = 0.0) -> None:
        """y := α·A·x + β·y with the parts on the devices; β = 0 does not read y.

        x, y  float64 [n_cols], [n_rows] on the host; raises InputError for others
        """
        self._check("x", x, self.shape[1])
        self._check("y", y, self.shape[0])
        with phases.phase("distribute"):
            self._each(lambda i: self._load_x(i, x))
            self._merge.load(y, alpha, beta)
        with phases.phase("compute"):
            # From one thread: what launches is the interpreter, and threads would wait for each other's turn.
            for product in self._products:
                product.device.multiply(self._partitioning, product.part, product.x, product.partial)
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
                    major = product.part.major
                    product.device.rewrite(self._partitioning, product.part.span, major, major)
                for device in self._devices:
                    device.synchronize()

    def _cut(self, stored: StoredMatrix) -> tuple[Span, ...]:
        """A part for each device; the second of two steps is that of the first thread of each node (§3.3, §4.2)."""
        groups = node_groups(self._devices)
        if not (self._threads and self._strategy.balanced and self._strategy.by_node and len(groups) > 1):
            return self._strategy.cut(stored, self._devices)
        firsts = itertools.accumulate(groups[:-1], initial=0)
        found = [self._threads[first].submit(cut_group, stored, groups, number) for number, first in enumerate(firsts)]
        return tuple(span for future in found for span in future.result())

    def _product(self, i: int, stored: StoredMatrix, major: Any) -> PartProduct:
        """Part i with that `major` on its device, and room for its vectors."""
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
                f"{name} is {vector.dtype} {vector.shape}; a matrix of {self.shape[0]} × {self.shape[1]} "
                f"needs float64 ({size},)."
            )


def _each(threads: Sequence[ThreadPoolExecutor], count: int, function: Callable[[int], None]) -> None:
    """Calls a function with the number of each device, in its thread if it has one."""
    if not threads:
        for i in range(count):
            function(i)
    for future in [thread.submit(function, i) for i, thread in enumerate(threads)]:
        future.result()
