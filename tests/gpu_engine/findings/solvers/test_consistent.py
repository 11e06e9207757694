"""Records as the findings use them: one conversion time per matrix and kernel, and only possible counts."""

import pytest

from gpu_engine.findings.solvers.consistent import ConversionSpread, consistent, conversion_spread
from gpu_engine.findings.solvers.groups import solve_groups
from tests.samples.solvers import ITERATIONS, shown, solved

SYSTEM = (("system", "definite"),)


def test_a_conversion_has_one_time_in_all_groups_of_a_matrix() -> None:
    first = solved("sellp/t1", convert_s=17e-3)
    other = solved("sellp/t1", method="gmres", convert_s=1e-3)
    assert conversion_spread([first, other]) == ConversionSpread(17.0, single=0, total=1)
    one = solved("packed/tile", convert_s=2e-3)
    assert conversion_spread([first, other, one]) == ConversionSpread(17.0, single=1, total=2)
    assert [m.details.convert_s for m in consistent([first, other])] == [1e-3, 1e-3]
    assert {s.measurement.details.convert_s for g in solve_groups(shown(first, other)) for s in g.solves} == {1e-3}
    assert {s.convert_max_s for g in solve_groups(shown(first, other)) for s in g.solves} == {17e-3}


def test_arrays_of_csr_are_no_conversion() -> None:
    assert conversion_spread([solved(convert_s=1e-6), solved(method="gmres", convert_s=9e-6)]) is None


def test_conversions_of_other_matrices_systems_and_kernels_are_others() -> None:
    measured = [
        solved("sellp/t1", convert_s=4e-3),
        solved("sellp/t1", convert_s=3e-3, more=SYSTEM),
        solved("sellp/t1", convert_s=2e-3, matrix="fem"),
        solved("packed/tile", convert_s=1e-3),
    ]
    assert conversion_spread(measured) is None
    assert [m.details.convert_s for m in consistent(measured)] == [4e-3, 3e-3, 2e-3, 1e-3]


@pytest.mark.parametrize(("preconditioner", "products"), [("none", 1), ("chebyshev", 4), ("chebyshev:2", 2), ("ic", 1)])
def test_the_products_of_a_polynomial_count(
    preconditioner: str, products: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ITERATIONS, ("cg", preconditioner), 100)
    (m,) = consistent([solved(preconditioner=preconditioner, setup_s=0.0)])
    assert m.details.spmvs == 100 * products


@pytest.mark.parametrize(
    ("kernel", "iterations", "known"),
    [("warp/captured", 600, 600), ("warp/captured", 571, None), ("warp/check-0", 1, None), ("cupy/solver", 571, 571)],
)
def test_warp_makes_whole_cycles_or_its_count_is_unknown(kernel: str, iterations: int, known: int | None) -> None:
    (m,) = consistent([solved(kernel, method="gmres", iterations=iterations)])
    assert m.details.iterations == known
    assert (m.roofline_s is None) == (known is None)
    assert m.median_s
