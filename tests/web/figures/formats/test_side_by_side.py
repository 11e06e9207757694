import pytest

from tests.web.samples import HOSTILE, sized, study_of, timed, titles, traces, untimed
from web.figures.formats.side_by_side import MATRICES_MAX, draw, summary, table
from web.shown import Shown

MATRICES = {"m1": sized("rough", 9.0), "m2": sized("smooth", 0.5), "m3": sized("unknown", None)}
SHOWN = Shown(
    [
        timed("csr/scalar", 1000e-6, matrix="m1"),
        timed("csr/vector", 800e-6, matrix="m1"),
        timed("cusparse/csr_alg1", 500e-6, matrix="m1"),
        timed("cusparse/best", 500e-6, matrix="m1"),
        untimed("ell/thread", "skipped", "needs 41 GB", matrix="m1"),
        timed("csr/vector", 2000e-6, matrix="m2"),
        timed("ell/thread", 400e-6, matrix="m2"),
        timed("csr/vector", 1000e-6, matrix="m3"),
    ],
    MATRICES,
)


def test_each_format_shows_its_fastest_kernel() -> None:
    bars = {trace["name"]: trace for trace in traces(draw(SHOWN), "kernel")}
    assert list(bars) == ["csr", "ell", "cusparse"], "our formats first, the library last"
    assert dict(zip(bars["csr"]["y"], bars["csr"]["x"], strict=True)) == {"rough": 2.5, "smooth": 1.0, "unknown": 2.0}
    assert (bars["ell"]["y"], bars["ell"]["x"]) == (["smooth"], [5.0])
    assert bars["cusparse"]["hovertext"][0].startswith("<b>cusparse/best</b>")
    assert bars["ell"]["error_x"]["array"] == pytest.approx([5.0 / 0.99 - 5.0])


def test_matrices_ascend_by_sigma_from_the_top() -> None:
    axis = draw(SHOWN).layout.yaxis
    assert list(axis.categoryarray) == ["smooth", "rough", "unknown"]
    assert axis.range[0] > axis.range[1]
    assert [row[0] for row in table(SHOWN).rows] == ["smooth", "rough", "unknown"]


def test_the_table_has_every_number_and_reason() -> None:
    numbers = table(SHOWN)
    assert [head.text for head in numbers.heads] == ["matrix", "device", "cache", "σ", "csr", "cusparse", "ell"] or [
        head.text for head in numbers.heads
    ] == ["matrix", "device", "cache", "σ", "csr", "ell", "cusparse"]
    (rough,) = (row for row in numbers.rows if row[0] == "rough")
    by_head = dict(zip((head.text for head in numbers.heads), rough, strict=True))
    assert (by_head["csr"], by_head["ell"], by_head["cusparse"], by_head["σ"]) == ("2.50", "skipped", "4.00", "9.00")


def test_devices_and_cache_states_have_their_own_panels() -> None:
    shown = Shown([*study_of("m1"), *study_of("m1", "cuda:0", 0.01)], MATRICES)
    assert titles(draw(shown)) == ["cpu, cold", "cpu, warm", "cuda:0, cold", "cuda:0, warm"]
    listed = [trace["name"] for trace in traces(draw(shown), "kernel") if trace["showlegend"]]
    assert sorted(listed) == ["coo", "csr"], "a format is listed once"


def test_a_picture_has_so_many_matrices_and_the_table_all() -> None:
    many = Shown([timed("csr/vector", 1e-3, matrix=f"m{number}") for number in range(30)])
    assert len(traces(draw(many), "kernel")[0]["x"]) == MATRICES_MAX
    assert len(table(many).rows) == 30
    assert "Drawn are the first 20 of 30" in summary(many)
    assert "Drawn" not in summary(SHOWN)


def test_equal_names_stay_apart_and_are_text() -> None:
    same = {"aaaa1": sized(HOSTILE), "bbbb2": sized(HOSTILE)}
    figure = draw(Shown([timed("csr/vector", 1e-3, matrix=m) for m in same], same))
    first, second = figure.layout.yaxis.categoryarray
    assert first.startswith("&lt;b&gt;x")
    assert second == f"{first} (bbbb)"


def test_no_results() -> None:
    assert titles(draw(Shown())) == ["No results yet."]
    assert table(Shown()).rows == ()
