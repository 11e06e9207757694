from tests.web.samples import sized, study_of, timed, titles, traces, untimed
from web.figures.formats.rate import draw, summary, table
from web.palette import style
from web.shown import Shown
from web.units import THIN

MATRICES = {"m1": sized("large", nnz=5_000_000), "m2": sized("small", nnz=20_000)}
SHOWN = Shown(
    [
        timed("csr/scalar", 1000e-6, matrix="m1"),
        timed("csr/vector", 800e-6, matrix="m1"),
        untimed("ell/thread", "skipped", "needs 41 GB", matrix="m1"),
        timed("csr/vector", 2000e-6, matrix="m2"),
        timed("ell/thread", 400e-6, matrix="m2"),
        timed("cusparse/best", 500e-6, matrix="m2"),
    ],
    MATRICES,
)


def test_a_point_is_the_fastest_kernel_of_a_format() -> None:
    points = {trace["name"]: trace for trace in traces(draw(SHOWN), "point")}
    assert (points["csr"]["x"], points["csr"]["y"]) == ([20_000, 5_000_000], [1.0, 2.5])
    assert (points["ell"]["x"], points["ell"]["y"]) == ([20_000], [5.0])
    assert points["csr"]["marker"]["color"] == style("csr").color
    assert next(iter(points)) == "cusparse", "the library lies behind our own"


def test_both_axes_are_logarithmic_and_carry_units() -> None:
    layout = draw(SHOWN).layout
    assert (layout.xaxis.type, layout.yaxis.type) == ("log", "log")
    assert (layout.xaxis.title.text, layout.yaxis.title.text) == ("nnz", "GFLOP/s")
    assert 10 ** layout.xaxis.range[0] < 20_000 < 5_000_000 < 10 ** layout.xaxis.range[1]


def test_chosen_kernels_are_drawn_one_by_one() -> None:
    chosen = Shown(SHOWN.measurements, MATRICES, kernels=("csr/scalar", "csr/vector"))
    points = traces(draw(chosen), "point")
    assert sorted(trace["name"] for trace in points) == ["csr/scalar", "csr/vector"]
    assert len({trace["marker"]["symbol"] for trace in points}) == 2
    assert summary(chosen).startswith("Each chosen kernel")


def test_the_table_ascends_by_size() -> None:
    rows = [tuple(cell.replace(THIN, " ") for cell in row) for row in table(SHOWN).rows]
    assert rows == [
        ("small", "cpu", "warm", "20 000", "csr/vector", "1.00"),
        ("small", "cpu", "warm", "20 000", "ell/thread", "5.00"),
        ("small", "cpu", "warm", "20 000", "cusparse/best", "4.00"),
        ("large", "cpu", "warm", "5 000 000", "csr/vector", "2.50"),
    ]
    assert "from 20 000 to 5 000 000 nonzeros" in summary(SHOWN).replace(THIN, " ")


def test_devices_and_cache_states_have_their_own_panels() -> None:
    shown = Shown([*study_of("m1"), *study_of("m1", "cuda:0", 0.01)], MATRICES)
    assert titles(draw(shown)) == ["cpu, cold", "cpu, warm", "cuda:0, cold", "cuda:0, warm"]


def test_no_results() -> None:
    assert titles(draw(Shown())) == ["No results yet."]
    assert table(Shown()).rows == ()
    assert summary(Shown()) == "No kernel has a time here."
