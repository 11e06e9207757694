from dataclasses import replace
from typing import Any

import pytest

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.scaling.balance import chosen_cuts, cuts, lines_speeds, tables
from gpu_engine.findings.scaling.cases import COLD, RESIDENT
from gpu_engine.records import Measurement
from gpu_engine.text.units import THIN
from tests.samples.scaling import by_cusparse, cold, cut_both_ways, iterated, resident, shared, shown, worked

near: Any = pytest.approx
"""Untyped, for it stands among names and in dataclasses."""

DATA = shown(*shared())
NOTHING = (
    StudyData(),
    shown(*(m for m in cold() if m.details.devices == 1)),
    shown(worked("pCSR/p*", 1.0, nonzeros_by_device=())),
)


def chosen(data: StudyData) -> list[tuple[str, int, tuple[int, ...]]]:
    """(label, devices, nonzeros) of the cuts of a lone panel."""
    ((_, own),) = chosen_cuts(data)
    return [(cut.series.label, cut.devices, cut.entries) for cut in own]


def test_a_cut_has_its_imbalance_and_that_of_equal_lines_its_speed() -> None:
    ((_, own),) = cuts(DATA, (COLD,))
    assert [(cut.series.label, cut.devices) for cut in own] == [
        (f"pCSR/{name}", devices) for devices in (2, 4) for name in ("baseline", "p*", "p*-opt")
    ]
    # The product takes 12 ms with equal rows and 4 with equal nonzeros.
    assert (own[3].imbalance, own[3].mean, own[3].speed) == (2.5, 1_000_000, near(1 / 3))
    assert (own[4].imbalance, own[4].mean, own[4].speed) == (1.0, 1_000_000, None)


def test_what_cuts_alike_is_chosen_once_with_the_devices_that_are_spoken_of() -> None:
    lopsided, equal = (2_500_000, 500_000, 500_000, 500_000), (1_000_000,) * 4
    assert chosen(DATA) == [("pCSR/baseline", 4, lopsided), ("pCSR/p*", 4, equal)], "p*-opt cuts as p* does"
    assert chosen(replace(DATA, chosen={"devices": ("2",)}))[0] == ("pCSR/baseline", 2, (3_000_000, 1_000_000))
    assert chosen(replace(DATA, chosen={"devices": ("1",)})) == chosen(DATA), "one device has nothing to balance"
    assert chosen(shown(*by_cusparse(cold(), 1.5), *cold())) == chosen(DATA)
    other = cold()[-1].with_(nonzeros_by_device=(900_000, 1_100_000, 1_000_000, 1_000_000))
    assert [label for label, _, _ in chosen(shown(*cold()[:-1], other))] == ["pCSR/baseline", "pCSR/p*", "pCSR/p*-opt"]


def test_without_products_from_the_host_the_other_works_say_how_it_was_cut() -> None:
    groups = [(group.matrix_id, group.work) for group, _ in chosen_cuts(shown(*iterated("fem", "cpu"), *cold()))]
    assert groups == [("fem", "iterate"), ("web", "cold")]


def cells(*measurements: Measurement) -> dict[str, list[tuple[str, ...]]]:
    """Work → what follows the machine, row by row."""
    made = tables(shown(*measurements))
    return {work: [tuple(cell.replace(THIN, " ") for cell in row[2:]) for row in each.rows] for work, each in made}


def test_resident_products_have_a_table_of_their_own() -> None:
    made = cells(*cold(), *cut_both_ways(), *iterated())
    assert list(made) == ["cold", "resident"]
    # The times are 2.5 and 5 ms.
    assert made["resident"][2:] == [
        ("pCSR/resident, balance nonzeros", "4", "1,000,000", "1,000,000", "1,000,000", "1.00 ×", "100 %", "–"),
        ("pCSR/resident, balance rows", "4", "500,000", "1,000,000", "2,500,000", "2.50 ×", "40 %", "50 %"),
    ]
    assert list(cells(*iterated())) == ["iterate"], "where nothing else was cut"


def test_equal_rows_of_a_library_are_held_against_its_equal_nonzeros() -> None:
    theirs = [replace(m, median_s=1e-3) if "nonzeros" in m.case else m for m in by_cusparse(cut_both_ways(), 2.0)]
    ((_, own),) = cuts(shown(*cut_both_ways(), *theirs), (RESIDENT,))
    speeds = {cut.series.label: cut.speed for cut in own if cut.devices == 4 and cut.speed}
    assert speeds == {
        "pCSR/resident, balance rows": near(0.5),
        "pCSR/resident, balance rows, cusparse": near(0.1),
    }


def test_both_cuts_are_compared_by_number_of_devices() -> None:
    ((group, speeds),) = lines_speeds(shown(*reversed(cut_both_ways()), *cold(), *iterated()))
    assert (group.work, [speed.devices for speed in speeds]) == ("resident", [2, 4])
    assert [speed.allowed for speed in speeds] == near([2 / 3, 0.4])
    assert [speed.measured for speed in speeds] == near([0.7, 0.5])


def test_one_cut_is_not_compared_nor_is_a_library() -> None:
    for own in ([*resident(), *cold()], cut_both_ways()[3:], by_cusparse(cut_both_ways(), 2.0)):
        assert lines_speeds(shown(*own)) == []
    ((_, speeds),) = lines_speeds(shown(*cut_both_ways(), *by_cusparse(cut_both_ways()[3:], 0.1)))
    assert [speed.measured for speed in speeds] == near([0.7, 0.5])


@pytest.mark.parametrize("data", NOTHING)
def test_nothing_is_cut(data: StudyData) -> None:
    assert (chosen_cuts(data), lines_speeds(data), tables(data)) == ([], [], [])
