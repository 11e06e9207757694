"""The device `cluster` as Ray knows it: found by the dispatcher, joined by the process that measures."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpu_engine.errors import UnavailableError
from gpu_engine.multigpu.cluster.crew import Cluster, describe, find_hosts
from gpu_engine.multigpu.placement import Place
from gpu_engine.records import DeviceInfo
from server.store import Store

HEAD = "node:__internal_head__"
"""What Ray calls the node that a cluster was started on: of all workers that have joined it that one's offers it."""


def find_cluster(ray: Any, devices: Sequence[DeviceInfo], groups: int) -> DeviceInfo | None:
    """The cluster that Ray has joined, as a device; None on another node than its head, and without a second host.

    devices  of this host: with a GPU the cluster is of GPUs, else of virtual devices
    groups   as in Settings
    """
    here = ray.get_runtime_context().get_node_id()
    head = any(node["NodeID"] == here and HEAD in node["Resources"] for node in ray.nodes())
    places = _places(ray, _own(devices).backend, groups) if head else ()
    return describe(places, _own(devices)) if places else None


def join_cluster(device: DeviceInfo, store: Store, groups: int) -> Cluster:
    """The cluster for a study, in a process of Ray; raises UnavailableError where it has fewer hosts than it had."""
    import ray

    places = _places(ray, device.backend, groups)
    if not places:
        raise UnavailableError(
            f"The cluster {device.id} has fewer than two hosts now. Start Ray on another one, then the job again."
        )
    return Cluster(ray, places, "nccl" if device.backend == "cuda" else "object-store", store.folder)


def _own(devices: Sequence[DeviceInfo]) -> DeviceInfo:
    """What stands for each device of the cluster: the first GPU of this host, with the UUIDs of all, or its CPU."""
    gpus = [device for device in devices if device.backend == "cuda"]
    return replace(gpus[0], uuid=",".join(d.uuid for d in gpus if not d.is_several)) if gpus else devices[0]


def _places(ray: Any, backend: str, groups: int) -> tuple[Place, ...]:
    try:
        return find_hosts(ray, "GPU" if backend == "cuda" else "CPU", groups)
    except UnavailableError:
        return ()
