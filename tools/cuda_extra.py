"""Prints the extra whose CuPy fits this machine's NVIDIA driver: cuda13, cuda12, or an empty line where none is."""

import ctypes
import sys


def cuda_extra() -> str:
    """The extra for the CUDA version of a driver that has a device; says on stderr why a driver is not used."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return ""
    if driver.cuInit(0) != 0:
        return ""
    version = ctypes.c_int(0)
    driver.cuDriverGetVersion(ctypes.byref(version))
    major = version.value // 1000
    if major < 12:
        sys.stderr.write(f"sparsight: the NVIDIA driver offers CUDA {major}; 12 is needed, so this runs on the CPU.\n")
        return ""
    return "cuda13" if major >= 13 else "cuda12"


if __name__ == "__main__":
    sys.stdout.write(cuda_extra() + "\n")
