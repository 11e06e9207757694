from typing import Any

import pytest

from gpu_engine.findings.batched.groups import PAPER
from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.text.units import THIN
from tests.samples.batched import copies, mixed, multiplied, refused, shown
from tests.samples.formats import titles, traces
from web.figures.batched.growth import ONE_SIZE, PANELS_MAX, Growth, LoopGain, draw, info, summary, table
from web.figures.batched.markers import loops_end
from web.palette import OTHERS

near: Any = pytest.approx
"""Untyped, for it stands among names and in dataclasses."""

DATA = shown(
    multiplied("csr/smart", 10.0, 10),
    multiplied("csr/smart", 40.0, 100),
    multiplied("csr/smart", 80.0, 1000),
    multiplied("cusparse/chain", 4.0, 10),
    multiplied("cusparse/chain", 5.0, 100),
    refused("cusparse/chain", "too many", 1000),
    *copies("nos3"),
)


def test_a_series_has_the_kernels_with_a_time_at_each_size() -> None:
    (series,) = info(DATA).series
    assert series.facet == ("west0989", "cuda:0", "warm")
    rates = [{name: m.gflops for name, m in point.kernels.items()} for point in series.points]
    assert rates == [
        {"csr/smart": 10.0, "cusparse/chain": 4.0},
        {"csr/smart": 40.0, "cusparse/chain": 5.0},
        {"csr/smart": 80.0},
    ]
    assert [(point.x, point.roofline) for point in series.points] == [(size, near(250.0)) for size in (10, 100, 1000)]


def test_the_gain_over_the_loop_is_of_the_largest_batch_that_has_both() -> None:
    nos3 = [multiplied(kernel, rate, 1, "nos3") for kernel, rate in (("csr/smart", 9.0), ("cusparse/chain", 1.0))]
    assert info(DATA).gains == (LoopGain("cuda:0", "warm", "cusparse/chain", near(8), near(8)),)
    (both,) = info(shown(*DATA.measurements, *nos3)).gains
    assert (both.low, both.high) == near((8, 20)), "of nos3 100 over 5 at 1000 problems"


def test_every_loop_has_a_gain_of_its_own() -> None:
    loops = [multiplied(name, rate, 100) for name, rate in (("cusparse/loop", 1.0), ("ell/loop", 2.0))]
    assert [(gain.loop, gain.low) for gain in info(shown(*DATA.measurements, *loops)).gains] == [
        ("cusparse/loop", near(40)),
        ("cusparse/chain", near(8)),
        ("ell/loop", near(20)),
    ]


def test_copies_come_before_mixed_batches_and_more_sizes_before_fewer() -> None:
    mix = [m for size in (10, 100, 1000) for m in mixed("west", "d2", batch_size=size)]
    own = [multiplied("csr/smart", 1.0, size, device="cpu") for size in (1, 2)]
    assert [series.facet[:2] for series in info(shown(*mix, *own, *DATA.measurements)).series] == [
        ("west0989", "cuda:0"),
        ("west0989", "cpu"),
        ("2 matrices mixed (west0989 and dense_2)", "cuda:0"),
    ]


def test_the_matrices_of_figure_three_come_first() -> None:
    sizes = {"r2": (10, 100, 1000), "west": (10, 100), "nos3": (10, 100, 1000)}
    rates = [multiplied("csr/smart", 1.0, size, matrix) for matrix, of in sizes.items() for size in of]
    assert [series.facet.name for series in info(shown(*rates)).series] == ["nos3", "west0989", "rows_2"]


def test_libraries_lie_behind_our_own_and_the_floor_is_dotted() -> None:
    figure = draw(info(DATA))
    assert [line["name"] for line in traces(figure, "point")] == ["cusparse/chain", "csr/smart"]
    assert [floor["line"]["dash"] for floor in traces(figure, "roof")] == ["dot"]
    assert (figure.layout.xaxis.type, figure.layout.xaxis.title.text) == ("log", "batch size")
    low, high = figure.layout.yaxis.range
    assert (figure.layout.yaxis.type, 10**low < 4.0, 10**high > 250.0) == ("log", True, True)
    assert (figure.layout.yaxis.title.text, titles(figure)) == ("GFLOP/s", ["west0989 · cuda:0 · warm"])


