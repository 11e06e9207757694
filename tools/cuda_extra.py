"""Print the extra whose CuPy fits the NVIDIA driver of this machine: cuda13, cuda12, or an empty line without one."""

import ctypes
import sys


def cuda_extra() -> str:
    """Return the extra for the CUDA version of a driver with a device; log why a driver is not used."""
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
        sys.stderr.write(
            f"sparsight: the NVIDIA driver supports CUDA {major}, not 12: using the CPU. Update the driver.\n"
        )
        return ""
    return "cuda13" if major >= 13 else "cuda12"


if __name__ == "__main__":
    sys.stdout.write(cuda_extra() + "\n")
