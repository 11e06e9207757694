"""Which kernels are advised, on known families and on matrices of which too little is known, and why."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gpu_engine.advisor import ADVISED, CLOSE, EQUAL, FILLED, NEEDED, advise, is_sure, near_best, rank
from gpu_engine.advisor.gpus import FITTED, GPUS, Gpu, gpu_named
from gpu_engine.advisor.model import LAUNCH_S, MODELS, predict
from gpu_engine.advisor.reasons import reason
from gpu_engine.advisor.sureness import LIMITS, UNSTEADY
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.generators import generate
from gpu_engine.matrices.features import features
from gpu_engine.records import Cache
from tests.gpu_engine.advisor.samples import COUNTS, EVEN, RANDOM, SKEWED


def best(found: Mapping[str, Any]) -> str:
    return advise(found)[0].kernel


def formats(found: Mapping[str, Any]) -> list[str]:
    """The formats advised, each once, the best first."""
    return list(dict.fromkeys(advice.kernel.partition("/")[0] for advice in advise(found)))


@pytest.fixture(scope="module")
def stencil() -> CsrMatrix:
    return generate("stencil", {"points": 27, "nx": 64, "ny": 64, "nz": 64})


@pytest.fixture(scope="module")
def graph() -> CsrMatrix:
    return generate("rmat", {"scale": 18, "shuffled": True})


def test_a_stencil_gets_slices(stencil: CsrMatrix) -> None:
    """Packed ones with its two values in codes and its near columns; plain ones where neither is so."""
    found = features(stencil)
    assert best(found) == "sellp-packed/t1"
    plain = {**found, "distinct_values": 65536, "float_values": False, "narrow_slices": 0.0, "narrow_runs": 0.0}
    assert best(plain).startswith(("sellp/", "ell/"))
    assert "sellp" in formats(plain)[:2]


def test_a_power_law_gets_equal_shares(graph: CsrMatrix) -> None:
    found = features(graph)
    assert best(found) in ("coo/segmented", "split/tile")
    kernels = [kernel for kernel, _ in rank(found)]
    assert kernels.index("sellp/t1") > kernels.index("csri/warp")


def test_constant_values_get_packed(graph: CsrMatrix) -> None:
    ones = features(replace(graph, values=np.ones(graph.nnz)))
    packed, plain = (predict(kernel, ones).seconds for kernel in ("packed/tile", "split/tile"))
    assert packed < 0.95 * plain
    assert "packed" in formats(ones)[:2]
    assert best(features(graph)) != "packed/tile"


def test_advice_is_the_head_of_the_ranking() -> None:
    found = advise(RANDOM)
    ranked = rank(RANDOM)
    assert [advice.kernel for advice in found] == [kernel for kernel, _ in ranked[:ADVISED]]
    assert [advice.predicted_s["H200"] for advice in found] == [p.seconds for _, p in ranked[:ADVISED]]
    assert [advice.equal for advice in found] == [
        p.seconds <= EQUAL * ranked[0][1].seconds for _, p in ranked[:ADVISED]
    ]
    cold = [kernel for kernel, _ in rank(RANDOM, cache="cold")]
    assert [cold[advice.cold_place - 1] for advice in found] == [advice.kernel for advice in found]
    assert list(found[0].predicted_s) == ["P100", "V100", "A100-40", "H100-SXM", "H200"]


def test_a_place_in_the_cold_is_that_of_the_ranking_for_cold_caches() -> None:
    # All that fits the cache is read from it warm, and from memory cold: the order is another one.
    small = {**EVEN, **{name: EVEN[name] // 16 for name in COUNTS}}
    cold = [kernel for kernel, _ in rank(small, cache="cold")]
    places = [advice.cold_place for advice in advise(small)]
    assert places == [cold.index(kernel) + 1 for kernel, _ in rank(small)[:ADVISED]]
    assert places != list(range(1, ADVISED + 1))


def test_a_layout_that_does_not_fit_is_not_offered() -> None:
    # 2²⁰ rows padded to 2¹⁶ slots of 12 bytes are 825 GB; 2¹⁴ slots 206 GB; 2¹³ slots 103 GB.
    for longest, offered in ((2**16, False), (2**14, False), (2**13, True)):
        kernels = [kernel for kernel, _ in rank({**EVEN, "max": longest})]
        assert ("ell/thread" in kernels) is offered
    first = advise({**EVEN, **{name: EVEN[name] * 128 for name in COUNTS}})[0]
    assert [first.predicted_s[gpu.name] is None for gpu in GPUS] == [True, False, False, False, False]


@pytest.mark.parametrize("name", NEEDED)
def test_nothing_is_said_of_a_matrix_whose_features_are_not_all_known(name: str) -> None:
    assert advise({feature: value for feature, value in EVEN.items() if feature != name}) == ()
    assert advise({**EVEN, name: None}) == ()


def test_nothing_is_said_of_a_matrix_without_entries() -> None:
    nothing = CsrMatrix(3, 3, np.zeros(4, np.int32), np.empty(0, np.int32), np.empty(0))
    assert advise(features(nothing)) == ()


def test_the_smallest_matrix_is_a_matter_of_launches() -> None:
    one = CsrMatrix(1, 1, np.array([0, 1], np.int32), np.zeros(1, np.int32), np.ones(1))
    first = advise(features(one))[0]
    predicted = first.predicted_s["H200"]
    assert predicted is not None
    assert LAUNCH_S["warm"] < predicted < 1.5 * LAUNCH_S["warm"]
    assert "launch takes most of the time" in first.reason


@pytest.mark.parametrize(
    ("kernel", "found", "words"),
    [
        ("sellp/t1", EVEN, "Stores 12.4 bytes per nonzero, no padding; streaming the matrix"),
        ("split/tile", RANDOM, "Stores 12.4 bytes per nonzero, no padding; fetching scattered elements of x"),
        ("ell/thread", {**EVEN, "max": 100}, "Stores 120 bytes per nonzero, 90 % padding; streaming the matrix"),
        ("sellp/t1", SKEWED, "few threads process the longest row (65,536 nonzeros), while"),
        ("csr/vector", EVEN, "instructions for rows and slots take most of the time"),
    ],
)
def test_reasons(kernel: str, found: Mapping[str, Any], words: str) -> None:
    # A device on which all other kernels are slow puts this one first.
    calibration = {name: 1e6 for name in MODELS if name != kernel}
    first = advise(found, replace(FITTED, memory_bytes=1e15), calibration)[0]
    assert first.kernel == kernel
    assert words in first.reason


def test_contenders_are_what_is_predicted_close_to_the_first() -> None:
    for found in (EVEN, RANDOM, SKEWED):
        ranked = rank(found, cache="cold")
        close = near_best(found, cache="cold")
        assert [kernel for kernel, _ in ranked[: len(close)]] == list(close)
        assert ranked[len(close) - 1][1].seconds <= CLOSE * ranked[0][1].seconds < ranked[len(close)][1].seconds
    assert near_best({}) == ()


@pytest.mark.parametrize(
    ("limit", "changed"),
    [
        ("nonzeros", {"nnz": 399_999}),
        ("mean row", {"ave": 0.9}),
        ("mean row", {"ave": 401.0}),
        ("longest row", {"max": 50_001}),
        ("longest row per nonzero", {"nnz": 400_000, "max": 11_000}),
        ("spread of the row lengths", {"sigma": 101.0}),
        ("columns per row", {"n_cols": EVEN["n_rows"] // 3}),
        ("columns per row", {"n_cols": EVEN["n_rows"] * 3}),
    ],
)
def test_it_is_sure_within_the_limits_of_what_the_costs_were_fitted_to(limit: str, changed: Mapping[str, Any]) -> None:
    assert is_sure(EVEN)
    outside = {**EVEN, **changed}
    assert [name for name, limits in LIMITS.items() if not limits.hold(outside)] == [limit]
    assert not is_sure(outside)


def test_it_is_sure_of_nothing_without_features_or_entries() -> None:
    assert not is_sure({})
    assert not is_sure({**EVEN, "nnz": 0})


@pytest.mark.parametrize("kernel", UNSTEADY)
def test_it_is_not_sure_of_a_kernel_whose_time_no_feature_tells(kernel: str) -> None:
    calibration = {name: 1e6 for name in MODELS if name != kernel}
    assert not is_sure(EVEN, calibration=calibration)


@pytest.mark.parametrize(
    ("generator", "params"),
    [
        ("linear_program", {}),
        ("linear_program", {"coupling": 5}),
        ("linear_program", {"form": "kkt"}),
        ("rectangular", {}),
        ("rectangular", {"n_rows": 20_000, "n_cols": 200_000, "mean": 40.0}),
        ("circuit", {}),
        ("circuit", {"n": 150_000}),
        ("circuit", {"n": 100_000, "degree": 8.0, "rails": 1, "fill": 0.4}),
        ("circuit", {"n": 150_000, "degree": 0.0, "rails": 1, "fill": 1.0}),
        ("dense_rows", {}),
    ],
)
def test_it_is_not_sure_of_classes_that_no_cost_was_fitted_to(generator: str, params: dict[str, Any]) -> None:
    assert not is_sure(features(generate(generator, params)))


def test_a_cold_product_is_predicted_by_itself() -> None:
    warm, cold = (dict(rank(EVEN, cache=cache)) for cache in ("warm", "cold"))
    assert all(cold[kernel] == predict(kernel, EVEN, cache="cold") != warm[kernel] for kernel in warm)


def test_a_slow_first_choice_has_other_contenders() -> None:
    first, *others = near_best(RANDOM)
    assert near_best(RANDOM, calibration={first: 10.0})[0] in others


def test_a_layout_may_take_four_fifths_of_the_memory() -> None:
    for longest, offered in ((9500, False), (8900, True)):
        assert ("ell/thread" in dict(rank({**EVEN, "max": longest}))) is offered


def test_a_gpu_is_told_by_a_whole_word_of_its_name() -> None:
    assert gpu_named("NVIDIA H200") == FITTED
    assert gpu_named("NVIDIA GH200 480GB") is None


def test_predictions_are_judged_for_what_was_measured() -> None:
    assert [gpu.name for gpu in GPUS if gpu.is_judged] == ["H100-SXM", "H200"]


@pytest.mark.parametrize(
    ("padding", "words"),
    [(0.0, "no padding"), (0.02, "little padding"), (0.15, "15 % padding")],
)
def test_a_reason_says_how_much_is_padding(padding: float, words: str) -> None:
    counted = replace(MODELS["sellp/t1"][0](EVEN), padding=padding)
    assert words in reason(counted, predict("sellp/t1", EVEN), EVEN)


@pytest.mark.parametrize("cache", ["warm", "cold"])
@pytest.mark.parametrize("gpu", GPUS, ids=lambda gpu: gpu.name)
def test_all_that_is_said_of_a_gpu_is_predicted_for_it(gpu: Gpu, cache: Cache) -> None:
    ranked = rank(RANDOM, gpu, cache)
    assert ranked == sorted(
        ((kernel, predict(kernel, RANDOM, gpu, cache)) for kernel, _ in ranked), key=lambda entry: entry[1].seconds
    )
    close = near_best(RANDOM, gpu, cache)
    assert list(close) == [kernel for kernel, p in ranked if p.seconds <= CLOSE * ranked[0][1].seconds]
    first = advise(RANDOM, gpu)[0]
    assert first.kernel == rank(RANDOM, gpu)[0][0]
    assert first.predicted_s == {each.name: predict(first.kernel, RANDOM, each).seconds for each in GPUS}


def test_a_calibration_is_of_its_gpu_alone_warm_and_cold() -> None:
    gpu = GPUS[0]
    first, second, *_ = (kernel for kernel, _ in rank(RANDOM, gpu))
    calibration = {first: 1e3, second: 0.5}
    advice = advise(RANDOM, gpu, calibration)[0]
    assert (advice.kernel, advice.cold_place) == (second, 1)
    plain = {each.name: predict(second, RANDOM, each).seconds for each in GPUS}
    assert advice.predicted_s == plain | {gpu.name: 0.5 * plain[gpu.name]}
    assert near_best(RANDOM, gpu, "warm", calibration)[0] == second
    assert first not in near_best(RANDOM, gpu, "warm", calibration)


def test_sureness_is_that_of_the_gpu_and_its_calibration() -> None:
    unsteady = UNSTEADY[0]
    favored = replace(GPUS[0], factors={kernel: 1e6 for kernel in MODELS if kernel != unsteady})
    # What tells GPUs apart is not their factors.
    favored = replace(favored, name="favored")
    assert not is_sure(EVEN, favored)
    assert is_sure(EVEN, GPUS[0])


def test_kernels_within_three_percent_of_the_first_are_one_choice() -> None:
    first, second, third, *_ = (kernel for kernel, _ in rank(RANDOM))
    seconds = {kernel: predict(kernel, RANDOM).seconds for kernel in (first, second, third)}
    calibration = dict.fromkeys(MODELS, 1000.0) | {
        first: 1.0,
        second: 1.029 * seconds[first] / seconds[second],
        third: 1.031 * seconds[first] / seconds[third],
    }
    assert [advice.equal for advice in advise(RANDOM, calibration=calibration)][:3] == [True, True, False]


def test_a_layout_that_takes_its_share_of_the_memory_exactly_is_offered() -> None:
    stored = MODELS["ell/thread"][0](EVEN).stored_bytes
    for memory, offered in ((stored / FILLED, True), (stored / FILLED - 10, False)):
        assert ("ell/thread" in dict(rank(EVEN, replace(FITTED, name="small", memory_bytes=memory)))) is offered
