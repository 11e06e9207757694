"""Sparsight's public face: matrices as operators, clients of a running server, what they raise."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpu_engine.operators import operator
    from sparsight.async_client import AsyncClient
    from sparsight.client import Client

__all__ = ["AsyncClient", "Client", "operator"]


LAZY = {
    "AsyncClient": "sparsight.async_client",
    "Client": "sparsight.client",
    "operator": "gpu_engine.operators",
}
"""Where each name is; every other one that ends with Error is an error that a call raises."""


def __getattr__(name: str) -> Any:
    """Imports what is asked for: who takes an operator needs no HTTP, who asks a server no kernels."""
    module = LAZY.get(name, "gpu_engine.errors" if name.endswith("Error") else "")
    found = getattr(import_module(module), name, None) if module else None
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found
