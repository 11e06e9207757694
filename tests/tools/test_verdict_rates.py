"""Tests of the error rates of verdicts in docs/measuring.md, on fewer pairs."""

from collections import Counter

import pytest

from tools.verdict_rates import FIXED, MACHINES, PLACED, RATIOS, Machine, outcomes, recorded_outcomes

pytestmark = pytest.mark.full(
    *(
        "gpu_engine/verdicts/verdict.py",
        "gpu_engine/verdicts/noise.py",
        "gpu_engine/records.py",
        "gpu_engine/measure/statistics.py",
    ),
    *("tools/verdict_rates.py", "tests/tools/test_verdict_rates.py", "tests/gpu_engine/identical_kernels.json"),
)
QUIET = [machine for machine in MACHINES if machine.name.startswith("quiet")]
OVERLOADED = next(machine for machine in MACHINES if machine.name == "overloaded CPU")
TRIALS = 100


def share(said: Counter[str], word: str) -> float:
    return said[word] / (said.total() - said["busy"])


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
@pytest.mark.parametrize("ratio", RATIOS)
def test_the_verdict_is_wrong_on_no_machine(machine: Machine, ratio: float) -> None:
    said = outcomes(machine, ratio, TRIALS)
    assert said["faster"] == 0
    assert said["slower"] == 0 or ratio > 1
    assert said["same"] == 0 or ratio < 1.1


@pytest.mark.parametrize("machine", QUIET, ids=lambda machine: machine.name)
def test_quiet_rounds_settle_what_is_equal_and_what_is_not(machine: Machine) -> None:
    assert share(outcomes(machine, 1.0, TRIALS), "same") > 0.7
    assert share(outcomes(machine, 1.1, TRIALS), "slower") > 0.7
    assert outcomes(machine, 1.0, TRIALS)["busy"] == 0


def test_rounds_that_differ_by_factors_show_that_the_machine_is_busy() -> None:
    assert outcomes(OVERLOADED, 1.0, TRIALS)["busy"] == TRIALS


@pytest.mark.parametrize("device", ["cpu", "cuda:0"])
def test_recorded_rounds_of_one_kernel_are_never_called_different(device: str) -> None:
    said = recorded_outcomes(device, 1.0)
    assert said["faster"] == said["slower"] == said["busy"] == 0
    assert share(said, "same") > (0.9 if device == "cuda:0" else 0.5)


@pytest.mark.parametrize("device", ["cpu", "cuda:0"])
def test_recorded_rounds_of_a_slower_kernel(device: str) -> None:
    said = recorded_outcomes(device, 1.1)
    assert said["same"] == said["faster"] == 0
    assert share(said, "slower") > 0.75


def test_kernels_with_a_new_place_in_each_round_are_not_called_different() -> None:
    said = recorded_outcomes(PLACED, 1.0)
    assert said.total() - said["busy"] > 1000
    assert said["faster"] + said["slower"] <= said.total() / 1000


def test_a_kernel_that_stays_at_one_place_is_called_different_from_itself() -> None:
    said = outcomes(FIXED, 1.0, TRIALS)
    assert said["faster"] + said["slower"] > TRIALS / 2
