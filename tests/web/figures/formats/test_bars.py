import pytest

from gpu_engine.findings.data import MatrixFeatures, StudyData
from tests.samples.formats import HOSTILE, study_of, timed, titles, traces, untimed
from web.figures.formats.bars import draw, info, summary
from web.palette import style

MATRICES = {"m1": MatrixFeatures("cnr-2000")}
INFO = info(StudyData([*study_of("m1"), untimed("jad/thread", "failed", "<i>wrong</i>")], MATRICES))


def test_a_kernel_has_its_rate_with_the_interval_and_both_bounds() -> None:
    cold, warm = INFO.panels
    assert (warm.matrix, warm.device, warm.cache, cold.cache) == ("cnr-2000", "cpu", "warm", "cold")
    assert warm.kernels == ("csr/vector", "coo/segmented", "csr/scalar", "ell/thread", "jad/thread"), "fastest first"
    assert warm.rates[0].value == pytest.approx(2.5)
    assert warm.rates[0].interval == pytest.approx((2.5 / 1.01, 2.5 / 0.99))
    assert [bound.rate for bound in warm.bounds["roofline"]] == pytest.approx([5.0] * 3)
    assert [bound.rate for bound in warm.bounds["gather probe"]] == pytest.approx([4.0] * 3)
    assert [bound.share for bound in warm.bounds["roofline"]] == pytest.approx([0.5, 4 / 9, 0.4])
    assert [m.kernel for m in warm.without_time] == ["ell/thread", "jad/thread"]


def test_the_figure_has_a_panel_a_facet_and_a_row_a_kernel() -> None:
    figure = draw(INFO)
    assert titles(figure) == ["cnr-2000 · cold", "cnr-2000 · warm"]
    assert figure.layout.xaxis2.title.text == "GFLOP/s"
    assert figure.layout.yaxis2.categoryarray == INFO.panels[1].kernels
    assert len(traces(figure, "kernel")) == 6
    assert [trace["showlegend"] for trace in traces(figure, "floor")] == [True, False], "listed once"


def test_kernels_without_a_time_say_why() -> None:
    reason = traces(draw(INFO), "reason")[-1]
    assert (reason["y"], reason["text"]) == (["ell/thread", "jad/thread"], [" skipped", " failed"])
    assert reason["hovertext"][1] == "&lt;i&gt;wrong&lt;/i&gt;"


def test_colour_belongs_to_the_format() -> None:
    colors = {trace["name"]: trace["marker"]["color"] for trace in traces(draw(INFO), "kernel")}
    assert colors["coo/segmented"] == style("coo").color
    assert style("csr") != style("coo") != style("ell")
    assert style("cusparse").pattern != ""


def test_names_of_strangers_are_text() -> None:
    figure = draw(info(StudyData([timed("csr/vector", 1e-3)], {"m1": MatrixFeatures(HOSTILE)})))
    assert titles(figure)[0].startswith("&lt;b&gt;x&lt;/b&gt; &amp; &lt;s")


def test_a_picture_has_so_many_rows_and_says_what_it_leaves_out() -> None:
    many = info(StudyData([m for number in range(20) for m in study_of(f"m{number}") if m.cache == "warm"]))
    assert (len(many.panels), len(many.findings)) == (15, 20), "15 facets of 4 rows"
    said, folded = summary(many).splitlines()
    assert said.endswith("Showing the first 15 of 20; the tables have all.")
    assert folded.endswith("14 more in the tables.")
    alone = info(StudyData([timed(f"csr/k{number}", 1e-3) for number in range(100)]))
    assert len(alone.panels[0].rates) == 100, "the first facet is always whole"
    assert summary(alone).endswith(alone.findings[0].sentences[0])


def test_matrices_that_nothing_leads_are_counted() -> None:
    busy = [timed("csr/vector", 1e-3, matrix="m2", aa_gap=0.9), timed("csr/scalar", 2e-3, matrix="m2")]
    said, folded = summary(info(StudyData([*study_of("m1"), *busy]))).splitlines()
    assert said.endswith("No clear winner on 1 of 3; the verdicts give the reason.")
    assert "m2" not in folded
