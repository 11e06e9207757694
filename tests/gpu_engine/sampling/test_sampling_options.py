"""How many seconds rounds may take, by value."""

import dataclasses
from types import SimpleNamespace
from typing import Any

import pytest

from gpu_engine.host.device import find_device
from gpu_engine.parameters import parse_params
from gpu_engine.records import DeviceInfo, MatrixInfo
from gpu_engine.sampling.sampling_options import FLUSH_RATE, MATRIX_S, SHARE, SamplingOptions, turn_s
from gpu_engine.studies import STUDIES

CPU = DeviceInfo("cpu", "cpu", "A CPU", 1, 2**25)


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_unasked_a_matrix_has_so_many_seconds_and_asked_for_as_many_as_it_takes(study: Any) -> None:
    def options(**params: Any) -> SamplingOptions:
        return SamplingOptions.of(parse_params(study.Params, params), 2)

    assert (options().time_limit_s, options().experiment_s) == (0.0, MATRIX_S / 2)
    assert (options(time_limit_s=7.0).time_limit_s, options(time_limit_s=7.0).experiment_s) == (7.0, 0.0)
    assert (options(sampling="fixed").time_limit_s, options(sampling="fixed").experiment_s) == (0.0, 0.0)


def test_a_study_without_a_choice_of_energy_has_that_of_all_and_one_experiment_all_seconds() -> None:
    options = SamplingOptions.of(SimpleNamespace(sampling="adaptive", time_limit_s=0.0), 0)
    assert (options.energy, options.experiment_s) == ("all", MATRIX_S)
    assert (
        SamplingOptions.of(SimpleNamespace(sampling="adaptive", time_limit_s=0.0, energy="fastest"), 4).energy
        == "fastest"
    )


def test_all_rounds_are_expected_to_be_taken_only_where_all_are_asked_for() -> None:
    assert SHARE["adaptive"] < SHARE["fixed"] == 1.0


def test_each_group_has_an_equal_share_of_what_is_left() -> None:
    options = SamplingOptions("adaptive", experiment_s=12.0)
    assert options.share(0.0, 3).time_limit_s == 4.0
    assert options.share(2.0, 2).time_limit_s == 5.0
    # A budget of 0 would be no limit.
    assert 0.0 < options.share(20.0, 1).time_limit_s < 0.01
    assert SamplingOptions("adaptive", 7.0).share(100.0, 3).time_limit_s == 7.0
    assert SamplingOptions().share(100.0, 3).time_limit_s == 0.0


@pytest.mark.parametrize(
    ("options", "groups", "expected"),
    [
        (SamplingOptions(), 1, 90.0),
        (SamplingOptions("adaptive", experiment_s=40.0), 2, 40.0),
        (SamplingOptions("adaptive", experiment_s=400.0), 2, 90.0),
        (SamplingOptions("adaptive", 30.0), 2, 60.0),
        # The seconds of an experiment are those of all its groups, whatever each may take.
        (SamplingOptions("adaptive", 30.0, experiment_s=40.0), 2, 40.0),
        # Two rounds are made whatever they take.
        (SamplingOptions("adaptive", experiment_s=1.0), 1, 20.0),
    ],
)
def test_rounds_are_expected_to_take_what_they_may(options: SamplingOptions, groups: int, expected: float) -> None:
    assert options.expected_s(10.0, 9, groups) == expected


def test_a_cold_turn_on_a_cpu_takes_longer_the_larger_its_cache() -> None:
    large = dataclasses.replace(CPU, cache_bytes=300 * 2**20)
    assert turn_s(CPU, "warm") == turn_s(large, "warm") < turn_s(CPU, "cold") < turn_s(large, "cold") < 0.2
    gpu = dataclasses.replace(large, id="cuda:0", backend="cuda")
    assert turn_s(gpu, "warm") == turn_s(gpu, "cold")
    # Twice the cache is read and written.
    assert turn_s(CPU, "cold") - turn_s(CPU, "warm") == pytest.approx(4 * 2**25 / FLUSH_RATE)


@pytest.mark.parametrize("study", [s for s in STUDIES if s.name != "reduced_spmv"], ids=lambda study: study.name)
@pytest.mark.parametrize(("nnz", "most_s"), [(10**4, 60), (10**6, 75), (3 * 10**6, 120)])
def test_a_default_job_is_expected_to_end_while_one_looks(study: Any, nnz: int, most_s: float) -> None:
    device = dataclasses.replace(find_device("cpu"), cache_bytes=2**25)
    matrix = MatrixInfo("m", "m", 16_000, 16_000, nnz)
    assert study.estimate_s(study.Params(), [matrix], device) < most_s
