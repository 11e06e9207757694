"""Places: the devices of a Ray cluster, one for each actor, and what Ray has to be told to start an actor there.

Ray itself is handed in by those who have started it: the engine does not import it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from gpu_engine.errors import UnavailableError

Resource = Literal["GPU", "CPU"]
"""What Ray counts on its nodes: one GPU, or one core of a CPU, is one device."""

DEVICES: Mapping[Resource, str] = {"GPU": "cuda", "CPU": "virtual"}


@dataclass(frozen=True, slots=True)
class Place:
    """One device of a cluster.

    device    `cuda:0` …, `virtual:0` …, counted on its node
    host      the name of its Ray node: that of `ray start --node-name`, else an address
    node      the id of its Ray node
    """

    device: str
    host: str
    node: str
    resource: Resource

    def __str__(self) -> str:
        return f"{self.host}/{self.device} (node {self.node})"

    def options(self, ray: Any) -> dict[str, Any]:
        """What an actor is started with: there or nowhere, and never again by Ray alone."""
        affinity = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        amounts = {"num_gpus": 1, "num_cpus": 0} if self.resource == "GPU" else {"num_cpus": 1}
        return {
            "scheduling_strategy": affinity(node_id=self.node, soft=False),
            "max_restarts": 0,
            "max_task_retries": 0,
            **amounts,
        }


def find_places(ray: Any, resource: Resource = "GPU", count: int | None = None) -> tuple[Place, ...]:
    """The devices of the cluster that Ray has joined, host by host; of `count` the same number on each where possible.

    Raises UnavailableError where the cluster has none, or fewer than `count`.
    """
    found = [
        (rank, Place(f"{DEVICES[resource]}:{rank}", node["NodeName"], node["NodeID"], resource))
        for node in sorted(ray.nodes(), key=lambda node: (node["NodeName"], node["NodeID"]))
        if node["Alive"]
        for rank in range(int(node["Resources"].get(resource, 0)))
    ]
    wanted = len(found) if count is None else count
    if not 1 <= wanted <= len(found):
        raise UnavailableError(
            f"The Ray cluster has {len(found)} of the resource {resource}, {wanted} are asked for. "
            f"Start more with ray start --num-{resource.lower()}s, or ask for 1 to {len(found)}."
        )
    chosen = {place for _, place in sorted(found, key=lambda each: each[0])[:wanted]}
    return tuple(place for _, place in found if place in chosen)
