"""Tests of the error rates of change points in docs/measuring.md, on fewer histories."""

import pytest

from tools.history_rates import BETWEEN, Draw, outcomes, recorded, simulated
from tools.verdict_rates import MACHINES

pytestmark = pytest.mark.full(
    *("gpu_engine/verdicts/verdict.py", "gpu_engine/findings/history/*.py", "tools/verdict_rates.py"),
    *("tools/history_rates.py", "tests/tools/test_history_rates.py", "tests/gpu_engine/repeated_jobs.json"),
)
DRAWS = [(m.name, simulated(m)) for m in MACHINES if m.name in BETWEEN]
TRIALS = 100


@pytest.mark.parametrize("length", [6, 30, 100])
@pytest.mark.parametrize(("name", "draw"), [*DRAWS, *recorded()])
def test_where_nothing_changed_hardly_anything_is_found(name: str, draw: Draw, length: int) -> None:
    assert outcomes(draw, length, 0.0, TRIALS)["elsewhere"] <= 0.05 * TRIALS


@pytest.mark.parametrize(("length", "step", "least"), [(6, 0.1, 0.7), (12, 0.05, 0.75), (30, 0.03, 0.85)])
def test_steps_on_a_quiet_gpu_are_found(length: int, step: float, least: float) -> None:
    assert outcomes(dict(DRAWS)["quiet GPU"], length, step, TRIALS)["found"] >= least * TRIALS
