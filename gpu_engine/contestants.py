"""Former name of gpu_engine.custom_kernels: kernel files that were written for it are still measured."""

from gpu_engine.custom_kernels import CustomCudaKernel as CudaContestant
from gpu_engine.custom_kernels import CustomKernel as Contestant

__all__ = ["Contestant", "CudaContestant"]
