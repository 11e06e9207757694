from dataclasses import replace

import pytest

from gpu_engine.findings.data import StudyData
from gpu_engine.text.units import THIN
from tests.samples.formats import titles, traces
from tests.samples.pagerank import CHANGE_S, LUXEMBOURG, PULL_S, SETTLE_S, luxembourg, ran, shown
from web.figures.pagerank.figure_five import GRAPHS_MAX, NO_RUN, draw, info, summary, table

COUNTS: dict[str, int | tuple[int, ...]] = {"fp64": 113, "cpms2": (47, 66), "cpms4": (1, 46, 61, 5)}
LOWER = (("triangle", "lower"),)


def unfused(layout: str = "csr/thread", matrix: str = "lux", axes: tuple[tuple[str, str], ...] = ()) -> list[object]:
    """The three runs of a graph by the paper's kernels."""
    return [ran(f"{layout}+unfused-{p}", count, matrix=matrix, axes=axes) for p, count in COUNTS.items()]


def data(*runs: object) -> StudyData:
    """The runs, of which those of the matrix lux are of a stand-in."""
    given = shown(*runs)  # type: ignore[arg-type]
    return replace(given, matrices={**given.matrices, "lux": replace(LUXEMBOURG, name="road_usa (stand-in)")})


def test_a_graph_has_three_bars_in_each_layout_csr_above_ell() -> None:
    panels = info(data(*unfused("ell/thread"), *unfused(), *luxembourg()))
    assert [(panel.layout, panel.place) for panel in panels] == [("CSR", "cpu"), ("ELL", "cpu")]
    assert [bar.label for bar in panels[0].bars] == ["USA, fp64", "USA, two", "USA, four"]
    assert {bar.measurement.kernel.partition("+")[2][:8] for panel in panels for bar in panel.bars} == {"unfused-"}
    figure = draw(panels)
    assert titles(figure) == ["CSR", "ELL"]
    assert figure.layout.barmode == "stack"
    assert list(figure.layout.yaxis.categoryarray) == ["USA, fp64", "USA, two", "USA, four"]


def test_parts_are_the_time_over_that_of_fp64() -> None:
    (panel,) = info(data(*unfused()))
    fp64_s = 113 * (PULL_S[0] + SETTLE_S)
    full, two, four = ({part.name: share for part, share in bar.parts.items()} for bar in panel.bars)
    assert full == {"64 bit": pytest.approx(1.0)}
    assert two == {
        "32 bit": pytest.approx(47 * (PULL_S[32] + SETTLE_S) / fp64_s),
        "64 bit": pytest.approx((PULL_S[32] + 65 * PULL_S[64] + 66 * SETTLE_S) / fp64_s),
        "change": pytest.approx(2 * CHANGE_S / fp64_s),
    }
    assert set(four) == {"16 bit", "32 bit", "48 bit", "64 bit", "change"}
    names = [bar["name"] for bar in traces(draw((panel,)), "kernel")]
    assert names == ["16 bit", "32 bit", "48 bit", "64 bit", "change"]


def test_the_papers_graphs_come_first_and_triangles_apart() -> None:
    panels = info(data(*unfused(matrix="del"), *unfused(), *unfused(axes=LOWER)))
    assert [(panel.place, list(dict.fromkeys(bar.short for bar in panel.bars))) for panel in panels] == [
        ("cpu", ["USA", "delaunay_n15"]),
        ("cpu, lower triangles", ["USA"]),
    ]


def test_many_graphs_are_left_to_the_table() -> None:
    every = info(shown(*(run for number in range(GRAPHS_MAX + 2) for run in unfused(matrix=f"m{number}"))))  # type: ignore[arg-type]
    assert len(draw(every).layout.yaxis.categoryarray) == 3 * GRAPHS_MAX
    assert len(table(every).rows) == 3 * (GRAPHS_MAX + 2)
    assert f"Showing the first {GRAPHS_MAX} of {GRAPHS_MAX + 2} graphs" in summary(every)


def test_the_table_has_shares_of_a_run() -> None:
    rows = [tuple(cell.replace(THIN, " ") for cell in row) for row in table(info(data(*unfused()))).rows]
    assert rows[1] == (
        *("road_usa (stand-in)", "cpu", "CSR", "two segments", "109 ms", "88 %"),
        *("–", "30 %", "–", "66 %", "3.7 %"),
    )
    assert {len(row) for row in rows} == {len(table(info(data(*unfused()))).heads)}


def test_without_the_papers_kernels_there_is_nothing() -> None:
    for given in (StudyData(), shown(*luxembourg()), data(unfused()[1])):
        assert (titles(draw(info(given))), summary(info(given)), table(info(given)).rows) == ([NO_RUN], NO_RUN, ())
