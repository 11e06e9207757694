"""Public API of Sparsight: operators for matrices, ranks of graphs, clients of a running server, and their errors."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpu_engine.operators import operator
    from gpu_engine.operators.batch_solves import solve_batch
    from sparsight.async_client import AsyncClient
    from sparsight.client import Client
    from sparsight.graph_ranks import pagerank

__all__ = ["AsyncClient", "Client", "operator", "pagerank", "solve_batch"]


LAZY = {
    "AsyncClient": "sparsight.async_client",
    "Client": "sparsight.client",
    "operator": "gpu_engine.operators",
    "pagerank": "sparsight.graph_ranks",
    "solve_batch": "gpu_engine.operators.batch_solves",
}
"""Public name → module that defines it; names that end with Error come from gpu_engine.errors."""


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that operators load no HTTP client and clients load no kernels."""
    module = LAZY.get(name, "gpu_engine.errors" if name.endswith("Error") else "")
    attribute = getattr(import_module(module), name, None) if module else None
    if attribute is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return attribute
