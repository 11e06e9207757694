import math

from gpu_engine.findings.data import StudyData
from gpu_engine.text.units import MISSING, THIN
from tests.samples.formats import sized, timed, titles, traces, untimed
from web.figures.formats.conversion import BREAK_EVEN, STORAGE, draw, info, summary, table

DATA = StudyData(
    [
        timed("csr/scalar", 1000e-6),
        timed("csr/vector", 1500e-6),
        timed("coo/segmented", 800e-6, convert_s=0.9e-3, stored_bytes=16_000_000),
        timed("ell/thread", 2000e-6, convert_s=1e-3, stored_bytes=48_000_000),
        timed("jad/thread", 1005e-6, convert_s=1e-3),
        timed("hyb/two", 950e-6, ci_high_s=1100e-6, convert_s=1e-3),
        untimed("ellr/thread", "skipped", "needs 41 GB"),
    ],
    {"m1": sized("start_segments")},
    baseline="csr/scalar",
)
INFO = info(DATA)


def test_a_point_is_the_bytes_of_a_nonzero_and_the_products_that_pay_for_it() -> None:
    points = {p.measurement.kernel: (p.stored, p.products) for p in INFO.points["cpu", "warm"]}
    assert points == {
        "csr/scalar": (12.0, None),
        "coo/segmented": (16.0, 5),
        "ell/thread": (48.0, math.inf),
        "jad/thread": (12.0, math.inf),
        "hyb/two": (12.0, None),
    }, "never where it is slower or the same; none for the baseline and what is not settled"


def test_another_baseline_changes_what_pays_off() -> None:
    other = info(StudyData(DATA.measurements, DATA.matrices, baseline="csr/vector"))
    points = {p.measurement.format: (p.products, p.baseline) for p in other.points["cpu", "warm"]}
    assert (points["csr"], points["coo"]) == ((0.0, "csr/vector"), (2, "csr/vector"))
    figure = draw(other)
    at_once = figure.layout.xaxis2.tickvals[figure.layout.xaxis2.ticktext.index("at once")]
    (csr,) = (t for t in traces(figure, "point") if (t["name"], t["xaxis"]) == ("csr", "x2"))
    assert csr["x"] == [at_once]
    assert "against csr/vector." in summary(other)


def test_never_has_a_place_and_what_is_not_known_none() -> None:
    figure = draw(INFO)
    assert titles(figure) == [STORAGE, BREAK_EVEN]
    products = {trace["name"]: trace["x"] for trace in traces(figure, "point") if trace["xaxis"] == "x2"}
    axis = figure.layout.xaxis2
    never = axis.tickvals[axis.ticktext.index("never")]
    assert 5 < never < 10 ** axis.range[1]
    assert (products["ell"], products["hyb"]) == ([never], [])
    assert (figure.layout.xaxis.title.text, axis.title.text) == ("bytes per nonzero", "SpMVs")


def test_nothing_settled_is_no_empty_panel_but_said() -> None:
    open_ = info(StudyData([DATA.measurements[0], DATA.measurements[5]], DATA.matrices, baseline="csr/scalar"))
    assert titles(draw(open_)) == [f"{STORAGE} · cpu, warm"]
    assert summary(open_).endswith("against csr/scalar is inconclusive on every matrix.")


def test_the_table_and_the_summary_say_what_is_not_settled() -> None:
    rows = {row[3]: tuple(cell.replace(THIN, " ") for cell in row) for row in table(INFO).rows}
    assert rows["coo/segmented"] == (
        "start_segments",
        "cpu",
        "warm",
        "coo/segmented",
        "16.0",
        "900 µs",
        "5",
        "csr/scalar",
    )
    assert rows["csr/scalar"][5:7] == ("none", MISSING)
    assert rows["ell/thread"][6] == "never"
    assert summary(INFO).endswith("1 of 4 are inconclusive and have no point.")
