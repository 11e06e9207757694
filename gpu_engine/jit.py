"""Numba, or what stands in for it where a client alone is installed: its functions have names there and cannot run."""

from collections.abc import Callable
from typing import Any

from gpu_engine.errors import UnavailableError

__all__ = ["numba"]


class _Missing:
    """Makes of each function one that says what to install."""

    def njit(self, **_: Any) -> Callable[[Any], Any]:
        """A decorator, as Numba's."""
        return lambda _: self._refuse

    def __getattr__(self, _: str) -> Callable[..., Any]:
        return self._refuse

    @staticmethod
    def _refuse(*_: Any, **__: Any) -> Any:
        raise UnavailableError("Reading and measuring on this machine needs Numba: pip install 'sparsight[server]'.")


try:
    import numba
except ModuleNotFoundError:
    numba = _Missing()  # type: ignore[assignment]
