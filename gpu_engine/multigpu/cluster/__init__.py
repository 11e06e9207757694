"""Several hosts: one Ray actor per device; the actors of a case iterate SpMVs or run PageRank.

matrix.py           ClusterMatrix, for programs; the study `scaling` uses the actors directly
actor_pool.py       the driver: starts the actors and calls them, with actors.py
member.py           an actor and its device; product.py, ranks.py: what it computes
halo_transfers.py   what it sends and receives in an exchange; transport.py: TRANSPORTS
"""

from gpu_engine.multigpu.cluster.matrix import ClusterMatrix, DeviceLost

__all__ = ["ClusterMatrix", "DeviceLost"]
