"""Records as a study yields them, made up: exact numbers that tests can name."""

import json
from typing import Any

from gpu_engine.findings.data import MatrixFeatures
from gpu_engine.records import OP, TRANSPOSED, Cache, Case, Measurement
from gpu_engine.studies.formats.experiment import ProductDetails

HOSTILE = '<b>x</b> & <script>alert("1")</script> %{x} ' + "long " * 20
"""A matrix name that a careless page would run, and a careless layout would break on."""

NNZ = 1_000_000


def timed(
    kernel: str,
    median_s: float,
    cache: Cache = "warm",
    matrix: str = "m1",
    device: str = "cpu",
    transposed: bool = False,
    **fields: Any,
) -> Measurement:
    """A measured kernel with an interval of ± 1 %, a floor of 400 µs and a gather floor of 500 µs."""
    case = Case(matrix, kernel, cache, ((OP, TRANSPOSED),) if transposed else ())
    values: dict[str, Any] = {
        "ci_low_s": median_s * 0.99,
        "min_s": median_s * 0.98,
        "q3_s": median_s * 1.01,
        "ci_high_s": median_s * 1.01,
        "gflops": 2 * NNZ / median_s / 1e9,
        "stored_bytes": 12_000_000,
        "roofline_s": 400e-6,
        "gather_probe_s": 500e-6,
        "convert_s": 0.0 if case.format == "csr" else 0.01,
        "max_error": 0.5,
        "aa_gap": 0.001,
    }
    return Measurement.of(case, device, ProductDetails, median_s=median_s, **(values | fields))


def untimed(
    kernel: str, state: Any, note: str, cache: Cache = "warm", matrix: str = "m1", device: str = "cpu"
) -> Measurement:
    """A failed or skipped kernel."""
    case = Case(matrix, kernel, cache)
    return Measurement.of(case, device, ProductDetails, state, note=note)


def study_of(matrix: str, device: str = "cpu", scale: float = 1.0) -> list[Measurement]:
    """Both cache states of four kernels; ell/thread is skipped."""
    floors: dict[str, Any] = {"roofline_s": 400e-6 * scale, "gather_probe_s": 500e-6 * scale}
    caches: tuple[tuple[Cache, float], ...] = (("cold", 2.0), ("warm", 1.0))
    medians = {"csr/scalar": 1000e-6 * scale, "csr/vector": 800e-6 * scale, "coo/segmented": 900e-6 * scale}
    return [
        measurement
        for cache, slower in caches
        for measurement in (
            *(timed(name, median_s * slower, cache, matrix, device, **floors) for name, median_s in medians.items()),
            untimed("ell/thread", "skipped", "needs 41 GB of memory; the limit is 16 GB", cache, matrix, device),
        )
    ]


def sized(name: str, sigma: float | None = 1.0, nnz: int = NNZ) -> MatrixFeatures:
    """A square matrix of 10 entries a row on average, the longest row 3·sigma longer than the shortest.

    Sorting its rows halves the iterations of its warps.
    """
    rows = nnz // 10
    lengths = {"n_iter_ellr": nnz // 160, "n_iter_pellr": nnz // 320, "n_p": 2 * nnz - rows}
    return MatrixFeatures(name, rows, rows, nnz, 10.0, sigma, None if sigma is None else 3 * sigma, stored=lengths)


def traces(figure: Any, role: str) -> list[dict[str, Any]]:
    """The traces of a role as the browser gets them."""
    return [trace for trace in json.loads(figure.to_json())["data"] if trace["meta"]["role"] == role]


def titles(figure: Any) -> list[str]:
    """The titles of the panels, from the top."""
    return [annotation.text for annotation in figure.layout.annotations]
