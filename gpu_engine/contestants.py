"""Former name of gpu_engine.custom_kernels, kept so that existing kernel files still work."""

from gpu_engine.custom_kernels import CustomCudaKernel as CudaContestant
from gpu_engine.custom_kernels import CustomKernel as Contestant

__all__ = ["Contestant", "CudaContestant"]
