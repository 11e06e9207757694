import plotly.graph_objects as go
import pytest

from web.figures.markers import intervals
from web.figures.whiskers import HEADROOM, clip


def bar(value: float, low: float, high: float) -> go.Figure:
    trace = go.Bar(x=[value], y=["k"], orientation="h", error_x=intervals([value], [(low, high)]))
    return go.Figure(trace)


@pytest.mark.parametrize(
    ("low", "high", "ends", "marks"),
    [
        (9.0, 11.0, (9.0, 11.0), 0),
        (9.0, 40.0, (9.0, 40.0), 0),
        (9.0, 41.0, (9.0, 40.0), 1),
        (2.5, 11.0, (2.5, 11.0), 0),
        (2.4, 11.0, (2.5, 11.0), 1),
        (1e-12, 8e6, (2.5, 40.0), 2),
    ],
)
def test_a_whisker_ends_at_four_times_the_median_with_a_mark(
    low: float, high: float, ends: tuple[float, float], marks: int
) -> None:
    figure = clip(bar(10.0, low, high))
    own = figure.data[0].error_x
    assert (10.0 - own.arrayminus[0], 10.0 + own.array[0]) == pytest.approx(ends)
    assert [trace.meta["role"] for trace in figure.data[1:]] == ["beyond"] * marks
    places = {trace.marker.symbol: (list(trace.x), list(trace.y)) for trace in figure.data[1:]}
    expected = {"triangle-left": (low < 2.5, 2.5), "triangle-right": (high > 40.0, 40.0)}
    assert places == {symbol: ([pytest.approx(end)], ["k"]) for symbol, (goes_on, end) in expected.items() if goes_on}
    assert figure.layout.xaxis.range == pytest.approx((0, HEADROOM * 10.0))


def test_an_axis_follows_medians_and_not_a_far_floor() -> None:
    figure = bar(10.0, 9.0, 11.0).add_scatter(x=[12.0, 1e9], y=["k", "k"])
    assert clip(figure).layout.xaxis.range == pytest.approx((0, HEADROOM * 40.0))


def test_a_log_axis_and_one_with_a_range_stay_as_they_are() -> None:
    figure = bar(10.0, 1.0, 1e6).update_xaxes(type="log", range=[0, 2])
    assert clip(figure).layout.xaxis.range == (0, 2)
    figure = bar(10.0, 1.0, 1e6).update_xaxes(type="log")
    assert clip(figure).layout.xaxis.range is None


def test_whiskers_of_points_end_too_and_figures_without_any_stay() -> None:
    points = go.Scatter(x=[1, 2], y=[1.0, 2.0], error_y=intervals([1.0, 2.0], [(0.9, 100.0), (1.9, 2.1)]))
    figure = clip(go.Figure(points))
    assert list(figure.data[0].error_y.array) == pytest.approx([3.0, 0.1])
    assert (list(figure.data[1].x), list(figure.data[1].y)) == ([1], [4.0])
    assert figure.data[1].marker.symbol == "triangle-up"
    plain = go.Figure(go.Bar(x=[1.0], y=["k"]))
    assert clip(plain).to_dict() == go.Figure(go.Bar(x=[1.0], y=["k"])).to_dict()


def test_a_linear_axis_with_a_range_stays_as_it_is() -> None:
    figure = clip(bar(10.0, 1.0, 1e6).update_xaxes(range=[0, 2]))
    assert figure.layout.xaxis.range == (0, 2)


def test_medians_of_zero_end_no_axis() -> None:
    assert clip(bar(0.0, 0.0, 1.0)).layout.xaxis.range is None


def test_what_has_no_interval_has_no_whisker() -> None:
    bars = {"type": "data", "symmetric": False, "array": [None, 1.0], "arrayminus": [1.0, None]}
    figure = clip(go.Figure(go.Scatter(x=[1, 2], y=[10.0, 10.0], error_y=bars)))
    own = figure.data[0].error_y
    assert (list(own.array), list(own.arrayminus)) == ([0.0, 1.0], [1.0, 0.0])
    above = {"type": "data", "array": [50.0, 1.0]}
    (points, mark) = clip(go.Figure(go.Scatter(x=[1, 2], y=[10.0, 10.0], error_y=above))).data
    assert (list(points.error_y.array), list(points.error_y.arrayminus)) == ([30.0, 1.0], [0.0, 0.0])
    assert (mark.marker.symbol, list(mark.x), list(mark.y)) == ("triangle-up", [1], [40.0])


def test_each_axis_ends_by_its_own_medians_and_has_its_own_marks() -> None:
    def points(median: float, high: float, axis: str) -> go.Scatter:
        return go.Scatter(x=[1], y=[median], error_y=intervals([median], [(median, high)]), yaxis=axis)

    layout = {"yaxis2": {"overlaying": "y"}}
    figure = clip(go.Figure([points(1.0, 1.1, "y"), points(100.0, 900.0, "y2")], layout))
    assert figure.layout.yaxis.range == pytest.approx((0, HEADROOM * 1.0))
    assert figure.layout.yaxis2.range == pytest.approx((0, HEADROOM * 100.0))
    assert (figure.data[2].yaxis, list(figure.data[2].y)) == ("y2", [400.0])


def test_what_stands_beside_the_medians_widens_an_axis_up_to_four_times_the_largest() -> None:
    for beside, end in ((5.0, 10.0), (20.0, 20.0), (39.0, 39.0), (41.0, 40.0)):
        figure = clip(bar(10.0, 9.0, 11.0).add_scatter(x=[beside], y=["k"]))
        assert figure.layout.xaxis.range == pytest.approx((0, HEADROOM * end))
