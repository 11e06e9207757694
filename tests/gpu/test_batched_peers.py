"""cuSPARSE on batches, on a GPU: right on every batch in both operations, and measured beside our kernels."""

from collections import defaultdict
from itertools import product
from typing import Any

import pytest

from gpu_engine.batched.base import BatchKernel
from gpu_engine.competitors import BEST
from gpu_engine.competitors.batches import DIAGONALS, LOOPS, peers_on
from gpu_engine.measure import open_bench
from gpu_engine.records import DeviceInfo, MatrixInfo, Measurement
from gpu_engine.studies.batched import BatchedParams, BatchedStudy
from tests.battery import BATTERY, with_row_lengths
from tests.gpu_engine.batched import test_contract as contract
from tests.gpu_engine.batched.batteries import BATCHES

pytestmark = pytest.mark.usefixtures("gpu")


@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize("kernel", peers_on("cuda"), ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("name", BATCHES)
def test_product(kernel: BatchKernel, name: str, adds: bool) -> None:
    composition = BATCHES[name]()
    if not composition.nnz:
        pytest.skip("a study leaves out what has no entries")
    contract.check_product(kernel, kernel.cuda, composition, adds, pytest.importorskip("cupy"))


@pytest.mark.parametrize("operation", ["y = Ax + y", "y = Ax"])
def test_every_kernel_is_measured_beside_the_library(gpu: DeviceInfo, operation: Any) -> None:
    # Odd numbers of entries: arrays of a problem begin wherever the one before it ends.
    matrices = {"odd": with_row_lengths([3] * 301, 301, 3), "band": BATTERY["band"]()}
    infos = [MatrixInfo(name, name, m.n_rows, m.n_cols, m.nnz) for name, m in matrices.items()]
    params = BatchedParams(batches=(500, 1500), operation=operation, energy_s=0.05, energy="all")
    cases = tuple(BatchedStudy().cases(params, infos, gpu))
    with open_bench(gpu) as bench:
        found = [r for r in BatchedStudy().run(params, cases, matrices, bench) if isinstance(r, Measurement)]
    assert [m.case for m in found] == [case.key for case in cases]
    for m in found:
        if m.kernel in LOOPS and m.details.batch_size == 1500:
            assert m.state == "skipped"
            continue
        assert m.state == "ok", (m.case, m.note)
        assert (m.energy_j is not None) == (m.cache == "warm" and m.kernel not in LOOPS)
    # Which is faster is for the benchmark to say: here others may use the GPU. What is compared has its times.
    timed = defaultdict(set)
    for m in found:
        if m.median_s is not None:
            timed[m.matrix_id, m.cache, m.details.batch_size].add(m.kernel)
    kernels = {case.kernel for case in cases}
    assert kernels >= {BEST, *LOOPS} - {"scipy/loop"}
    assert timed == {
        (name, cache, batch_size): kernels - (set(LOOPS) if batch_size == 1500 else set())
        for name, cache, batch_size in product(matrices, ("cold", "warm"), (500, 1500))
    }
    chosen = {m.note for m in found if m.kernel == BEST}
    assert chosen <= {kernel.name.partition("/")[2] for kernel in DIAGONALS}
