"""Sparsight's public face: matrices as operators, the client of a running server. The command line is `sparsight`."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpu_engine.operators import operator
    from sparsight.client import Client

__all__ = ["Client", "operator"]


def __getattr__(name: str) -> Any:
    """Imports what is asked for: who takes an operator needs no HTTP, who asks a server no kernels."""
    if name == "operator":
        from gpu_engine.operators import operator

        return operator
    if name == "Client":
        from sparsight.client import Client

        return Client
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
