"""A kernel for each matrix, and single kernels, over a baseline: exact numbers of made-up matrices."""

import math
from collections.abc import Mapping

import pytest

from gpu_engine.competitors import BEST
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.formats.choices import Choices, compare_choices
from gpu_engine.findings.formats.csr_kernels import FASTEST_CSR
from gpu_engine.findings.formats.groups import baseline_of
from gpu_engine.records import Measurement
from tests.samples.formats import timed, untimed

TIMES = {
    "m1": {BEST: 4.0, "csr/vector": 2.0, "coo/segmented": 8.0},
    "m2": {BEST: 4.0, "csr/vector": 16.0, "coo/segmented": 1.0},
    "m3": {BEST: 4.0, "csr/vector": 8.0},
}
"""Matrix → kernel → milliseconds."""


def groups_of(times: Mapping[str, Mapping[str, float]]) -> dict[str, list[Measurement]]:
    """The measurements, the fastest first."""
    every = {i: [timed(k, s / 1e3, matrix=i, rounds=15) for k, s in own.items()] for i, own in times.items()}
    return {i: sorted(group, key=lambda m: m.median_s or 0.0) for i, group in every.items()}


def compared(times: Mapping[str, Mapping[str, float]] = TIMES, baseline: str = "", device: str = "cpu") -> Choices:
    groups = groups_of(times)
    choices = compare_choices(groups, groups, StudyData(baseline=baseline), device)
    assert choices
    return choices


def test_the_fastest_kernel_of_each_matrix_is_never_slower_than_the_baseline() -> None:
    choices = compared()
    assert choices.baseline == BEST
    assert {i: m.kernel for i, m in choices.fastest.measurements.items()} == {
        "m1": "csr/vector",
        "m2": "coo/segmented",
        "m3": BEST,
    }
    assert choices.fastest.mean == pytest.approx((2 * 4 * 1) ** (1 / 3))
    assert choices.fastest.wins == (2, 1, 0)
    assert choices.fastest.interval is None, "three matrices are too few"


def test_the_best_sparsight_kernel_is_no_library_and_no_custom_kernel() -> None:
    choices = compared({"m1": {BEST: 4.0, "csr/vector": 2.0}, "m2": {"custom:mine": 1.0, "csr/vector": 8.0, BEST: 4.0}})
    assert choices.sparsight
    assert {m.kernel for m in choices.sparsight.measurements.values()} == {"csr/vector"}
    assert choices.best is choices.sparsight
    assert choices.sparsight.wins == (1, 0, 1)
    libraries = compared({"m1": {BEST: 4.0, "cusparse/csr-alg1": 5.0}})
    assert libraries.sparsight is None
    assert libraries.best is libraries.fastest


def test_a_single_kernel_counts_where_it_was_timed() -> None:
    choices = compared()
    csr, coo = choices.kernels
    assert (csr.kernel, csr.wins, sorted(csr.verdicts)) == ("csr/vector", (1, 0, 2), ["m1", "m2", "m3"])
    assert csr.mean == pytest.approx((2 * 0.25 * 0.5) ** (1 / 3))
    assert (coo.kernel, coo.wins, sorted(coo.verdicts)) == ("coo/segmented", (1, 0, 1), ["m1", "m2"])
    assert coo.mean == pytest.approx(math.sqrt(0.5 * 4)), "it comes last although its mean is larger"
    assert choices.best_single is csr
    assert [choice.beats_baseline for choice in (choices.fastest, csr, coo)] == [True, False, False]


def test_the_best_of_the_kernels_timed_everywhere_comes_first() -> None:
    choices = compared({"m1": {BEST: 4.0, "csr/vector": 5.0, "coo/segmented": 3.0, "ell/thread": 9.0}})
    assert [choice.kernel for choice in choices.kernels] == ["coo/segmented", "csr/vector", "ell/thread"]
    assert choices.best_single is choices.kernels[0]


def test_counts_add_up_to_the_matrices() -> None:
    choices = compared()
    for choice in (choices.fastest, *choices.kernels):
        assert sum(choice.wins) == len(choice.verdicts) == len(choice.speedups)


def test_the_reader_chooses_the_baseline_and_matrices_without_it_do_not_count() -> None:
    choices = compared(baseline="coo/segmented")
    assert (choices.baseline, sorted(choices.groups), choices.lacking) == ("coo/segmented", ["m1", "m2"], 1)
    assert BEST in {choice.kernel for choice in choices.kernels}


def test_the_baseline_needs_not_be_one_of_the_chosen_kernels() -> None:
    every = groups_of(TIMES)
    chosen = {i: [m for m in group if m.kernel == "csr/vector"] for i, group in every.items()}
    choices = compare_choices(chosen, every, StudyData(), "cpu")
    assert choices
    assert (choices.baseline, choices.fastest.wins) == (BEST, (1, 0, 2))


def test_a_kernel_without_a_time_is_no_choice() -> None:
    groups = groups_of({"m1": TIMES["m1"]})
    groups["m1"].append(untimed("ell/thread", "failed", "differs", matrix="m1"))
    choices = compare_choices(groups, groups, StudyData(), "cpu")
    assert choices
    assert "ell/thread" not in {choice.kernel for choice in choices.kernels}


def test_nothing_counts_without_a_time() -> None:
    groups = {"m1": [untimed("csr/vector", "failed", "differs", matrix="m1")]}
    assert compare_choices(groups, groups, StudyData(), "cpu") is None


def test_a_device_without_a_model_has_no_advice() -> None:
    assert compared(device="cpu").advised is None


def test_a_choice_within_some_matrices_counts_only_them() -> None:
    fastest = compared().fastest
    part = fastest.within(["m2"])
    assert part
    assert part.mean == pytest.approx(4.0)
    assert part.wins == (1, 0, 0)
    assert fastest.within(["m9"]) is None


@pytest.mark.parametrize(
    ("scalar_ms", "baseline", "kernels"),
    [((1.0, 9.0), FASTEST_CSR, ["csr/scalar", "csr/vector"]), ((1.0, 2.0), "csr/scalar", ["csr/scalar"] * 2)],
)
def test_without_a_library_the_baseline_is_the_fastest_csr_kernel_of_each_matrix(
    scalar_ms: tuple[float, float], baseline: str, kernels: list[str]
) -> None:
    times = {f"m{n}": {"csr/vector": 4.0, "csr/scalar": ms, "ell/thread": 0.5} for n, ms in enumerate(scalar_ms)}
    choices = compared(times)
    assert (choices.baseline, [m.kernel for m in choices.baselines.values()]) == (baseline, kernels)
    assert [verdict.ratio for verdict in choices.fastest.verdicts.values()] == pytest.approx(
        [2 * min(4.0, ms) for ms in scalar_ms]
    )
    for i, group in groups_of(times).items():
        assert baseline_of(group, "") == group[1] == choices.baselines[i], "the page and its findings compare alike"
