import json
import math

import pytest

from web.figures.matrix import row_lengths, spy


def test_density_is_the_logarithm_of_the_count() -> None:
    figure = json.loads(spy([[1, 0], [10, 1000]], 200, 100).to_json())
    (heat,) = figure["data"]
    assert heat["z"] == [[0.0, None], [1.0, 3.0]]
    assert (heat["zmin"], heat["zmax"]) == (0, 3.0)
    assert (heat["x0"], heat["dx"], heat["y0"], heat["dy"]) == (25.0, 50.0, 50.0, 100.0)
    assert heat["colorbar"]["ticktext"] == ["1", "10", "100", "1,000"]
    assert figure["layout"]["yaxis"]["range"] == [200, 0], "row 0 is on top"
    assert (figure["layout"]["xaxis"]["title"]["text"], figure["layout"]["yaxis"]["title"]["text"]) == ("column", "row")


def test_cells_merge_to_what_a_screen_shows() -> None:
    (heat,) = json.loads(spy([[1] * 257 for _ in range(257)], 2570, 2570).to_json())["data"]
    assert (len(heat["z"]), len(heat["z"][0])) == (86, 86)
    assert (heat["dx"], heat["x0"]) == (30.0, 15.0)
    assert (heat["z"][0][0], heat["z"][85][85]) == (
        pytest.approx(math.log10(9), abs=1e-3),
        pytest.approx(math.log10(4), abs=1e-3),
    )


def test_proportions_are_kept_until_they_leave_a_line() -> None:
    assert spy([[1]], 400, 100).layout.yaxis.scaleanchor == "x"
    assert spy([[1]], 401, 100).layout.yaxis.scaleanchor is None


def test_one_entry_has_a_scale() -> None:
    assert spy([[1]], 1, 1).data[0].zmax > 0


@pytest.mark.parametrize(("counts", "n_rows", "n_cols"), [([], 0, 0), ([[]], 3, 0), ([[0]], 0, 3)])
def test_nothing_to_see_is_said(counts: list[list[int]], n_rows: int, n_cols: int) -> None:
    assert spy(counts, n_rows, n_cols).layout.annotations[0].text == "The matrix has no nonzeros to show."


def test_row_lengths_are_counted_in_bins() -> None:
    figure = row_lengths([(0, 0, 5), (1, 1, 7), (2, 3, 2000)])
    (bar,) = figure.data
    assert list(bar.x) == ["0", "1", "2–3"]
    assert list(bar.y) == [5, 7, 2000]
    assert bar.hovertext[2] == "2,000 rows of 2–3 nonzeros"
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text) == ("nonzeros per row", "rows")
    assert math.isfinite(figure.layout.height)


def test_no_rows() -> None:
    assert len(row_lengths([]).data) == 0
