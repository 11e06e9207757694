from dataclasses import replace

import pytest

from gpu_engine.findings.scaling.cases import hidden_share, imbalance, is_virtual, phases_of, share_of, speed_up
from tests.samples.scaling import LOPSIDED, NOTE, cold, iterated, resident, unworked, worked


def test_axes_are_those_of_the_case() -> None:
    assert iterated()[2].axes == {"devices": "4", "workload": "iterate", "exchange": "halo", "overlap": "on"}


def test_devices_of_a_cpu_are_virtual_here_and_in_recordings() -> None:
    assert [is_virtual(resident(device=device)[0]) for device in ("cpu", "gpu1/cpu", "cuda:0")] == [True, True, False]
    assert is_virtual(replace(resident()[0], device="recorded:laptop", note=NOTE))
    assert is_virtual(replace(resident()[0], device="recorded:laptop", note=f"γ is 0.1; {NOTE}"))
    assert is_virtual(unworked("pCSR/p*", "needs 41 GB", device="cpu")), "its note is a reason"


def test_the_interval_of_a_speed_up_takes_the_far_ends_of_both() -> None:
    base, m = worked("pCSR/p*", 0.1, 1), worked("pCSR/p*", 0.04, 4)
    gain = speed_up(base, m)
    assert gain is not None
    assert gain.kind == "faster"
    assert [gain.low, gain.value, gain.high] == pytest.approx([0.099 / 0.0404, 2.5, 0.101 / 0.0396])
    bare = speed_up(base, replace(m, ci_low_s=None, ci_high_s=None))
    assert bare is not None
    assert (bare.low, bare.high, bare.kind) == (None, None, "inconclusive")
    assert speed_up(base, unworked("pCSR/p*", "no")) is speed_up(None, m) is None


def test_the_hidden_share_is_what_both_save_together_over_the_exchange() -> None:
    on, off = iterated()[2], iterated()[5]
    assert phases_of(on) == {"compute": pytest.approx(2e-3), "exchange": pytest.approx(1e-3)}
    assert hidden_share(on) == pytest.approx(0.5)
    assert hidden_share(replace(off, median_s=2.5e-3)) is None
    assert hidden_share(replace(on, median_s=1e-3)) == 1.0
    assert hidden_share(replace(on, median_s=5e-3)) == 0.0


def test_one_device_has_nothing_to_exchange() -> None:
    alone = iterated()[0].with_(phases_s={"compute": 8e-3, "exchange": 1e-5})
    assert phases_of(alone) == {"compute": 8e-3}
    assert hidden_share(alone) is None


def test_imbalance_is_the_largest_part_over_the_mean() -> None:
    found = {
        devices: imbalance(worked("pCSR/baseline", 1.0, nonzeros_by_device=LOPSIDED[devices])) for devices in LOPSIDED
    }
    assert found == {1: 1.0, 2: 1.5, 4: 2.5}
    assert imbalance(worked("pCSR/p*", 1.0, nonzeros_by_device=(0, 0))) is None
    assert imbalance(unworked("pCSR/p*", "no")) is None


def test_a_share_is_of_the_time_and_of_phases_that_are_there() -> None:
    longer = replace(cold()[-1], median_s=0.04)
    assert share_of(longer, "partition") == pytest.approx(9 / 40)
    assert share_of(longer, "partition", "distribute") == pytest.approx(24 / 40)
    assert share_of(longer, "partition", "exchange") is None
    assert share_of(resident()[0], "partition") is share_of(unworked("pCSR/p*", "no"), "partition") is None
