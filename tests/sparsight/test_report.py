"""Results in a terminal: units, order and what stands where a time is missing."""

import io

import pytest
from rich.console import Console

from gpu_engine.records import Measurement
from sparsight.report import duration, share, tables


def measurement(kernel: str, median_s: float | None, **fields: object) -> Measurement:
    values: dict[str, object] = {"case": f"m|{kernel}|warm|", "matrix_id": "m", "device": "cpu", "cache": "warm"}
    values |= {"format": kernel.partition("/")[0], "kernel": kernel, "state": "ok", "median_s": median_s}
    if median_s is not None:
        values |= {"ci_low_s": median_s - 2e-5, "ci_high_s": median_s + 2e-5, "gflops": 1e-3 / median_s}
        values |= {"min_s": median_s - 3e-5, "q3_s": median_s + 1e-5}
    return Measurement(**(values | fields))  # type: ignore[arg-type]


def rendered(measurements: list[Measurement], names: dict[str, str]) -> str:
    text = io.StringIO()
    console = Console(file=text, width=200)
    for table in tables(measurements, names):
        console.print(table)
    return text.getvalue()


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(None, ""), (2.0, "2 s"), (0.0123, "12.3 ms"), (4.5e-6, "4.5 µs"), (7e-10, "0.7 ns"), (0.0, "0 ns")],
)
def test_a_duration_has_the_unit_of_its_size(seconds: float | None, shown: str) -> None:
    assert duration(seconds) == shown


def test_a_share_needs_both_numbers() -> None:
    assert share(1.0, 4.0) == "25%"
    assert share(None, 4.0) == share(1.0, None) == share(1.0, 0.0) == ""


def test_the_fastest_kernel_is_first_and_the_others_are_compared_with_it() -> None:
    slow = measurement("csr/scalar", 3e-3)
    fast = measurement("csr/vector", 1.5e-3, floor_s=0.75e-3, max_error=0.5, stored_bytes=2**20)
    near = measurement("ell/thread", 1.51e-3)
    lines = rendered([slow, fast, near], {"m": "cage"}).splitlines()
    assert lines[0].rstrip() == "cage on cpu, warm"
    kernels = [line.split()[0] for line in lines[2:]]
    assert kernels == ["csr/vector", "ell/thread", "csr/scalar"]
    cells = [cell.strip() for cell in lines[2].split("  ") if cell.strip()]
    assert cells == ["csr/vector", "1.5 ms", "1.48 ms … 1.52 ms", "0.667", "50%", "0.5 ε", "1.0 MiB", "fastest"]
    assert "same, 1.01 ×" in lines[3]
    assert "slower, 2.00 ×" in lines[4]


def test_a_case_without_a_time_says_why() -> None:
    skipped = measurement("ell/thread", None, state="skipped", note="needs 41 GB, 16 GB allowed")
    text = rendered([skipped, measurement("csr/vector", 1e-3)], {})
    assert text.index("csr/vector") < text.index("ell/thread")
    assert "skipped" in text
    assert "needs 41 GB, 16 GB allowed" in text


def test_cache_states_have_tables_of_their_own_and_names_are_not_markup() -> None:
    cold = measurement("csr/vector", 1e-3, cache="cold")
    text = rendered([measurement("csr/vector", 1e-3), cold], {"m": "[red]a[/]"})
    assert text.index("[red]a[/] on cpu, cold") < text.index("[red]a[/] on cpu, warm")


def test_no_measurement_gives_no_table() -> None:
    assert rendered([], {}) == ""
