import pytest

from tests.web.samples import titles, traces
from tests.web.scaling_samples import by_cusparse, cold, cut_both_ways, iterated, resident, shown
from web.comparison import NAMED
from web.figures.scaling.balance import draw, summary
from web.figures.scaling.cuts import AXIS, compared, said
from web.shown import MatrixFeatures, Shown
from web.units import THIN


def test_both_cuts_are_compared_by_number_of_devices() -> None:
    ((group, speeds),) = compared(shown(*reversed(cut_both_ways()), *cold(), *iterated()))
    assert (group.work, [speed.devices for speed in speeds]) == ("resident", [2, 4])
    assert [speed.allowed for speed in speeds] == pytest.approx([2 / 3, 0.4])
    assert [speed.measured for speed in speeds] == pytest.approx([0.7, 0.5])


def test_one_cut_is_not_compared_nor_is_a_library() -> None:
    assert compared(shown(*resident(), *cold())) == []
    assert compared(shown(*cut_both_ways()[3:])) == []
    assert compared(shown(*by_cusparse(cut_both_ways(), 2.0))) == []
    ((_, speeds),) = compared(shown(*cut_both_ways(), *by_cusparse(cut_both_ways()[3:], 0.1)))
    assert [speed.measured for speed in speeds] == pytest.approx([0.7, 0.5])


def test_the_first_matrices_have_a_sentence() -> None:
    ids = [f"m{i}" for i in range(NAMED + 1)]
    found = Shown([m for i in ids for m in cut_both_ways(i)], {i: MatrixFeatures(i) for i in ids})
    assert said(compared(found), found).count("and reach 50") == NAMED


def test_what_equal_rows_allow_stands_beside_what_they_reach() -> None:
    figure = draw(shown(*cold(), *cut_both_ways()))
    assert titles(figure) == ["web_graph · cuda:0 · pCSR", "web_graph · cuda:0 · pCSR/resident"]
    bars = {bar["name"]: bar for bar in traces(figure, "kernel")}
    assert list(bars) == ["baseline", "p*", "allowed by the cut", "measured"]
    assert bars["measured"]["y"] == ["2 devices", "4 devices"]
    assert bars["allowed by the cut"]["x"] == pytest.approx([200 / 3, 40])
    assert bars["measured"]["x"] == pytest.approx([70, 50])
    assert (figure.layout.xaxis.title.text, figure.layout.xaxis2.title.text) == ("nonzeros", AXIS)
    assert len({(bar["marker"]["color"], bar["marker"]["pattern"]["shape"]) for bar in bars.values()}) == 4
    said = summary(shown(*cold(), *cut_both_ways())).replace(THIN, " ")
    assert said.endswith(
        " On web_graph, cuda:0, pCSR/resident: with 4 devices equal rows allow 40 % of the speed of equal nonzeros, "
        "and reach 50 %."
    )
