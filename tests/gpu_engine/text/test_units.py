import pytest

from gpu_engine.text import units

T = units.THIN


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (3.0951, "3.10"),
        (62.44, "62.4"),
        (9.999, "10.0"),
        (1239.6, "1,240"),
        (0.0123, "0.0123"),
        (-2, "−2.00"),
    ],
)
def test_number_keeps_significant_digits(value: float, text: str) -> None:
    assert units.number(value) == text


@pytest.mark.parametrize("value", [None, float("nan"), float("inf")])
def test_what_is_no_number_is_a_dash(value: float | None) -> None:
    assert units.number(value) == units.seconds(value) == units.percent(value) == units.MISSING


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (12.34e-6, "12.3 µs"),
        (1e-3, "1.00 ms"),
        (2.5, "2.50 s"),
        (41e-9, "41.0 ns"),
        (0.0, "0 ns"),
        (0.99995e-3, "1.00 ms"),
        (0.99949e-3, "999 µs"),
        (0.99951, "1.00 s"),
        (999.9e-9, "1.00 µs"),
        (-1e-3, "−1.00 ms"),
        (-0.99999e-3, "−1.00 ms"),
        (-2.5, "−2.50 s"),
    ],
)
def test_seconds_choose_their_unit(value: float, text: str) -> None:
    assert units.seconds(value).replace(T, " ") == text


def test_sizes_are_decimal() -> None:
    assert units.size(41e9) == f"41.0{T}GB"
    assert units.rate(4.1e12) == f"4.10{T}TB/s"


def test_percent_shows_a_digit_where_it_matters() -> None:
    assert [units.percent(share) for share in (0.624, 0.0312, 0.0, 1.2)] == [
        f"62{T}%",
        f"3.1{T}%",
        f"0{T}%",
        f"120{T}%",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.4, "under 1 s"), (40, "40 s"), (59.7, "1 min 0 s"), (130, "2 min 10 s"), (3900, "1 h 5 min")],
)
def test_duration(value: float, text: str) -> None:
    assert units.duration(value).replace(T, " ") == text


def test_a_column_shares_its_decimals() -> None:
    assert units.column([10.24, 1234.5, None]) == ["10.2", "1,234.5", units.MISSING]
    assert units.column([]) == []


def test_unit_for_takes_the_smallest_value() -> None:
    assert units.unit_for([2e-3, 3e-6, None], units.TIME).symbol == "µs"
    assert units.unit_for([], units.TIME).symbol == "ns"


def test_moment_is_utc() -> None:
    assert units.moment(0) == "1970-01-01 00:00"


@pytest.mark.parametrize(
    ("value", "text"), [(999_999, "1.00 MB"), (999, "999 B"), (999.6, "1.00 kB"), (-999_999, "−1.00 MB"), (0, "0 B")]
)
def test_sizes_choose_their_unit_after_rounding(value: float, text: str) -> None:
    assert units.size(value).replace(T, " ") == text


def test_negative_values_have_units_decimals_and_shares() -> None:
    assert units.column([-0.5, -12.25]) == ["−0.500", "−12.250"]
    assert units.percent(-0.05).replace(T, " ") == "−5.0 %"
    assert units.energy(-1e-3).replace(T, " ") == "−1.00 mJ"
    assert units.rate(999.9e9).replace(T, " ") == "1.00 TB/s"


@pytest.mark.parametrize(
    ("rounds", "text"),
    [
        (0, "0 rounds, 3.00 ms – 4.00 ms"),
        (1, "1 round, 3.00 ms"),
        (2, "2 rounds, 3.00 ms – 4.00 ms"),
        (4, "4 rounds, 3.00 ms – 4.00 ms"),
        (8, "8 rounds, 3.00 ms – 4.00 ms"),
        (9, "1.00 ms – 9.00 ms"),
        (15, "1.00 ms – 9.00 ms"),
        (None, "1.00 ms – 9.00 ms"),
    ],
)
def test_few_rounds_show_their_number_and_ends(rounds: int | None, text: str) -> None:
    shown = units.interval_or_rounds(rounds, (1e-3, 9e-3), (3e-3, 4e-3))
    assert shown.replace(T, " ") == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (20.0, 30.2, "about 20–30 s"),
        (30.0, 30.4, "about 30 s"),
        (50.0, 130.0, "about 50 s to 2 min 10 s"),
        (0.2, 12.0, "under 1 s to 12 s"),
        (0.2, 0.4, "under 1 s"),
    ],
)
def test_a_range_of_waiting_times_names_both_ends(low: float, high: float, text: str) -> None:
    assert units.about_range(low, high).replace(T, " ") == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.9934, "0.993"), (1.0049, "1.005"), (1.06, "1.06"), (0.94, "0.94"), (12.94, "12.9"), (0.0312, "0.031")],
)
def test_a_ratio_beside_a_verdict_differs_from_one(value: float, text: str) -> None:
    assert units.ratio_beside_verdict(value) == text
    assert units.judged_ratio(value) == f"{text}{T}×"


def test_the_ends_of_an_interval_have_equal_decimals() -> None:
    assert units.ratio_interval((1.157, 1.262)) == f"1.16{units.RANGE}1.26"
    assert units.ratio_interval((0.9834, 1.4)) == f"0.98{units.RANGE}1.40"
    assert units.ratio_interval((0.9834, 1.4), beside_verdict=True) == f"0.983{units.RANGE}1.400"
    assert units.ratio_interval((None, 1.0)) == units.ratio_interval(None) == ""
