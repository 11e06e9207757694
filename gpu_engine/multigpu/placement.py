"""Device slots of a Ray cluster, one per actor, and the options with which Ray starts an actor there.

Ray is passed in by the caller; this package does not import it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from gpu_engine.errors import UnavailableError

Resource = Literal["GPU", "CPU"]
"""Resource that Ray counts per node: one GPU, or one CPU core, is one device."""

DEVICES: Mapping[Resource, str] = {"GPU": "cuda", "CPU": "virtual"}
"""Resource → kind of its devices, as in `cuda:0`."""


@dataclass(frozen=True, slots=True)
class DeviceSlot:
    """Slot for one device of a Ray cluster.

    device    `cuda:0` …, `virtual:0` …, counted per node
    host      name of the Ray node from `ray start --node-name`, or its address
    node      id of the Ray node
    """

    device: str
    host: str
    node: str
    resource: Resource

    def __str__(self) -> str:
        return f"{self.host}/{self.device} (node {self.node})"

    def options(self, ray: Any) -> dict[str, Any]:
        """Return the options of an actor that must run in this slot and that Ray must not restart."""
        affinity = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        amounts = {"num_gpus": 1, "num_cpus": 0} if self.resource == "GPU" else {"num_cpus": 1}
        return {
            "scheduling_strategy": affinity(node_id=self.node, soft=False),
            "max_restarts": 0,
            "max_task_retries": 0,
            **amounts,
        }


def find_places(ray: Any, resource: Resource = "GPU", count: int | None = None) -> tuple[DeviceSlot, ...]:
    """Return device slots of the cluster, host by host; with `count`, the same number per host if possible.

    Raises UnavailableError if the cluster has none, or fewer than `count`.
    """
    slots = [
        (rank, DeviceSlot(f"{DEVICES[resource]}:{rank}", node["NodeName"], node["NodeID"], resource))
        for node in sorted(ray.nodes(), key=lambda node: (node["NodeName"], node["NodeID"]))
        if node["Alive"]
        for rank in range(int(node["Resources"].get(resource, 0)))
    ]
    n_slots = len(slots) if count is None else count
    if not 1 <= n_slots <= len(slots):
        raise UnavailableError(
            f"The Ray cluster has {len(slots)} of the resource {resource}, but {n_slots} are needed. "
            f"Start more with ray start --num-{resource.lower()}s, or use 1 to {len(slots)}."
        )
    selection = {slot for _, slot in sorted(slots, key=lambda ranked: ranked[0])[:n_slots]}
    return tuple(slot for _, slot in slots if slot in selection)
