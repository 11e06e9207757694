"""Ray nodes of this machine, each with a name: what the tests of several hosts run on."""

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

STORE_BYTES = 80 * 2**20


@contextmanager
def ray_nodes(temporary: str, resources: Mapping[str, Mapping[str, float]]) -> Iterator[tuple[Any, dict[str, Any]]]:
    """(cluster, name → node) in a process that has no Ray yet, whose environment from here on is that of these nodes.

    temporary  Ray's folder, by a short path
    resources  name → what the node offers beside its processors
    """
    os.environ.update(
        RAY_TMPDIR=temporary,
        RAY_worker_niceness="0",
        RAY_gcs_rpc_server_reconnect_timeout_s="5",
        RAY_USAGE_STATS_ENABLED="0",
        RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER="0",
        RAY_AUTH_MODE="token",
        RAY_AUTH_TOKEN=secrets.token_hex(32),
    )
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    options: dict[str, Any] = {"num_cpus": 2, "include_dashboard": False, "object_store_memory": STORE_BYTES}
    nodes = {
        name: cluster.add_node(node_name=name, resources=dict(more), **options) for name, more in resources.items()
    }
    try:
        yield cluster, nodes
    finally:
        cluster.shutdown()  # type: ignore[no-untyped-call]
