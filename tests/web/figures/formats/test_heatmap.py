import math

import pytest

from gpu_engine.findings.data import StudyData
from gpu_engine.text.units import THIN
from tests.samples.formats import sized, timed, traces, untimed
from web.figures.formats import side_by_side
from web.figures.formats.heatmap import COLUMNS_MAX, Info, Panel, draw, info, summary, table
from web.figures.panels import Panels

RECORDS = [
    timed("csr/vector", 2e-3, matrix="rough"),
    timed("coo/segmented", 1e-3, matrix="rough"),
    untimed("ell/thread", "skipped", "needs 41 GB", matrix="rough"),
    timed("csr/vector", 1e-3, matrix="even"),
    timed("coo/segmented", 1.004e-3, matrix="even"),
    timed("ell/thread", 8e-3, matrix="even"),
]
MATRICES = {"rough": sized("<b>rough</b>", 9.0), "even": sized("even", 0.0)}
DATA = StudyData(RECORDS, MATRICES)


def grid(found: Info) -> Panels[Panel]:
    assert isinstance(found, Panels)
    return found


INFO = grid(info(DATA))


def test_a_cell_is_the_time_over_that_of_the_fastest() -> None:
    (panel,) = INFO.panels
    assert [line.matrix.name for line in panel.lines] == ["even", "<b>rough</b>"]
    even, rough = ({kernel: cell.text for kernel, cell in line.cells.items()} for line in panel.lines)
    assert even == {"csr/vector": "1.00", "coo/segmented": "=1.00", "ell/thread": "8.00"}
    assert rough == {"coo/segmented": "1.00", "csr/vector": "2.00", "ell/thread": "–"}


def test_what_wins_is_on_the_left_and_what_has_no_time_counts_as_far_off() -> None:
    (panel,) = INFO.panels
    means = {"coo/segmented": math.sqrt(1.004), "csr/vector": math.sqrt(2.0), "ell/thread": 4.0}
    assert list(panel.means) == list(means)
    assert panel.means == pytest.approx(means)


def test_the_picture_has_numbers_colours_and_the_matrix_that_a_click_opens() -> None:
    (cells,) = traces(draw(INFO), "heat")
    assert cells["text"] == [["=1.00", "1.00", "8.00"], ["1.00", "2.00", ""]]
    assert cells["z"][0] == pytest.approx([math.log(1.004), 0.0, math.log(4.0)]), "what is farther off is as dark"
    assert cells["z"][1] == [0.0, pytest.approx(math.log(2.0)), None]
    assert cells["customdata"] == [["even"] * 3, ["rough"] * 3]
    assert cells["hovertext"][1][2] == "<b>ell/thread</b> on &lt;b&gt;rough&lt;/b&gt;<br>needs 41 GB"
    assert cells["meta"]["opens"] == "matrix"
    (dashes,) = traces(draw(INFO), "reason")
    assert (dashes["x"], dashes["y"]) == ([2], [1])


def test_however_many_matrices_and_kernels_the_picture_is_no_taller_and_no_wider() -> None:
    kernels = [f"csr/k{number}" for number in range(30)]
    many = grid(info(StudyData([timed(k, 1e-3, matrix=f"m{n}") for n in range(73) for k in kernels])))
    figure = draw(many)
    assert figure.layout.height < 1150
    assert len(figure.layout.xaxis.ticktext) == COLUMNS_MAX
    assert len(figure.layout.yaxis.ticktext) == 73
    assert "Showing the first 20 of 30 kernels; the table has all." in summary(many).splitlines()[0]
    assert len(table(many).heads) == 3 + 4 + 30


def test_the_table_has_the_means_and_the_words_of_what_has_no_time() -> None:
    mean, even, rough = (tuple(cell.replace(THIN, " ") for cell in row) for row in table(INFO).rows)
    assert mean == ("geometric mean", "cpu", "warm", "", "", "", "", "1.00 ×", "1.41 ×", "4.00 ×")
    assert even == ("even", "cpu", "warm", "0", "1,000,000", "10.0", "1.00 ×", "=1.00", "1.00", "8.00")
    assert rough[6:] == ("2.00 ×", "1.00", "2.00", "skipped")


@pytest.mark.parametrize(
    ("sort", "names"),
    [
        ("", ["even", "large", "rough"]),
        ("-sigma", ["rough", "large", "even"]),
        ("-nnz", ["large", "even", "rough"]),
        ("-best", ["rough", "large", "even"]),
        ("-csr/vector", ["rough", "large", "even"]),
        # Of the others ell/thread has no time on one, and no case on the other: in either direction they come last.
        ("ell/thread", ["even", "large", "rough"]),
        ("-ell/thread", ["even", "large", "rough"]),
    ],
)
def test_matrices_are_sorted_by_what_is_known_of_them_or_by_a_kernel(sort: str, names: list[str]) -> None:
    more = [timed("csr/vector", 3e-3, matrix="large"), timed("coo/segmented", 2e-3, matrix="large")]
    matrices = MATRICES | {"rough": sized("rough", 9.0), "large": sized("large", 1.0, 10**7)}
    found = grid(info(StudyData([*RECORDS, *more], matrices, sort=sort)))
    assert [line.matrix.name for line in found.panels[0].lines] == names
    words = {"": "ascending σ", "-nnz": "descending nnz", "ell/thread": "ascending "}
    assert f"sorted by {words.get(sort, '')}" in summary(found)
    assert traces(draw(found), "heat")[0]["customdata"][0] == [names[0]] * 3


def test_what_the_answer_leaves_out_is_no_row() -> None:
    busy = [timed(k, 1e-3, matrix="busy", ci_low_s=1e-4, ci_high_s=1e-2) for k in ("csr/scalar", "csr/vector")]
    seen = info(StudyData([*RECORDS, *busy], MATRICES | {"busy": sized("busy", 1.0)}))
    assert grid(seen).panels[0].lines == grid(info(StudyData(RECORDS, MATRICES))).panels[0].lines
    assert "over 2 matrices (1 more was too noisy)" in summary(seen)


def test_the_kernel_that_sorts_is_a_column() -> None:
    chosen = grid(info(StudyData(RECORDS, MATRICES, kernels=("csr/vector",), sort="-ell/thread")))
    assert chosen.panels[0].visible == ["csr/vector", "ell/thread"]
    kernels = [f"csr/k{number:02}" for number in range(30)]
    many = grid(info(StudyData([timed(k, 1e-3) for k in kernels], sort="csr/k29")))
    assert many.panels[0].visible == [*kernels[: COLUMNS_MAX - 1], "csr/k29"]


def test_chosen_kernels_are_its_columns_and_a_series_of_the_paper_is_bars() -> None:
    chosen = grid(info(StudyData(RECORDS, MATRICES, kernels=("csr/vector",))))
    assert list(chosen.panels[0].means) == ["csr/vector"]
    assert chosen.panels[0].lines[1].cells["csr/vector"].factor == 2.0, "over the fastest of all"
    assert isinstance(info(StudyData(RECORDS, MATRICES, chosen={"series": ("figure-12",)})), side_by_side.Info)
