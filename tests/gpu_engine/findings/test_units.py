import pytest

from gpu_engine.findings import units

T = units.THIN


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (3.0951, "3.10"),
        (62.44, "62.4"),
        (9.999, "10.0"),
        (1239.6, f"1{T}240"),
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
        (0.99995e-3, "1 000 µs"),
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
    assert units.column([10.24, 1234.5, None]) == ["10.2", f"1{T}234.5", units.MISSING]
    assert units.column([]) == []


def test_unit_for_takes_the_smallest_value() -> None:
    assert units.unit_for([2e-3, 3e-6, None], units.TIME).symbol == "µs"
    assert units.unit_for([], units.TIME).symbol == "ns"


def test_moment_is_utc() -> None:
    assert units.moment(0) == "1970-01-01 00:00"
