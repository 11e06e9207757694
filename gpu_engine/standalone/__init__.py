"""Kernels to take away: CUDA source, loader and test, cut out of the engine, that run with CuPy alone."""

from gpu_engine.standalone.archive import archive, folder_of

__all__ = ["archive", "folder_of"]
