from dataclasses import replace

import pytest

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.scaling.cases import COLD, STAYING
from gpu_engine.findings.scaling.groups import (
    WorkGroup,
    by_work,
    devices_in_words,
    number_of,
    numbers_of_devices,
    work_groups,
)
from gpu_engine.findings.scaling.series import BASELINE
from gpu_engine.records import Measurement
from tests.samples.scaling import (
    by_cusparse,
    chosen,
    cold,
    cut_both_ways,
    iterated,
    ranked,
    resident,
    shared,
    shown,
    unworked,
    worked,
)


def only(*measurements: Measurement) -> WorkGroup:
    """The lone group of these measurements."""
    (group,) = work_groups(shown(*measurements))
    return group


def test_a_group_has_one_work_of_one_matrix_cut_one_way_on_one_machine() -> None:
    found = work_groups(
        shown(*resident(), *cold(partitioning="pCOO"), *cold(), *shared("fem"), *resident(device="cpu"))
    )
    assert [(g.matrix_id, g.device, g.work, g.partitioning) for g in found] == [
        ("web", "cuda:0", "cold", "pCSR"),
        ("web", "cuda:0", "cold", "pCOO"),
        ("web", "cuda:0", "resident", "pCSR"),
        ("fem", "cuda:0", "cold", "pCSR"),
        ("fem", "cuda:0", "resident", "pCSR"),
        ("fem", "cuda:0", "iterate", "pCSR"),
        ("fem", "cuda:0", "pagerank", "pCSR"),
        ("web", "cpu", "resident", "pCSR"),
    ]
    assert [[g.partitioning for g in groups] for groups in by_work(found)][:2] == [["pCSR", "pCOO"], ["pCSR"]]


def test_products_from_the_host_are_never_beside_others() -> None:
    found = shown(*shared())
    assert {g.work for g in work_groups(found, (COLD,))} == {"cold"}
    assert {g.work for g in work_groups(found, STAYING)} == {"resident", "iterate", "pagerank"}
    for group in work_groups(found):
        cases = [m.case for series in group.series for m in series.measurements]
        assert all(f"workload={group.work}" in case for case in cases)


def test_a_series_differs_in_the_number_of_devices_alone() -> None:
    group = only(*reversed(cold()))
    assert [(s.label, [m.details.devices for m in s.measurements]) for s in group.series] == [
        ("pCSR/baseline", [1, 2, 4]),
        ("pCSR/p*", [1, 2, 4]),
        ("pCSR/p*-opt", [1, 2, 4]),
    ]
    assert [(s.partitioning, s.variant) for s in group.series] == [
        ("pCSR", "baseline"),
        ("pCSR", "p*"),
        ("pCSR", "p*-opt"),
    ]


def test_only_what_differs_is_named() -> None:
    group = only(*iterated())
    assert [s.label for s in group.series] == ["pCSR/iterate, overlap on", "pCSR/iterate, overlap off"]
    assert [s.label for s in only(*iterated()[:3]).series] == ["pCSR/iterate"]
    assert [s.label for s in only(*ranked()).series] == ["pCSR/pagerank+fp64", "pCSR/pagerank+cpms2"]
    assert [s.label for s in only(*cut_both_ways()).series] == [
        "pCSR/resident, balance nonzeros",
        "pCSR/resident, balance rows",
    ]
    assert [s.label for s in only(*cut_both_ways()[:3]).series] == ["pCSR/resident"]


def test_a_library_is_always_named_and_comes_after_ours() -> None:
    theirs = by_cusparse(cold(), 1.5)
    assert [s.label for s in only(*theirs, *cold()).series] == [
        *("pCSR/baseline", "pCSR/p*", "pCSR/p*-opt"),
        *("pCSR/baseline, cusparse", "pCSR/p*, cusparse", "pCSR/p*-opt, cusparse"),
    ]
    assert [s.label for s in only(*by_cusparse(resident(), 1.5)).series] == ["pCSR/resident, cusparse"]
    assert [s.label for s in only(*resident(), *by_cusparse(resident(), 1.5)).series] == [
        "pCSR/resident",
        "pCSR/resident, cusparse",
    ]
    assert [s.label for s in only(*iterated(), *by_cusparse(iterated(), 1.5)).series][2:] == [
        "pCSR/iterate, overlap on, cusparse",
        "pCSR/iterate, overlap off, cusparse",
    ]


