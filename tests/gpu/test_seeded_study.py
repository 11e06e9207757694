"""The study of seed sets on a GPU: all sets at once, one by one with shared links, and warm starts."""

from typing import Any

from gpu_engine.findings.seeded.names import COLD, EXTRAPOLATED, OF_SEEDS, TOGETHER
from gpu_engine.generators import generate
from gpu_engine.measure import open_bench
from gpu_engine.parameters import parse_params
from gpu_engine.records import DeviceInfo, MatrixInfo, Measurement
from gpu_engine.studies.seeded import SeededParams, SeededStudy

QUICK: dict[str, Any] = {"sampling": "adaptive", "time_limit_s": 1e-3, "rounds": 9}


def test_all_runs_are_verified(gpu: DeviceInfo) -> None:
    host = generate("rmat", {"scale": 14, "edge_factor": 8})
    study, info = SeededStudy(), MatrixInfo("m", "m", *host.shape, host.nnz)
    params = parse_params(SeededParams, QUICK | {"seeds": [5, 33], "sets": "7;;5,9:2"})
    with open_bench(gpu) as bench:
        cases = tuple(study.cases(params, [info], bench.device))
        runs = {r.case: r for r in study.run(params, cases, {"m": host}, bench) if isinstance(r, Measurement)}
    assert {(m.state, m.note) for m in runs.values()} == {("ok", "")}
    assert all(m.details.residual < 1e-10 and m.roofline_s and m.aa_gap is not None for m in runs.values())
    together, single = (runs[f"m|{kernel}|warm|seeds=33"] for kernel in OF_SEEDS)
    assert together.details.iterations == single.details.iterations
    assert together.median_s < 0.5 * single.median_s  # type: ignore[operator]
    one = runs[f"m|{TOGETHER}|warm|seeds=1"]
    assert one.median_s < together.median_s  # type: ignore[operator]
    cold, fast = (runs[f"m|{kernel}|warm|seeds=33,start=0.001"] for kernel in (COLD, EXTRAPOLATED))
    assert fast.details.iterations < cold.details.iterations
