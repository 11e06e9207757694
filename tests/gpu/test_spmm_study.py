"""The study of SpMM on a GPU: all kernels, libraries, and k SpMVs in the same rounds, in both orders."""

from typing import Any

import pytest

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.generators import generate
from gpu_engine.measure import open_bench
from gpu_engine.parameters import parse_params
from gpu_engine.records import DeviceInfo, MatrixInfo, Measurement
from gpu_engine.studies.spmm import SpmmParams, SpmmStudy, known_kernels

QUICK: dict[str, Any] = {"sampling": "adaptive", "time_limit_s": 1e-3, "rounds": 9}


def run(gpu: DeviceInfo, host: CsrMatrix, **params: Any) -> list[Measurement]:
    study, info = SpmmStudy(), MatrixInfo("m", "m", *host.shape, host.nnz)
    chosen = parse_params(SpmmParams, QUICK | params)
    with open_bench(gpu) as bench:
        cases = tuple(study.cases(chosen, [info], bench.device))
        return [r for r in study.run(chosen, cases, {"m": host}, bench) if isinstance(r, Measurement)]


@pytest.mark.parametrize("order", ["row", "column"])
def test_every_kernel_has_a_time_on_dense_blocks(gpu: DeviceInfo, order: str) -> None:
    host = generate("fem", {"block": 3, "nx": 12, "ny": 12, "nz": 12})
    measurements = run(gpu, host, k=[1, 8, 33], orders=[order])
    assert len(measurements) == 3 * len(known_kernels("cuda"))
    assert {(m.state, m.note) for m in measurements} == {("ok", "")}
    assert all(m.aa_gap is not None and m.roofline_s and m.details.setup_s is not None for m in measurements)
    assert all(m.placements == m.rounds for m in measurements)


def test_long_rows_are_right_and_blocks_are_skipped(gpu: DeviceInfo) -> None:
    host = generate("rows", {"n": 6000, "lengths": "lognormal", "mean": 60.0, "sigma": 200.0})
    measurements = run(gpu, host, k=[2, 16])
    assert {m.kernel for m in measurements if m.state == "skipped"} == {"bcsr/rows", "cusparse/spmm_bsr_alg1"}
    assert {m.state for m in measurements} == {"ok", "skipped"}
