import pytest

from tests.samples.pagerank import luxembourg, ran, shown
from web.figures.pagerank import pull, total, what_if
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
