from dataclasses import replace

import pytest

from gpu_engine.records import Measurement
from tests.web.scaling_samples import LOPSIDED, NOTE, cold, iterated, ranked, resident, shared, shown, unworked, worked
from web.scaling import (
    BASELINE,
    COLD,
    STAYING,
    WorkGroup,
    by_work,
    hidden_share,
    imbalance,
    in_words,
    is_virtual,
    number_of,
    numbers_of_devices,
    phases_of,
    speed_up,
    work_groups,
)
from web.shown import Shown


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
        assert all(f"work={group.work}" in case for case in cases)


def test_a_series_differs_in_the_number_of_devices_alone() -> None:
    group = only(*reversed(cold()))
    assert [(s.label, [m.devices for m in s.measurements]) for s in group.series] == [
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


@pytest.mark.parametrize(
    "other",
    [
        worked("pCSR/resident", 0.1, 1, "iterate"),
        worked("pCOO/resident", 0.1, 1, "resident"),
        worked("pCSR/resident", 0.1, 1, "resident", matrix="fem"),
        worked("pCSR/resident", 0.1, 1, "resident", device="cuda:1"),
        unworked("pCSR/resident", "too large", 1, "resident"),
    ],
    ids=["work", "partitioning", "matrix", "machine", "no time"],
)
def test_other_work_matrices_or_machines_are_no_base(other: Measurement) -> None:
    far = worked("pCSR/resident", 0.05, 4, "resident")
    found = work_groups(shown(other, far))
    assert [s.base for group in found for s in group.series if s.on(4)] == [None]


def test_the_interval_of_a_speed_up_takes_the_far_ends_of_both() -> None:
    base, m = worked("pCSR/p*", 0.1, 1), worked("pCSR/p*", 0.04, 4)
    gain = speed_up(base, m)
    assert gain is not None
    assert gain.kind == "faster"
    assert [gain.low, gain.value, gain.high] == pytest.approx([0.099 / 0.0404, 2.5, 0.101 / 0.0396])
    bare = speed_up(base, replace(m, ci_low_s=None, ci_high_s=None))
    assert bare is not None
    assert (bare.low, bare.high, bare.kind) == (None, None, "ambiguous")
    assert speed_up(base, unworked("pCSR/p*", "no")) is speed_up(None, m) is None


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


def test_the_reader_chooses_the_number_of_devices_where_it_has_a_time() -> None:
    for chosen, spoken in ((0, 4), (2, 2), (3, 4)):
        found = shown(*cold(), devices=chosen)
        assert number_of(only(*cold()), found) == spoken
    assert numbers_of_devices(shown(*cold(), unworked("pCSR/p*", "no", 8))) == (1, 2, 4, 8)


def test_devices_of_a_cpu_are_virtual() -> None:
    assert [only(*resident(device=device)).machine for device in ("cpu", "gpu1/cpu", "cuda:0")] == [
        "cpu (virtual)",
        "gpu1/cpu (virtual)",
        "cuda:0",
    ]
    assert is_virtual(replace(resident()[0], device="recorded:laptop", note=NOTE))
    assert is_virtual(unworked("pCSR/p*", "needs 41 GB", device="cpu")), "its note is a reason"
    assert [in_words(number, virtual) for number, virtual in ((1, False), (4, True))] == [
        "1 device",
        "4 virtual devices",
    ]


def test_the_hidden_share_is_what_both_save_together_over_the_exchange() -> None:
    on, off = (series.on(4) for series in only(*iterated()).series)
    assert on is not None
    assert off is not None
    assert phases_of(on) == {"compute": pytest.approx(2e-3), "exchange": pytest.approx(1e-3)}
    assert hidden_share(on) == pytest.approx(0.5)
    assert hidden_share(replace(off, median_s=2.5e-3)) is None
    assert hidden_share(replace(on, median_s=1e-3)) == 1.0
    assert hidden_share(replace(on, median_s=5e-3)) == 0.0


def test_one_device_has_nothing_to_exchange() -> None:
    alone = replace(iterated()[0], phases_s={"compute": 8e-3, "exchange": 1e-5})
    assert phases_of(alone) == {"compute": 8e-3}
    assert hidden_share(alone) is None


def test_imbalance_is_the_largest_part_over_the_mean() -> None:
    found = {
        devices: imbalance(worked("pCSR/baseline", 1.0, entries_by_device=LOPSIDED[devices])) for devices in LOPSIDED
    }
    assert found == {1: 1.0, 2: 1.5, 4: 2.5}
    assert imbalance(worked("pCSR/p*", 1.0, entries_by_device=(0, 0))) is None
    assert imbalance(unworked("pCSR/p*", "no")) is None


def test_no_results() -> None:
    assert work_groups(Shown()) == []
    assert by_work([]) == []
    assert numbers_of_devices(Shown()) == ()
