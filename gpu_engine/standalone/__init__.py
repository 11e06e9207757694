"""Kernel export: CUDA source, loader, and test of a kernel, which need only CuPy."""

from gpu_engine.standalone.archive import archive, folder_of

__all__ = ["archive", "folder_of"]
