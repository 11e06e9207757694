"""Lines over n: what is drawn, and where."""

from itertools import pairwise
from math import log10

import pytest

from gpu_engine.findings.formats.for_n import KernelCost, crossovers, total_s
from gpu_engine.text.units import count
from web.over_n import LINES_MAX, over_n
from web.plots.lines import END_GAP, HEIGHT, WIDTH, Lines

CSR = KernelCost("csr/vector", 10e-6, convert_s=0.0)
COSTS = (
    CSR,
    KernelCost("cusparse/op_alg2", 8e-6, convert_s=20e-6),
    KernelCost("coo/segmented", 7e-6, convert_s=300e-6),
    KernelCost("split/tile", 5e-6, convert_s=4e-3),
    KernelCost("packed/tile", 9e-6, convert_s=4e-3),
    KernelCost("sellp/t1", 9.1e-6, convert_s=4e-3),
    KernelCost("ell/thread", 90e-6, convert_s=4e-3),
    KernelCost("jad/thread", 1e-6),
)


def x_of(plot: Lines, n: int) -> float:
    """Position of n between the ticks of 1 and of 10."""
    (first, _), (second, _) = plot.x_ticks[:2]
    return first + (second - first) * log10(n)


def test_each_crossover_is_marked_at_its_n() -> None:
    plot = over_n(COSTS, 500, CSR)
    steps = crossovers(COSTS)[1:]
    assert [text for _, _, text in plot.crossings] == [count(n) for n, _ in steps]
    for (x, _, _), (n, _) in zip(plot.crossings, steps, strict=True):
        assert x == pytest.approx(x_of(plot, n), abs=0.2)
    for kernel in ("coo/segmented", "split/tile"):
        assert kernel in plot.summary


@pytest.mark.parametrize("n", [1, 500, 10**9])
def test_at_most_five_lines_lie_in_the_drawing_with_names_apart(n: int) -> None:
    plot = over_n(COSTS, n, CSR)
    assert len(plot.lines) == LINES_MAX
    assert {"csr/vector", "coo/segmented", "split/tile", "cusparse/op_alg2"} <= {line.name for line in plot.lines}
    assert not {"ell/thread", "jad/thread"} & {line.name for line in plot.lines}
    points = [point for line in plot.lines for point in line.points]
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in points)
    ends = sorted(line.end[1] for line in plot.lines)
    assert all(below - above >= END_GAP - 0.2 for above, below in pairwise(ends))
    assert plot.cursor is not None
    assert 0 <= plot.cursor[0] <= WIDTH


def test_the_baseline_is_the_line_of_one_and_others_cross_it() -> None:
    plot = over_n(COSTS, 500, CSR)
    by_name = {line.name: line for line in plot.lines}
    assert {y for _, y in by_name["csr/vector"].points} == {plot.one}
    last = by_name["split/tile"].points[-1]
    assert plot.one is not None
    assert last[0] == WIDTH
    assert last[1] > plot.one, "faster is lower"
    assert total_s(COSTS[3], 10**5) < total_s(CSR, 10**5)


def test_two_lines_of_one_color_differ_in_their_dashes() -> None:
    plot = over_n((*COSTS, KernelCost("csr/smart", 6e-6, convert_s=1e-3)), 500, CSR)
    same = [line for line in plot.lines if line.color == "of-csr"]
    assert len({line.dashed for line in same}) == len(same) == 2
