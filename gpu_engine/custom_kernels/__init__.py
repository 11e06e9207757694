"""Custom kernels: kernels of users, measured in the rounds of the Sparsight kernels with extra integrity checks.

sources         names and locations of custom kernels, and the import of their code
adapters        CustomKernel and CustomCudaKernel: a Python callable, or CUDA source, as a Format
tamper_check    restores what custom code replaced in this process
examiner        a new x for each turn, and the verification of y
input_changes   calls under an independent clock, and calls with a new x each
timing_checks   compares the times of these calls with the recorded ones
memory          memory that a call allocates or keeps

gpu_engine/studies/formats/custom_kernel.py runs these checks in the rounds. Custom kernels are never in FORMATS.
"""

from gpu_engine.custom_kernels.adapters import CustomCudaKernel, CustomKernel

__all__ = ["CustomCudaKernel", "CustomKernel"]
