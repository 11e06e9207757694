import pytest

from gpu_engine.findings.data import StudyData
from gpu_engine.pagerank.products import BLOCKS
from tests.samples.formats import titles, traces
from tests.samples.reduced_spmv import every, shown
from web.figures.reduced_spmv.blocks import NO_BLOCKS, draw, info, summary, table

ALL = tuple(BLOCKS)


def test_speed_ups_by_block_stand_above_what_a_gather_touches() -> None:
    figure = draw(info(shown(*every(blocks=ALL))))
    assert titles(figure) == [
        "csr/thread: speedup over fp64",
        "ell/thread: speedup over fp64",
        "reads per gather of the ranks",
    ]
    assert list(figure.layout.xaxis.categoryarray) == ["32", "64", "128", "256", "separate"]
    assert figure.layout.xaxis5.title.text == "two segments"
    lines = {
        (t["xaxis"], t["name"], t["line"]["dash"]): dict(zip(t["x"], t["y"], strict=True))
        for t in traces(figure, "profile")
    }
    assert len(lines) == 2 * (2 + 4) + 2 * (2 + 4)
    assert lines["x2", "16 bit", "solid"] == {
        block: pytest.approx(1.25 / slower) for block, slower in zip(ALL, (1.1, 1, 1, 1, 1.25), strict=True)
    }
    # Three segments of 16 bits: in small blocks they share a line, and their sectors are the same in all blocks.
    assert lines["x6", "48 bit", "solid"] == {"32": 12.0, "64": 12.0, "128": 36.0, "256": 36.0, "separate": 36.0}
    assert set(lines["x6", "48 bit", "dot"].values()) == {48.0}
    listed = sorted((t["legendrank"], t["name"]) for t in figure.to_dict()["data"] if t["showlegend"])
    assert [name for _, name in listed] == ["16 bit", "32 bit", "48 bit", "64 bit"]


def test_the_table_has_what_is_touched_of_values_too() -> None:
    found = info(shown(*every(blocks=("32", "128"))))
    assert {(row[1], row[2]) for row in table(found).rows} == {
        (layout, what) for layout in ("csr/thread", "ell/thread") for what in ("ranks", "values")
    }
    assert "dotted" in summary(found)


def test_one_block_compares_nothing() -> None:
    for data in (StudyData(), shown(*every(blocks=("128",)))):
        found = info(data)
        assert (titles(draw(found)), summary(found), table(found).rows) == ([NO_BLOCKS], NO_BLOCKS, ())
