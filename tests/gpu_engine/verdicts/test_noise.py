from typing import Any

import pytest

from gpu_engine.pagerank.details import PageRankDetails
from gpu_engine.records import Case, Details, Measurement
from gpu_engine.studies.batched.experiment import BatchDetails
from gpu_engine.studies.formats.experiment import ProductDetails
from gpu_engine.studies.scaling.experiment import ScalingDetails
from gpu_engine.verdicts.noise import beats_copy, noise

CASE = Case("m", "csr/vector", "warm")
NNZ = 1000


def timed(median: float = 1e-6, details: type[Details] = ProductDetails, **fields: Any) -> Measurement:
    plain: dict[str, Any] = {
        "median_s": median,
        "min_s": median,
        "q3_s": median,
        "gflops": 2 * NNZ / median / 1e9,
        "stored_bytes": 12 * NNZ,
        "roofline_s": median / 2,
        "gather_probe_s": median / 2,
        "aa_gap": 0.001,
    }
    return Measurement.of(CASE, "cpu", details, **{**plain, **fields})


FAILED = Measurement.of(CASE, "cpu", ProductDetails, "failed")


@pytest.mark.parametrize(
    "group",
    [
        [],
        [FAILED],
        [timed(), FAILED],
        [timed(aa_gap=None)],
        [timed(aa_gap=0.05)],
        # One unsteady kernel is no busy machine.
        [timed(q3_s=9e-6), timed(), timed()],
        [timed(q3_s=2e-6)],
        # A layout of fewer bytes may be quicker than a probe that moves all of them.
        [timed(gather_probe_s=3e-6, roofline_s=3e-6, stored_bytes=4 * NNZ)],
        [timed(ci_low_s=0.5e-6, ci_high_s=3.4e-6)],
        [timed(ci_low_s=1e-6, ci_high_s=1e-6), timed(2e-6, ci_low_s=1.5e-6, ci_high_s=9e-6)],
        [timed(roofline_s=1.4e-6, gather_probe_s=1.4e-6)],
        # The floor of work that several devices share, of a batch and of a whole run of PageRank is another one.
        [timed(roofline_s=3e-6, details=ScalingDetails, devices=4)],
        [timed(roofline_s=3e-6, details=ScalingDetails, devices=1, iterations=10)],
        [timed(roofline_s=3e-6, details=BatchDetails, batch_size=10)],
        [timed(roofline_s=3e-6, details=PageRankDetails, iterations=10)],
    ],
)
def test_a_quiet_machine(group: list[Measurement]) -> None:
    assert noise(group) == ""


@pytest.mark.parametrize(
    ("group", "reason"),
    [
        ([timed(), timed(aa_gap=0.12)], "two runs of the control kernel differ by 12.0\u202f%"),
        ([timed(aa_gap=8.9)], "two runs of the control kernel differ by 890.0\u202f%"),
        ([timed(aa_gap=31.26)], "two runs of the control kernel differ by a factor of 32"),
        (
            [timed(q3_s=9e-6), timed(q3_s=8e-6), timed()],
            "25 % of the rounds took more than 8.0 × as long as the fastest round",
        ),
        ([timed(gather_probe_s=48.83e-6)], "the gather probe took 48.8 × as long as a kernel that moves as many bytes"),
        # Half the bytes are a reason for half the time.
        (
            [timed(gather_probe_s=40e-6, stored_bytes=6 * NNZ)],
            "the gather probe took 20.0 × as long as a kernel that moves as many bytes",
        ),
        (
            [timed(ci_low_s=1e-6, ci_high_s=1e-6), timed(4e-6, ci_low_s=1e-6, ci_high_s=20e-6)],
            "a confidence interval is 4.8 × as wide as its median",
        ),
        # A kernel that did not converge shows the machine too.
        ([timed(state="unconverged", aa_gap=0.12)], "two runs of the control kernel differ by 12.0\u202f%"),
        # The quickest round counts, however near the median is to the third quartile.
        ([timed(1e-6, min_s=0.4e-6)], "25 % of the rounds took more than 2.5 × as long as the fastest round"),
        ([timed(roofline_s=2e-6)], "the copy probe took 2.0 × as long as a kernel that moves as many bytes"),
        (
            [timed(roofline_s=2e-6, details=ScalingDetails, devices=1)],
            "the copy probe took 2.0 × as long as a kernel that moves as many bytes",
        ),
    ],
)
def test_a_busy_machine(group: list[Measurement], reason: str) -> None:
    assert noise(group) == f"Too noisy to rank: {reason}. Close other programs on this machine and measure again."


@pytest.mark.parametrize(
    "group",
    [
        [timed(1.0, ci_low_s=0.5, ci_high_s=3.5)],
        [timed(1.0, roofline_s=1.5, gather_probe_s=1.5, stored_bytes=24 * NNZ)],
    ],
)
def test_what_reaches_a_limit_is_not_over_it(group: list[Measurement]) -> None:
    assert noise(group) == ""


def test_the_copy_is_beaten_by_its_own_floor_alone() -> None:
    assert beats_copy(timed(roofline_s=2e-6))
    assert not beats_copy(timed(gather_probe_s=48e-6))
    assert not beats_copy(timed(1.0, roofline_s=1.5))
