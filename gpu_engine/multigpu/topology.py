"""NUMA topology: which devices belong to which NUMA node, according to the operating system.

A matrix is partitioned first among the nodes and then among the devices of each node. Then the devices of a node
receive one contiguous piece of the matrix, which can lie in the memory of that node. Source: MSREP paper, §4.2.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gpu_engine.errors import DeviceError, ParameterError, quote


@dataclass(frozen=True, slots=True)
class Node:
    """NUMA node of a host.

    cpus     numbers of its processors, ascending
    devices  names of its devices: `cuda:0` …, `virtual:0` …
    """

    number: int
    cpus: tuple[int, ...]
    devices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Topology:
    """NUMA nodes of a host in ascending order, including nodes without devices."""

    nodes: tuple[Node, ...]


def simulated(groups: Sequence[int]) -> Topology:
    """Return a topology of simulated devices, groups[i] of them on node i; raise ParameterError if there are none."""
    if sum(groups) < 1 or min(groups) < 0:
        raise ParameterError(f"No devices on the nodes {list(groups)}. Give at least one device in total.")
    nodes, n_previous = [], 0
    for number, count in enumerate(groups):
        nodes.append(Node(number, (), tuple(f"virtual:{n_previous + i}" for i in range(count))))
        n_previous += count
    return Topology(tuple(nodes))


def discover(buses: Mapping[str, str], sys: Path = Path("/sys")) -> Topology:
    """Return the topology of this host.

    buses  name of each GPU → its PCI address (`0000:3B:00.0`)

    A GPU whose node is unknown, as on hosts with one node, is assigned to the first node.
    Raises DeviceError if the system reports a node for a GPU that does not exist.
    """
    cpus = _cpus_of_nodes(sys)
    on_node: dict[int, list[str]] = {number: [] for number in cpus}
    for name, bus in buses.items():
        number = _node_of(sys, address(bus))
        if number is None:
            number = min(cpus)
        if number not in on_node:
            raise DeviceError(f"{name} is on NUMA node {number}, but the system only has the nodes {sorted(cpus)}.")
        on_node[number].append(name)
    return Topology(tuple(Node(number, cpus[number], tuple(on_node[number])) for number in sorted(cpus)))


def _cpus_of_nodes(sys: Path) -> dict[int, tuple[int, ...]]:
    """Return node → processors; one node without processors if the kernel has no NUMA support."""
    nodes = {}
    for folder in sys.glob("devices/system/node/node[0-9]*"):
        nodes[int(folder.name.removeprefix("node"))] = cpu_list((folder / "cpulist").read_text(encoding="ascii"))
    return nodes or {0: ()}


def _node_of(sys: Path, pci_address: str) -> int | None:
    """Return the node of a PCI device, or None if the firmware (−1) or the system does not report it."""
    with suppress(OSError):
        number = int((sys / "bus/pci/devices" / pci_address / "numa_node").read_text(encoding="ascii"))
        return None if number < 0 else number
    return None


def address(bus: str) -> str:
    """Return a PCI address in the form of Linux, whose domain has four digits instead of eight."""
    domain, _, rest = bus.lower().partition(":")
    return f"{int(domain, 16):04x}:{rest}"


def cpu_list(text: str) -> tuple[int, ...]:
    """Return the numbers of a kernel list such as `0-3,8`; raise DeviceError for another form."""
    numbers: list[int] = []
    try:
        for piece in text.split(",") if text.strip() else ():
            first, _, last = piece.partition("-")
            numbers += range(int(first), int(last or first) + 1)
    except ValueError as error:
        raise DeviceError(f"Unexpected list of processors {quote(text)}. Expected a list such as 0-3,8.") from error
    return tuple(numbers)
