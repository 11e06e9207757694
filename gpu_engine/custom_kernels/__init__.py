"""Kernels that users bring: measured in the rounds of ours, refereed, never in FORMATS.

sources     what a custom kernel is called, where it lies, and how its code is imported
adapters    CustomKernel and CustomCudaKernel: a Python callable, or CUDA source, as a Format
seal        what foreign code may not replace in this process
examiner    a new x for each turn, and what is wrong with a y
candidate   a custom kernel in the rounds: what is checked before, in and after each turn
experiment  the products of one matrix with custom kernels among them
"""

from gpu_engine.custom_kernels.adapters import CustomCudaKernel, CustomKernel

__all__ = ["CustomCudaKernel", "CustomKernel"]
