"""Dense matrices of SpMM: their order, leading dimension, and alignment."""

from typing import Any

from gpu_engine.spmm.groups import ALIGNMENT


def leading(array: Any) -> int:
    """Return the leading dimension of a row-major matrix: the elements from one row to the next."""
    return int(array.strides[0]) // int(array.itemsize) if array.shape[0] > 1 else int(array.shape[1])


def is_row_major(array: Any) -> bool:
    """Return whether the elements of each row are neighbors, and rows follow each other without overlap."""
    rows, columns = array.shape
    apart, size = array.strides[0], array.itemsize
    is_contiguous = columns <= 1 or array.strides[1] == size
    follows = rows <= 1 or (apart >= columns * size and apart % size == 0)
    return not array.size or bool(is_contiguous and follows)


def is_column_major(array: Any) -> bool:
    """Return whether the elements of each column are neighbors, and columns follow each other without overlap."""
    return is_row_major(array.T)


def vector_of(*arrays: Any) -> int:
    """Return the columns of a lane, 4, 2 or 1, that divide k, so that it loads aligned pairs of matrices of a GPU."""
    if any(a.shape[1] % 2 or leading(a) % 2 or a.data.ptr % ALIGNMENT for a in arrays):
        return 1
    return 2 if any(a.shape[1] % 4 for a in arrays) else 4
