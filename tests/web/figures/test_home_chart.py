"""Tests of the figure of the home page: fastest Sparsight kernel and cuSPARSE."""

from typing import Any

import pytest

from gpu_engine.findings.data import StudyData
from gpu_engine.records import Measurement
from tests.samples.formats import timed
from web.figures import home_chart

FLOORS: Any = {"roofline_s": 5e-5, "gather_probe_s": 5e-5}
TIMES = {"a": (1.0e-4, 2.0e-4), "b": (3.0e-4, 2.4e-4), "c": (1.0e-4, 1.0e-4)}
"""Matrix → (our fastest, cuSPARSE), seconds."""


def measured() -> list[Measurement]:
    found = []
    for matrix, (ours, theirs) in TIMES.items():
        found += [
            timed("csr/vector", ours, matrix=matrix, **FLOORS),
            timed("coo/segmented", 9e-4, matrix=matrix, **FLOORS),
            timed("cusparse/best", theirs, matrix=matrix, **FLOORS),
        ]
    return [*found, timed("csr/vector", 1e-4, matrix="without cuSPARSE")]


def test_each_matrix_with_both_is_a_point_the_largest_gain_first() -> None:
    info = home_chart.info(StudyData(measured()))
    assert [(p.name, p.kernel, round(p.ratio, 6), p.word) for p in info.points] == [
        ("a", "csr/vector", 2.0, "faster"),
        ("c", "csr/vector", 1.0, "equal or inconclusive"),
        ("b", "csr/vector", 0.8, "slower"),
    ]
    assert info.mean == pytest.approx((2.0 * 1.0 * 0.8) ** (1 / 3))
    assert all(p.interval[0] <= p.ratio <= p.interval[1] for p in info.points)
    said = home_chart.summary(info)
    assert "speedup 1.17\u202f× over 3 matrices. Faster on 1, slower on 1, equal or inconclusive on 1." in said
    drawn = {trace.name: (trace.x, trace.y) for trace in home_chart.draw(info).data if trace.name}
    assert {name: (list(x), [round(value, 6) for value in y]) for name, (x, y) in drawn.items()} == {
        "faster": ([1], [2.0]),
        "slower": ([3], [0.8]),
        "equal or inconclusive": ([2], [1.0]),
    }
    assert [row[0] for row in home_chart.table(info).rows] == ["a", "c", "b"]


def test_without_cusparse_there_is_a_sentence() -> None:
    info = home_chart.info(StudyData([timed("csr/vector", 1e-4, matrix="a")]))
    assert home_chart.summary(info) == home_chart.NOTHING
    assert len(home_chart.draw(info).data) == 0
