"""Which devices hang on which NUMA node, as the operating system knows it.

A matrix is cut first among the nodes and then among the devices of each, so that what the devices of a node are sent
is one piece of the matrix, which can lie in the memory beside them. Source: MSREP paper, §4.2.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gpu_engine.errors import DeviceError, ParameterError, quote


@dataclass(frozen=True, slots=True)
class Node:
    """A NUMA node.

    cpus     numbers of its processors, ascending
    devices  names of the devices on it: `cuda:0` …, `virtual:0` …
    """

    number: int
    cpus: tuple[int, ...]
    devices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Topology:
    """The nodes of a host in ascending order, those without devices too."""

    nodes: tuple[Node, ...]


def simulated(groups: Sequence[int]) -> Topology:
    """Nodes with so many virtual devices each and no processors of their own; raises ParameterError for none at all."""
    if sum(groups) < 1 or min(groups) < 0:
        raise ParameterError(f"Nodes with {list(groups)} devices make no host; expected at least one device in all.")
    nodes, before = [], 0
    for number, count in enumerate(groups):
        nodes.append(Node(number, (), tuple(f"virtual:{before + i}" for i in range(count))))
        before += count
    return Topology(tuple(nodes))


def discover(buses: Mapping[str, str], sys: Path = Path("/sys")) -> Topology:
    """The topology of this host.

    buses  the PCI address of each GPU (`0000:3B:00.0`) by its name

    A GPU of which the system does not know the node, as on hosts with one, is counted to the first.
    Raises DeviceError where a GPU is said to hang on a node that is not there.
    """
    cpus = _cpus_of_nodes(sys)
    on_node: dict[int, list[str]] = {number: [] for number in cpus}
    for name, bus in buses.items():
        number = _node_of(sys, address(bus))
        if number is None:
            number = min(cpus)
        if number not in on_node:
            raise DeviceError(f"{name} hangs on NUMA node {number}; the system has only {sorted(cpus)}.")
        on_node[number].append(name)
    return Topology(tuple(Node(number, cpus[number], tuple(on_node[number])) for number in sorted(cpus)))


def _cpus_of_nodes(sys: Path) -> dict[int, tuple[int, ...]]:
    """Processors of each node; one node without any where the kernel has no NUMA."""
    nodes = {}
    for folder in sys.glob("devices/system/node/node[0-9]*"):
        nodes[int(folder.name.removeprefix("node"))] = cpu_list((folder / "cpulist").read_text(encoding="ascii"))
    return nodes or {0: ()}


def _node_of(sys: Path, pci_address: str) -> int | None:
    """The node of a PCI device; None where the firmware does not tell (−1) or the system has no such file."""
    with suppress(OSError):
        number = int((sys / "bus/pci/devices" / pci_address / "numa_node").read_text(encoding="ascii"))
        return None if number < 0 else number
    return None


def address(bus: str) -> str:
    """The address as the system writes it: others have eight digits of the domain where the system has four."""
    domain, _, rest = bus.lower().partition(":")
    return f"{int(domain, 16):04x}:{rest}"


def cpu_list(text: str) -> tuple[int, ...]:
    """The numbers of a list of the kernel (`0-3,8`); raises DeviceError for what is none."""
    numbers: list[int] = []
    try:
        for piece in text.split(",") if text.strip() else ():
            first, _, last = piece.partition("-")
            numbers += range(int(first), int(last or first) + 1)
    except ValueError as error:
        raise DeviceError(f"The system lists processors as {quote(text)}; expected one like 0-3,8.") from error
    return tuple(numbers)
