import pytest

from tests.web.batch_samples import copies, mixed, shown
from tests.web.samples import titles, traces
from web.figures.batched.mixed import NONE, draw, summary, table
from web.shown import Shown
from web.units import THIN

FOUND = shown(*mixed("west", "nos3"), *mixed("west", "nos3", problems=10), *copies())


def test_rate_and_bandwidth_stand_side_by_side() -> None:
    bars = traces(draw(FOUND), "kernel")
    left = {bar["y"][0]: bar["x"][0] for bar in bars if bar["xaxis"] == "x"}
    right = {bar["y"][0]: bar["x"][0] for bar in bars if bar["xaxis"] == "x2"}
    assert left == {"csri/warp": 100.0, "coo/segmented": 80.0, "ell/thread": 25.0}
    # 8 MB in 10 and 12.5 µs, 44 MB in 40 µs: padding is bandwidth and no rate.
    assert right == pytest.approx({"csri/warp": 800.0, "coo/segmented": 640.0, "ell/thread": 1100.0})
    layout = draw(FOUND).layout
    assert (layout.xaxis.title.text, layout.xaxis2.title.text) == ("GFLOP/s", "GB/s")
    assert list(layout.yaxis.categoryarray) == ["csri/warp", "coo/segmented", "ell/thread"]


def test_the_floor_is_marked_on_the_rates() -> None:
    (floor,) = traces(draw(FOUND), "floor")
    assert (floor["xaxis"], floor["x"]) == ("x", pytest.approx([250.0] * 3))


def test_the_table_has_share_bytes_and_members() -> None:
    rows = [tuple(cell.replace(THIN, " ") for cell in row) for row in table(FOUND).rows]
    assert rows[0] == (
        *("2 matrices mixed", "cuda:0", "warm", "1 000", "csri/warp", "100.0", "40 %", "6.00 MB", "800 GB/s"),
        "west0989, nos3",
    )
    assert rows[2][4:9] == ("ell/thread", "25.0", "10 %", "42.0 MB", "1.10 TB/s")
    assert [row[3] for row in table(shown(*FOUND.measurements, batch=10)).rows] == ["10"] * 3


def test_the_summary_names_the_fastest_and_the_busiest() -> None:
    assert (
        summary(FOUND)
        .replace(THIN, " ")
        .endswith(
            "On 2 matrices mixed, 1 000 problems, cuda:0, warm: csri/warp with 100 GFLOP/s (40 % of the floor); "
            "ell/thread sustains most, 1.10 TB/s."
        )
    )


def test_every_mixture_has_its_panels() -> None:
    found = shown(*mixed("west", "nos3"), *mixed("r2", "r16", "d2"), *mixed("west", "nos3", device="cpu"))
    assert titles(draw(found)) == [
        "2 matrices mixed · cuda:0 · warm",
        "3 matrices mixed · cuda:0 · warm",
        "2 matrices mixed · cpu · warm",
    ]


def test_no_results() -> None:
    for found in (Shown(), shown(*copies())):
        assert titles(draw(found)) == [NONE]
        assert (table(found).rows, summary(found)) == ((), NONE)
