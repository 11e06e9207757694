import dataclasses
import json
from itertools import permutations
from pathlib import Path

import pytest

from gpu_engine.measure import Timing
from gpu_engine.records import Measurement
from gpu_engine.verdict import compare


def timed(median: float, half: float = 0.0, device: str = "cuda:0", **fields: object) -> Measurement:
    base = Measurement("m|k|warm|", "m", device, "csr", "csr/vector", "ok", "warm")
    spread = {"median_s": median, "ci_low_s": median - half, "ci_high_s": median + half, "samples_s": (median,) * 9}
    spread |= {"min_s": median - 2 * half, "q3_s": median + 2 * half}
    return dataclasses.replace(base, **{**spread, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("baseline", "other", "kind"),
    [
        (timed(1.0), timed(0.5), "faster"),
        (timed(0.5), timed(1.0), "slower"),
        (timed(1.0), timed(1.009), "same"),
        (timed(1.0, device="cpu"), timed(1.019, device="cpu"), "same"),
        (timed(1.0), timed(1.02), "slower"),
        (timed(1.0, reference_gap=0.03), timed(1.02), "same"),
        (timed(1.0, reference_gap=0.5), timed(1.3), "ambiguous"),
        (timed(1.0, reference_gap=0.5), timed(1.03), "same"),
        (timed(1.0, reference_gap=0.5), timed(4.0), "slower"),
        (timed(1.0, half=0.2), timed(0.9, half=0.2), "ambiguous"),
        (timed(1.0, half=0.02), timed(0.93, half=0.02), "ambiguous"),
        (timed(1.0, half=0.01), timed(0.93, half=0.01), "faster"),
        (timed(1.0, samples_s=(1.0,) * 8), timed(0.5), "ambiguous"),
        (timed(1.0, clock_hz=1.0e9), timed(0.9, clock_hz=1.111e9), "ambiguous"),
        (timed(1.0, clock_hz=1.9e9), timed(0.5, clock_hz=1.98e9), "faster"),
        (timed(1.0), timed(0.5, device="cpu"), "ambiguous"),
        (timed(1.0), timed(0.5, cache="cold"), "ambiguous"),
        (timed(1.0), timed(0.5, median_s=None), "ambiguous"),
        (timed(1.0), timed(0.5, ci_high_s=None), "ambiguous"),
    ],
)
def test_compare(baseline: Measurement, other: Measurement, kind: str) -> None:
    verdict = compare(baseline, other)
    assert verdict.kind == kind, verdict.reason
    assert verdict.reason


RECORDED: dict[str, list[list[int]]] = json.loads(
    Path(__file__).with_name("identical_kernels.json").read_text(encoding="utf-8")
)
"""Nanoseconds of the rounds of kernels that each entered the same rounds seven times, on a CPU and on a GPU."""


def verdicts_on_itself(name: str) -> list[str]:
    """The first two entries are the reference and its repeat; the others are compared pair by pair."""
    device = name.split()[0]
    entries = [
        timed(1.0, device=device, **Timing(tuple(t * 1e-9 for t in rounds), None).fields()) for rounds in RECORDED[name]
    ]
    first, again = (entry.median_s or 0.0 for entry in entries[:2])
    entries = [dataclasses.replace(entry, reference_gap=abs(again / first - 1)) for entry in entries]
    return [compare(a, b).kind for a, b in permutations(entries[2:], 2)]


@pytest.mark.parametrize("name", RECORDED)
def test_a_kernel_against_itself_is_never_faster_nor_slower(name: str) -> None:
    assert set(verdicts_on_itself(name)) <= {"same", "ambiguous"}


def test_a_kernel_against_itself_is_mostly_the_same() -> None:
    kinds = [kind for name in RECORDED for kind in verdicts_on_itself(name)]
    assert kinds.count("same") > 0.9 * len(kinds)


def test_ratio_is_how_many_times_faster_the_other_is() -> None:
    assert compare(timed(1.0), timed(0.5)).ratio == pytest.approx(2.0)
    assert compare(timed(1.0), timed(0.5, median_s=None)).ratio is None


def test_records_without_samples_are_judged_by_their_intervals() -> None:
    assert compare(timed(1.0, samples_s=()), timed(0.5, samples_s=())).kind == "faster"
