import pytest

from gpu_engine.findings.data import StudyData
from gpu_engine.records import Measurement
from tests.samples.formats import HOSTILE, sized, timed, traces, untimed
from web.figures.formats.side_by_side import FIGURES, MATRICES_MAX, draw, info, summary, table

MATRICES = {"m1": sized("rough", 9.0), "m2": sized("smooth", 0.5), "m3": sized("unknown", None)}
INFO = info(
    StudyData(
        [
            timed("pellr/thread", 1000e-6, matrix="m1"),
            timed("pellr/warp", 800e-6, matrix="m1"),
            timed("cusparse/csr_alg1", 500e-6, matrix="m1"),
            timed("cusparse/best", 400e-6, matrix="m1"),
            untimed("ell/thread", "skipped", "needs 41 GB", matrix="m1"),
            timed("pellr/warp", 2000e-6, matrix="m2"),
            timed("ell/thread", 400e-6, matrix="m2"),
            timed("pellr/warp", 1000e-6, matrix="m3"),
            timed("jad/thread", 4000e-6, matrix="m3"),
        ],
        MATRICES,
        chosen={"series": ("figure-12",)},
    )
)


def pair(matrix: str, device: str = "cpu") -> list[Measurement]:
    """Return two formats of the paper on a matrix."""
    return [timed(kernel, 1e-3, matrix=matrix, device=device) for kernel in ("pellr/warp", "ell/thread")]


def test_each_format_has_its_fastest_kernel_by_ascending_sigma() -> None:
    (panel,) = INFO.panels
    assert list(panel.bars) == ["smooth", "rough", "unknown"]
    assert tuple(panel.bars.values()) == panel.lines
    smooth, rough, _ = panel.lines
    assert {name: rate.measurement.kernel for name, rate in rough.fastest.items()} == {
        "PELLR": "pellr/warp",
        "cuCSR": "cusparse/csr_alg1",
    }
    assert rough.states == {"ELL": "skipped"}
    assert smooth.fastest["ELL"].interval == pytest.approx((5.0 / 1.01, 5.0 / 0.99))
    assert panel.formats == ("JAD", "ELL", "PELLR", "cuCSR"), "as in the paper's figure"


def test_bars_of_a_format_stand_in_the_rows_of_its_matrices() -> None:
    figure = draw(INFO)
    _, ell, pellr, _ = traces(figure, "kernel")
    assert dict(zip(pellr["y"], pellr["x"], strict=True)) == {"rough": 2.5, "smooth": 1.0, "unknown": 2.0}
    assert (ell["y"], ell["error_x"]["array"]) == (["smooth"], pytest.approx([5.0 / 0.99 - 5.0]))
    axis = figure.layout.yaxis
    assert list(axis.categoryarray) == ["smooth", "rough", "unknown"]
    assert axis.range[0] > axis.range[1], "the first on top"


def test_a_format_is_listed_once() -> None:
    both = [pair("m1", device) for device in ("cpu", "cuda:0")]
    seen = info(StudyData([m for own in both for m in own], MATRICES, chosen={"series": ("figure-12",)}))
    assert len(seen.panels) == 2
    listed = [trace["name"] for trace in traces(draw(seen), "kernel") if trace["showlegend"]]
    assert listed == ["ELL", "PELLR"]


def test_the_table_has_every_number_and_reason() -> None:
    assert [head.text for head in table(INFO).heads][3:] == ["σ", *INFO.formats]
    rough = table(INFO).rows[1]
    assert rough == ("rough", "cpu", "warm", "9.00", "–", "skipped", "2.50", "4.00")


def test_a_picture_has_so_many_matrices_and_the_table_all() -> None:
    every = [m for number in range(30) for m in pair(f"m{number}")]
    many = info(StudyData(every, chosen={"series": ("figure-12",)}))
    assert (len(many.panels[0].bars), len(many.panels[0].lines)) == (MATRICES_MAX, 30)
    assert "the first 20 of 30;" in summary(many)
    assert "the table has all" not in summary(INFO)


