"""A hundred honest custom kernels and more are not rejected: ways to multiply, times hostile matrices."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gpu_engine.formats import FORMATS
from gpu_engine.host.device import find_device
from gpu_engine.measure import Bench, cpu, open_bench
from tests.battery import BATTERY
from tests.gpu_engine.custom_kernels.rounds import measured, names_in
from tests.samples.studies import FAST

HONEST = Path(__file__).parent / "honest"

WRITTEN = [f"{HONEST / 'written.py'}:{name}" for name in names_in(HONEST / "written.py")]
OURS = [
    f"{HONEST / 'ours.py'}:F{number}/{kernel.variant}"
    for number, f in enumerate(FORMATS)
    for kernel in f.kernels
    if kernel.runs_on("cpu") and not f.symmetric_only
]
MATRICES = ("empty_rows_and_columns", "explicit_zeros", "spread_of_magnitudes")


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setattr(cpu, "SAMPLE_S", 4e-4)
    with open_bench(replace(find_device("cpu"), cache_bytes=2**18), FAST) as opened:
        yield opened


@pytest.mark.parametrize("name", MATRICES)
def test_nobody_honest_is_refused(bench: Bench, name: str) -> None:
    found = measured(bench, BATTERY[name](), (*WRITTEN, *OURS))
    assert {m.kernel: m.note for m in found.values() if m.state != "ok"} == {}


def test_there_are_a_hundred_of_them() -> None:
    assert len(MATRICES) * len((*WRITTEN, *OURS)) >= 100
