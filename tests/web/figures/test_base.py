import math

import pytest

from gpu_engine.text.units import THIN
from web.figures.base import log_axis


def test_a_log_axis_holds_its_values_and_has_round_ticks() -> None:
    axis = log_axis([3.0, 4000.0])
    assert 10 ** axis.settings["range"][0] < 3 < 4000 < 10 ** axis.settings["range"][1]
    assert axis.settings["tickvals"] == [5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000]
    assert axis.settings["ticktext"][-2:] == [f"2{THIN}k", f"5{THIN}k"]
    assert log_axis([1.0, 1e6]).settings["tickvals"] == [10.0**decade for decade in range(7)]


@pytest.mark.parametrize("values", [[], [0.0], [math.inf], [0.15]])
def test_one_value_or_none_has_an_axis_with_ticks(values: list[float]) -> None:
    settings = log_axis(values).settings
    low, high = settings["range"]
    assert high - low == pytest.approx(1.0)
    assert len(settings["tickvals"]) >= 3


def test_zero_and_infinity_have_places_beyond_the_values() -> None:
    axis = log_axis([2.0, 50.0], before="0", after="never")
    assert axis.before < 2.0 < 50.0 < axis.after
    assert (axis.settings["tickvals"][0], axis.settings["ticktext"][0]) == (axis.before, "0")
    assert (axis.settings["tickvals"][-1], axis.settings["ticktext"][-1]) == (axis.after, "never")
    assert 10 ** axis.settings["range"][0] < axis.before < axis.after < 10 ** axis.settings["range"][1]


def test_many_decades_have_few_ticks() -> None:
    assert len(log_axis([1e-6, 1e12]).settings["tickvals"]) <= 10


def test_ticks_far_below_one_are_all_powers_of_ten() -> None:
    far = log_axis([1e-10, 1.0]).settings["ticktext"]
    assert (far[0], far[-1]) == ("10⁻¹⁰", "1")
    assert "2·10⁻⁶" in log_axis([1e-6, 8e-6]).settings["ticktext"]
    assert log_axis([2e-4, 1.0]).settings["ticktext"][0] == "0.001"
