"""STRATEGIES: what is balanced when a matrix is divided, what is done where, and what is sent.

Source: MSREP paper, §4 and §5.3; those in chunks are ours.
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

_OPT = PAPER_STRATEGIES[-1]

STRATEGIES: tuple[Strategy, ...] = (
    *PAPER_STRATEGIES,
    replace(
        _OPT,
        name="p*-pipelined",
        summary="As p*-opt for pCSR, in chunks: one is copied, one multiplied, one sent back.",
        pipelined=True,
    ),
    replace(
        _OPT,
        name="p*-packed",
        summary="As p*-opt for pCSR, all packed on the host first: fewer bytes over the links.",
        packed=True,
    ),
    replace(
        _OPT,
        name="p*-packed-pipelined",
        summary="Both at once: while a link waits, chunks are sent as they are.",
        pipelined=True,
        packed=True,
    ),
    replace(
        _OPT,
        name="p*-prepacked",
        summary="As p*-packed-pipelined, packed before the product and kept so for many.",
        pipelined=True,
        packed=True,
        kept=True,
    ),
)


def find_strategy(name: str) -> Strategy:
    """The strategy of that name; raises ParameterError naming the known ones."""
    return find_by_name("strategy", name, {own.name: own for own in STRATEGIES}, "known strategies")


def node_groups(devices: Sequence[Device]) -> tuple[int, ...]:
    """How many devices in a row hang on the same node."""
    return tuple(len(list(group)) for _, group in itertools.groupby(devices, key=lambda device: device.node))
