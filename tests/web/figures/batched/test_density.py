import pytest

from gpu_engine.findings.batched.groups import PAPER
from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.text.units import THIN
from tests.samples.batched import MATRICES, copies, mixed, multiplied, shown
from tests.samples.formats import titles, traces
from web.figures.batched.density import NO_FAMILY, PANELS_MAX, draw, info, summary, table
from web.palette import OTHERS

DATA = shown(
    multiplied("csr/vector", 60.0, 1000, "r16"),
    multiplied("csr/vector", 20.0, 1000, "r2"),
    multiplied("csr/scalar", 50.0, 1000, "r2"),
    *copies("d2"),
    *copies("d32"),
    *copies("west"),
    *copies("nos3"),
    *mixed("r2", "r16"),
)


def test_balanced_and_unbalanced_matrices_of_one_size_are_families() -> None:
    balanced, unbalanced = info(DATA).families
    assert (balanced.balanced, balanced.n_rows, balanced.batch_size) == (True, 1024, 1000)
    assert [(point.x, point.name) for point in balanced.points] == [(2.0, "rows_2"), (16.0, "rows_16")]
    rates = [{name: m.gflops for name, m in point.kernels.items()} for point in balanced.points]
    assert rates == [{"csr/scalar": 50.0, "csr/vector": 20.0}, {"csr/vector": 60.0}]
    assert [point.name for point in unbalanced.points] == ["dense_2", "dense_32"]
    assert unbalanced.sigmas == (45.2, 178.0)


def test_batches_of_different_sizes_are_no_family() -> None:
    measurements = [
        multiplied("csr/vector", 1.0, size, matrix) for matrix, size in (("r2", 10), ("r16", 10), ("r16", 100))
    ]
    assert info(shown(*measurements)).families == ()
    assert [family.batch_size for family in info(shown(*measurements, chosen={"batch": ("10",)})).families] == [10]


def test_a_family_has_a_panel_over_the_mean_row_length() -> None:
    figure = draw(info(DATA))
    assert [title.replace(THIN, " ") for title in titles(figure)] == [
        "1,024 rows, balanced",
        "1,024 rows, unbalanced",
    ]
    assert [line["name"] for line in traces(figure, "point") if line["xaxis"] == "x"] == ["csr/vector", "csr/scalar"]
    layout = figure.layout
    assert (layout.xaxis.type, layout.xaxis2.title.text, layout.yaxis.title.text) == (
        *("log", "mean row length", "GFLOP/s"),
    )


def test_the_table_has_a_column_a_kernel() -> None:
    numbers = table(info(shown(*(m for m in DATA.measurements if m.matrix_id in ("r2", "r16")))))
    assert [head.text for head in numbers.heads[-2:]] == ["csr/scalar", "csr/vector"]
    rows = [tuple(cell.replace(THIN, " ") for cell in row) for row in numbers.rows]
    assert rows[0] == ("rows_2", "cuda:0", "warm", "balanced", "1,000", "1,024", "2.00", "0", "50.0", "20.0")
    assert rows[1][-2:] == ("–", "60.0")


def test_more_families_than_panels_are_in_the_table() -> None:
    known = {
        f"m{rows}-{ave}": MatrixFeatures(
            f"m{rows}-{ave}", rows, rows, ave * rows, float(ave), 0.0, 0.0, stored={"max": ave}
        )
        for rows in range(1, PANELS_MAX + 2)
        for ave in (2, 4)
    }
    density = info(StudyData([multiplied("csr/scalar", 1.0, 10, matrix) for matrix in known], known))
    assert (len(titles(draw(density))), len(table(density).rows)) == (PANELS_MAX, len(known))
    assert summary(density).splitlines()[0].endswith("10. Showing the first 6 of 7; the table has all.")


def test_only_the_matrices_of_figure_four_are_drawn_if_they_were_measured() -> None:
    known = {
        f"m{ave}": MatrixFeatures(f"m{ave}", 1000, 1000, ave * 1000, ave, 0.0, 0.0, stored={"max": ave})
        for ave in range(2, 9)
    }
    others = [multiplied("csr/scalar", 1.0, 1000, matrix) for matrix in known]
    every = info(StudyData([*DATA.measurements, *others], MATRICES | known))
    assert [(family.n_rows, family.is_printed) for family in every.families] == [
        (1024, True),
        (1024, True),
        (1000, False),
    ]
    assert len(every.families[2].points) > len(every.families[0].points)
    assert (every.visible, len(titles(draw(every)))) == (every.families[:2], 2)
    alone = info(StudyData(others, known))
    assert alone.visible == alone.families


def test_the_kernels_on_csr_and_the_standard_one_have_colors() -> None:
    kernels = (*PAPER, "auto/flexible", "sliced/lanes", "cusparse/best", "cusparse/loop", "ell/loop")
    rates = [multiplied(kernel, 9.0 + i, 1000, matrix) for i, kernel in enumerate(kernels) for matrix in ("r2", "r16")]
    lines = {line["meta"]["kernel"]: line for line in traces(draw(info(shown(*rates))), "point")}
    colored = {kernel for kernel, line in lines.items() if line["name"] != "others"}
    assert colored == {"csr/scalar", "csr/vector", "csr/smart", "csri/warp", "cusparse/loop"}
    assert {lines[kernel]["line"]["color"] for kernel in set(kernels) - colored} == {OTHERS}
    assert len({lines[kernel]["line"]["color"] for kernel in colored}) == len(colored)


@pytest.mark.parametrize("data", [StudyData(), shown(*copies("west"), *copies("nos3"))])
def test_no_results(data: StudyData) -> None:
    density = info(data)
    assert (titles(draw(density)), table(density).rows, summary(density)) == ([NO_FAMILY], (), NO_FAMILY)
