from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from gpu_engine.findings.batched.energy import (
    MIXED,
    OF_PAPER,
    OTHERS,
    EnergySetting,
    by_device,
    energies,
    per_watt,
    sentences,
)
from gpu_engine.findings.batched.paper import SIMILAR
from gpu_engine.findings.bootstrap import CONTESTS_MIN
from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.records import Measurement
from tests.samples.batched import mixed, multiplied, shown

NAMES = SIMILAR[:CONTESTS_MIN]
COO, CSRI, AUTO = "coo/segmented", "csri/warp", "auto/flexible"


def spent(kernel: str, rate: float, watts: float, matrix: str, device: str = "cuda:0", **fields: Any) -> Measurement:
    """A kernel at a rate in GFLOP/s and a power; the batch of 1,000 has 10⁶ operations."""
    return multiplied(kernel, rate, 1000, matrix, device=device, energy_j=watts * 1e6 / (rate * 1e9), **fields)


def batches(names: Iterable[str] = NAMES, device: str = "cuda:0", **fields: Any) -> Iterator[Measurement]:
    """Return kernels per matrix: COO is the fastest of the paper, CSR-I needs the least energy of them, auto of all."""
    for number, name in enumerate(names):
        yield spent(COO, 100.0, 700.0, name, device, **fields)
        # Powers scatter around 400 W.
        yield spent(CSRI, 80.0, 390.0 + 20.0 * (number % 2), name, device, **fields)
        yield spent(AUTO, 120.0, 300.0, name, device, **fields)


def only(measurements: Iterable[Measurement]) -> EnergySetting:
    (setting,) = energies(StudyData(list(measurements)))
    return setting


def test_gflops_per_watt_are_operations_per_joule() -> None:
    assert per_watt(spent(COO, 100.0, 500.0, "west")) == pytest.approx(0.2)
    assert per_watt(multiplied(COO, 100.0)) is None


def test_means_are_over_the_batches_of_a_kind() -> None:
    setting = only(batches())
    assert (setting.device, setting.cache, setting.kind) == ("cuda:0", "warm", OF_PAPER)
    assert [each.kernel for each in setting.kernels] == [AUTO, CSRI, COO]
    best = setting.kernels[0]
    assert len(best.batches) == CONTESTS_MIN
    assert (best.per_watt, best.watts) == pytest.approx((0.4, 300.0))
    # 10⁶ operations at 0.4 GFLOP per joule are 2.5 mJ for 1,000 matrices.
    assert best.joules == pytest.approx(2.5e-6)
    low, high = setting.kernels[1].interval or (0.0, 0.0)
    assert low < (setting.kernels[1].per_watt or 0.0) < high


def test_the_kernel_with_the_least_energy_need_not_be_the_fastest() -> None:
    setting = only(batches())
    assert setting.least is not None
    assert setting.of_paper is not None
    assert (setting.least.energy, setting.least.fastest, setting.least.decided) == ((AUTO,), (AUTO,), True)
    assert (setting.of_paper.energy, setting.of_paper.fastest) == ((CSRI,), (COO,))
    of_all, of_paper = sentences(setting)
    assert f"{AUTO} needs the least energy. Throughput: 0.400 GFLOP/s per watt" in of_all
    assert COO not in of_all
    assert f"{CSRI} needs the least energy. Throughput: 0.200 GFLOP/s per watt" in of_paper
    assert of_paper.endswith(f"{COO}.")


def test_kernels_whose_ratio_may_be_one_are_tied() -> None:
    scattered = [spent(COO, 100.0, 400.0 + (90.0 if number % 2 else -90.0), n) for number, n in enumerate(NAMES)]
    setting = only([*scattered, *(spent(CSRI, 100.0, 410.0, name) for name in NAMES)])
    assert setting.least is not None
    assert set(setting.least.energy) == {COO, CSRI}


def test_few_batches_have_no_verdict() -> None:
    setting = only(batches(NAMES[1:]))
    assert setting.least is not None
    assert (setting.least.batches, setting.least.decided) == (CONTESTS_MIN - 1, False)
    assert sentences(setting)[0].endswith(f"{CONTESTS_MIN - 1} batches are too few for a verdict.")


def test_noisy_batches_do_not_count() -> None:
    noisy = [*batches(NAMES[:1], aa_gap=0.5), *batches(NAMES[1:])]
    setting = only(noisy)
    assert [(len(each.batches), len(each.quiet)) for each in setting.kernels] == [(CONTESTS_MIN, CONTESTS_MIN - 1)] * 3
    assert setting.least is not None
    assert setting.least.batches == CONTESTS_MIN - 1
    every = only(batches(aa_gap=0.5))
    assert (every.least, every.kernels[0].per_watt, every.kernels[0].joules, sentences(every)) == (None, None, None, ())


def test_a_kernel_without_most_energies_takes_no_part_and_no_batch_counts_without_the_others() -> None:
    rare = spent("csr/smart", 200.0, 10.0, NAMES[0])
    lacking = [m for m in batches(SIMILAR) if (m.matrix_id, m.kernel) != (SIMILAR[0], COO)]
    setting = only([*lacking, rare])
    assert setting.least is not None
    assert (setting.least.energy, setting.least.batches) == ((AUTO,), len(SIMILAR) - 1)
    assert "csr/smart" in [each.kernel for each in setting.kernels]


def test_other_matrices_mixed_batches_and_devices_are_apart() -> None:
    data = shown(
        spent(COO, 1.0, 1.0, "r2"),
        spent(COO, 1.0, 1.0, "nos3"),
        spent(COO, 1.0, 1.0, "nos3", "cuda:1"),
        *(m.with_(energy_j=1.0) for m in mixed("west", "nos3")),
    )
    assert [(setting.kind, setting.device) for setting in energies(data)] == [
        (OF_PAPER, "cuda:0"),
        (OF_PAPER, "cuda:1"),
        (MIXED, "cuda:0"),
        (OTHERS, "cuda:0"),
    ]
    assert energies(shown(multiplied(COO, 1.0))) == ()


def test_devices_are_compared_on_the_batches_that_they_share() -> None:
    known = {name: MatrixFeatures(name) for name in NAMES}
    other = [m.with_(energy_j=2 * (m.energy_j or 0.0)) for m in batches(NAMES[2:], "cuda:1")]
    text = by_device(StudyData([*batches(), *other], known), AUTO)
    assert text.startswith(f"{AUTO} 0.400 on cuda:0 and 0.200 on cuda:1")
    assert f"({len(NAMES) - 2} batches)" in text
    assert by_device(StudyData([*batches(NAMES[:1]), *batches(NAMES[1:], "cuda:1")], known), AUTO) == ""
    assert by_device(StudyData(), AUTO) == ""
