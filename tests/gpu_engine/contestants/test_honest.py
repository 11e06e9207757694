"""A hundred honest contestants and more are not refused: ways to multiply, times hostile matrices."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gpu_engine.device import find_device
from gpu_engine.formats import FORMATS
from gpu_engine.measure import Bench, cpu, open_bench
from tests.battery import BATTERY
from tests.gpu_engine.contestants.rounds import measured, names_in
from tests.samples.studies import FAST

HONEST = Path(__file__).parent / "honest"

WRITTEN = [f"{HONEST / 'written.py'}:{name}" for name in names_in(HONEST / "written.py")]
OURS = [
    f"{HONEST / 'ours.py'}:F{number}/{kernel.variant}"
    for number, f in enumerate(FORMATS)
    for kernel in f.kernels
    if kernel.runs_on("cpu")
]
MATRICES = ("band", "empty_rows_and_columns", "power_law", "spread_of_magnitudes")
