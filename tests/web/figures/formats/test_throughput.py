from gpu_engine.findings.data import StudyData
from gpu_engine.text.units import THIN
from tests.samples.formats import sized, timed, traces, untimed
from web.figures.formats.throughput import draw, info, summary, table
from web.palette import OTHERS, style

MATRICES = {"m1": sized("large", nnz=5_000_000), "m2": sized("small", nnz=20_000)}
RECORDS = [
    timed("csr/scalar", 1000e-6, matrix="m1"),
    timed("csr/vector", 800e-6, matrix="m1"),
    untimed("ell/thread", "skipped", "needs 41 GB", matrix="m1"),
    timed("csr/vector", 2000e-6, matrix="m2"),
    timed("ell/thread", 400e-6, matrix="m2"),
    timed("cusparse/best", 500e-6, matrix="m2"),
    timed("csr/vector", 1e-3, matrix="unknown"),
]
INFO = info(StudyData(RECORDS, MATRICES))
CHOSEN = info(StudyData(RECORDS[:-1], MATRICES, kernels=("csr/scalar", "csr/vector")))


def test_a_point_is_the_fastest_kernel_of_a_format_by_ascending_size() -> None:
    points = [(p.name, p.matrix, p.nnz, p.measurement.kernel) for p in INFO.points["cpu", "warm"]]
    assert points == [
        ("csr", "small", 20_000, "csr/vector"),
        ("ell", "small", 20_000, "ell/thread"),
        ("cusparse", "small", 20_000, "cusparse/best"),
        ("csr", "large", 5_000_000, "csr/vector"),
    ]
    assert INFO.names == ("cusparse", "ell", "csr"), "the library lies behind our own"


def test_chosen_kernels_are_points_one_by_one() -> None:
    assert [(p.name, p.nnz) for p in CHOSEN.points["cpu", "warm"]] == [
        ("csr/vector", 20_000),
        ("csr/vector", 5_000_000),
        ("csr/scalar", 5_000_000),
    ]
    assert CHOSEN.sizes == (20_000, 5_000_000)
    assert len({trace["marker"]["symbol"] for trace in traces(draw(CHOSEN), "point")}) == 2


def test_both_axes_are_logarithmic_and_carry_units() -> None:
    layout = draw(INFO).layout
    assert (layout.xaxis.type, layout.yaxis.type) == ("log", "log")
    assert (layout.xaxis.title.text, layout.yaxis.title.text) == ("nnz", "GFLOP/s")
    csr = traces(draw(INFO), "point")[-1]
    assert (csr["x"], csr["y"], csr["marker"]["color"]) == ([20_000, 5_000_000], [1.0, 2.5], style("csr").color)


def test_the_table_and_the_summary_speak_of_what_is_drawn() -> None:
    row = tuple(cell.replace(THIN, " ") for cell in table(INFO).rows[-1])
    assert row == ("large", "cpu", "warm", "5,000,000", "csr/vector", "2.50")
    said = summary(CHOSEN).replace(THIN, " ")
    assert said.startswith("Each chosen kernel on each matrix, from 20,000 to 5,000,000 nonzeros")
    assert summary(INFO).startswith("The fastest kernel of each format")


def test_formats_that_are_seldom_near_the_fastest_are_grey() -> None:
    names = ("coo", "csr", "ell", "jad", "hyb", "csri", "ellr", "biell")
    seen = info(StudyData([timed(f"{name}/k", 1e-3 * (1 + n)) for n, name in enumerate(names)], {"m1": sized("m1")}))
    assert set(seen.named) == {"coo", "csr", "ell", "biell", "csri", "ellr"}, "the baseline, else by the mean and name"
    (grey,) = (trace for trace in traces(draw(seen), "point") if trace["name"] == "others")
    assert (len(grey["x"]), grey["marker"]["color"]) == (2, OTHERS)
    assert summary(seen).endswith("are gray.")
