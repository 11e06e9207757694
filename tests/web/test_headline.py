"""Tests of the headline of the home page: fastest Sparsight kernel and cuSPARSE."""

from itertools import pairwise
from typing import Any

import pytest

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.formats.choices import compare_choices
from gpu_engine.findings.formats.groups import group_by_facet
from gpu_engine.records import Measurement
from tests.samples.formats import timed
from web import headline
from web.plots.ratios import EDGE_PX, HEIGHT_PX, ratio_plot

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


def compared(measurements: list[Measurement]) -> headline.Comparison:
    data = StudyData(measurements)
    groups = {facet[0]: group for facet, group in group_by_facet(measurements).items()}
    choices = compare_choices(groups, groups, data, "cpu")
    assert choices
    return headline.compare(choices, data)


def test_each_matrix_with_both_is_a_dot_the_largest_gain_first() -> None:
    comparison = compared(measured())
    assert [(p.name, p.kernel, round(p.ratio, 6), p.verdict) for p in comparison.points] == [
        ("a", "csr/vector", 2.0, "faster"),
        ("c", "csr/vector", 1.0, "same"),
        ("b", "csr/vector", 0.8, "slower"),
    ]
    assert comparison.mean == pytest.approx((2.0 * 1.0 * 0.8) ** (1 / 3))
    assert "1 of 3" in headline.sentence(comparison, "H200")
    assert "1.17\u202f×" in headline.details(comparison)
    plot = headline.picture(comparison)
    assert [dot.verdict for dot in plot.dots] == ["faster", "same", "slower"]
    assert [dot.x for dot in plot.dots] == [16.67, 50.0, 83.33]
    assert plot.dots[0].y == EDGE_PX
    assert plot.dots[1].y == plot.one
    assert plot.dots[2].y == HEIGHT_PX - EDGE_PX
    assert [row[0] for row in headline.table(comparison).rows] == ["a", "c", "b"]


def test_counts_and_dots_are_those_of_the_table() -> None:
    comparison = compared(measured())
    counts = [comparison.count(verdict) for verdict in headline.VERDICTS]
    assert sum(counts) == len(comparison.points) == len(headline.picture(comparison).dots)


def test_without_cusparse_there_are_no_points() -> None:
    assert (
        compared([timed(k, s, matrix="a", **FLOORS) for k, s in (("csr/vector", 1e-4), ("ell/thread", 2e-4))]).points
        == ()
    )


def test_a_ratio_far_from_the_others_lies_at_the_end_of_the_axis() -> None:
    plot = ratio_plot([(50.0, "faster", "far"), (1.2, "faster", ""), (1.1, "faster", ""), (0.99, "slower", "")], "", "")
    near = ratio_plot([(4.6, "faster", "near"), (1.2, "faster", ""), (1.1, "faster", ""), (0.99, "slower", "")], "", "")
    assert plot.dots[0].y == EDGE_PX
    assert [dot.y for dot in plot.dots[1:]] == [dot.y for dot in near.dots[1:]]
    heights = [y for y, _ in plot.ticks]
    assert plot.one in heights
    assert all(before - after >= 18 for before, after in pairwise(heights))
