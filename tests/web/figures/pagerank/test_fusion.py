import pytest

from gpu_engine.findings.data import StudyData
from gpu_engine.text.units import ratio, seconds
from tests.samples.formats import titles, traces
from tests.samples.pagerank import SCHEDULE, luxembourg, ran, shown, stopped
from web.figures.pagerank.facets import Panels
from web.figures.pagerank.fusion import NO_PAIR, Row, draw, info, summary, table

SEGMENTS = (ran("csr/thread+unfused-cpms2", (47, 66), 0.3), ran("csr/thread+cpms2", (47, 66), 0.2))
BOTH = shown(ran("csr/thread+unfused-fp64", 113, 0.26), ran("csr/thread+fp64", 113, 0.2), *SEGMENTS)


def gains(data: StudyData) -> dict[str, float]:
    return {row.label: row.gain for panel in info(data).panels for row in panel.rows}


def test_a_gain_is_the_time_of_the_papers_kernels_over_that_of_the_fused_ones() -> None:
    assert gains(BOTH) == pytest.approx({"csr/thread+fp64": 1.3, "csr/thread+cpms2": 1.5})
    assert [bar["x"] for bar in traces(draw(info(BOTH)), "kernel")] == [pytest.approx([1.3, 1.5])]
    assert f"csr/thread+fp64 {ratio(1.3)}, csr/thread+cpms2 {ratio(1.5)}." in summary(info(BOTH))
    rows = [row[2:] for row in table(info(BOTH)).rows]
    assert rows[0] == ("csr/thread+fp64", seconds(0.2), seconds(0.26), ratio(1.3), "faster")


def test_means_are_over_the_graphs() -> None:
    other = (ran("csr/thread+unfused-fp64", 28, 0.4, "del"), ran("csr/thread+fp64", 28, 0.4 * 1.3 / 1.69, "del"))
    data = shown(ran("csr/thread+unfused-fp64", 113, 0.2), ran("csr/thread+fp64", 113, 0.2), *other)
    assert f"csr/thread+fp64 {ratio(1.3**0.5)}." in summary(info(data))


def test_a_run_is_held_against_its_own_schedule() -> None:
    axes = tuple((name, "segments" if name == "final_storage" else value) for name, value in SCHEDULE)
    data = shown(SEGMENTS[0], ran("csr/thread+cpms2", (47, 66), 0.1, axes=axes))
    assert gains(data) == {}


@pytest.mark.parametrize(
    "runs",
    [
        luxembourg(),
        (SEGMENTS[0],),
        (SEGMENTS[0], stopped("csr/thread+cpms2", "failed", "wrong ranks")),
        (SEGMENTS[0], ran("csr/thread+cpms2", (47, 66), 0.2, residual=1e-3)),
    ],
)
def test_without_both_there_is_no_gain(runs: tuple[object, ...]) -> None:
    found: Panels[Row] = info(shown(*runs))  # type: ignore[arg-type]
    assert titles(draw(found)) == [NO_PAIR]
    assert (summary(found), table(found).rows) == (NO_PAIR, ())
