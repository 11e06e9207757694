from typing import Any

import pytest

from gpu_engine.findings.data import StudyData
from gpu_engine.text.units import THIN
from tests.samples.batched import copies, mixed, shown
from tests.samples.formats import titles, traces
from web.figures.batched.mixed import NONE, draw, info, summary, table

near: Any = pytest.approx
"""Untyped, for it stands among names and in dataclasses."""

DATA = shown(*mixed("west", "nos3"), *mixed("west", "nos3", batch_size=10), *copies())


def test_a_mixture_has_rates_shares_and_bandwidths() -> None:
    (mixture,) = info(DATA).mixtures
    assert (mixture.facet.name, mixture.batch_size, mixture.matrices) == (
        "2 matrices mixed (west0989 and nos3)",
        1000,
        ("west0989", "nos3"),
    )
    # 8 MB in 10 and 12.5 µs, 36 of 44 MB in 40 µs: what is read of padding is bandwidth and no rate.
    assert [(kernel.name, kernel.roofline_share, kernel.bandwidth) for kernel in mixture.kernels] == [
        ("csri/warp", f"40{THIN}%", near(800e9)),
        ("coo/segmented", f"32{THIN}%", near(640e9)),
        ("ell/thread", f"10{THIN}%", near(900e9)),
    ]
    assert mixture.kernels[2].padded == near(1100e9)
    assert (mixture.fastest, mixture.most.name) == (("csri/warp",), "ell/thread")
    assert mixture.roofline_gflops == near(250.0)


def test_every_mixture_is_shown_with_the_chosen_size() -> None:
    data = shown(*mixed("west", "nos3"), *mixed("r2", "r16", "d2"), *mixed("west", "nos3", device="cpu"))
    assert titles(draw(info(data))) == [
        "2 matrices mixed (west0989 and nos3) · cuda:0",
        "3 matrices mixed (rows_2, rows_16 and dense_2) · cuda:0",
        "2 matrices mixed (west0989 and nos3) · cpu",
    ]
    assert [mixture.batch_size for mixture in info(shown(*DATA.measurements, chosen={"batch": ("10",)})).mixtures] == [
        10
    ]


def test_rate_and_bandwidth_stand_side_by_side_fastest_first() -> None:
    figure = draw(info(DATA))
    bars = [(bar["y"][0], bar["xaxis"], bar["x"][0]) for bar in traces(figure, "kernel")]
    assert bars[4:] == [("ell/thread", "x", 25.0), ("ell/thread", "x2", near(900.0))]
    assert (figure.layout.xaxis.title.text, figure.layout.xaxis2.title.text) == ("GFLOP/s", "GB/s read")
    assert list(figure.layout.yaxis.categoryarray) == ["csri/warp", "coo/segmented", "ell/thread"]
    assert [floor["xaxis"] for floor in traces(figure, "floor")] == ["x"]


def test_the_table_and_the_summary() -> None:
    mixtures = info(DATA)
    assert [cell.replace(THIN, " ") for cell in table(mixtures).rows[0]] == [
        *(
            "2 matrices mixed (west0989 and nos3)",
            "cuda:0",
            "warm",
            "1,000",
            "csri/warp",
            "100.0",
            "40 %",
            "6.00 MB",
            "800 GB/s",
            "800 GB/s",
        ),
        "west0989, nos3",
    ]
    assert [cell.replace(THIN, " ") for cell in table(mixtures).rows[2]][8:10] == ["900 GB/s", "1.10 TB/s"]
    assert "warm: fastest csri/warp. Throughput: 100" in summary(mixtures)
    assert "Highest bandwidth: ell/thread" in summary(mixtures)


@pytest.mark.parametrize("data", [StudyData(), shown(*copies())])
def test_no_results(data: StudyData) -> None:
    mixtures = info(data)
    assert (titles(draw(mixtures)), table(mixtures).rows, summary(mixtures)) == ([NONE], (), NONE)
