"""Stand-ins of matrices and vectors of other libraries: the attributes that those have, and no more."""

from typing import Any

import numpy as np

GPU = 2
"""DLPack's number of a CUDA device."""


class TorchMatrix:
    """A tensor of torch.sparse, by what it is asked for."""

    def __init__(self, matrix: Any, wrap: Any = np.asarray) -> None:
        coo = matrix.format == "coo"
        arrays = (np.stack([matrix.row, matrix.col]),) if coo else (matrix.indptr, matrix.indices)
        names = {"csr": ("crow_indices", "col_indices"), "csc": ("ccol_indices", "row_indices"), "coo": ("_indices",)}
        self.layout, self.shape = f"torch.sparse_{matrix.format}", matrix.shape
        for name, array in zip(names[matrix.format], arrays, strict=True):
            setattr(self, name, lambda array=array: wrap(array.astype(np.int64)))
        setattr(self, "_values" if coo else "values", lambda: wrap(matrix.data))


class OnGpu:
    """An array of a GPU that is not here."""

    def __init__(self, array: Any) -> None:
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim
        self.__cuda_array_interface__ = {
            "shape": array.shape,
            "typestr": array.dtype.str,
            "data": (0x7F0000000000, False),
            "version": 3,
        }


class CupyxMatrix:
    """A matrix of cupyx.scipy.sparse on a GPU that is not here."""

    def __init__(self, matrix: Any, names: tuple[str, ...] = ("indptr", "indices", "data")) -> None:
        self.format, self.shape = matrix.format, matrix.shape
        for name in ("indptr", "indices", "data"):
            array = getattr(matrix, name)
            setattr(self, name, OnGpu(array) if name in names else array)


class Tensor:
    """A vector of a library with `__array__`, as PyTorch has it on a CPU; its own kind is made by its module."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.array


class Capsule:
    """A vector that says no more than DLPack."""

    def __init__(self, array: Any, device: int = 1) -> None:
        self._array, self._device = array, device

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device, 0

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)


class Namespaced(Capsule):
    """The same of a library of the array API, as JAX is one."""

    def __array_namespace__(self) -> Any:
        return Namespaced

    @staticmethod
    def from_dlpack(array: Any) -> "Namespaced":
        return Namespaced(array)

    @property
    def array(self) -> Any:
        return self._array
