"""cuSPARSE on batches, on a GPU: right on every batch in both operations, and measured beside our kernels."""

from typing import Any

import pytest

from gpu_engine.batched.base import BatchKernel
from gpu_engine.competitors import BEST
from gpu_engine.competitors.batches import LOOPS, peers_on
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
    params = BatchedParams(batches=(500, 1500), operation=operation, energy_s=0.05)
    cases = tuple(BatchedStudy().cases(params, infos, gpu))
    with open_bench(gpu) as bench:
        found = [r for r in BatchedStudy().run(params, cases, matrices, bench) if isinstance(r, Measurement)]
    assert [m.case for m in found] == [case.key for case in cases]
    for m in found:
        if m.kernel in LOOPS and m.details.problems == 1500:
            assert m.state == "skipped"
            continue
        assert m.state == "ok", (m.case, m.note)
        assert (m.energy_j is not None) == (m.cache == "warm" and m.kernel not in LOOPS)
    for m in found:
        if m.kernel == "cusparse/loop" and m.median_s is not None:
            # Launched by the host, and the same products without it.
            chain = next(o.median_s for o in found if o.case == m.case.replace("loop", "chain"))
            assert chain is not None
            assert chain < m.median_s
    times = {(m.case, m.kernel): m.median_s for m in found if m.median_s is not None}
    for m in found:
        if m.kernel == "cusparse/chain" and m.median_s is not None:
            best = times[m.case.replace(m.kernel, BEST), BEST]
            assert best is not None
            assert best < m.median_s
