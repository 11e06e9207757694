from collections.abc import Sequence

import plotly.graph_objects as go
import plotly.io
import pytest

from gpu_engine.records import Measurement
from tests.web.samples import HOSTILE, study_of, timed, traces, untimed
from web.figures.formats.bars import draw, summary
from web.palette import style
from web.shown import MatrixFeatures, Shown


def bars(measurements: Sequence[Measurement], name: str = "cnr-2000") -> go.Figure:
    return draw(Shown(measurements, {"m1": MatrixFeatures(name)}))


def test_no_results_are_said_in_words() -> None:
    figure = bars([])
    assert len(figure.data) == 0
    assert figure.layout.annotations[0].text == "No results yet."


def test_a_bar_is_the_rate_with_its_interval() -> None:
    (bar,) = traces(bars([timed("csr/vector", 800e-6)]), "kernel")
    assert (bar["name"], bar["x"], bar["y"]) == ("csr/vector", [2.5], ["csr/vector"])
    assert bar["error_x"]["array"] == pytest.approx([2.5 / 0.99 - 2.5])
    assert bar["error_x"]["arrayminus"] == pytest.approx([2.5 - 2.5 / 1.01])


def test_floors_stand_beside_every_bar() -> None:
    figure = bars([m for m in study_of("m1") if m.cache == "warm"])
    (floor,), (gather,) = traces(figure, "floor"), traces(figure, "gather_floor")
    assert floor["y"] == ["csr/vector", "coo/segmented", "csr/scalar"], "fastest first"
    assert floor["x"] == pytest.approx([5.0] * 3)
    assert gather["x"] == pytest.approx([4.0] * 3)


def test_axes_carry_units_and_facets_never_mix() -> None:
    figure = bars([*study_of("m1"), *study_of("m1", "cuda:0")])
    assert [a.text for a in figure.layout.annotations] == [
        f"cnr-2000 · {device} · {cache}" for device in ("cpu", "cuda:0") for cache in ("cold", "warm")
    ]
    assert figure.layout.xaxis4.title.text == "GFLOP/s"
    assert {trace["xaxis"] for trace in traces(figure, "kernel")} == {"x", "x2", "x3", "x4"}


def test_kernels_without_a_time_keep_their_row() -> None:
    figure = bars([timed("csr/vector", 1e-3), untimed("ell/thread", "failed", "<i>wrong</i>")])
    (reason,) = traces(figure, "reason")
    assert (reason["y"], reason["text"], reason["hovertext"]) == (
        ["ell/thread"],
        [" failed"],
        ["&lt;i&gt;wrong&lt;/i&gt;"],
    )
    assert list(figure.layout.yaxis.categoryarray) == ["csr/vector", "ell/thread"]


def test_colour_belongs_to_the_format() -> None:
    both = traces(bars([timed("csr/vector", 1e-3), timed("coo/segmented", 2e-3)]), "kernel")
    alone = traces(bars([timed("coo/segmented", 2e-3)]), "kernel")
    assert both[1]["marker"]["color"] == alone[0]["marker"]["color"] == style("coo").color
    assert style("csr") != style("coo") != style("ell")
    assert style("cusparse").pattern != ""


def test_names_of_strangers_are_text() -> None:
    figure = bars([timed("csr/vector", 1e-3)], HOSTILE)
    assert figure.layout.annotations[0].text.startswith("&lt;b&gt;x&lt;/b&gt; &amp; &lt;s")


def test_the_json_is_plain_and_reads_back() -> None:
    text = bars(study_of("m1")).to_json()
    assert "bdata" not in text
    assert plotly.io.from_json(text).layout.xaxis2.title.text == "GFLOP/s"


def test_a_picture_has_so_many_rows_and_says_what_it_leaves_out() -> None:
    many = [m for number in range(20) for m in study_of(f"m{number}") if m.cache == "warm"]
    figure = draw(Shown(many))
    assert [a.text for a in figure.layout.annotations][-1] == "m14 · cpu · warm", "15 facets of 4 rows"
    assert summary(Shown(many)).endswith("Drawn are the first 15 of 20; the tables have all.")
    alone = [timed(f"csr/k{number}", 1e-3) for number in range(100)]
    assert len(traces(draw(Shown(alone)), "kernel")) == 100, "the first facet is always whole"
    assert "Drawn" not in summary(Shown(alone))
