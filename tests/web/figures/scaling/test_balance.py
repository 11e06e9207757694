import pytest

from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.ranking import NAMED
from gpu_engine.text.units import THIN
from tests.samples.formats import titles, traces
from tests.samples.scaling import cold, cut_both_ways, iterated, resident, shared, shown
from web.figures.scaling.balance import NO_PARTS, draw, info, summary, table
from web.figures.scaling.markers import VIRTUAL_NOTE

BOTH = shown(*cold(), *cut_both_ways())


def test_the_info_has_the_largest_imbalance_of_each_strategy() -> None:
    far = (m.with_(nonzeros_by_device=(4_000_000, 0, 0, 0)) for m in cold("fem") if m.details.devices == 4)
    balance = info(shown(*cold(), *far))
    assert [panel.matrix for panel in balance.cuts.panels] == ["fem3", "web_graph"], "the most uneven first"
    assert balance.worst == (("baseline", 4.0), ("p*", 1.0))
    assert (balance.speeds.panels, info(BOTH).speeds.number) == ((), 1)
    assert "baseline 4.00 × (25 %), p* 1.00 × (100 %)." in summary(balance).replace(THIN, " ")


def test_the_baseline_stands_beside_what_is_balanced_and_the_mean_is_dotted() -> None:
    figure = draw(info(shown(*shared())))
    bars = {bar["name"]: bar for bar in traces(figure, "kernel")}
    assert list(bars) == ["baseline", "p*"]
    assert bars["baseline"]["y"] == ["device 0", "device 1", "device 2", "device 3"]
    assert bars["baseline"]["x"] == [2_500_000, 500_000, 500_000, 500_000]
    assert (figure.layout.barmode, [line["x0"] for line in figure.layout.shapes]) == ("group", [1_000_000])
    assert figure.layout.xaxis.title.text == "nonzeros"


def test_what_equal_rows_allow_stands_below_beside_what_they_reach() -> None:
    figure = draw(info(BOTH))
    assert titles(figure) == ["web_graph · pCSR · nonzeros", "web_graph · pCSR/resident · relative speed (%)"]
    bars = {bar["name"]: bar for bar in traces(figure, "kernel")}
    assert list(bars) == ["baseline", "p*", "allowed by the balance", "measured"]
    assert (bars["measured"]["y"], bars["measured"]["x"]) == (["2 devices", "4 devices"], pytest.approx([70, 50]))
    assert len({(bar["marker"]["color"], bar["marker"]["pattern"]["shape"]) for bar in bars.values()}) == 4
    assert summary(info(BOTH)).endswith("and reach 50\u202f%.")


def test_parts_that_are_as_good_as_equal_are_named_and_not_drawn() -> None:
    even = [
        m.with_(nonzeros_by_device=(1_000_000, 1_010_000, 990_000, 1_000_000)[: m.details.devices]) for m in cold("fem")
    ]
    both = info(shown(*cold(), *even))
    assert ([panel.matrix for panel in both.cuts.panels], both.even) == (["web_graph"], (("fem3", "pCSR"),))
    assert "within 2.0 % of equal: fem3 as pCSR." in summary(both).replace(THIN, " ")
    alone = info(shown(*even))
    assert ([panel.matrix for panel in alone.cuts.panels], alone.even) == (["fem3"], ())


def test_equal_lines_look_like_the_baseline_in_any_work() -> None:
    lines, baseline = (traces(draw(info(data)), "kernel") for data in (shown(*cut_both_ways()), shown(*cold())))
    assert [bar["name"] for bar in lines[:2]] == ["resident, balance nonzeros", "resident, balance rows"]
    assert lines[1]["marker"]["color"] == baseline[0]["marker"]["color"]


def test_the_table_is_that_of_the_first_work() -> None:
    assert {row[2] for row in table(info(BOTH)).rows} == {"pCSR/baseline", "pCSR/p*", "pCSR/p*-opt"}
    assert {row[2] for row in table(info(shown(*resident()))).rows} == {"pCSR/resident"}


def test_the_summary_speaks_of_the_first_matrices_and_calls_virtual_devices_so() -> None:
    ids = [f"m{i}" for i in range(NAMED + 1)]
    many = StudyData([m for i in ids for m in cut_both_ways(i)], {i: MatrixFeatures(i) for i in ids})
    assert summary(info(many)).count("and reach 50") == NAMED
    assert summary(info(shown(*iterated("fem", "cpu")))).endswith(VIRTUAL_NOTE.strip())


@pytest.mark.parametrize("data", [StudyData(), shown(*cold()[::3])])
def test_no_results(data: StudyData) -> None:
    balance = info(data)
    assert (titles(draw(balance)), table(balance).rows, summary(balance)) == ([NO_PARTS], (), NO_PARTS)
