"""Text of a system: its matrix, b, the first x, and the restart."""

from gpu_engine.findings.solvers.systems import EXCESS, SEED, conditions_text, matrix_text, system_texts
from gpu_engine.studies.solvers import SolversParams


def test_the_excess_stands_beside_the_system_even_if_it_is_the_default() -> None:
    assert system_texts({"method": "cg"}) == ()
    assert system_texts({"system": "definite"}) == ("made definite (excess 0.001)",)
    assert system_texts({"system": "dominant", "excess": "0.01", "b": "ones"}) == (
        "made dominant (excess 0.01)",
        "b ones",
    )
    assert "1.001 ×" in matrix_text({"system": "definite"})
    assert (SolversParams().excess, SolversParams().seed) == (EXCESS, SEED)


def test_the_conditions_have_b_its_seed_the_first_x_and_the_restart() -> None:
    assert "seed 3" in conditions_text({"seed": "3"}, cycles=False)
    assert "seed" not in conditions_text({"b": "ones"}, cycles=False)
    assert "30 iterations" in conditions_text({}, cycles=True)
    assert "50 iterations" in conditions_text({"restart": "50"}, cycles=True)
    assert "GMRES" not in conditions_text({}, cycles=False)
