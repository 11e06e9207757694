"""Made-up SpMMs as the study yields them: times per column that tests can name."""

from collections.abc import Mapping
from typing import Any

from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.records import Cache, Case, Measurement
from gpu_engine.studies.spmm.experiment import SpmmDetails

MATRICES = {
    "plane": MatrixFeatures("plane-5", 40_000, 40_000, 199_200, 4.98, 0.1, 2.0, 0),
    "fem": MatrixFeatures("fem3", 98_304, 98_304, 7_000_000, 71.2, 8.0, 50.0, 0),
}

NNZ = 199_200

COLUMN_S: Mapping[str, Mapping[int, float]] = {
    "csr/rows": {2: 11e-6, 8: 4e-6, 32: 2e-6},
    "csr/segments": {2: 12e-6, 8: 5e-6, 32: 3e-6},
    "cusparse/spmm_csr_alg2": {2: 11.5e-6, 8: 6e-6, 32: 1.5e-6},
    "spmv/csr-vector": {2: 8e-6, 8: 8e-6, 32: 8e-6},
    "spmv/csr-scalar": {2: 9e-6, 8: 9e-6, 32: 9e-6},
}
"""Kernel → seconds per column by number of columns. k SpMVs win at 2, Sparsight at 8, and the library at 32."""


def multiplied(
    kernel: str,
    k: int = 8,
    matrix: str = "plane",
    device: str = "cuda:0",
    order: str = "row",
    cache: Cache = "warm",
    scale: float = 1.0,
    **fields: Any,
) -> Measurement:
    """An SpMM whose columns take as long as COLUMN_S says, times the scale; the roofline is 1 µs per column."""
    case = Case(matrix, kernel, cache, (("k", str(k)), ("order", order)))
    time = scale * k * COLUMN_S[kernel][k]
    values: dict[str, Any] = {
        "median_s": time,
        "ci_low_s": time * 0.998,
        "min_s": time * 0.997,
        "q1_s": time * 0.998,
        "q3_s": time * 1.002,
        "ci_high_s": time * 1.002,
        "gflops": 2e-9 * NNZ * k / time,
        "roofline_s": k * 1e-6,
        "stored_bytes": 2_500_000,
        "convert_s": 1e-6,
        "setup_s": 2e-6,
        "vector_s": time / k,
        "max_error": 0.5,
        "aa_gap": 0.001,
        "rounds": 15,
    }
    return Measurement.of(case, device, SpmmDetails, **(values | fields))


def every(
    matrix: str = "plane", device: str = "cuda:0", order: str = "row", cache: Cache = "warm", scale: float = 1.0
) -> list[Measurement]:
    """All kernels with all numbers of columns."""
    return [multiplied(kernel, k, matrix, device, order, cache, scale) for k in (2, 8, 32) for kernel in COLUMN_S]


def refused(kernel: str, note: str, k: int = 8, matrix: str = "plane", device: str = "cuda:0") -> Measurement:
    """A skipped kernel."""
    case = Case(matrix, kernel, "warm", (("k", str(k)), ("order", "row")))
    return Measurement.of(case, device, SpmmDetails, "skipped", note=note)


def shown(*measurements: Measurement, **choices: Any) -> StudyData:
    """What figures are drawn from."""
    return StudyData(measurements, MATRICES, **choices)
