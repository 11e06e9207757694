"""Effort by default and as the parameters of studies say it."""

from types import SimpleNamespace

from gpu_engine.effort import BUDGET_S, ENERGY, FULL, SAMPLING, SHARE, Effort


def test_the_parameters_of_a_study_say_its_effort() -> None:
    chosen = SimpleNamespace(sampling="settle", budget_s=3.0, energy="leaders")
    assert Effort.of(chosen) == Effort("settle", 3.0, "leaders")


def test_a_study_without_energy_has_none_to_choose() -> None:
    assert Effort.of(SimpleNamespace(sampling="full", budget_s=0.0)) == FULL == Effort("full", 0.0, "all")


def test_by_default_only_what_is_open_goes_on_without_a_limit_of_time() -> None:
    assert (SAMPLING[0], BUDGET_S[0], ENERGY[0]) == ("settle", 0.0, "leaders")
    assert 0.0 < SHARE["settle"] < SHARE["full"] == 1.0
