"""The reference against ranks worked out by hand, and the verifier against wrong ones."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import KernelError
from gpu_engine.generators import generate
from gpu_engine.pagerank import PageRankParams, Verifier, check, reference, top_pages, transition_matrix, verify
from gpu_engine.pagerank.verify import top_k_agreement
from gpu_engine.parameters import parse_params
from tests.battery import BATTERY, coo
from tests.gpu_engine.pagerank.graphs import NO_LINKS, PATH, TRIANGLE, WORKED

SQUARE = [name for name, make in BATTERY.items() if make().n_rows == make().n_cols]


@pytest.mark.parametrize("name", WORKED)
def test_the_reference_finds_the_ranks_worked_out_by_hand(name: str) -> None:
    worked = WORKED[name]
    p, gammas = reference(transition_matrix(worked.adjacency, worked.params), worked.params)
    np.testing.assert_allclose(p, worked.ranks, rtol=1e-14, atol=0)
    assert gammas[-1] < worked.params.epsilon <= min(gammas[:-1], default=1.0)


@pytest.mark.parametrize("name", WORKED)
def test_the_verifier_knows_the_ranks_worked_out_by_hand(name: str) -> None:
    worked = WORKED[name]
    found = verify(worked.adjacency, worked.params, np.array(worked.ranks), np.array(worked.ranks))
    assert found.residual <= 1e-15
    mass = sum(worked.numerators) / worked.denominator
    assert found.mass_error == pytest.approx(abs(mass - 1.0) if worked.ranks else 0.0, abs=1e-15)
    assert (found.distance, found.top_k_agreement) == (0.0, 1.0)


@pytest.mark.parametrize(("norm", "gamma"), [("L1", 4 / 18), ("L2", 6**0.5 / 18), ("Linf", 2 / 18)])
def test_the_norms_of_the_first_change(norm: str, gamma: float) -> None:
    # p⁽¹⁾ − p⁽⁰⁾ = (1, 1, −2) / 18.
    params = parse_params(PageRankParams, {"damping": 0.5, "triangle": "lower", "norm": norm, "iterations_max": 1})
    _, gammas = reference(transition_matrix(PATH, params), params)
    assert gammas == pytest.approx((gamma,), rel=1e-14)


def test_rank_added_as_printed_grows_without_end() -> None:
    params = parse_params(PageRankParams, {"dangling": "as printed", "iterations_max": 20})
    p, gammas = reference(transition_matrix(NO_LINKS, params), params)
    assert gammas == pytest.approx([0.15] * 20)
    np.testing.assert_allclose(p, (1 + 20 * 0.15) / 5)


def test_a_triangulation_read_as_printed_drifts() -> None:
    matrix = generate("delaunay", {"n": 4000, "part": "lower"})
    runs = {}
    for dangling in ("teleport", "as printed"):
        params = parse_params(PageRankParams, {"dangling": dangling})
        runs[dangling] = reference(transition_matrix(matrix, params), params)
    assert runs["teleport"][0].sum() == pytest.approx(1.0, abs=1e-14)
    assert runs["as printed"][0].sum() > 1.3
    assert len(runs["as printed"][1]) > 5 * len(runs["teleport"][1])


@pytest.mark.parametrize("name", SQUARE)
@pytest.mark.parametrize("norm", ["L1", "L2", "Linf"])
def test_the_reference_passes_the_verifier_on_the_battery(name: str, norm: str) -> None:
    params = parse_params(PageRankParams, {"norm": norm})
    matrix = BATTERY[name]()
    p, gammas = reference(transition_matrix(matrix, params), params)
    found = check(matrix, params, p, gammas[-1])
    assert found.mass_error < 1e-13
    if norm == "L1":
        assert found.residual < params.epsilon


def hostile() -> CsrMatrix:
    """Loops, explicit zeros, rows without weight, without links, and with very different weights."""
    rng = np.random.default_rng(8)
    rows, columns = rng.integers(0, 60, 400), rng.integers(0, 80, 400)
    weights = np.where(rng.random(400) < 0.2, 0.0, 10.0 ** rng.integers(-200, 200, 400))
    return coo(80, 80, [*rows, 70, 71], [*columns, 70, 2], [*weights, 0.0, 0.0])


@pytest.mark.parametrize("matrix", [hostile(), BATTERY["duplicates_summed"](), PATH], ids=["hostile", "loops", "path"])
def test_graph_and_verifier_read_the_options_alike(matrix: CsrMatrix) -> None:
    weights = ("ignore", "use") if matrix.values.min() >= 0 else ("ignore",)
    choices = ("teleport", "ignore", "as printed"), weights, ("full", "lower"), ("keep", "drop"), ("source", "target")
    for chosen in product(*choices):
        options = dict(zip(("dangling", "weights", "triangle", "self_loops", "row"), chosen, strict=True))
        params = parse_params(PageRankParams, {**options, "iterations_max": 60})
        p, gammas = reference(transition_matrix(matrix, params), params)
        found = check(matrix, params, p, gammas[-1])
        assert found.residual <= gammas[-1] + 1e-14, options


def test_the_options_make_a_difference_there() -> None:
    ranks = []
    dangling = {"dangling": "ignore"}, {"dangling": "as printed"}
    for options in ({}, {"weights": "use"}, {"self_loops": "drop"}, {"row": "target"}, *dangling):
        params = parse_params(PageRankParams, options)
        ranks.append(reference(transition_matrix(hostile(), params), params)[0])
    assert min(np.abs(a - b).sum() for i, a in enumerate(ranks) for b in ranks[:i]) > 1e-3


def _swap(p: Any) -> Any:
    p[[0, np.argmax(p)]] = p[[np.argmax(p), 0]]
    return p


def _nan(p: Any) -> Any:
    p[7] = np.nan
    return p


def _nudge(p: Any) -> Any:
    p[7] += 1e-9
    return p


WRONG: dict[str, Callable[[Any], Any]] = {
    "one rank is a little off": _nudge,
    "two ranks are swapped": _swap,
    "a rank is no number": _nan,
    "the norm is off": lambda p: p * (1 + 1e-8),
    "nothing was written": np.zeros_like,
    "the first vector": lambda p: np.full_like(p, 1 / p.size),
    "single precision": lambda p: p.astype(np.float32).astype(np.float64),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_verifier_catches_wrong_ranks(name: str) -> None:
    params = PageRankParams()
    matrix = generate("web", {"n": 2000})
    p, gammas = reference(transition_matrix(matrix, params), params)
    check(matrix, params, p, gammas[-1])
    with pytest.raises(KernelError, match="Wrong ranks"):
        check(matrix, params, WRONG[name](p.copy()), gammas[-1])


def test_the_verifier_catches_ranks_of_another_graph() -> None:
    params = PageRankParams()
    matrix = generate("web", {"n": 2000})
    backwards = CsrMatrix.from_scipy(matrix.to_scipy().T)
    p, gammas = reference(transition_matrix(backwards, params), params)
    with pytest.raises(KernelError, match="Wrong ranks"):
        check(matrix, params, p, gammas[-1])


def test_fewer_bits_and_other_norms_allow_more() -> None:
    params = PageRankParams(damping=0.5)
    off = np.array([14, 10, 15]) / 39 + np.array([1e-6, -1e-6, 0.0])
    check(TRIANGLE, params, off, 0.0, mantissa_bits=20)
    check(TRIANGLE, params, off, 3e-6)
    with pytest.raises(KernelError, match="Wrong ranks"):
        check(TRIANGLE, params, off, 1e-6)
    check(TRIANGLE, PageRankParams(damping=0.5, norm="Linf"), off, 1e-6)


def test_residual_and_distance_by_hand() -> None:
    # G((1, 0, 0)) = (1/6, 1/6 + 1/4, 1/6 + 1/4): away from (1, 0, 0) by 5/6 + 5/12 + 5/12.
    found = verify(TRIANGLE, PageRankParams(damping=0.5), np.array([1.0, 0, 0]), np.array([0.5, 0.5, 0.25]), top=2)
    assert found.residual == pytest.approx(5 / 3, abs=1e-15)
    assert found.mass_error == 0.0
    assert found.distance == 1.25
    # (5/3 + 2/3) / (1 − 1/2): G((1/2, 1/2, 1/4)) is off by 1/24, 1/6 and 5/24, and by the lost mass of 1/4.
    assert found.slack == pytest.approx(
        2 * (found.residual + verify(TRIANGLE, PageRankParams(damping=0.5), np.array([0.5, 0.5, 0.25])).residual)
    )
    assert found.top_k_agreement is None, "the residuals allow more than the ranks are"


def test_the_mass_is_that_of_all_ranks() -> None:
    assert verify(TRIANGLE, PageRankParams(), np.array([0.5, 0.25, 0.5])).mass_error == 0.25
    assert verify(TRIANGLE, PageRankParams(), np.array([0.5, 0.0, 0.25])).mass_error == 0.25


def test_one_rank_a_page() -> None:
    with pytest.raises(KernelError, match="there are 3 pages"):
        verify(TRIANGLE, PageRankParams(), np.ones(4) / 4)


@pytest.mark.parametrize(
    ("p", "expected", "top", "share"),
    [
        ([4, 3, 2, 1], [4, 3, 1, 2], 2, 1.0),
        ([4, 3, 2, 1], [4, 3, 1, 2], 3, 2 / 3),
        ([1, 2, 3, 4], [4, 3, 2, 1], 2, 0.0),
        ([1, 1, 1, 1], [2, 2, 1, 1], 2, 1.0),
        ([1, 1, 1, 1], [1, 1, 2, 2], 2, 0.0),
        ([1, 2] * 500, [1, 2] * 250 + [1] * 500, 250, 1.0),
        ([1, 2], [2, 1], 100, 1.0),
        ([], [], 10, 1.0),
    ],
)
def test_overlap_of_the_top(p: list[float], expected: list[float], top: int, share: float) -> None:
    assert top_k_agreement(np.array(p), np.array(expected), top) == share


@pytest.mark.parametrize(
    ("p", "expected", "top", "slack", "share"),
    [
        ([4, 3, 2, 1], [4, 3, 1, 2], 3, 0.5, 2 / 3),
        ([4, 3, 2, 1], [4, 3, 1, 2], 3, 1.0, 1.0),
        ([4, 2.5, 2, 1], [4, 2, 2.5, 1], 2, 0.5, 1.0),
        ([4, 2.5, 2, 1], [4, 2, 2.5, 1], 2, 0.49, 0.5),
        ([1, 2, 3, 4], [4, 3, 2, 1], 2, 0.5, 0.0),
        ([1, 1, 1, 1], [1, 1, 2, 2], 2, 0.5, 1.0),
        ([1, 1, 1, 1], [1, 1, 1, 1], 2, 1.0, None),
        ([], [], 10, 1.0, 1.0),
    ],
)
def test_ranks_that_the_residuals_do_not_tell_apart_are_equal(
    p: list[float], expected: list[float], top: int, slack: float, share: float | None
) -> None:
    assert top_k_agreement(np.array(p), np.array(expected), top, slack) == share


@pytest.mark.parametrize(
    ("p", "top", "pages"),
    [
        ([0.1, 0.4, 0.2, 0.3], 2, [1, 3]),
        ([0.2, 0.3, 0.2, 0.3], 3, [1, 3, 0]),
        ([0.2, 0.3, 0.2, 0.2], 2, [1, 0]),
        ([0.25, 0.25, 0.25, 0.25], 3, [0, 1, 2]),
        ([0.1, 0.2, 0.7], 10, [2, 1, 0]),
        ([0.5, 0.5], 0, []),
        ([], 5, []),
    ],
)
def test_top_pages_descend_and_ties_go_by_number(p: list[float], top: int, pages: list[int]) -> None:
    assert top_pages(np.array(p), top).tolist() == pages


def test_top_pages_are_those_of_a_stable_sort() -> None:
    p = np.random.default_rng(4).integers(0, 40, 2000) / 40
    assert top_pages(p, 333).tolist() == np.argsort(-p, kind="stable")[:333].tolist()


def test_one_verifier_judges_many_vectors_of_its_graph() -> None:
    worked = WORKED["two parts, teleport"]
    verifier, right = Verifier(worked.adjacency, worked.params), np.array(worked.ranks)
    first = verifier.verify(right)
    # The mass of page 3, which has no link, goes to all four; all of it at page 3 gives 1/8 + 1/8 a page.
    found = verifier.verify(np.array([0.0, 0.0, 0.0, 1.0]), right, top=2)
    assert found.residual == pytest.approx(6 / 4, abs=1e-15)
    assert found.distance == pytest.approx(10 / 13 + 10 / 13, abs=1e-15)
    assert found.top_k_agreement is None
    assert verifier.verify(right, right, top=2).top_k_agreement == 1.0
    assert verifier.verify(right, np.array([0.0, 0.0, 0.0, 1.0]), top=2).slack == found.slack
    assert verifier.verify(right) == first == verify(worked.adjacency, worked.params, right)


def test_a_checked_vector_is_compared_with_what_is_expected() -> None:
    params = PageRankParams(damping=0.5)
    verifier, right = Verifier(TRIANGLE, params), np.array([14, 10, 15]) / 39
    off = right + np.array([1e-6, -1e-6, 0.0])
    found = verifier.check(off, 3e-6, expected=right, top=1)
    assert found.distance == pytest.approx(2e-6, rel=1e-9)
    assert found.top_k_agreement == 1.0
    with pytest.raises(KernelError, match=r"the limit is 1\.46e-11"):
        verifier.check(off, 1e-11, mantissa_bits=40, expected=off)


def test_without_damping_a_residual_bounds_no_error_and_equal_ranks_go_by_number() -> None:
    found = verify(TRIANGLE, PageRankParams(damping=1.0), np.array([0.3, 0.3, 0.4]), np.array([0.2, 0.4, 0.4]), top=2)
    assert (found.slack, found.top_k_agreement) == (None, 0.5)
