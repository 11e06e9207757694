"""Batches as the study yields them, made up: rates that tests can name."""

from typing import Any

from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.records import MIXTURE, Cache, Case, Measurement
from gpu_engine.studies.batched import mixture_of
from gpu_engine.studies.batched.experiment import BatchDetails

WEST = MatrixFeatures("west0989", 989, 989, 3_537, 3.58, 2.38, 11.0, stored={"max": 12})
NOS3 = MatrixFeatures("nos3", 960, 960, 15_844, 16.5, 1.2, 12.0, stored={"max": 18})
THIN_ROWS = MatrixFeatures("rows_2", 1024, 1024, 2_048, 2.0, 0.0, 0.0, stored={"max": 2})
THICK_ROWS = MatrixFeatures("rows_16", 1024, 1024, 16_384, 16.0, 0.0, 0.0, stored={"max": 16})
FEW = MatrixFeatures("dense_2", 1024, 1024, 2_048, 2.0, 45.2, 1024.0, stored={"max": 1024})
MANY = MatrixFeatures("dense_32", 1024, 1024, 32_768, 32.0, 178.0, 1024.0, stored={"max": 1024})
MATRICES = {"west": WEST, "nos3": NOS3, "r2": THIN_ROWS, "r16": THICK_ROWS, "d2": FEW, "d32": MANY}


def multiplied(
    kernel: str,
    gflops: float,
    batch_size: int = 1000,
    matrix: str = "west",
    compose: str = "uniform",
    operation: str = "y=Ax+y",
    cache: Cache = "warm",
    device: str = "cuda:0",
    mixture: str = "",
    **fields: Any,
) -> Measurement:
    """A batch of 5·10⁵ nonzeros at this rate: 10⁶ operations, so that 100 GFLOP/s take 10 µs; the floor takes 4."""
    case = _case(kernel, batch_size, matrix, compose, operation, cache, mixture)
    time = 1e6 / (gflops * 1e9)
    values: dict[str, Any] = {
        "ci_low_s": time * 0.999,
        "min_s": time * 0.998,
        "q1_s": time * 0.999,
        "q3_s": time * 1.001,
        "ci_high_s": time * 1.001,
        "gflops": gflops,
        "stored_bytes": 6_000_000,
        "moved_bytes": 6_000_000,
        "vector_bytes": 2_000_000,
        "roofline_s": 4e-6,
        "convert_s": 0.0 if case.format == "csr" else 100e-6,
        "max_error": 0.5,
        "aa_gap": 0.001,
        "batch_size": batch_size,
    }
    return Measurement.of(case, device, BatchDetails, median_s=time, **(values | fields))


def refused(kernel: str, note: str, batch_size: int = 1000, matrix: str = "west", **axes: Any) -> Measurement:
    """A skipped kernel."""
    case = _case(kernel, batch_size, matrix, **axes)
    return Measurement.of(case, "cuda:0", BatchDetails, "skipped", batch_size=batch_size, note=note)


def shown(*measurements: Measurement, **choices: Any) -> StudyData:
    """What figures are drawn from."""
    return StudyData(measurements, MATRICES, **choices)


def copies(matrix: str = "west", device: str = "cuda:0", batch_size: int = 1000) -> list[Measurement]:
    """The paper's kernels, one that chooses and cuSPARSE: coo/segmented leads the paper's, auto/shared all."""
    rates = {
        "coo/segmented": 100.0,
        "csr/scalar": 80.0,
        "csr/vector": 40.0,
        "csr/smart": 50.0,
        "csri/warp": 60.0,
        "ell/thread": 20.0,
        "auto/shared": 125.0,
        "cusparse/best": 62.5,
        "cusparse/chain": 5.0,
    }
    return [multiplied(kernel, rate, batch_size, matrix, device=device) for kernel, rate in rates.items()]


def mixed(
    *members: str, batch_size: int = 1000, device: str = "cuda:0", mixture: str | None = None
) -> list[Measurement]:
    """A mixed batch of these matrices: csri/warp leads; ell/thread stores seven times as much, most of it padding.

    mixture  empty: as it was recorded before mixtures had names
    """
    environment = {"matrices": ", ".join(members)}
    rates = {"coo/segmented": 80.0, "csri/warp": 100.0, "ell/thread": 25.0}
    return [
        multiplied(
            kernel,
            rate,
            batch_size,
            members[0],
            "mixed",
            device=device,
            mixture=mixture_of(members) if mixture is None else mixture,
            stored_bytes=42_000_000 if kernel == "ell/thread" else 6_000_000,
            moved_bytes=34_000_000 if kernel == "ell/thread" else 6_000_000,
            environment=environment,
        )
        for kernel, rate in rates.items()
    ]


def _case(
    kernel: str,
    batch_size: int,
    matrix: str,
    compose: str = "uniform",
    operation: str = "y=Ax+y",
    cache: Cache = "warm",
    mixture: str = "",
) -> Case:
    of = ((MIXTURE, mixture),) if mixture else ()
    axes = ("batch", str(batch_size)), ("compose", compose), ("operation", operation), *of
    return Case(matrix, kernel, cache, axes)
