"""NumPy in the place of the compiled products, and a CPU that says that it is a GPU."""

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from gpu_engine import cpms
from gpu_engine.measure import Bench, open_bench
from gpu_engine.records import BandwidthPoint, DeviceInfo, DeviceProfile
from gpu_engine.studies.reduced_spmv import experiment as reduced_spmv

FAST = DeviceProfile("cpu", "test", 2**20, (BandwidthPoint(2**28, 1e13, 1e13),), "2026-11-21T00:00:00+00:00")
CPU = DeviceInfo("cpu", "cpu", "test", 2**34, 2**20)


class NumpyProducts:
    """Stands for the compiled source; off: what a wrong kernel adds to the largest sum."""

    text = ""

    def __init__(self, off: float = 0.0) -> None:
        self.off = off

    def function(self, name: str) -> Callable[..., None]:
        kernel, types = name.rstrip(">").split("<")
        segments, of_values, of_ranks, block = map(int, types.split(", ")[-4:])

        def load(array: Any, size: int, read: int) -> Any:
            if not read:
                return array[:size]
            return cpms.read(cpms.Segmented(array.view(np.float64), size, segments, block), read)

        def launch(_grid: Any, _block: Any, arguments: tuple[Any, ...]) -> None:
            n, shape, columns, values, p, y, values_apart, ranks_apart = arguments
            numbers = load(values, columns.size, of_values)
            if kernel == "csr_thread":
                matrix = scipy.sparse.csr_array((numbers, columns, shape), shape=(n, n))
            else:
                kept = columns >= 0
                places = np.tile(np.arange(n), shape)[kept], columns[kept]
                matrix = scipy.sparse.coo_array((numbers[kept], places), shape=(n, n)).tocsr()
            found = matrix @ load(p, n, of_ranks)
            if n:
                found[np.argmax(found)] *= 1.0 + self.off
            if not of_ranks:
                y[:] = found
                return
            cpms.write(cpms.Segmented(y.view(np.float64), int(n), segments, block), found, of_ranks)
            apart = cpms.Segmented(p.view(np.float64), int(n), segments, block).apart
            assert ranks_apart == apart
            assert values_apart == (values.size // segments if not block and of_values else apart if of_values else 0)

        return launch


def stand_in(monkeypatch: pytest.MonkeyPatch, off: float = 0.0) -> None:
    """Puts NumPy into the place of the compiler."""
    monkeypatch.setattr(reduced_spmv, "source_of", lambda *_: NumpyProducts(off))


@contextmanager
def called_a_gpu(layout_bytes: int = 0) -> Iterator[Bench]:
    """This CPU, open, under the name of a GPU."""
    with open_bench(CPU, FAST, layout_bytes) as bench:
        bench.device = dataclasses.replace(bench.device, id="cuda:0", backend="cuda")
        yield bench
