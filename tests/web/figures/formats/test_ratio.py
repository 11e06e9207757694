import math

import pytest

from gpu_engine.records import Measurement
from tests.web.samples import HOSTILE, sized, timed, titles, traces
from web.figures.formats.ratio import draw, summary, table
from web.shown import Shown
from web.units import THIN

MATRICES = {"m1": sized("rough", 20.0), "m2": sized("smooth", 0.5), "m3": sized("even", 0.0)}


def pair(first_s: float, second_s: float, matrix: str, second: str = "ellr/thread") -> list[Measurement]:
    return [timed("pellr/warp", first_s, matrix=matrix), timed(second, second_s, matrix=matrix)]


SHOWN = Shown(
    [
        *pair(1e-3, 2e-3, "m1"),
        timed("pellr/thread", 3e-3, matrix="m1"),
        *pair(1e-3, 0.5e-3, "m2"),
        *pair(1e-3, 1.01e-3, "m3"),
    ],
    MATRICES,
)


def test_a_point_is_the_ratio_of_the_fastest_kernels_over_sigma() -> None:
    figure = draw(SHOWN)
    (settled,), (open_,) = traces(figure, "point"), traces(figure, "unsettled")
    assert (settled["x"], settled["y"]) == ([0.5, 20.0], pytest.approx([0.5, 2.0]))
    assert settled["error_y"]["array"][1] == pytest.approx(2 * 1.01 / 0.99 - 2)
    assert (
        settled["hovertext"][1]
        .replace(THIN, " ")
        .startswith("<b>rough</b><br>pellr/warp 2.00 × ellr/thread: faster<br>σ 20.0, ave 10.0, max − min 60")
    )
    assert open_["y"] == pytest.approx([1.01])
    (unity,) = traces(figure, "line")
    assert unity["y"] == [1.0, 1.0]


def test_rows_of_equal_length_stand_at_a_tick_of_their_own() -> None:
    figure = draw(SHOWN)
    (open_,) = traces(figure, "unsettled")
    axis = figure.layout.xaxis
    assert axis.ticktext[0] == "0"
    assert open_["x"] == [axis.tickvals[0]]
    assert 10 ** axis.range[0] < axis.tickvals[0] < 0.5
    assert "0" not in draw(Shown(pair(1e-3, 2e-3, "m1"), MATRICES)).layout.xaxis.ticktext
    assert (axis.type, figure.layout.yaxis.type, axis.title.text) == ("log", "log", "σ of the row lengths")


def test_the_published_pairs_come_first_and_any_other_can_be_asked_for() -> None:
    measurements = [*SHOWN.measurements, *pair(1e-3, 3e-3, "m1", "hyb/two"), timed("csr/i", 1e-3, matrix="m1")]
    assert titles(draw(Shown(measurements, MATRICES))) == [
        "pellr over ellr · cpu, warm",
        "pellr over hyb · cpu, warm",
    ]
    asked = draw(Shown(measurements, MATRICES, pair=("hyb", "csr")))
    assert titles(asked) == ["hyb over csr · cpu, warm"]
    assert traces(asked, "point")[0]["y"] == pytest.approx([1 / 3])
    alone = titles(draw(Shown(measurements, MATRICES, pair=("csr",))))
    assert sorted(alone) == [f"csr over {other} · cpu, warm" for other in ("ellr", "hyb", "pellr")]


def test_devices_and_cache_states_have_their_own_panels() -> None:
    elsewhere = [timed(k, 1e-5, "cold", "m1", "cuda:0") for k in ("pellr/warp", "ellr/thread")]
    shown = Shown([*SHOWN.measurements, *elsewhere], MATRICES)
    assert titles(draw(shown)) == ["pellr over ellr · cpu, warm", "pellr over ellr · cuda:0, cold"]
    assert "pellr over ellr, cuda:0, cold: faster on 0 of 1" in summary(shown)


def test_the_summary_counts_verdicts_and_not_ratios() -> None:
    said = summary(SHOWN).replace(THIN, " ")
    mean = (2 * 0.5 * 1.01) ** (1 / 3)
    assert said.endswith(f"pellr over ellr: faster on 1 of 3, slower on 1; geometric mean {mean:.2f} ×.")


def test_what_is_ambiguous_enters_no_mean() -> None:
    vague = [timed("pellr/warp", 1e-3, matrix="m2", ci_high_s=9e-3), timed("ellr/thread", 8e-3, matrix="m2")]
    said = summary(Shown(vague, MATRICES)).replace(THIN, " ")
    assert said.endswith("pellr over ellr: faster on 0 of 1, slower on 0.")
    both = summary(Shown([*vague, *pair(1e-3, 2e-3, "m1")], MATRICES)).replace(THIN, " ")
    assert both.endswith("faster on 1 of 2, slower on 0; geometric mean of the 1 not ambiguous 2.00 ×.")


def test_the_table_says_the_features_and_the_verdict() -> None:
    rows = {row[1]: row for row in table(SHOWN).rows}
    assert list(rows) == ["even", "smooth", "rough"]
    assert rows["rough"] == (
        "pellr over ellr",
        "rough",
        "cpu",
        "warm",
        "20.0",
        "10.0",
        "60",
        f"2.00{THIN}×",
        "faster",
        "pellr/warp, ellr/thread",
    )
    assert rows["even"][8] == "same"


def test_what_cannot_be_compared_is_said() -> None:
    for shown in (Shown(), Shown([timed("csr/i", 1e-3)], MATRICES), Shown(pair(1e-3, 2e-3, "m9"), MATRICES)):
        assert titles(draw(shown)) == ["No matrix here has a time in both formats of a pair."]
        assert table(shown).rows == ()


def test_names_of_strangers_are_text() -> None:
    figure = draw(Shown(pair(1e-3, 2e-3, "m1"), {"m1": sized(HOSTILE)}))
    assert traces(figure, "point")[0]["hovertext"][0].startswith("<b>&lt;b&gt;x&lt;/b&gt;")
    assert math.isfinite(figure.layout.height)