def test_equal_lines_are_those_of_the_baseline_and_of_the_cut_into_lines() -> None:
    assert [s.balance for s in only(*cold()).series] == ["rows", "nonzeros", "nonzeros"]
    assert [s.balance for s in only(*cut_both_ways()).series] == ["nonzeros", "rows"]
    assert [s.balance for s in only(*resident()).series] == ["nonzeros"]


def test_a_speed_up_is_over_one_device_of_the_same_series() -> None:
    on, off = only(*iterated()).series
    assert (on.base, off.base) == (on.on(1), off.on(1))
    assert [round(gain.value, 2) for m in off.timed if (gain := off.gain(m))] == [1.0, 1.6, 2.67]


def test_without_a_series_of_its_own_on_one_device_the_fastest_of_the_kernel_is_the_base() -> None:
    slow = worked("pCSR/p*", 0.2, 1, options={"merge": "host"})
    fast = worked("pCSR/p*", 0.1, 1, options={"merge": "elsewhere"})
    other = worked("pCSR/p*-opt", 0.01, 1)
    far = worked("pCSR/p*", 0.05, 4, options={"merge": "device"})
    series = next(s for s in only(slow, fast, other, far).series if s.on(4))
    assert series.base is fast
    assert [s.base for s in only(far, other).series if s.on(4)] == [None]


def test_equal_lines_have_no_time_on_one_device_and_are_held_against_equal_nonzeros_there() -> None:
    entries, lines = only(*cut_both_ways()).series
    assert (entries.on(1), lines.on(1)) == (entries.base, None)
    assert lines.base is entries.base is not None
    assert [round(gain.value, 2) for m in lines.timed if (gain := lines.gain(m))] == [1.33, 1.6]


def test_a_library_is_held_against_itself_alone() -> None:
    theirs = by_cusparse(cut_both_ways(), 1.5)
    entries, lines, *libraries = only(*cut_both_ways(), *theirs).series
    assert [s.base for s in libraries] == [libraries[0].on(1)] * 2
    assert entries.base is lines.base is entries.on(1)
    assert [s.base for s in only(*cut_both_ways()[1:], *theirs[:1]).series] == [None, None, theirs[0]]
    assert [s.base for s in only(*cut_both_ways()[:1], *theirs[1:]).series][1:] == [None, None]


@pytest.mark.parametrize(
    "other",
    [
        worked("pCSR/resident", 0.1, 1, "iterate"),
        worked("pCOO/resident", 0.1, 1, "resident"),
        worked("pCSR/resident", 0.1, 1, "resident", matrix="fem"),
        worked("pCSR/resident", 0.1, 1, "resident", device="cuda:1"),
        unworked("pCSR/resident", "too large", 1, "resident"),
    ],
    ids=["workload", "partitioning", "matrix", "machine", "no time"],
)
def test_other_work_matrices_or_machines_are_no_base(other: Measurement) -> None:
    far = worked("pCSR/resident", 0.05, 4, "resident")
    found = work_groups(shown(other, far))
    assert [s.base for group in found for s in group.series if s.on(4)] == [None]


def test_a_group_knows_its_leaders_and_its_baseline() -> None:
    group = only(*cold(), unworked("pCSR/p*", "no", 8))
    assert (group.most, group.leaders) == (4, ("pCSR/p*-opt",))
    assert [series.variant for series, _ in group.ranked(4)] == ["p*-opt", "p*", BASELINE]
    found = group.baseline(4)
    assert found is not None
    assert found[0].label == "pCSR/baseline"
    assert found[1].median_s == pytest.approx(0.08)
    assert only(*resident()).baseline(4) is None
    assert only(unworked("pCSR/p*", "no")).leaders == ()


