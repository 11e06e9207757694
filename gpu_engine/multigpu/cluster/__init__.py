"""Several hosts: a crew of Ray actors, one on each device, of which teams iterate products or run PageRank.

matrix.py: ClusterMatrix, for programs; the study `scaling` drives teams itself.
crew.py on actors.py: what the driver does; member.py, product.py, ranks.py: what a device does.
moves.py, transport.py: TRANSPORTS, and what is sent and taken in an exchange.
"""

from gpu_engine.multigpu.cluster.matrix import ClusterMatrix, Loss

__all__ = ["ClusterMatrix", "Loss"]