def test_of_many_kernels_those_of_the_paper_auto_and_the_launched_loops_have_a_look() -> None:
    ours = (*PAPER, "sliced/lanes", "auto/flexible", "cusparse/best", "cusparse/loop", "cusparse/chain", "ell/loop")
    rates = {kernel: 10.0 + place for place, kernel in enumerate(ours)}
    growth = info(shown(*(multiplied(kernel, rate, size) for kernel, rate in rates.items() for size in (10, 100))))
    lines = {line["meta"]["kernel"]: (line["name"], line["line"]["color"]) for line in traces(draw(growth), "point")}
    gray = {kernel for kernel, (name, _) in lines.items() if name == "others"}
    assert gray == {"sliced/lanes", "cusparse/best", "cusparse/chain"}
    assert {lines[kernel][1] for kernel in gray} == {OTHERS}
    assert len({lines[kernel][1] for kernel in (*PAPER, "auto/flexible")}) == len(PAPER) + 1
    assert "auto/flexible." in summary(growth)
    assert "auto/flexible" not in summary(info(DATA))


def test_of_many_other_kernels_the_nearest_to_the_best_and_a_library_have_colors() -> None:
    ours = ("sliced/lanes", "sliced/shared", "auto/shared", "a/1", "a/2", "a/3", "a/4")
    rates = {kernel: 10.0 + place for place, kernel in enumerate(ours)} | {"scipy/loop": 1.0, "ell/chain": 2.0}
    figure = draw(
        info(shown(*(multiplied(kernel, rate, size) for kernel, rate in rates.items() for size in (10, 100))))
    )
    gray = {line["meta"]["kernel"] for line in traces(figure, "point") if line["name"] == "others"}
    assert gray == {"sliced/lanes", "sliced/shared", "scipy/loop"}


def test_a_line_has_a_place_for_every_size() -> None:
    chain, smart = traces(draw(info(DATA)), "point")
    assert (chain["x"], chain["y"]) == ([10, 100, 1000], [4.0, 5.0, None])
    assert (smart["y"], chain["hovertext"][2], chain["connectgaps"]) == ([10.0, 40.0, 80.0], None, True)


def test_the_table_has_a_column_a_size() -> None:
    numbers = table(info(DATA))
    assert [head.text.replace(THIN, " ") for head in numbers.heads[3:]] == ["kernel", "10", "100", "1,000"]
    assert [row[3] for row in numbers.rows] == ["csr/smart", "cusparse/chain", "roofline"]
    assert numbers.rows[1][4:] == ("4.00", "5.00", "–")


def test_the_summary_has_one_gain_or_their_span() -> None:
    gains = (LoopGain("cpu", "warm", "scipy/loop", 2.0, 2.0), LoopGain("cpu", "cold", "scipy/loop", 2.0, 3.0))
    text = summary(Growth(info(DATA).series, gains)).replace(THIN, " ")
    assert "cpu, warm. Over scipy/loop: 2.00 ×." in text
    assert "cpu, cold. Over scipy/loop: 2.00 × to 3.00 ×." in text
    gains = (LoopGain("cpu", "warm", "ell/loop", 812.82, 812.82), LoopGain("cpu", "warm", "scipy/loop", 3.0, 3.0))
    assert "cpu, warm. Over ell/loop: 813 ×. Over scipy/loop: 3.00 ×." in summary(
        Growth(info(DATA).series, gains)
    ).replace(THIN, " ")


def test_the_summary_says_where_loops_end_and_why() -> None:
    growth = info(DATA)
    assert growth.loops_max == 100
    assert summary(growth).endswith(loops_end(100).strip())
    every = info(shown(*DATA.measurements, multiplied("cusparse/loop", 5.0, 1000)))
    assert (every.loops_max, "Launch loops" in summary(every)) == (0, False)


def test_more_matrices_than_panels_are_in_the_table() -> None:
    ids = [f"m{i}" for i in range(PANELS_MAX + 1)]
    many = [multiplied("csr/smart", 1.0, size, matrix) for matrix in ids for size in (1, 2)]
    growth = info(StudyData(many, {matrix: MatrixFeatures(matrix) for matrix in ids}))
    assert (len(titles(draw(growth))), len(table(growth).rows)) == (PANELS_MAX, 2 * (PANELS_MAX + 1))
    assert "Showing 12 of 13, the paper’s matrices first; the table has all." in summary(growth).splitlines()[0]


@pytest.mark.parametrize("data", [StudyData(), shown(*copies())])
def test_one_size_is_no_growth(data: StudyData) -> None:
    growth = info(data)
    assert (titles(draw(growth)), table(growth).rows, summary(growth)) == ([ONE_SIZE], (), ONE_SIZE)