def test_a_library_is_beside_the_ranking() -> None:
    group = only(
        *cold(), *by_cusparse(cold(), 0.5), worked("pCSR/p*", 0.001, 8, options={"kernel_library": "cusparse"})
    )
    assert (group.most, group.leaders) == (4, ("pCSR/p*-opt",))
    assert [series.competitor for series, _ in group.ranked(4)] == ["", "", ""]
    rival = group.rival(4)
    assert rival is not None
    assert rival[0].label == "pCSR/p*-opt, cusparse"
    assert rival[1].median_s == pytest.approx(0.016)
    ours, theirs = group.baseline(4), group.baseline(4, "cusparse")
    assert [found[1].median_s for found in (ours, theirs) if found] == pytest.approx([0.08, 0.04])
    assert number_of(group, shown(chosen=chosen(8))) == 4
    assert only(*cold()).rival(4) is None


def test_a_group_of_a_library_alone_has_no_leaders() -> None:
    group = only(*by_cusparse(resident(), 1.5))
    assert (group.most, group.leaders, group.ranked(4)) == (4, (), [])


def test_the_twin_is_the_same_with_a_librarys_product() -> None:
    on_device = worked("pCSR/p*-opt", 0.03, options={"merge": "device"})
    elsewhere = worked("pCSR/p*-opt", 0.02, options={"kernel_library": "cusparse"})
    group = only(*cold(), on_device, elsewhere, *by_cusparse(cold(), 1.5))
    twins = {series.label: group.twin(series, m) for series, m in group.ranked(4)}
    assert {label: twin.median_s if twin else None for label, twin in twins.items()} == {
        "pCSR/baseline": pytest.approx(0.12),
        "pCSR/p*": pytest.approx(0.06),
        "pCSR/p*-opt, merge host": pytest.approx(0.048),
        "pCSR/p*-opt, merge device": None,
    }
    rival = group.rival(4)
    assert rival is not None
    assert group.twin(*rival) is None


def test_the_speed_of_equal_lines_is_over_that_of_equal_nonzeros_with_the_same_product() -> None:
    theirs = [m if "rows" in m.case else replace(m, median_s=1e-3) for m in by_cusparse(cut_both_ways(), 2.0)]
    group = only(*cut_both_ways(), *theirs)
    found = {s.label: [group.cut_speed(s, m) for m in s.timed] for s in group.series}
    assert found == {
        "pCSR/resident, balance nonzeros": [None] * 3,
        "pCSR/resident, balance rows": pytest.approx([0.7, 0.5]),
        "pCSR/resident, balance nonzeros, cusparse": [None] * 3,
        "pCSR/resident, balance rows, cusparse": pytest.approx([1 / 12, 0.1]),
    }
    # Of products from the host the phase `compute`: 4 ms of 12.
    baseline = only(*cold()).series[0]
    assert only(*cold()).cut_speed(baseline, baseline.measurements[-1]) == pytest.approx(1 / 3)
    (alone,) = only(*cut_both_ways()[3:]).series
    assert only(*cut_both_ways()[3:]).cut_speed(alone, alone.measurements[-1]) is None


def test_the_reader_chooses_the_number_of_devices_where_it_has_a_time() -> None:
    for number, spoken in ((0, 4), (2, 2), (3, 4)):
        found = shown(*cold(), chosen=chosen(number))
        assert number_of(only(*cold()), found) == spoken
    assert numbers_of_devices(shown(*cold(), unworked("pCSR/p*", "no", 8))) == (1, 2, 4, 8)


def test_devices_of_a_cpu_are_virtual() -> None:
    assert [only(*resident(device=device)).machine for device in ("cpu", "gpu1/cpu", "cuda:0")] == [
        "cpu (simulated)",
        "gpu1/cpu (simulated)",
        "cuda:0",
    ]
    assert [devices_in_words(number, virtual) for number, virtual in ((1, False), (4, True))] == [
        "1 device",
        "4 simulated devices",
    ]


def test_no_results() -> None:
    assert work_groups(StudyData()) == []
    assert by_work([]) == []
    assert numbers_of_devices(StudyData()) == ()
