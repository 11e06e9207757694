import json
from typing import Any

import plotly.io
import pytest

from tests.web.samples import HOSTILE, study_of, timed, untimed
from web.figures.formats import bars
from web.palette import style


def traces(figure: object, role: str) -> list[dict[str, Any]]:
    return [trace for trace in json.loads(figure.to_json())["data"] if trace["meta"]["role"] == role]  # type: ignore[attr-defined]


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
    figure = bars([*study_of("m1"), *study_of("m1", "cuda:0")], {"m1": "cnr-2000"})
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
    figure = bars([timed("csr/vector", 1e-3)], {"m1": HOSTILE})
    assert figure.layout.annotations[0].text.startswith("&lt;b&gt;x&lt;/b&gt; &amp; &lt;s")


def test_the_json_is_plain_and_reads_back() -> None:
    text = bars(study_of("m1")).to_json()
    assert "bdata" not in text
    assert plotly.io.from_json(text).layout.xaxis2.title.text == "GFLOP/s"
