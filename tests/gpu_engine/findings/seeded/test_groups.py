"""Findings of the study `seeded`: costs beside one set, speedups, and saved iterations."""

import pytest

from gpu_engine.findings.seeded import findings
from gpu_engine.findings.seeded.groups import seeded_groups
from gpu_engine.findings.seeded.names import (
    COLD,
    EXTRAPOLATED,
    LABELS,
    ONE_BY_ONE,
    TOGETHER,
    WARM,
    sets_axis,
    sets_text,
)
from gpu_engine.findings.seeded.tables import costs, saved, starts
from gpu_engine.text.units import MISSING
from tests.samples.seeded import every, ran, shown

DATA = shown(*every(), *every("del", "cpu", axes=(("damping", "0.9"),)))


def test_a_group_per_number_of_sets_and_change() -> None:
    groups = seeded_groups(DATA)
    assert [(group.matrix_id, group.seeds, group.start) for group in groups[:4]] == [
        ("web", "1", ""),
        ("web", "8", ""),
        ("web", "32", ""),
        ("web", "32", "0.001"),
    ]
    assert [group.cost for group in groups[:4]] == pytest.approx([1.0, 2.0, 5.0, None])
    ratios = [group.verdict.ratio if group.verdict else None for group in groups[:4]]
    assert ratios == pytest.approx([None, 4.0, 6.4, 2.0])
    assert saved(groups[3]) == pytest.approx(30 / 64)
    assert groups[4].parameters == "δ 0.9"


def test_one_set_of_other_parameters_is_no_reference() -> None:
    (group,) = seeded_groups(shown(ran(axes=(("damping", "0.9"),)), ran(TOGETHER, "1")))[:1]
    assert group.cost is None
    (group,) = seeded_groups(shown(ran(), ran(TOGETHER, "1", state="unconverged")))[:1]
    assert group.cost is None


def test_leaders_and_baselines() -> None:
    one, eight, _, start = findings(DATA)[:4]
    assert one.leaders == (LABELS[TOGETHER],)
    assert (eight.leaders, eight.baseline) == ((LABELS[TOGETHER],), LABELS[ONE_BY_ONE])
    assert (start.leaders, start.baseline) == ((LABELS[EXTRAPOLATED],), LABELS[COLD])
    assert "2.00\N{NARROW NO-BREAK SPACE}×" in eight.sentences[0]
    assert "4.00\N{NARROW NO-BREAK SPACE}×" in eight.sentences[1]
    assert all(text in start.sentences[0] for text in ("30", "64", "47"))


def test_tables_have_costs_and_starts() -> None:
    rows = costs(DATA).rows
    assert [row[3] for row in rows] == ["1", "8", "32"] * 2
    assert [row[6].split("\N{NARROW NO-BREAK SPACE}")[0] for row in rows[:3]] == ["1.00", "2.00", "5.00"]
    assert rows[3][2] == "δ 0.9"
    first, _ = starts(DATA).rows
    assert first[5:8] == ("64", "48", "30")


def test_noisy_timings_have_no_speedup() -> None:
    noisy = shown(*every(aa_gap=0.3))
    assert {row[6] for row in costs(noisy).rows} == {row[7] for row in costs(noisy).rows} == {MISSING}
    assert starts(noisy).rows[0][9] == MISSING
    assert starts(noisy).rows[0][5:8] == ("64", "48", "30")


def test_a_plain_warm_start_counts_without_the_other() -> None:
    (group,) = seeded_groups(shown(ran(COLD, "32", "0.001"), ran(WARM, "32", "0.001")))
    assert saved(group) == pytest.approx(48 / 64)
    (alone,) = findings(shown(ran(COLD, "32", "0.001")))
    assert alone.sentences


@pytest.mark.parametrize("text", ["12", "12; 5, 9:0.5", "; 3"])
def test_the_axis_keeps_the_sets(text: str) -> None:
    assert sets_text(sets_axis(text)) == text.replace(" ", "")
