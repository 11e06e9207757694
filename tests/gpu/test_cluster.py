"""Actors with CUDA devices, which exchange by way of the host and through NCCL; threads stand for their processes."""

from pathlib import Path

import numpy as np
import pytest

from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.cluster import ClusterMatrix
from gpu_engine.multigpu.exchange import EXCHANGES, ExchangeName
from gpu_engine.multigpu.placement import find_places
from gpu_engine.multigpu.transport import TRANSPORTS, TransportName
from tests.gpu_engine.multigpu.stored import crossed, stored
from tests.gpu_engine.multigpu.test_exchange import iterated, overlaps
from tests.gpu_engine.multigpu.thread_ray import ThreadRay

pytestmark = pytest.mark.usefixtures("gpu")

N, COUNT = 1200, 2


@overlaps
@pytest.mark.parametrize("exchange", EXCHANGES)
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_iterations(tmp_path: Path, transport: TransportName, exchange: ExchangeName, overlap: bool) -> None:
    """All sums are exact; a cut row is one of those that are added up."""
    import cupy

    from gpu_engine.multigpu.cuda_device import CudaDevice

    gpus = cupy.cuda.runtime.getDeviceCount()
    if transport == "nccl" and gpus < COUNT:
        pytest.skip("NCCL takes one member a GPU")

    def open_device(name: str) -> Device:
        return CudaDevice(int(name.rpartition(":")[2]) % gpus)

    ray, x, found = ThreadRay(a=COUNT), np.arange(float(N)) % 7 - 3, np.full(N, np.nan)
    folder, places = stored(tmp_path / "matrix", crossed(N)), find_places(ray, "CPU")
    with ClusterMatrix(
        ray,
        folder,
        places,
        exchange=exchange,
        overlap=overlap,
        transport=transport,
        open_device=open_device,
    ) as matrix:
        for iterations in (1, 4):
            matrix.load(x)
            matrix.advance(iterations)
            matrix.read(found)
            np.testing.assert_array_equal(found, iterated(crossed(N), x, iterations)[0])
