"""Products by what they read, on a GPU: every sum is verified, so a case that has a time is right."""

import pytest

from gpu_engine.generators import generate
from gpu_engine.measure import open_bench
from gpu_engine.pagerank.products import BLOCKS
from gpu_engine.records import BandwidthPoint, DeviceInfo, DeviceProfile, MatrixInfo, Measurement
from gpu_engine.studies.reduced_spmv import ReducedSpmvParams, ReducedSpmvStudy

pytestmark = pytest.mark.usefixtures("gpu")


def test_every_product_in_every_block_is_right(gpu: DeviceInfo) -> None:
    # Rows of up to 100 entries, dangling pages, and no whole number of warps or groups.
    graph = generate("web", {"n": 5001, "mean": 3.0, "max_length": 100, "seed": 3})
    fast = DeviceProfile(gpu.id, gpu.name, gpu.cache_bytes, (BandwidthPoint(2**34, 1e15, 1e15),), "2026-11-21")
    study, params = ReducedSpmvStudy(), ReducedSpmvParams(blocks=tuple(BLOCKS))
    info = MatrixInfo("g", "g", graph.n_rows, graph.n_cols, graph.nnz)
    with open_bench(gpu, fast) as bench:
        cases = tuple(study.cases(params, [info], bench.device))
        found = [m for m in study.run(params, cases, {"g": graph}, bench) if isinstance(m, Measurement)]
    assert [m.case for m in found] == [case.key for case in cases]
    assert {m.state for m in found} == {"ok"}, {m.case: m.note for m in found if m.state != "ok"}
