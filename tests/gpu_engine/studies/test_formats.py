"""Study `formats`: the products of A, of its transpose, and of both."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gpu_engine.competitors import BEST
from gpu_engine.errors import ParameterError
from gpu_engine.host.device import find_device
from gpu_engine.measure import Bench, open_bench
from gpu_engine.parameters import parse_params
from gpu_engine.records import BandwidthPoint, Case, DeviceProfile, MatrixInfo, Measurement
from gpu_engine.sampling.run import measure
from gpu_engine.studies.formats import FormatsParams, FormatsStudy
from gpu_engine.studies.formats import experiment as products
from gpu_engine.studies.formats.experiment import Products, SamplingPlan
from tests.battery import BATTERY

CPU = find_device("cpu")
PROFILE = DeviceProfile("cpu", "test", 2**20, (BandwidthPoint(2**28, 1e13, 1e13),), "")
STUDY = FormatsStudy()
WIDE = MatrixInfo("m", "m", *BATTERY["wide"]().shape, BATTERY["wide"]().nnz)
KERNELS = ("csr/scalar", "csr/vector", "coo/segmented", "sellp/t1", "csc/atomic")


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    """The CPU, on which no time is impossible."""
    with open_bench(CPU, PROFILE) as opened:
        yield opened


def asked(**params: Any) -> FormatsParams:
    """A short study of one kernel."""
    few = {"kernels": ["csr/scalar"], "control": "csr/scalar", "caches": ["warm"], "rounds": 9}
    return parse_params(FormatsParams, few | params)


@pytest.mark.parametrize(
    ("op", "keys"),
    [
        ("A", ["m|csr/scalar|warm|"]),
        ("AT", ["m|csr/scalar|warm|op=AT"]),
        ("both", ["m|csr/scalar|warm|", "m|csr/scalar|warm|op=AT"]),
    ],
)
def test_a_case_of_the_transpose_is_told_from_that_of_the_matrix(op: str, keys: list[str]) -> None:
    # The cases of A have the keys that they have always had.
    assert [case.key for case in STUDY.cases(asked(op=op), [WIDE], CPU)] == keys
    assert [Case.parse(key).axes for key in keys] == [case.axes for case in STUDY.cases(asked(op=op), [WIDE], CPU)]


def test_the_matrix_is_measured_unless_asked_otherwise() -> None:
    assert FormatsParams().op == "A"
    with pytest.raises(ParameterError, match="one of A, AT, both"):
        asked(op="transpose")


def test_both_take_twice_the_time_of_one() -> None:
    start = STUDY.estimate_s(asked(), [], CPU)
    one, both = (STUDY.estimate_s(asked(op=op), [WIDE], CPU) - start for op in ("AT", "both"))
    assert both == pytest.approx(2 * one)


@pytest.mark.parametrize("name", [name for name, make in BATTERY.items() if make().nnz])
@pytest.mark.parametrize("transposed", [False, True])
def test_the_kernels_multiply_by_what_is_asked_for(name: str, transposed: bool, bench: Bench) -> None:
    a = BATTERY[name]().to_scipy().toarray()
    plan = SamplingPlan(("warm",), 9, "csr/scalar", 0.0, transposed=transposed)
    cases = [Case("m", kernel, "warm") for kernel in KERNELS]
    products = Products(plan, cases, BATTERY[name](), bench)
    candidates = products.load()
    assert {candidate.kernel for candidate in candidates} == set(KERNELS)
    for candidate in candidates:
        with products.group():
            candidate.prepare()()
        np.testing.assert_allclose(products.y, (a.T if transposed else a) @ products.x, rtol=1e-9, atol=1e-9)


def test_a_rectangle_and_its_transpose_have_their_own_bytes(bench: Bench) -> None:
    params = asked(op="both")
    cases = tuple(STUDY.cases(params, [WIDE], CPU))
    found = [m for m in STUDY.run(params, cases, {"m": BATTERY["wide"]()}, bench) if isinstance(m, Measurement)]
    assert [(m.case, m.state, m.axes) for m in found] == [
        ("m|csr/scalar|warm|", "ok", {}),
        ("m|csr/scalar|warm|op=AT", "ok", {"op": "AT"}),
    ]
    assert [m.stored_bytes for m in found] == [12 * WIDE.nnz + 4 * (lines + 1) for lines in (40, 9000)]
    assert all(m.details.bitwise_reproducible is True and m.details.reproducible_rebuild is True for m in found)


def test_what_a_job_still_owes_of_the_transpose_is_measured_alone(bench: Bench) -> None:
    params = asked(op="both")
    owed = [case for case in STUDY.cases(params, [WIDE], CPU) if case.axes]
    found = [m for m in STUDY.run(params, owed, {"m": BATTERY["wide"]()}, bench) if isinstance(m, Measurement)]
    assert [(m.case, m.stored_bytes) for m in found] == [("m|csr/scalar|warm|op=AT", 12 * WIDE.nnz + 4 * 9001)]


@pytest.mark.parametrize("named", [True, False])
def test_the_best_of_the_library_is_found_in_a_new_order_too(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    """Where its algorithms are cases themselves their names have the order, else not."""
    rivals = ("csr/scalar", "csr/vector")
    monkeypatch.setattr(products, "competitor_names", lambda _: rivals)
    best = Case("m", f"{BEST}+rcm", "warm")
    cases = [*(Case("m", f"{name}+rcm", "warm") for name in rivals if named), best]
    plan = SamplingPlan(("warm",), 9, "csr/scalar", 0.0, "rcm")
    found = list(measure(bench, [Products(plan, cases, BATTERY["band"](), bench)]))
    measured = [m for m in found if isinstance(m, Measurement)]
    assert [m.case for m in measured] == [case.key for case in cases]
    if named:
        assert measured[-1].median_s == min(m.median_s for m in measured if m.median_s)
    assert measured[-1].median_s
