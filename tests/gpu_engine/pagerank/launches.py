"""The kernels of unfused.cu in NumPy, by names and arguments of launches: what the host does, without a GPU."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

from gpu_engine import cpms

HEAD = re.compile(r"^Head<(\d), (\d)(?:, (Ieee|Short))?>$")


class NumpySource:
    """Stands for a CudaSource; launched: the names, in order."""

    def __init__(self) -> None:
        self.launched: list[str] = []

    def function(self, instantiation: str) -> Callable[..., None]:
        name, _, types = instantiation.partition("<")
        kinds = re.findall(r"Head<\d, \d(?:, Short)?>|Fp64", types)
        kernel = getattr(self, f"_{name}", None)

        def launch(_grid: tuple[int, ...], _block: tuple[int, ...], arguments: tuple[Any, ...]) -> None:
            self.launched.append(instantiation)
            if name == "scale_ranks":
                self._scale_ranks(f"Head<{types}", *arguments)
            else:
                assert kernel is not None
                kernel(*kinds, *arguments)

        return launch

    def _csr_thread(self, a: str, read: str, write: str, n: int, indptr: Any, columns: Any, *rest: Any) -> None:
        values, p, *others = rest
        matrix = scipy.sparse.csr_array((_load(a, values, columns.size), columns, indptr), shape=(n, n))
        self._multiply(matrix, read, write, p, *others)

    def _ell_thread(self, a: str, read: str, write: str, n: int, width: int, columns: Any, *rest: Any) -> None:
        values, p, *others = rest
        kept = columns >= 0
        places = np.tile(np.arange(n), width)[kept], columns[kept]
        matrix = scipy.sparse.coo_array((_load(a, values, columns.size)[kept], places), shape=(n, n)).tocsr()
        self._multiply(matrix, read, write, p, *others)

    @staticmethod
    def _multiply(matrix: Any, read: str, write: str, p: Any, following: Any, *rule: Any) -> None:
        damping, teleport, spread, lost = rule
        n = matrix.shape[0]
        _store(write, following, damping * (matrix @ _load(read, p, n)) + teleport + spread * lost[0])

    @staticmethod
    def _norm_of_change(read: str, write: str, n: int, p: Any, following: Any, norm: int, parts: Any) -> None:
        change = np.abs(_load(write, following, n) - _load(read, p, n))
        parts[:] = 0.0
        parts[0] = (change.sum(), (change**2).sum(), change.max())[norm]

    @staticmethod
    def _norm_of_selected(kind: str, count: int, pages: Any, p: Any, parts: Any) -> None:
        parts[:] = 0.0
        parts[0] = _load(kind, p, int(pages.max()) + 1)[pages[:count]].sum()

    @staticmethod
    def _norm_of_ranks(kind: str, n: int, p: Any, parts: Any) -> None:
        parts[:] = 0.0
        parts[0] = _load(kind, p, n).sum()

    @staticmethod
    def _join_blocks(count: int, parts: Any, norm: int, out: Any) -> None:
        out[0] = parts[:count].max() if norm == 2 else parts[:count].sum()

    @staticmethod
    def _scale_ranks(kind: str, n: int, p: Any, norm: Any) -> None:
        _store(kind, p, _load(kind, p, n) / norm[0])


def _load(kind: str, array: Any, size: int) -> Any:
    """float64 [size] of an array as the kernel with that type reads it."""
    if kind == "Fp64":
        assert array.dtype == np.float64
        return array[:size].copy()
    found = HEAD.match(kind)
    assert found
    segments, k, short = int(found[1]), int(found[2]), found[3] == "Short"
    assert array.dtype == cpms.layout.UNITS[segments]
    return cpms.read(cpms.Segmented(_whole(array, size, segments), size, segments, short=short), k)


def _store(kind: str, array: Any, values: Any) -> None:
    found = HEAD.match(kind)
    if not found:
        array[: values.size] = values
        return
    segments, k, short = int(found[1]), int(found[2]), found[3] == "Short"
    whole = _whole(array, values.size, segments)
    cpms.write(cpms.Segmented(whole, values.size, segments, short=short), values, k)


def _whole(units: Any, size: int, segments: int) -> Any:
    return units.view(np.float64)[: cpms.padded_size(size, segments)]
