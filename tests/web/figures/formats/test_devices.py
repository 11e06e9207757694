"""Tests of the comparison of devices: speedups, and ratios of bandwidths."""

from typing import Any

import pytest

from gpu_engine.findings.data import StudyData
from gpu_engine.text.units import THIN
from tests.samples.formats import sized, timed, titles, traces
from web.figures.formats.devices import draw, info, summary, table

GPU = "NVIDIA H200"
FLOORS: dict[str, Any] = {"roofline_s": 100e-6, "gather_probe_s": 125e-6}
"""Of the GPU: a quarter of those on the CPU, so that its bandwidth is four times as large."""

DATA = StudyData(
    [
        timed("csr/vector", 8e-4, matrix="small"),
        timed("coo/segmented", 9e-4, matrix="small"),
        timed("coo/segmented", 4e-4, matrix="small", device=GPU, **FLOORS),
        timed("csr/vector", 8e-4, matrix="large"),
        timed("split/tile", 1e-4, matrix="large", device=GPU, **FLOORS),
        timed("csr/vector", 8e-4, matrix="only here"),
        timed("csr/vector", 8e-4, "cold", matrix="large"),
    ],
    {"small": sized("S", nnz=10**5), "large": sized("L", nnz=10**6)},
)
INFO = info(DATA)


def test_each_device_has_its_own_fastest_kernel() -> None:
    (panel,) = INFO.panels
    assert (panel.cache, panel.devices) == ("warm", ("cpu", GPU))
    fastest = [(p.matrix.name, {device: m.kernel for device, m in p.fastest.items()}) for p in panel.points]
    assert fastest == [
        ("S", {"cpu": "csr/vector", GPU: "coo/segmented"}),
        ("L", {"cpu": "csr/vector", GPU: "split/tile"}),
    ], "what only one device has is left out"


def test_rates_stand_in_one_panel_and_gains_beside_bandwidths_in_another() -> None:
    cpu, gpu, gains = traces(draw(INFO), "point")
    assert (cpu["name"], gpu["name"], gpu["x"]) == ("cpu", GPU, [10**5, 10**6])
    assert gpu["y"] == pytest.approx([5.0, 20.0])
    assert (gains["y"], gains["yaxis"]) == (pytest.approx([2.0, 8.0]), "y2")
    assert gains["error_y"]["array"][0] == pytest.approx(2 * 1.01 / 0.99 - 2)
    (line,) = traces(draw(INFO), "profile")
    assert line["y"] == pytest.approx([4.0, 4.0])
    assert titles(draw(INFO)) == [f"warm · cpu, {GPU}", "warm · over cpu"]


def test_words_and_numbers() -> None:
    said = summary(INFO).replace(THIN, " ")
    assert f"{GPU} vs cpu, warm: geometric-mean speedup 4.00 × over 2 matrices (2.00 × to 8.00 ×);" in said
    assert "bandwidth 4.00 × as high." in said
    rows = [[cell.replace(THIN, " ") for cell in (row[0], row[1], row[4], *row[-2:])] for row in table(INFO).rows]
    assert rows == [
        ["S", "cpu", "csr/vector", "–", "–"],
        ["S", GPU, "coo/segmented", "2.00 ×", "4.00 ×"],
        ["L", "cpu", "csr/vector", "–", "–"],
        ["L", GPU, "split/tile", "8.00 ×", "4.00 ×"],
    ]


def test_a_busy_device_is_left_out() -> None:
    busy = timed("csr/vector", 1e-3, device=GPU, matrix="m", ci_low_s=1e-4, ci_high_s=1e-2)
    assert info(StudyData([timed("csr/vector", 1e-3, matrix="m"), busy])).panels == ()
