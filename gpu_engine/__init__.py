"""Matrices, formats, kernels and measurements: everything Sparsight knows about sparse matrices on devices."""

from importlib import metadata

from gpu_engine.host.caches import place_caches

# Numba reads its variable when it is imported, which only modules below this one do.
place_caches()


def release() -> str:
    """Return the installed version of Sparsight; `checkout` where the sources run without being installed."""
    try:
        return metadata.version("sparsight")
    except metadata.PackageNotFoundError:
        # A GPU host that only measures runs the sources as they are.
        return "checkout"
