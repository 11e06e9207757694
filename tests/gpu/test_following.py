"""Products that start before the kernel before them has ended read what it writes, whatever kernel that is."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.formats import FORMATS, find_kernel
from gpu_engine.formats.base import Format
from gpu_engine.generators import generate
from gpu_engine.records import DeviceInfo
from tests.gpu_engine.formats.contract import suited

cupy = pytest.importorskip("cupy")

TURNS = 300
KERNELS = [f.name_of(k) for f in FORMATS for k in f.kernels if k.cuda]


def _scaled(x: Any, source: Any, factor: float) -> None:
    cupy.multiply(source, factor, out=x)


def _in_place(x: Any, source: Any, factor: float) -> None:
    x[...] = source
    x *= factor


def _copied(x: Any, source: Any, factor: float) -> None:
    cupy.copyto(x, source * factor)


def _by_cublas(x: Any, source: Any, factor: float) -> None:
    from cupy import cublas

    x.fill(0.0)
    cublas.axpy(factor, source, x)


WRITERS: dict[str, Callable[[Any, Any, float], None]] = {
    "elementwise": _scaled,
    "in place": _in_place,
    "copy": _copied,
    "cublas": _by_cublas,
}


@pytest.fixture(scope="module", params=[2_000, 300_000])
def matrix(request: pytest.FixtureRequest, gpu: DeviceInfo) -> CsrMatrix:
    host = generate("web", {"n": request.param, "seed": 3})
    # Without cancellation sums in another order differ by little.
    return CsrMatrix(*host.shape, *map(cupy.asarray, (host.indptr, host.indices, abs(host.values))))


def suited_on_gpu(f: Format, matrix: CsrMatrix) -> CsrMatrix:
    return suited(f, matrix.on_host()).on(cupy) if f.symmetric_only else matrix


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_x_is_read_once_it_is_written(kernel: str, writer: str, matrix: CsrMatrix) -> None:
    """A power of two in front of x is one in front of y, but for sums whose order differs from product to product."""
    f, own = find_kernel(kernel)
    matrix = suited_on_gpu(f, matrix)
    layout = f.from_csr(matrix)
    product, write = own.bound("cuda", layout), WRITERS[writer]
    source = cupy.random.default_rng(1).uniform(0.5, 1.0, matrix.n_cols)
    x, y, first = cupy.empty_like(source), cupy.empty(matrix.n_rows), cupy.empty(matrix.n_rows)
    write(x, source, 1.0)
    product(x, first)
    limit, worst = cupy.abs(first) * 1e-12, cupy.zeros(())
    for turn in range(TURNS):
        factor = 2.0 ** (turn % 7 + 1)
        write(x, source, factor)
        product(x, y)
        cupy.maximum(worst, cupy.max(cupy.abs(y / factor - first) - limit), out=worst)
    assert float(worst) <= 0.0


@pytest.mark.parametrize("kernel", KERNELS)
def test_products_of_products_in_a_graph(kernel: str, matrix: CsrMatrix) -> None:
    if matrix.n_rows != matrix.n_cols:
        pytest.skip("only square matrices can be iterated")
    f, own = find_kernel(kernel)
    matrix = suited_on_gpu(f, matrix)
    product = own.bound("cuda", f.from_csr(matrix))
    first = cupy.random.default_rng(2).uniform(0.5, 1.0, matrix.n_cols)
    vectors = [first, *(cupy.empty(matrix.n_rows) for _ in range(6))]

    def iterate() -> None:
        for x, y in pairwise(vectors):
            product(x, y)

    expected = first
    for _ in vectors[1:]:
        y = cupy.empty(matrix.n_rows)
        product(expected, y)
        cupy.cuda.get_current_stream().synchronize()
        expected = y
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    with stream:
        stream.begin_capture()
        iterate()
        graph = stream.end_capture()
        for _ in range(20):
            for vector in vectors[1:]:
                vector.fill(np.nan)
            graph.launch()
            cupy.testing.assert_allclose(vectors[-1], expected, rtol=1e-10)
