"""Whether more devices pay: over the fastest run on one device, in one partitioning."""

from gpu_engine.findings.scaling.answer import machines
from tests.samples.scaling import shown, unworked, worked


def test_the_fastest_run_is_held_against_the_fastest_on_one_device() -> None:
    data = shown(
        worked("pCSR/baseline", 10e-3, 1),
        worked("pCSR/p*-opt", 8e-3, 1),
        worked("pCSR/baseline", 12e-3, 4),
        worked("pCSR/p*-opt", 4e-3, 4),
        worked("pCOO/p*-opt", 20e-3, 1),
        worked("pCOO/p*-opt", 2e-3, 4),
    )
    ((machine),) = machines(data)
    (scaled,) = machine.scaled
    assert machine.devices == 4
    assert scaled.group.partitioning == "pCSR", "the partitioning that is fastest on one device"
    assert scaled.speedup.value == 2.0
    assert scaled.of_rows is not None
    assert scaled.of_rows.value == 8 / 12
    assert scaled.of_rows.kind == "slower"
    assert machine.balance_gain is not None
    assert round(machine.balance_gain, 9) == 3.0


def test_workloads_are_apart() -> None:
    cold = worked("pCSR/p*-opt", 8e-3, 1), worked("pCSR/p*-opt", 4e-3, 4)
    resident = worked("pCSR/resident", 1e-3, 1, "resident"), worked("pCSR/resident", 0.25e-3, 4, "resident")
    (machine,) = machines(shown(*cold, *resident))
    assert machine.works == ("cold", "resident")
    assert [each.speedup.value for each in machine.scaled] == [2.0, 4.0]


def test_without_one_and_several_devices_there_is_no_speedup() -> None:
    assert machines(shown(worked("pCSR/p*-opt", 4e-3, 4))) == []
    assert machines(shown(worked("pCSR/p*-opt", 4e-3, 1))) == []
    assert machines(shown(worked("pCSR/p*-opt", 4e-3, 4), unworked("pCSR/p*-opt", "no memory", 1))) == []


def test_fewer_devices_are_named_only_if_they_are_faster() -> None:
    def fewer(*times: float) -> int | None:
        runs = [worked("pCSR/p*-opt", time, n) for time, n in zip(times, (1, 2, 4), strict=True)]
        (machine,) = machines(shown(*runs))
        return machine.scaled[0].fewer

    assert fewer(8e-3, 4e-3, 5e-3) == 2
    assert fewer(8e-3, 5e-3, 4e-3) is None
    assert fewer(8e-3, 4e-3, 4e-3) is None


def test_a_number_of_devices_can_be_chosen() -> None:
    runs = [worked("pCSR/p*-opt", time, devices) for time, devices in ((8e-3, 1), (5e-3, 2), (4e-3, 4))]
    (machine,) = machines(shown(*runs, chosen={"devices": ("2",)}))
    assert machine.devices == 2
    assert [each.speedup.value for each in machine.scaled] == [1.6]
    (most,) = machines(shown(*runs))
    (scaled,) = most.scaled
    assert [gain.value for number in (1, 2, 4) if (gain := scaled.on(number))] == [1.0, 1.6, 2.0]
    assert scaled.on(3) is None
