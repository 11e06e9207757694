"""Strategies of an SpMV from host memory: how it is balanced, partitioned, sent, and merged (STRATEGIES).

Source: MSREP paper, §4 and §5.3; the strategies in chunks are from Sparsight.
"""

import itertools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.cut import cut_by_entries, cut_by_lines
from gpu_engine.multigpu.merge import MergePlace
from gpu_engine.multigpu.numa import Placement, thread_beside
from gpu_engine.multigpu.partition import Axis, Span, StoredMatrix
from gpu_engine.parameters import find_by_name


@dataclass(frozen=True, slots=True)
class Strategy:
    """Organization of an SpMV from host memory.

    balanced   partitions have equal nonzeros; otherwise equal rows or columns
    threads    one host thread per device; otherwise one thread visits the devices in turn
    offload    devices compute their local pointers; partitioned by columns, the first device gathers and adds results
    by_node    the matrix is divided among NUMA nodes first, then among the devices of each node, in one thread per node
    placement, affinity  NUMA nodes of the host arrays; whether host threads stay on the nodes of their devices
    pipelined  CSR partitions are sent in chunks; chunks that have arrived are multiplied and returned meanwhile
    packed     chunks are compressed if possible
    prepacked  chunks are compressed before the timing starts
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
    prepacked: bool = False

    @property
    def in_chunks(self) -> bool:
        """Return whether `chunks.ChunkedProduct` computes the SpMV; the strategies of the paper do not use it."""
        return self.pipelined or self.packed

    def merge_place(self, axis: Axis) -> MergePlace:
        """Return the merge place of the paper (§4.3)."""
        return "gather" if self.offload and axis == "columns" else "host"

    def start_threads(self, devices: Sequence[Device]) -> list[ThreadPoolExecutor]:
        """Start and return one host thread per device; return none if the strategy has no threads."""
        if not self.threads:
            return []
        return [thread_beside(device) if self.affinity else ThreadPoolExecutor(1) for device in devices]

    def cut(self, stored: StoredMatrix, devices: Sequence[Device], pieces: int = 1) -> tuple[Span, ...]:
        """Return `pieces` partitions per device."""
        if not self.balanced:
            return cut_by_lines(stored, pieces * len(devices))
        groups = node_groups(devices) if self.by_node else (len(devices),)
        return cut_by_entries(stored, [pieces * group for group in groups])


PAPER_STRATEGIES: tuple[Strategy, ...] = (
    Strategy(
        name="baseline",
        summary="Equal rows or columns per device; one host thread partitions, copies, and merges.",
        balanced=False,
        threads=False,
        offload=False,
        by_node=False,
        placement="none",
        affinity=False,
    ),
    Strategy(
        name="p*",
        summary="Equal nonzeros per device; one host thread per device partitions, copies, and merges.",
        balanced=True,
        threads=True,
        offload=False,
        by_node=False,
        placement="none",
        affinity=False,
    ),
    Strategy(
        name="p*-opt",
        summary="As p*, by NUMA nodes; devices compute local pointers, and one device adds results of columns.",
        balanced=True,
        threads=True,
        offload=True,
        by_node=True,
        placement="beside",
        affinity=True,
    ),
)

_OPT = PAPER_STRATEGIES[-1]

STRATEGIES: tuple[Strategy, ...] = (
    *PAPER_STRATEGIES,
    replace(
        _OPT,
        name="p*-pipelined",
        summary="As p*-opt for pCSR, in chunks: one is copied, one multiplied, one returned.",
        pipelined=True,
    ),
    replace(
        _OPT,
        name="p*-packed",
        summary="As p*-opt for pCSR, compressed on the host first: fewer bytes over the links.",
        packed=True,
    ),
    replace(
        _OPT,
        name="p*-packed-pipelined",
        summary="As p*-pipelined, with compressed chunks; a waiting link gets uncompressed ones.",
        pipelined=True,
        packed=True,
    ),
    replace(
        _OPT,
        name="p*-prepacked",
        summary="As p*-packed-pipelined, compressed once before the timing starts.",
        pipelined=True,
        packed=True,
        prepacked=True,
    ),
)


def find_strategy(name: str) -> Strategy:
    """Return a strategy by name; raise ParameterError listing the known ones."""
    by_name = {strategy.name: strategy for strategy in STRATEGIES}
    return find_by_name("strategy", name, by_name, "known strategies")


def node_groups(devices: Sequence[Device]) -> tuple[int, ...]:
    """Return the numbers of consecutive devices on the same NUMA node."""
    return tuple(len(list(group)) for _, group in itertools.groupby(devices, key=lambda device: device.node))
