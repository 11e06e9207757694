import pytest

from tests.web.samples import sized, study_of, timed, titles, traces, untimed
from web.figures.formats.conversion import draw, summary, table
from web.shown import Shown
from web.units import MISSING, THIN

MATRICES = {"m1": sized("first")}
SHOWN = Shown(
    [
        timed("csr/scalar", 1000e-6),
        timed("csr/vector", 1500e-6),
        timed("coo/segmented", 800e-6, convert_s=0.9e-3, stored_bytes=16_000_000),
        timed("ell/thread", 2000e-6, convert_s=1e-3, stored_bytes=48_000_000),
        timed("jad/thread", 1005e-6, convert_s=1e-3),
        timed("hyb/two", 950e-6, ci_high_s=1100e-6, convert_s=1e-3),
        untimed("ellr/thread", "skipped", "needs 41 GB"),
    ],
    MATRICES,
    baseline="csr/scalar",
)


def test_a_point_is_the_bytes_of_a_nonzero() -> None:
    stored = {trace["name"]: trace["x"] for trace in traces(draw(SHOWN), "point") if trace["xaxis"] == "x"}
    assert stored == {"csr": [12.0], "coo": [16.0], "ell": [48.0], "jad": [12.0], "hyb": [12.0]}


def test_a_conversion_pays_off_only_where_the_kernel_is_faster() -> None:
    figure = draw(SHOWN)
    products = {trace["name"]: trace["x"] for trace in traces(figure, "point") if trace["xaxis"] == "x2"}
    axis = figure.layout.xaxis2
    never = axis.tickvals[axis.ticktext.index("never")]
    assert products["coo"] == [5]
    assert products["ell"] == products["jad"] == [never], "slower, and the same"
    assert products["csr"] == products["hyb"] == [], "the baseline, and what is not settled"
    assert 5 < never < 10 ** axis.range[1]


def test_another_baseline_changes_what_pays_off() -> None:
    other = Shown(SHOWN.measurements, MATRICES, baseline="csr/vector")
    figure = draw(other)
    products = {trace["name"]: trace["x"] for trace in traces(figure, "point") if trace["xaxis"] == "x2"}
    axis = figure.layout.xaxis2
    assert products["csr"] == [axis.tickvals[axis.ticktext.index("at once")]]
    assert products["coo"] == [2]
    assert "against csr/vector:" in summary(other)


def test_the_table_has_every_number() -> None:
    rows = {row[3]: tuple(cell.replace(THIN, " ") for cell in row) for row in table(SHOWN).rows}
    assert rows["coo/segmented"] == ("first", "cpu", "warm", "coo/segmented", "16.0", "900 µs", "5", "csr/scalar")
    assert rows["csr/scalar"][4:7] == ("12.0", "none", MISSING)
    assert rows["ell/thread"][4:7] == ("48.0", "1.00 ms", "never")
    assert rows["hyb/two"][6] == MISSING
    assert "ellr/thread" not in rows


def test_what_is_not_settled_is_counted() -> None:
    assert summary(SHOWN).endswith("1 of 4 are not settled and have no point.")


def test_devices_and_cache_states_have_their_own_panels() -> None:
    figure = draw(Shown([*study_of("m1"), *study_of("m1", "cuda:0", 0.01)], MATRICES))
    assert titles(figure)[:3] == ["stored · cpu, cold", "conversion pays off · cpu, cold", "stored · cpu, warm"]
    assert len(titles(figure)) == 8
    assert (figure.layout.xaxis.title.text, figure.layout.xaxis2.title.text) == ("bytes per nonzero", "products")


@pytest.mark.parametrize("shown", [Shown(), Shown([untimed("csr/i", "failed", "wrong")], MATRICES)])
def test_no_results(shown: Shown) -> None:
    assert titles(draw(shown)) == ["No results yet."]
    assert table(shown).rows == ()
    assert summary(shown) == "No kernel has a time here."
