"""Numba, or a stand-in whose functions can be defined but not called.

Numba is missing if only the client is installed. It is not used if other users can write into its cache, because it
loads code from there.
"""

from collections.abc import Callable
from typing import Any

from gpu_engine.errors import UnavailableError
from gpu_engine.host.caches import open_caches

MISSING = "Reading and measuring on this machine requires Numba: pip install 'sparsight[server]'."

__all__ = ["numba"]


class _Missing:
    """Stand-in for Numba that replaces each function by one that raises UnavailableError with the reason."""

    def __init__(self, sentence: str) -> None:
        self._sentence = sentence

    def njit(self, **_: Any) -> Callable[[Any], Any]:
        """Return a decorator, as Numba does."""
        return lambda _: self._refuse

    def __getattr__(self, _: str) -> Callable[..., Any]:
        return self._refuse

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise UnavailableError(self._sentence)


try:
    import numba
except ModuleNotFoundError:
    numba = _Missing(MISSING)  # type: ignore[assignment]
else:
    # Before the first function accesses its cache folder.
    if refusal := open_caches():
        numba = _Missing(refusal)  # type: ignore[assignment]
