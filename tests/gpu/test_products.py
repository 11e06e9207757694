"""Products by what they read, on a GPU: every sum is verified, so a case that has a time is right."""

import pytest

from gpu_engine.generators import generate
from gpu_engine.measure import open_bench
from gpu_engine.pagerank import PageRankParams, transition_matrix
from gpu_engine.pagerank.products import LAYOUTS, PRODUCTS, experiments
from gpu_engine.records import BandwidthPoint, DeviceInfo, DeviceProfile, Measurement
from gpu_engine.sampling import measure

pytestmark = pytest.mark.usefixtures("gpu")


def test_every_product_in_every_block_is_right(gpu: DeviceInfo) -> None:
    # Rows of up to 100 entries, dangling pages, and no whole number of warps or groups.
    graph = transition_matrix(generate("web", {"n": 5001, "mean": 3.0, "max_length": 100, "seed": 3}), PageRankParams())
    fast = DeviceProfile(gpu.id, gpu.name, gpu.cache_bytes, (BandwidthPoint(2**34, 1e15, 1e15),), "2026-11-21")
    with open_bench(gpu, fast) as bench:
        found = [m for m in measure(bench, experiments("g", graph, 9, bench)) if isinstance(m, Measurement)]
    assert len(found) == len(LAYOUTS) * len(PRODUCTS)
    assert {m.state for m in found} == {"ok"}, {m.case: m.note for m in found if m.state != "ok"}
