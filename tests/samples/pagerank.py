"""Runs of PageRank as the study yields them, made up: iterations as they are, times that tests can name."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.pagerank.details import PageRankDetails
from gpu_engine.records import Case, Measurement, Trace

SCHEDULE = (("start_segments", "1"), ("raise_at", "16"), ("stall_ratio", "0.98"), ("final_storage", "fp64"))
LUXEMBOURG = MatrixFeatures("luxembourg_osm", 114_599, 114_599, 239_332, 2.09, 0.41, 5.0, 0)
DELAUNAY = MatrixFeatures("delaunay_n15", 32_768, 32_768, 196_548, 6.0, 1.35, 15.0, 0)

PULL_S = {0: 1e-3, 16: 0.5e-3, 32: 0.6e-3, 48: 0.9e-3, 64: 1e-3}
"""Of an iteration by the bits that it reads; 0: values without segments."""

SETTLE_S, CHANGE_S = 0.1e-3, 2e-3


def ran(
    kernel: str,
    iterations: int | Sequence[int],
    median_s: float = 0.0,
    matrix: str = "lux",
    device: str = "cpu",
    axes: tuple[tuple[str, str], ...] = (),
    **fields: Any,
) -> tuple[Measurement, Trace]:
    """A run of so many iterations, or as many by segments; without a median the time is that of its phases."""
    counts = (iterations,) if isinstance(iterations, int) else tuple(iterations)
    segments = 0 if isinstance(iterations, int) else len(counts)
    case = Case(matrix, kernel, "warm", axes + SCHEDULE if segments and not _has_schedule(axes) else axes)
    trace = Trace(case.key, _arrays(counts, segments))
    phases = {name: sum(trace.arrays[name]) for name in ("pull_s", "norm_s", "scale_s", "convert_s")}
    time = median_s or sum(phases.values())
    values: dict[str, Any] = {
        "ci_low_s": time * 0.995,
        "min_s": time * 0.99,
        "q1_s": time * 0.995,
        "q3_s": time * 1.005,
        "ci_high_s": time * 1.005,
        "roofline_s": time / 2,
        "aa_gap": 0.001,
        "iterations": sum(counts),
        "iterations_by_segments": counts if segments else (),
        "phases_s": phases,
        "residual": 8.1e-11,
        "mass_error": 2e-16,
        "distance": 0.0 if kernel.endswith("+fp64") else 2.3e-10,
        "top_k_agreement": 1.0,
        "top_pages": (7, 3, 12),
        "top_ranks": (0.002, 0.0015, 0.001),
    }
    m = Measurement.of(case, device, PageRankDetails, median_s=time, **(values | fields))
    return m, trace


def stopped(kernel: str, state: Any, note: str, matrix: str = "lux", device: str = "cpu") -> Measurement:
    """A run that failed or was skipped."""
    case = Case(matrix, kernel, "warm", SCHEDULE if "cpms" in kernel else ())
    return Measurement.of(case, device, PageRankDetails, state, note=note)


def shown(*runs: tuple[Measurement, Trace] | Measurement, **choices: Any) -> StudyData:
    """What figures are drawn from."""
    measurements = [run if isinstance(run, Measurement) else run[0] for run in runs]
    traces = {(run[0].device, run[1].case): run[1] for run in runs if isinstance(run, tuple)}
    return StudyData(measurements, {"lux": LUXEMBOURG, "del": DELAUNAY}, traces=traces, **choices)


def luxembourg(device: str = "cpu", matrix: str = "lux") -> tuple[tuple[Measurement, Trace] | Measurement, ...]:
    """fp64 in 113 iterations, 47/66 with two segments and 1/46/61/5 with four; ell does not fit."""
    return (
        ran("csr/thread+fp64", 113, matrix=matrix, device=device),
        ran("csr/thread+cpms2", (47, 66), matrix=matrix, device=device),
        ran("csr/thread+cpms4", (1, 46, 61, 5), matrix=matrix, device=device),
        ran("csr/thread+pattern", 113, 0.1, matrix=matrix, device=device),
        stopped("ell/thread+cpms2", "skipped", "needs 41 GB of memory; the limit is 16 GB", matrix, device),
    )


def _has_schedule(axes: tuple[tuple[str, str], ...]) -> bool:
    return any(name == "raise_at" for name, _ in axes)


def _arrays(counts: Sequence[int], segments: int) -> dict[str, tuple[float, ...]]:
    """γ falls from 1 to 10⁻¹⁰ by a constant factor; an iteration reads what the one before wrote."""
    written = [k for k, count in enumerate(counts, start=1) for _ in range(count)] if segments else [0] * counts[0]
    read = [written[0], *(before for before, _ in pairwise(written))]
    rises = [k > before for before, k in zip(read, written, strict=True)]
    bits = [64 // segments * k if segments else 0 for k in read]
    return {
        "gamma": tuple(10.0 ** (-10 * number / (len(written) - 1)) for number in range(len(written))),
        "read": tuple(float(k) for k in read),
        "written": tuple(float(k) for k in written),
        "pull_s": tuple(PULL_S[count] for count in bits),
        "norm_s": (SETTLE_S,) * len(written),
        "scale_s": tuple(CHANGE_S if rise else 0.0 for rise in rises),
        "convert_s": tuple(CHANGE_S if rise and k == segments else 0.0 for rise, k in zip(rises, written, strict=True)),
        "gather_s": tuple(PULL_S[count] / 2 if count else 0.8e-3 for count in bits),
    }
