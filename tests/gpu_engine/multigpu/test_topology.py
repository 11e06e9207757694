"""Topologies read from made-up systems."""

from pathlib import Path

import pytest

from gpu_engine.errors import DeviceError, ParameterError
from gpu_engine.multigpu.topology import Node, Topology, address, cpu_list, discover, simulated


def system(folder: Path, cpus: dict[int, str], nodes: dict[str, str]) -> Path:
    """A folder like /sys with the processors of nodes and the nodes of PCI devices."""
    for number, text in cpus.items():
        node = folder / f"devices/system/node/node{number}"
        node.mkdir(parents=True)
        (node / "cpulist").write_text(text + "\n")
    for place, text in nodes.items():
        device = folder / "bus/pci/devices" / place
        device.mkdir(parents=True)
        (device / "numa_node").write_text(text + "\n")
    return folder


def test_devices_hang_on_their_nodes(tmp_path: Path) -> None:
    """Like the eight GPUs of a DGX-1, but fewer; ten nodes are in the order of their numbers, not of their names."""
    buses = {"cuda:0": "0000:06:00.0", "cuda:1": "00000000:85:00.0", "cuda:2": "0000:07:00.0"}
    nodes = {"0000:06:00.0": "2", "0000:07:00.0": "2", "0000:85:00.0": "10"}
    sys = system(tmp_path, {10: "4-5,7", 2: "0-3", 1: ""}, nodes)
    found = discover(buses, sys)
    assert found == Topology(
        (Node(1, (), ()), Node(2, (0, 1, 2, 3), ("cuda:0", "cuda:2")), Node(10, (4, 5, 7), ("cuda:1",)))
    )


def test_an_unknown_node_is_the_first(tmp_path: Path) -> None:
    """−1 is what firmware says that knows of no nodes; other systems have no such file."""
    sys = system(tmp_path, {0: "0-1"}, {"0000:06:00.0": "-1"})
    found = discover({"cuda:0": "0000:06:00.0", "cuda:1": "0000:07:00.0"}, sys)
    assert found == Topology((Node(0, (0, 1), ("cuda:0", "cuda:1")),))


def test_a_system_without_nodes_has_one(tmp_path: Path) -> None:
    assert discover({"cuda:0": "0000:06:00.0"}, tmp_path) == Topology((Node(0, (), ("cuda:0",)),))


def test_a_node_that_is_not_there_is_refused(tmp_path: Path) -> None:
    sys = system(tmp_path, {0: "0-1"}, {"0000:06:00.0": "3"})
    with pytest.raises(DeviceError, match=r"cuda:0 is on NUMA node 3.* only has the nodes \[0\]"):
        discover({"cuda:0": "0000:06:00.0"}, sys)


@pytest.mark.parametrize(
    ("bus", "expected"), [("00000000:3B:00.0", "0000:3b:00.0"), ("00010000:C1:00.0", "10000:c1:00.0")]
)
def test_addresses_are_written_as_the_system_does(bus: str, expected: str) -> None:
    assert address(bus) == expected


@pytest.mark.parametrize(("text", "expected"), [("0-3,8\n", (0, 1, 2, 3, 8)), ("5", (5,)), ("\n", ())])
def test_lists_of_processors(text: str, expected: tuple[int, ...]) -> None:
    assert cpu_list(text) == expected


def test_a_list_that_is_none_is_refused() -> None:
    with pytest.raises(DeviceError, match=r"'all'\. Expected a list such as 0-3,8"):
        cpu_list("all")


def test_simulated_nodes() -> None:
    found = simulated((2, 0, 1))
    assert found.nodes == (Node(0, (), ("virtual:0", "virtual:1")), Node(1, (), ()), Node(2, (), ("virtual:2",)))


@pytest.mark.parametrize("groups", [(), (0, 0), (3, -1)])
def test_nodes_without_devices_are_refused(groups: tuple[int, ...]) -> None:
    with pytest.raises(ParameterError, match="at least one device in total"):
        simulated(groups)
