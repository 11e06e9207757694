"""Results in a terminal: units, order and what stands where a time is missing."""

import io

import pytest
from rich.console import Console

from gpu_engine.records import Measurement
from sparsight.report import duration, print_results, share, times


def measurement(kernel: str, median_s: float | None, **fields: object) -> Measurement:
    values: dict[str, object] = {"case": f"m|{kernel}|warm|", "matrix_id": "m", "device": "cpu", "cache": "warm"}
    values |= {"format": kernel.partition("/")[0], "kernel": kernel, "state": "ok", "median_s": median_s}
    if median_s is not None:
        values |= {"ci_low_s": median_s - 2e-5, "ci_high_s": median_s + 2e-5, "gflops": 1e-3 / median_s}
        values |= {"min_s": median_s - 3e-5, "q3_s": median_s + 1e-5}
    return Measurement(**(values | fields))  # type: ignore[arg-type]


def rendered(measurements: list[Measurement], names: dict[str, str], width: int = 200) -> tuple[str, list[str]]:
    """What a terminal of that width shows, and the columns that it has no room for."""
    text = io.StringIO()
    left_out = print_results(
        Console(file=text, width=width, force_terminal=True, color_system=None), measurements, names
    )
    return text.getvalue(), left_out


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(None, ""), (2.0, "2 s"), (0.0123, "12.3 ms"), (4.5e-6, "4.5 µs"), (7e-10, "0.7 ns"), (0.0, "0 ns")],
)
def test_a_duration_has_the_unit_of_its_size(seconds: float | None, shown: str) -> None:
    assert duration(seconds) == shown


def test_a_share_needs_both_numbers() -> None:
    assert share(1.0, 4.0) == "25%"
    assert share(None, 4.0) == share(1.0, None) == share(1.0, 0.0) == ""


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_the_fastest_kernel_is_first_and_the_others_are_compared_with_it() -> None:
    slow = measurement("csr/scalar", 3e-3)
    fast = measurement("csr/vector", 1.5e-3, floor_s=0.75e-3, max_error=0.5, stored_bytes=2**20)
    near = measurement("ell/thread", 1.51e-3)
    text, left_out = rendered([slow, fast, near], {"m": "cage"})
    lines = text.splitlines()
    assert lines[0] == "cage on cpu, warm"
    assert [line.split()[0] for line in lines[2:5]] == ["csr/vector", "ell/thread", "csr/scalar"]
    assert cells(lines[2]) == [
        "csr/vector",
        "fastest",
        "1.5 ms",
        "0.667",
        "50%",
        "1.48 ms … 1.52 ms",
        "0.5 ε",
        "1.0 MiB",
    ]
    assert cells(lines[3])[1:3] == ["same", "1.01 ×"]
    assert cells(lines[4])[1:3] == ["slower", "2.00 ×"]
    assert left_out == []


def test_on_a_busy_machine_nothing_leads_and_that_is_said_first() -> None:
    found = [measurement("csr/vector", 1e-3, reference_gap=0.3), measurement("ell/thread", 3e-3, reference_gap=0.3)]
    lines = rendered(found, {})[0].splitlines()
    assert lines[1].startswith("This machine was busy: the reference kernel differs from itself by 30.0%.")
    assert cells(lines[3])[:2] == ["csr/vector", "ambiguous"]


HEADINGS = ["kernel", "verdict", "ratio", "time", "GFLOP/s", "of floor", "95 % interval", "error", "memory"]


@pytest.mark.parametrize(("width", "kept"), [(40, 4), (80, 7), (100, 9), (160, 9)])
def test_a_narrow_terminal_keeps_the_verdict_and_leaves_whole_columns_out(width: int, kept: int) -> None:
    found = [measurement("csr/vector", 1.5e-3, max_error=0.5, stored_bytes=2**30), measurement("hyb/segmented", 3e-3)]
    whole = [cells(line) for line in rendered(found, {})[0].splitlines()[1:4]]
    text, left_out = rendered(found, {}, width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    assert cells(lines[1]) == HEADINGS[:kept]
    assert left_out == HEADINGS[kept:]
    for line, full in zip(lines[1:4], whole, strict=True):
        assert cells(line) == full[: len(cells(line))]
    assert cells(lines[3])[:4] == ["hyb/segmented", "slower", "2.00 ×", "3 ms"]


def test_cases_without_a_time_say_why_below_the_table_and_between_words() -> None:
    note = "the layout needs 41 GB and 16 GB are allowed"
    skipped = [measurement(kernel, None, state="skipped", note=note) for kernel in ("ell/thread", "ellr/thread")]
    text, _ = rendered([*skipped, measurement("csr/vector", 1e-3)], {}, 40)
    lines = text.splitlines()
    assert [cells(line)[:2] for line in lines[2:5]] == [
        ["csr/vector", "fastest"], ["ell/thread", "skipped"], ["ellr/thread", "skipped"]
    ]  # fmt: skip
    assert " ".join(lines[5:]).strip() == f"ell/thread, ellr/thread: {note}"
    assert max(map(len, lines)) <= 40


def test_cache_states_have_tables_of_their_own_and_names_are_not_markup() -> None:
    cold = measurement("csr/vector", 1e-3, cache="cold")
    text, _ = rendered([measurement("csr/vector", 1e-3), cold], {"m": "[red]a[/]"})
    assert text.index("[red]a[/] on cpu, cold") < text.index("[red]a[/] on cpu, warm")


def test_no_measurement_gives_no_table() -> None:
    assert rendered([], {}) == ("", [])


@pytest.mark.parametrize(("ratio", "said"), [(0.02, "50.00 ×"), (3.618, "3.62 ×"), (1.0, "1.00 ×"), (None, "")])
def test_a_ratio_beside_its_word_is_at_least_one(ratio: float | None, said: str) -> None:
    assert times(ratio) == said
