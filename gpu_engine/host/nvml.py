"""NVML, or a stand-in that says how to install it. It is missing if only the client is installed."""

from typing import Any

from gpu_engine.errors import UnavailableError

MISSING = "Using the GPUs of this machine requires nvidia-ml-py: pip install 'sparsight[server]'."

__all__ = ["pynvml"]


class _Missing:
    """Stand-in for pynvml: its errors are never raised, and every function raises UnavailableError."""

    class NVMLError(Exception):
        """Error of NVML."""

    class NVMLError_GpuIsLost(NVMLError):  # noqa: N801, N818 (the name in pynvml)
        """A GPU does not respond."""

    def __getattr__(self, _: str) -> Any:
        raise UnavailableError(MISSING)


try:
    import pynvml
except ModuleNotFoundError:
    pynvml = _Missing()
