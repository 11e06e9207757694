"""The cost model of solves against the recorded ones: each system is predicted with costs of the others."""

import statistics
from collections.abc import Sequence

import pytest

from gpu_engine.findings.solvers.solve_model import COSTS, ERROR_WORST, ON_H100, ON_H200, Accuracy
from gpu_engine.recordings.files import read
from gpu_engine.solvers import METHODS
from tools.solver_fit import (
    OTHERS,
    RECORDING,
    SPMV_TIMES,
    Outcome,
    RecordedSolve,
    error,
    fit,
    left_out,
    recorded_solves,
    regrets,
)

MEASURED, PREDICTED = SPMV_TIMES
NAMES = [method.name for method in METHODS]


@pytest.fixture(scope="module")
def solves() -> list[RecordedSolve]:
    """The recorded solves without a preconditioner."""
    return recorded_solves(read(RECORDING))


@pytest.fixture(scope="module")
def outcomes(solves: Sequence[RecordedSolve]) -> dict[str, list[Outcome]]:
    """The predictions by the kind of their SpMV time."""
    return {name: left_out(solves, spmv_s) for name, spmv_s in SPMV_TIMES.items()}


def test_the_costs_are_those_of_the_recorded_solves(solves: Sequence[RecordedSolve]) -> None:
    assert len(solves) == ON_H200.solves
    assert len({solve.matrix_id for solve in solves}) == 12
    assert {solve.parts.method.name for solve in solves} == {*NAMES}
    fitted = fit(solves)
    assert COSTS.call_s == pytest.approx(fitted.call_s, rel=0.01)
    assert COSTS.iteration_s == pytest.approx(fitted.iteration_s, rel=0.01)
    assert COSTS.cycle_reads == pytest.approx(fitted.cycle_reads, rel=0.01)


@pytest.mark.parametrize("method", NAMES)
def test_a_solve_is_predicted_from_its_iterations_and_its_spmv(outcomes: dict[str, list[Outcome]], method: str) -> None:
    mine = [outcome for outcome in outcomes[MEASURED] if outcome.solve.parts.method.name == method]
    assert statistics.median(outcome.ratio for outcome in mine) == pytest.approx(1.0, abs=0.02)
    assert error(mine, 0.5) <= 1.04
    assert error(mine, 1.0) <= 1.35


def check_accuracy(outcomes: dict[str, list[Outcome]], accuracy: Accuracy, slack: float) -> None:
    """A page states the 90 % of its own two methods, and of all."""
    for name, stated in ((MEASURED, accuracy.measured), (PREDICTED, accuracy.predicted)):
        assert len(outcomes[name]) == accuracy.solves
        chosen = [outcome for outcome in outcomes[name] if outcome.solve.parts.method.name in ("cg", "bicgstab")]
        errors = [error(each) for each in (outcomes[name], chosen)]
        assert stated - 0.02 <= max(errors) <= stated
        assert min(errors) >= stated - slack


def test_the_errors_are_those_that_pages_state(outcomes: dict[str, list[Outcome]]) -> None:
    check_accuracy(outcomes, ON_H200, 0.02)
    assert ERROR_WORST - 0.1 <= error(outcomes[PREDICTED], 1.0) <= ERROR_WORST


def test_the_errors_on_another_gpu_are_those_that_pages_state(solves: Sequence[RecordedSolve]) -> None:
    (path,) = OTHERS
    others = recorded_solves(read(path))
    assert len({solve.matrix_id for solve in others}) == 15
    outcomes = {name: left_out(others, spmv_s, solves) for name, spmv_s in SPMV_TIMES.items()}
    check_accuracy(outcomes, ON_H100, 0.04)
    assert error(outcomes[PREDICTED], 1.0) <= ERROR_WORST


@pytest.mark.parametrize(("name", "mean", "largest"), [(MEASURED, 1.002, 1.02), (PREDICTED, 1.01, 1.1)])
def test_the_kernel_of_every_recorded_group_is_nearly_the_fastest(
    outcomes: dict[str, list[Outcome]], name: str, mean: float, largest: float
) -> None:
    regret = regrets(outcomes[name])
    assert len(regret) == 7 * len(NAMES) + 5 * 2, "symmetric systems have all methods, others BiCGSTAB and GMRES"
    assert statistics.geometric_mean(regret.values()) <= mean
    assert max(regret.values()) <= largest
