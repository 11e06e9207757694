import pytest

from gpu_engine.findings.data import StudyData
from gpu_engine.text.units import THIN
from tests.samples.formats import sized, timed, traces, untimed
from web.figures.formats.roofline import draw, info, summary, table

MATRICES = {"m1": sized("start_segments"), "m2": sized("second", nnz=20_000)}
COMPULSORY = 12 * 1_000_000 + 4 * 100_001 + 16 * 100_000
RECORDS = [
    timed("csr/scalar", 1000e-6),
    timed("csr/vector", 800e-6),
    untimed("ell/thread", "skipped", "needs 41 GB"),
    timed("coo/segmented", 900e-6, roofline_s=None),
]
INFO = info(StudyData(RECORDS, MATRICES))


def test_every_kernel_is_a_point_below_the_roof_that_its_floor_divides_by() -> None:
    (panel,) = INFO.panels
    assert [point.measurement.kernel for point in panel.points] == ["csr/vector", "csr/scalar"]
    assert [point.intensity for point in panel.points] == pytest.approx([2 * 1_000_000 / COMPULSORY] * 2)
    assert [point.roof for point in panel.points] == pytest.approx([COMPULSORY / 400e-6] * 2)
    assert [point.share for point in panel.points] == pytest.approx([0.5, 0.4])
    assert [point.measurement.kernel for point in panel.fastest] == ["csr/vector"]
    assert panel.reach == pytest.approx((0.5, 0.5)), "of each matrix the best"
    assert info(StudyData(RECORDS)).panels == (), "a matrix without a shape has no point"


def test_a_cache_has_a_roof_of_its_own() -> None:
    in_cache = timed("csr/vector", 8e-6, matrix="m2", gflops=5.0, roofline_s=3e-6)
    (panel,) = info(StudyData([*RECORDS, in_cache], MATRICES)).panels
    assert (INFO.panels[0].roofs, panel.roofs) == ({3.50e10: "bandwidth"}, {3.50e10: "memory", 9.33e10: "cache"})


def test_points_lie_under_a_line_across_the_panel() -> None:
    figure = draw(INFO)
    (points,), (roof,) = traces(figure, "point"), traces(figure, "roof")
    assert points["name"] == "csr"
    assert points["hovertext"][0].replace(THIN, " ").endswith("2.50 GFLOP/s, 50 % of roofline")
    assert roof["x"][0] < points["x"][0] < roof["x"][1]
    assert roof["y"] == pytest.approx([x * 35.0 for x in roof["x"]])
    assert roof["text"][0].strip() == f"bandwidth 35.0{THIN}GB/s"
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text) == ("FLOP per compulsory byte", "GFLOP/s")


def test_the_table_and_the_summary_say_the_share() -> None:
    (row,) = table(INFO).rows
    numbers = ["0.143", "35.0 GB/s", "csr/vector", "2.50", "50 %"]
    assert [cell.replace(THIN, " ") for cell in row] == ["start_segments", "cpu", "warm", *numbers]
    assert "On cpu, warm, the fastest kernel of a matrix reaches 50 % of" in summary(INFO).replace(THIN, " ")
