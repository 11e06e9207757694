"""A recording as a bench far away writes it, made up: one generated matrix and one of the collection."""

import dataclasses

from gpu_engine.generators import generate
from gpu_engine.recordings import files as recordings
from gpu_engine.recordings.files import MatrixRecord, Recording
from gpu_engine.records import BandwidthPoint, DeviceInfo, DeviceProfile, Trace
from tests.battery import BATTERY
from tests.samples.formats import study_of

GRID = {"points": 5, "nx": 6, "ny": 4}
H200 = DeviceInfo("cuda:0", "cuda", "NVIDIA H200", 139 * 2**30, 60 * 10**6, "GPU-1", {"driver": "580.1"})
PROFILE = DeviceProfile(
    "cuda:0", H200.name, 60 * 10**6, (BandwidthPoint(10**9, 4.3e12, 4.4e12),), "2026-11-20T10:00:00+00:00"
)


def sample(scale: float = 0.01) -> Recording:
    """Both cache states of four kernels on `grid` and `web`; csr/vector is the fastest with 800 µs · scale warm."""
    matrices = (grid(), recordings.describe("web", "web-Test", BATTERY["tall"](), recordings.collected("T/web")))
    found = tuple(m for matrix in matrices for m in study_of(matrix.id, H200.id, scale))
    found = tuple(dataclasses.replace(m, environment={"driver": "580.1"}) for m in found)
    trace = Trace("grid|csr/vector|warm|", {"step": (1.0, 2.0, 2.0)})
    return Recording("formats", "2026-11-20T12:00:00+00:00", H200, PROFILE, matrices, found, (trace,))


def grid() -> MatrixRecord:
    """The generated matrix of the sample."""
    return recordings.describe("grid", "a grid", generate("stencil", GRID), recordings.generated("stencil", GRID))
