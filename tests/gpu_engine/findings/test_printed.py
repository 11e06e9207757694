import pytest

from gpu_engine.findings.printed import Printed


@pytest.mark.parametrize(
    ("printed", "inside", "outside"),
    [
        (Printed("1.5"), (1.45, 1.5, 1.549), (1.449, 1.55)),
        (Printed("2"), (1.5, 2.49), (1.49, 2.5)),
        (Printed("10"), (9.5, 10.4), (9.4, 10.5)),
        (Printed("0.8172"), (0.81715, 0.81724), (0.8171, 0.8173)),
        (Printed("1.1", "1.3"), (1.05, 1.2, 1.349), (1.049, 1.35)),
        (Printed("72", "85"), (71.5, 85.4), (71.4, 85.5)),
    ],
)
def test_a_number_agrees_if_it_rounds_to_what_is_printed(
    printed: Printed, inside: tuple[float, ...], outside: tuple[float, ...]
) -> None:
    assert [printed.holds(value) for value in inside] == [True] * len(inside)
    assert [printed.holds(value) for value in outside] == [False] * len(outside)


def test_a_bound_has_the_same_tolerance() -> None:
    ten, five = Printed("10"), Printed("4", "5")
    assert [ten.is_reached(value) for value in (9.4, 9.5, 80.0)] == [False, True, True]
    assert [five.is_kept(value) for value in (0.1, 5.49, 5.5)] == [True, True, False]
