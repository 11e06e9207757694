"""JSON as Ginkgo's benchmark spmv writes it, made up, in both of its layouts and units."""

import json
from typing import Any

ROWS, NNZ = 1000, 50_000
TIMES = {"csr": 20e-6, "coo": 25e-6, "ell": 16e-6}
"""Seconds a format."""


def result(time: float, **fields: Any) -> dict[str, Any]:
    """A completed format that stores 13 bytes for each nonzero."""
    said = {"storage": 13 * NNZ, "max_relative_norm2": 1e-16, "time": time, "repetitions": 100, "completed": True}
    return said | fields


def older(name: str = "bcsstk99", times: dict[str, float] | None = None, **spmv: Any) -> dict[str, Any]:
    """An item with the numbers of the collection, its times in nanoseconds; further formats as they are given."""
    found = {name: result(time * 1e9) for name, time in (times or TIMES).items()}
    lengths = {"min": 40, "max": 60, "mean": NNZ / ROWS, "variance": 25.0, "skewness": -0.5}
    sizes = {"rows": ROWS, "cols": ROWS, "nonzeros": NNZ, "row_distribution": lengths}
    problem = {"id": 99, "group": "HB", "name": name, "real": True, "kind": "structural problem", **sizes}
    path = f"/home/somebody/MM/HB/{name}/{name}.mtx"
    return {"filename": path, "problem": problem, "spmv": found | spmv, "optimal": {"spmv": "ell"}}


def newer(filename: str = "/data/mesh.mtx", nnz: int = NNZ, **spmv: Any) -> dict[str, Any]:
    """An item with the numbers of what was read, its times in seconds."""
    sizes = {"rows": ROWS, "cols": ROWS, "nonzeros": nnz}
    return {"filename": filename, "spmv": {name: result(time) for name, time in TIMES.items()} | spmv, **sizes}


def file_of(*items: dict[str, Any]) -> bytes:
    """The file that has these items."""
    return json.dumps(items, indent=4).encode()
