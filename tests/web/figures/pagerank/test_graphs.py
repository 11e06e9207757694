from typing import get_args

import pytest

from gpu_engine.findings.data import StudyData
from gpu_engine.text.units import THIN
from tests.samples.formats import titles, traces
from tests.samples.pagerank import luxembourg, ran, shown
from web.figures.base import Role
from web.figures.pagerank.graphs import NO_GRAPH, PAPER, draw, info, summary, table

DELAUNAY = (
    ran("ell/thread+fp64", 28, 1.0, matrix="del"),
    ran("ell/thread+cpms2", (13, 15), 0.8, matrix="del"),
)
DATA = shown(*luxembourg(), *DELAUNAY)


def near(value: float) -> object:
    return pytest.approx(value)


def test_a_graph_has_its_gains_in_each_layout_that_ran() -> None:
    csr, ell = info(DATA)
    assert (csr.graph, csr.layout, csr.kernels, ell.graph, ell.layout) == (
        *("luxembourg_osm", "csr/thread", "csr, fused"),
        *("delaunay_n15", "ell/thread"),
    )
    assert csr.values == {
        "two segments, pull 32 bit": near(1 / 0.6),
        "four segments, pull 32 bit": near(1 / 0.6),
        "four segments, pull 48 bit": near(1 / 0.9),
        "two segments, complete run": near(0.1243 / 0.1091),
        "four segments, complete run": near(0.1243 / 0.1068),
    }
    assert ell.values == {"two segments, pull 32 bit": near(1 / 0.6), "two segments, complete run": near(1.25)}


def test_a_pull_that_is_the_first_launch_alone_does_not_count() -> None:
    full = ran("csr/thread+unfused-fp64", 113)
    once, twice = (ran("csr/thread+unfused-cpms4", counts) for counts in ((1, 46, 61, 5), (3, 44, 61, 5)))
    pulls = [{name for gains in info(shown(full, run)) for name in gains.values} for run in (once, twice)]
    assert pulls[1] - pulls[0] == {"four segments, pull 16 bit"}


def test_the_papers_kernels_replace_fused_ones_on_their_device() -> None:
    own = [ran(f"csr/thread+unfused-{p}", n, t) for p, n, t in (("fp64", 113, 1.0), ("cpms2", (47, 66), 0.8))]
    (gains,) = info(shown(*luxembourg(), *own, *DELAUNAY))
    assert (gains.kernels, gains.values["two segments, complete run"]) == ("csr", near(1.25))
    assert "Fused" in summary(info(DATA))
    assert "Fused" not in summary((gains,))


def test_whole_runs_stand_above_their_pulls_csr_beside_ell_a_row_a_graph() -> None:
    figure = draw(info(DATA))
    assert {trace.meta["role"] for trace in figure.data} <= set(get_args(Role))
    assert titles(figure) == ["complete runs, speedup over fp64", "pulls of these runs, speedup over fp64"]
    named = [figure.layout[f"xaxis{n}"].title.text for n in ("", 2, 3, 4)]
    assert named == [None, None, "CSR", "ELL"]
    # Both layouts of a row have one axis: 0.1243 s over 0.1068 s and 1.25 are the ends of the whole runs.
    assert figure.layout.xaxis.range == figure.layout.xaxis2.range == (near(0.94), near(1.31))
    assert list(figure.layout.yaxis.categoryarray) == ["luxembourg_osm", "delaunay_n15"]
    whole = {(t["xaxis"], t["name"]): (t["x"], t["y"]) for t in traces(figure, "point") if "complete" in t["name"]}
    both = ["luxembourg_osm", "delaunay_n15"]
    assert whole["x2", "two segments, complete run"] == ([None, near(1.25)], both)
    assert whole["x2", "four segments, complete run"] == ([None, None], both)
    listed = [trace["name"] for trace in traces(figure, "point") if trace["showlegend"]]
    assert len(listed) == len(set(listed)) == 5, "without 16 bits, of which there is one pull"


def test_lower_triangles_have_panels_of_their_own() -> None:
    lower = [
        ran(f"ell/thread+{p}", n, time, axes=(("triangle", "lower"),))
        for p, n, time in (("fp64", 28, 1.0), ("cpms2", (13, 15), 0.5))
    ]
    data = shown(*luxembourg(), *DELAUNAY, *lower)
    assert titles(draw(info(data)))[2:] == [
        "complete runs, speedup over fp64 · cpu, lower triangles",
        "pulls of these runs, speedup over fp64 · cpu, lower triangles",
    ]


def test_the_table_has_a_row_a_graph_and_layout() -> None:
    first, second = ([cell.replace(THIN, " ") for cell in row] for row in table(info(DATA)).rows)
    assert first == ["luxembourg_osm", "cpu", "csr, fused", "1.14 ×", "1.16 ×", "1.67 ×", "–", "1.67 ×", "1.11 ×"]
    assert second == ["delaunay_n15", "cpu", "ell, fused", "1.25 ×", "–", "1.67 ×", "–", "–", "–"]


def test_the_summary_has_the_mean_over_the_graphs_beside_the_papers() -> None:
    faster = ran("csr/thread+cpms2", (13, 15), 0.5, matrix="del")
    text = summary(info(shown(*luxembourg(), ran("csr/thread+fp64", 28, 1.0, matrix="del"), faster))).replace(THIN, " ")
    assert "CSR on cpu (graphs: 2): two segments, complete run 1.51 ×" in text
    assert "two segments, pull 32 bit 1.67 ×" in text
    assert "ELL on cpu" not in text
    assert PAPER.strip().replace(THIN, " ") in text


def test_runs_with_wrong_ranks_are_no_evidence() -> None:
    wrong = ran("csr/thread+cpms2", (47, 66), residual=1e-9)
    for data in (StudyData(), shown(ran("csr/thread+fp64", 113), wrong)):
        assert (titles(draw(info(data))), summary(info(data)), table(info(data)).rows) == ([NO_GRAPH], NO_GRAPH, ())
