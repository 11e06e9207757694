"""SpMMs on this CPU: each kernel is verified element by element, in either order, and timed beside k SpMVs."""

from typing import Any

import numpy as np
import pytest

from gpu_engine import spmm
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import KernelError
from gpu_engine.generators import generate
from gpu_engine.measure import Bench
from gpu_engine.parameters import parse_params
from gpu_engine.records import MatrixInfo, Measurement
from gpu_engine.spmm import rows
from gpu_engine.spmm.base import SpmmKernel
from gpu_engine.studies.spmm import SpmmParams, SpmmStudy, known_kernels
from gpu_engine.verify import check, reference
from tests.battery import BATTERY

QUICK: dict[str, Any] = {"sampling": "adaptive", "time_limit_s": 1e-3, "rounds": 9}
BLOCKED = generate("fem", {"block": 3, "nx": 5, "ny": 4, "nz": 3})


def run(bench: Bench, host: CsrMatrix, **params: Any) -> dict[str, Measurement]:
    study, info = SpmmStudy(), MatrixInfo("m", "m", *host.shape, host.nnz)
    chosen = parse_params(SpmmParams, QUICK | params)
    cases = tuple(study.cases(chosen, [info], bench.device))
    records = study.run(chosen, cases, {"m": host}, bench)
    found = {m.case: m for m in records if isinstance(m, Measurement)}
    assert list(found) == [case.key for case in cases]
    return found


def test_every_kernel_is_right_in_both_orders_and_has_a_time_per_column(bench: Bench) -> None:
    found = run(bench, BLOCKED, k=[1, 3, 8], orders=["row", "column"])
    assert len(found) == 6 * len(known_kernels("cpu"))
    assert {(m.state, m.note) for m in found.values()} == {("ok", "")}
    for m in found.values():
        k = int(m.axes["k"])
        assert m.median_s
        assert m.max_error is not None
        assert m.details.vector_s == pytest.approx(m.median_s / k)
        assert m.gflops == pytest.approx(2e-9 * BLOCKED.nnz * k / m.median_s)
        assert m.details.setup_s is not None
        assert m.aa_gap is not None


def test_the_roofline_counts_matrix_and_columns_that_are_read_once(bench: Bench) -> None:
    # Of four columns, two have a nonzero.
    host = CsrMatrix(3, 4, np.array([0, 2, 2, 3], np.int32), np.array([0, 3, 3], np.int32), np.array([1.0, -2.0, 3.0]))
    (m,) = run(bench, host, k=[5], kernels=["csr/rows"]).values()
    moved = 12 * 3 + 4 * 4 + 8 * 5 * (2 + 3)
    assert m.roofline_s == pytest.approx(moved / bench.profile.rate(moved, "warm"))


def test_a_kernel_that_leaves_an_element_out_has_no_time(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    right = rows.KERNEL.cpu
    assert right is not None

    def wrong(layout: Any, x: Any, y: Any, alpha: float, beta: float) -> None:
        last = y[-1, -1]
        right(layout, x, y, alpha, beta)
        y[-1, -1] = last

    made = SpmmKernel("csr/rows", "", rows.KERNEL.store, rows.KERNEL.bytes_needed, cpu=wrong)
    monkeypatch.setattr(spmm, "KERNELS", (made,))
    # The last row is empty, so that an element that is not written must be told from a zero.
    host = CsrMatrix(2, 2, np.array([0, 1, 1], np.int32), np.array([1], np.int32), np.array([3.0]))
    found = run(bench, host, k=[4], kernels=["csr/rows", "spmv/csr-vector"])
    states = {m.kernel: (m.state, m.median_s is None) for m in found.values()}
    assert states == {"csr/rows": ("failed", True), "spmv/csr-vector": ("ok", False)}
    (note,) = (m.note for m in found.values() if m.note)
    assert "row 1, column 3 is nan" in note


def test_the_reference_of_columns_is_that_of_each_column() -> None:
    host = BATTERY["band"]()
    expected, y = reference(host, k=3), np.zeros((host.n_rows, 3))
    assert expected.x.min() < 0 < expected.x.max()
    for j in range(3):
        y[:, j] = host.to_scipy() @ expected.x[:, j]
    assert check(expected, y) <= 2.0 * np.diff(host.indptr).max() + 2.0
    y[2, [0, 1]] = y[2, [1, 0]]
    with pytest.raises(KernelError, match=rf"row 2, column [01] .* 2 of {y.size} elements"):
        check(expected, y)


def test_the_first_kernel_is_the_control_without_csr_rows(bench: Bench) -> None:
    found = run(bench, BLOCKED, k=[2], kernels=["scipy/spmm", "spmv/csr-scalar"])
    assert all(m.state == "ok" and m.aa_gap is not None for m in found.values())
    assert found["m|scipy/spmm|warm|k=2,order=row"].environment["SciPy"]
