"""Which worker offers several hosts as one device, and as which."""

from types import SimpleNamespace
from typing import Any

import pytest

from gpu_engine.records import DeviceInfo
from server.jobs.cluster import HEAD, find_cluster

CPU = DeviceInfo("gpu1/cpu", "cpu", "A processor", 2**34, 2**25)
GPU = DeviceInfo("gpu1/cuda:0", "cuda", "A GPU", 2**36, 2**26, "GPU-1")
SECOND = DeviceInfo("gpu1/cuda:1", "cuda", "A GPU", 2**36, 2**26, "GPU-2")
BOTH = DeviceInfo("gpu1/cuda:all", "cuda", "2 × A GPU", 2**36, 2**26, "GPU-1,GPU-2")


def ray_of(here: str, **nodes: dict[str, float]) -> Any:
    """A Ray in a process on the node of that name; `a` is the head."""
    found = [
        {"NodeID": name, "NodeName": name, "Alive": True, "Resources": owned | ({HEAD: 1.0} if name == "a" else {})}
        for name, owned in nodes.items()
    ]
    context = SimpleNamespace(get_node_id=lambda: here)
    return SimpleNamespace(nodes=lambda: found, get_runtime_context=lambda: context)


def test_the_worker_on_the_head_offers_the_gpus_of_all_hosts() -> None:
    """The first GPU of its own host stands for each; a host that has none is none of the cluster's."""
    nodes: dict[str, Any] = {"a": {"GPU": 2.0, "CPU": 8.0}, "b": {"GPU": 4.0, "CPU": 8.0}, "c": {"CPU": 8.0}}
    found = find_cluster(ray_of("a", **nodes), [CPU, GPU, SECOND, BOTH], 0)
    assert found is not None
    assert (found.id, found.backend, found.hosts) == ("cluster", "cuda", (2, 4))
    assert (found.name, found.uuids) == ("6 × A GPU on 2 hosts", ("GPU-1", "GPU-2"))
    assert find_cluster(ray_of("b", **nodes), [CPU, GPU], 0) is None
    virtual = find_cluster(ray_of("a", **nodes), [CPU], 0)
    assert virtual is not None
    assert (virtual.backend, virtual.hosts) == ("cpu", (8, 8, 8))


@pytest.mark.parametrize("devices", [[CPU, GPU], [CPU]])
def test_one_host_is_no_cluster_unless_its_devices_are_divided(devices: list[DeviceInfo]) -> None:
    ray = ray_of("a", a={"GPU": 4.0, "CPU": 4.0}, b={})
    assert find_cluster(ray, devices, 0) is None
    found = find_cluster(ray, devices, 2)
    assert found is not None
    assert (found.hosts, found.details["hosts"]) == ((2, 2), "a.0: 2, a.1: 2")
    assert find_cluster(ray_of("a", a={}, b={}), devices, 2) is None
