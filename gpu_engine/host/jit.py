"""Numba, or what stands in for it: its functions then have names and cannot run.

It is missing where a client alone is installed. Where other users can write its cache it is not used: what it loads
from there is code.
"""

from collections.abc import Callable
from typing import Any

from gpu_engine.errors import UnavailableError
from gpu_engine.host.caches import open_caches

MISSING = "Reading and measuring on this machine needs Numba: pip install 'sparsight[server]'."

__all__ = ["numba"]


class _Missing:
    """Makes of each function one that says why it cannot run."""

    def __init__(self, sentence: str) -> None:
        self._sentence = sentence

    def njit(self, **_: Any) -> Callable[[Any], Any]:
        """A decorator, as Numba's."""
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
    # Before a function asks for its folder.
    if refusal := open_caches():
        numba = _Missing(refusal)  # type: ignore[assignment]
