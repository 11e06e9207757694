"""Workloads of the scenarios: small matrices, and short jobs of every study that has CPU kernels."""

from collections.abc import Iterator
from typing import Any

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.generators import generate
from gpu_engine.measure import open_bench
from gpu_engine.parameters import parse_params
from gpu_engine.records import DeviceInfo, DeviceProfile, MatrixInfo
from gpu_engine.studies import study

CPU = DeviceInfo("cpu", "cpu", "A CPU under chaos", 2**30, 2**20)
MATRICES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("stencil", {"points": 5, "nx": 6, "ny": 6}),
    ("powerlaw", {"n": 50, "mean": 4.0, "max_length": 20}),
)
CALLS: tuple[dict[str, Any], ...] = (
    {"study": "formats", "params": {"rounds": 9, "kernels": ["csr/vector", "ell/thread"], "caches": ["warm"]}},
    {"study": "formats", "params": {"rounds": 9, "kernels": ["coo/segmented"], "caches": ["warm"]}},
    {"study": "pagerank", "params": {"rounds": 9, "kernels": ["csr/thread+fp64", "ell/thread+fp64"]}},
    {"study": "batched", "params": {"rounds": 9, "kernels": ["csr/vector"], "batches": [2], "caches": ["warm"]}},
    {
        "study": "scaling",
        "params": {
            "rounds": 9,
            "devices": [1, 2],
            "partitionings": ["pCSR"],
            "strategies": ["p*", "p*-opt"],
            "workload": ["cold"],
        },
    },
)
"""Bodies of POST /jobs, without matrices."""


def matrices() -> Iterator[tuple[MatrixInfo, CsrMatrix]]:
    """Yield the matrices, with equal ids in each data directory."""
    for number, (generator, params) in enumerate(MATRICES):
        matrix = generate(generator, params, 10**6)
        yield MatrixInfo(f"{number:032x}", generator, matrix.n_rows, matrix.n_cols, matrix.nnz), matrix


def compile_kernels() -> None:
    """Measure each call once, so that a fork of this process has every kernel compiled."""
    known = dict(matrices())
    arrays = {info.id: matrix for info, matrix in known.items()}
    profile: DeviceProfile | None = None
    for call in CALLS:
        chosen = study(call["study"])
        params = parse_params(chosen.Params, call["params"])
        cases = tuple(chosen.cases(params, tuple(known), CPU))
        with open_bench(CPU, profile, 0, None) as bench:
            for record in chosen.run(params, cases, arrays, bench):
                profile = record if isinstance(record, DeviceProfile) else profile