def test_the_matrices_of_the_paper_are_drawn_alone_and_the_table_has_all() -> None:
    names = ("rough", "memplus (stand-in)", "e40r0100", "lnsp3937")
    matrices = {f"m{n}": sized(name, sigma=9.0 - n) for n, name in enumerate(names)}
    measured = [m for matrix in matrices for m in pair(matrix)]
    of_paper = info(StudyData(measured, matrices, chosen={"series": ("figure-12",)}))
    assert list(of_paper.panels[0].bars) == ["lnsp3937", "e40r0100", "memplus (stand-in)"]
    assert len(table(of_paper).rows) == 4
    assert "the 3 of the paper among 4;" in summary(of_paper)


def test_the_summary_counts_the_fastest_formats() -> None:
    measured = [
        *(timed(kernel, ms * 1e-3, matrix="m1") for kernel, ms in (("pellr/warp", 2), ("csr/vector16", 1))),
        *(timed(kernel, ms * 1e-3, matrix="m2") for kernel, ms in (("pellr/warp", 9), ("csr/vector16", 1))),
        *(timed(kernel, ms * 1e-3, matrix="m3") for kernel, ms in (("pellr/warp", 3), ("csr/vector16", 3))),
    ]
    counted = summary(info(StudyData(measured, MATRICES, chosen={"series": ("figure-12",)})))
    assert "CSRV on 3 and PELLR on 1 of 3 matrices." in counted


def test_equal_names_stay_apart_and_are_text() -> None:
    same = {"aaaa1": sized(HOSTILE), "bbbb2": sized(HOSTILE)}
    figure = draw(
        info(StudyData([m for matrix in same for m in pair(matrix)], same, chosen={"series": ("figure-12",)}))
    )
    first, second = figure.layout.yaxis.categoryarray
    assert first.startswith("&lt;b&gt;x")
    assert second == f"{first} (bbbb)"


def test_a_figure_of_the_paper_has_its_formats_by_its_names_in_its_order() -> None:
    kernels = (
        "ell/thread",
        "csr/vector",
        "csr/vector16",
        "pellr/warp",
        "pellr/thread",
        "hyb-mean/segmented",
        "biell/warp",
    )
    found = [timed(kernel, 1e-6 * us, matrix="m1") for us, kernel in enumerate(kernels, start=1)]
    found += [
        timed(kernel, 5e-6, matrix="m1") for kernel in ("cusparse/csr_alg2", "cusparse/best", "cusparse/coo_alg1")
    ]
    skipped = untimed("jad/thread", "skipped", "needs 41 GB", matrix="m1")
    seen = info(StudyData([*found, skipped], MATRICES, chosen={"series": ("figure-12",)}))
    assert seen.formats == ("CSRV", "ELL", "PELLR", "cuCSR", "JAD")
    (line,) = seen.panels[0].lines
    assert {name: rate.measurement.kernel for name, rate in line.fastest.items()} == {
        "CSRV": "csr/vector16",
        "ELL": "ell/thread",
        "PELLR": "pellr/warp",
        "cuCSR": "cusparse/csr_alg2",
    }
    assert line.states == {"JAD": "skipped"}
    assert [trace["name"] for trace in traces(draw(seen), "kernel")] == ["CSRV", "ELL", "PELLR", "cuCSR"]
    assert "of Figure 12 of the paper (CSRV is csr/vector16, cuCSR is" in summary(seen)
    assert info(StudyData(found, MATRICES, chosen={"series": ("figure-11",)})).formats == ("PELLR", "BiELL")


@pytest.mark.parametrize("figure", FIGURES)
def test_each_format_of_a_figure_of_the_paper_has_a_look_of_its_own(figure: str) -> None:
    kernels = ("csr/vector16", "jad/thread", "ell/thread", "ellr/thread", "pellr/thread", "hyb/segmented")
    bisected = ("biell/warp", "bijad/warp", "cusparse/csr_alg1")
    measured = [timed(kernel, 1e-3, matrix="m1") for kernel in (*kernels, *bisected)]
    drawn = traces(draw(info(StudyData(measured, MATRICES, chosen={"series": (figure,)}))), "kernel")
    looks = {(bar["marker"]["color"], bar["marker"]["pattern"]["shape"]) for bar in drawn}
    assert len(looks) == len(drawn) == len(FIGURES[figure])
