import pytest

from gpu_engine.findings.data import StudyData
from gpu_engine.records import Measurement
from gpu_engine.text.units import THIN
from tests.samples.formats import sized, timed, titles, traces
from web.figures.formats.ratio import Info, Panel, draw, imbalance, info, summary, table

MATRICES = {"m1": sized("rough", 20.0), "m2": sized("smooth", 0.5), "m3": sized("even", 0.0)}


def pair(first_s: float, second_s: float, matrix: str, second: str = "ellr/thread") -> list[Measurement]:
    return [timed("pellr/warp", first_s, matrix=matrix), timed(second, second_s, matrix=matrix)]


RECORDS = [
    *pair(1e-3, 2e-3, "m1"),
    timed("pellr/thread", 3e-3, matrix="m1"),
    *pair(1e-3, 0.5e-3, "m2"),
    *pair(1e-3, 1.01e-3, "m3"),
]


def drawn(*records: Measurement, chosen: tuple[str, ...] = ()) -> Info:
    return info(StudyData(records, MATRICES, chosen={"pair": chosen}))


def panels(*records: Measurement, chosen: tuple[str, ...] = ()) -> tuple[Panel, ...]:
    return drawn(*records, chosen=chosen).panels


INFO = drawn(*RECORDS)


def test_a_point_is_the_ratio_of_the_fastest_kernels_by_ascending_sigma() -> None:
    (panel,) = INFO.panels
    assert [point.matrix.name for point in panel.points] == ["even", "smooth", "rough"]
    assert [point.ratio for point in panel.points] == pytest.approx([1.01, 0.5, 2.0])
    assert [point.verdict for point in panel.points] == ["same", "slower", "faster"]
    assert [point.settled for point in panel.points] == [False, True, True]
    assert panel.points[2].interval == pytest.approx((2 * 0.99 / 1.01, 2 * 1.01 / 0.99))
    assert panel.points[2].kernels == ("pellr/warp", "ellr/thread")


def test_the_mean_is_of_what_is_decided() -> None:
    assert [INFO.panels[0].decided, INFO.panels[0].mean] == pytest.approx([3, (2 * 0.5 * 1.01) ** (1 / 3)])
    vague = [timed("pellr/warp", 1e-3, matrix="m2", ci_high_s=9e-3), timed("ellr/thread", 8e-3, matrix="m2")]
    assert [(panel.decided, panel.mean) for panel in panels(*vague)] == [(0, None)]
    assert summary(drawn(*vague)).endswith("pellr vs ellr: faster on 0 of 1, slower on 0.")
    both = summary(drawn(*vague, *pair(1e-3, 2e-3, "m1"))).replace(THIN, " ")
    assert both.endswith("faster on 1 of 2, slower on 0. Geometric-mean speedup: 2.00 × over the 1 conclusive ones.")


def test_the_published_pairs_come_first_and_any_other_can_be_asked_for() -> None:
    more = [*RECORDS, *pair(1e-3, 3e-3, "m1", "hyb/two"), timed("csr/i", 1e-3, matrix="m1")]
    assert [panel.pair for panel in panels(*more)] == [("pellr", "ellr"), ("pellr", "hyb")]
    drawing = titles(draw(drawn(*more)))
    assert drawing == ["Fig. 6: pellr vs ellr", "Fig. 8: pellr vs hyb"]
    (asked,) = panels(*more, chosen=("hyb", "csr"))
    assert asked.pair == ("hyb", "csr")
    assert asked.points[0].ratio == pytest.approx(1 / 3)
    assert sorted(panel.pair[1] for panel in panels(*more, chosen=("csr",))) == ["ellr", "hyb", "pellr"]


def test_several_places_are_named() -> None:
    elsewhere = [timed(k, 1e-5, "cold", "m1", "cuda:0") for k in ("pellr/warp", "ellr/thread")]
    assert "pellr vs ellr, cuda:0, cold: faster on 0 of 1" in summary(drawn(*RECORDS, *elsewhere))
    assert "pellr vs ellr: faster on 1 of 3, slower on 1" in summary(INFO)


def test_rows_of_equal_length_stand_at_a_tick_of_their_own() -> None:
    figure = draw(INFO)
    (settled,), (open_,), (unity,) = (traces(figure, role) for role in ("point", "unsettled", "line"))
    axis = figure.layout.xaxis
    assert axis.ticktext[0] == "0"
    assert (open_["x"], settled["x"], unity["y"]) == ([axis.tickvals[0]], [0.5, 20.0], [1.0, 1.0])
    assert 10 ** axis.range[0] < axis.tickvals[0] < 0.5
    assert "0" not in draw(drawn(*pair(1e-3, 2e-3, "m1"))).layout.xaxis.ticktext
    assert (axis.type, figure.layout.yaxis.type, axis.title.text) == ("log", "log", "σ of the row lengths")


def test_the_table_says_the_features_and_the_verdict() -> None:
    row = tuple(cell.replace(THIN, " ") for cell in table(INFO).rows[-1])
    numbers = ("20.0", "10.0", "60", "2.00 ×", "faster", "pellr/warp, ellr/thread")
    assert row == ("pellr vs ellr", "rough", "cpu", "warm", *numbers)


def test_what_cannot_be_compared_has_no_panel() -> None:
    assert panels(timed("csr/i", 1e-3)) == ()
    assert panels(*pair(1e-3, 2e-3, "m9")) == (), "its sigma is not known"


def test_the_preset_of_imbalance_is_over_the_spread_of_the_row_lengths() -> None:
    both = [timed("csr/vector", 1e-3, matrix="m1"), timed("coo/segmented", 2e-3, matrix="m1")]
    seen = imbalance(StudyData(both, MATRICES))
    (panel,) = seen.panels
    assert (panel.pair, [point.feature for point in panel.points]) == (("csr", "coo"), [60.0])
    assert draw(seen).layout.xaxis.title.text == "max − min of the row lengths"


def test_matrices_of_the_paper_have_a_look_of_their_own() -> None:
    matrices = {**MATRICES, "m4": sized("memplus (stand-in)", 22.0), "m5": sized("lnsp3937", 3.1)}
    records = [*RECORDS, *pair(1e-3, 2e-3, "m4"), *pair(1e-3, 1.01e-3, "m5")]
    figure = draw(info(StudyData(records, matrices)))
    looks = {trace["marker"]["symbol"]: trace["x"] for role in ("point", "unsettled") for trace in traces(figure, role)}
    assert (looks["diamond"], looks["diamond-open"], looks["circle"]) == ([22.0], [3.1], [0.5, 20.0])
