import pytest

from tests.web.run_samples import luxembourg, ran, shown
from web.figures.pagerank import breakdown, gamma, pull, timeline, total, what_if
from web.figures.pagerank.facets import axis_end


def test_what_is_right_sets_the_scale() -> None:
    assert axis_end([(100, True), (120, False)]) == pytest.approx(126)
    assert axis_end([(100, True), (1000, False)]) == pytest.approx(1.05 * 130)
    assert axis_end([(1000, False)]) == pytest.approx(1050)
    assert axis_end([]) == pytest.approx(1.05)


def test_a_run_that_never_ends_hides_no_other() -> None:
    endless = ran("csr/thread+fp32", 1000, 1.2, residual=3e-8)
    found = shown(*luxembourg(), endless)
    for figure in (gamma, timeline):
        assert figure.draw(found).layout.xaxis.range == (0, pytest.approx(1.05 * 1.3 * 113))
    assert breakdown.draw(found).layout.xaxis.range == (0, pytest.approx(1.05 * 1.3))
    for figure in (gamma, timeline, breakdown):
        assert "is cut where it is much longer" in figure.summary(found)
        assert "is cut" not in figure.summary(shown(*luxembourg()))


def test_axes_begin_at_zero_and_reach_over_one() -> None:
    slow = shown(ran("csr/thread+fp64", 28, 0.1, floor_s=None), ran("csr/thread+cpms4", (1, 12, 14, 1), 0.2))
    assert total.draw(slow).layout.xaxis.range == (0, pytest.approx(1.05))
    assert pull.draw(shown(*luxembourg())).layout.xaxis.range == (0, pytest.approx(1.05 * 0.8 / 0.25))
    assert what_if.draw(slow).layout.xaxis2.range == (0, pytest.approx(1.05 * 28))
