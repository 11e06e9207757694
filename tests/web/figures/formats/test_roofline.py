import pytest

from tests.web.samples import sized, study_of, timed, titles, traces, untimed
from web.figures.formats.roofline import draw, summary, table
from web.shown import Shown
from web.units import THIN

MATRICES = {"m1": sized("first"), "m2": sized("second", nnz=20_000)}
COMPULSORY = 12 * 1_000_000 + 4 * 100_001 + 16 * 100_000
INTENSITY = 2 * 1_000_000 / COMPULSORY
SHOWN = Shown(
    [
        timed("csr/scalar", 1000e-6),
        timed("csr/vector", 800e-6),
        untimed("ell/thread", "skipped", "needs 41 GB"),
        timed("coo/segmented", 900e-6, floor_s=None),
    ],
    MATRICES,
)


def test_every_kernel_is_a_point_at_the_intensity_of_its_matrix() -> None:
    (points,) = traces(draw(SHOWN), "point")
    assert points["name"] == "csr"
    assert points["x"] == pytest.approx([INTENSITY] * 2)
    assert sorted(points["y"]) == [2.0, 2.5]
    assert points["hovertext"][0].replace(THIN, " ").endswith("2.50 GFLOP/s, 50 % of the roof")


def test_the_roof_is_the_rate_that_the_floor_divides_by() -> None:
    figure = draw(SHOWN)
    (roof,) = traces(figure, "roof")
    rate = float(f"{COMPULSORY / 400e-6:.2e}")
    assert roof["meta"]["bytes_per_s"] == rate
    assert roof["y"] == pytest.approx([x * rate / 1e9 for x in roof["x"]])
    assert roof["x"][0] < INTENSITY < roof["x"][1]
    assert roof["text"][0].strip() == f"35.0{THIN}GB/s"


def test_a_cache_has_a_roof_of_its_own() -> None:
    in_cache = timed("csr/vector", 8e-6, matrix="m2", gflops=5.0, floor_s=3e-6)
    roofs = traces(draw(Shown([*SHOWN.measurements, in_cache], MATRICES)), "roof")
    assert [roof["meta"]["bytes_per_s"] for roof in roofs] == [3.50e10, 9.33e10]


def test_the_table_and_the_summary_say_the_share() -> None:
    (row,) = table(SHOWN).rows
    assert [cell.replace(THIN, " ") for cell in row] == [
        "first",
        "cpu",
        "warm",
        "0.143",
        "35.0 GB/s",
        "csr/vector",
        "2.50",
        "50 %",
    ]
    assert summary(SHOWN).replace(THIN, " ").endswith("On cpu, warm the fastest kernel of a matrix reaches 50 % of it.")


def test_devices_and_cache_states_have_their_own_panels() -> None:
    figure = draw(Shown([*study_of("m1"), *study_of("m1", "cuda:0", 0.01)], MATRICES))
    assert titles(figure) == ["cpu, cold", "cpu, warm", "cuda:0, cold", "cuda:0, warm"]
    assert (figure.layout.xaxis4.title.text, figure.layout.yaxis.title.text) == ("FLOP per compulsory byte", "GFLOP/s")


def test_a_matrix_without_a_shape_has_no_point() -> None:
    for shown in (Shown(), Shown(SHOWN.measurements)):
        assert titles(draw(shown)) == ["No results yet."]
        assert table(shown).rows == ()
        assert summary(shown) == "No kernel has a time here."
