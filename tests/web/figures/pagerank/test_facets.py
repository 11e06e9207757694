from dataclasses import replace

import pytest

from tests.samples.pagerank import LUXEMBOURG, luxembourg, ran, shown
from web.figures.pagerank import links, pull, timeline, total, what_if
from web.figures.pagerank.facets import axis_end


def test_what_is_right_sets_the_scale() -> None:
    assert axis_end([(100, True), (120, False)]) == pytest.approx(126)
    assert axis_end([(100, True), (1000, False)]) == pytest.approx(1.05 * 130)
    assert axis_end([(1000, False)]) == pytest.approx(1050)
    assert axis_end([]) == pytest.approx(1.05)


def test_axes_begin_at_zero_and_reach_over_one() -> None:
    slow = shown(ran("csr/thread+fp64", 28, 0.1, roofline_s=None), ran("csr/thread+cpms4", (1, 12, 14, 1), 0.2))
    assert total.draw(total.info(slow)).layout.xaxis.range == (0, pytest.approx(1.05))
    products = pull.draw(pull.info(shown(*luxembourg())))
    assert products.layout.xaxis.range == (0, pytest.approx(1.05 * 0.8 / 0.25))
    assert what_if.draw(what_if.info(slow)).layout.xaxis2.range == (0, pytest.approx(1.05 * 28))


def test_the_papers_graphs_come_first_in_its_order() -> None:
    names = {"a": "another", "s": "Stanford (stand-in)", "d": "delaunay_n22 (stand-in)", "b": "yet another"}
    data = replace(
        shown(*(ran("csr/thread+fp64", 28, 1.0, matrix=each, link_counts=(1, 2)) for each in names)),
        matrices={each: replace(LUXEMBOURG, name=name) for each, name in names.items()},
    )
    for panels in (timeline.info(data).panels, links.info(data).panels):
        assert [panel.place[0] for panel in panels] == [names[each] for each in "dsab"]
