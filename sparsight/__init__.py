"""Sparsight's public face: matrices as operators, clients of a running server, what they raise."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpu_engine.operators import operator
    from sparsight.async_client import AsyncClient
    from sparsight.client import Client

__all__ = ["AsyncClient", "Client", "operator"]


def __getattr__(name: str) -> Any:
    """Imports what is asked for: who takes an operator needs no HTTP, who asks a server no kernels."""
    if name == "operator":
        from gpu_engine.operators import operator

        return operator
    if name == "Client":
        from sparsight.client import Client

        return Client
    if name == "AsyncClient":
        from sparsight.async_client import AsyncClient

        return AsyncClient
    if name.endswith("Error"):
        from gpu_engine import errors

        # Every error that a call raises: `from sparsight import NotFoundError`.
        if isinstance(error := getattr(errors, name, None), type):
            return error
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
