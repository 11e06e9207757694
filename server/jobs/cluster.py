"""Device `cluster` in Ray: the dispatcher finds it, and the measuring process joins it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpu_engine.errors import UnavailableError
from gpu_engine.multigpu.cluster.actor_pool import Cluster, describe, find_hosts
from gpu_engine.multigpu.placement import DeviceSlot
from gpu_engine.records import DeviceInfo
from server.store import Store

HEAD = "node:__internal_head__"
"""Ray's name of the head node of a cluster. The worker on that node offers the cluster."""


def find_cluster(ray: Any, devices: Sequence[DeviceInfo], groups: int) -> DeviceInfo | None:
    """Return the cluster that Ray has joined as a device, or None if this is not its head or it has one host.

    devices  of this host: with a GPU the cluster consists of GPUs, else of virtual devices
    groups   as in Settings
    """
    here = ray.get_runtime_context().get_node_id()
    head = any(node["NodeID"] == here and HEAD in node["Resources"] for node in ray.nodes())
    places = _places(ray, _representative(devices).backend, groups) if head else ()
    return describe(places, _representative(devices)) if places else None


def join_cluster(device: DeviceInfo, store: Store, groups: int) -> Cluster:
    """Return the cluster for a study, in a process of Ray. Raises UnavailableError if it has lost hosts."""
    import ray

    places = _places(ray, device.backend, groups)
    if not places:
        raise UnavailableError(
            f"The cluster {device.id} has fewer than two hosts. Start Ray on another host, then rerun the job."
        )
    return Cluster(ray, places, "nccl" if device.backend == "cuda" else "object-store", store.folder)


def _representative(devices: Sequence[DeviceInfo]) -> DeviceInfo:
    """Return what represents the devices of the cluster: the first GPU of this host with the UUIDs of
    all, or its CPU.
    """
    gpus = [device for device in devices if device.backend == "cuda"]
    return replace(gpus[0], uuid=",".join(d.uuid for d in gpus if not d.is_several)) if gpus else devices[0]


def _places(ray: Any, backend: str, groups: int) -> tuple[DeviceSlot, ...]:
    try:
        return find_hosts(ray, "GPU" if backend == "cuda" else "CPU", groups)
    except UnavailableError:
        return ()
