import dataclasses
import math

import pytest

from gpu_engine.records import Case, Details, Measurement
from gpu_engine.studies import STUDIES
from gpu_engine.verdicts.verdict import (
    NO_CONTROL,
    UNKNOWN_GAP,
    compare,
    gap_text,
    interval_of_ratio,
    percent_text,
    rounds_apart,
    speedup_text,
)


def timed(median: float, half: float = 0.0, device: str = "cuda:0", **fields: object) -> Measurement:
    base = Measurement.of(Case("m", "csr/vector", "warm"), device, Details)
    spread = {"median_s": median, "ci_low_s": median - half, "ci_high_s": median + half, "samples_s": (median,) * 9}
    spread |= {"min_s": median - 2 * half, "q3_s": median + 2 * half, "aa_gap": 0.0}
    return dataclasses.replace(base, **{**spread, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("baseline", "other", "kind"),
    [
        (timed(1.0), timed(0.5), "faster"),
        (timed(0.5), timed(1.0), "slower"),
        (timed(1.0), timed(1.009), "same"),
        (timed(1.0, device="cpu"), timed(1.019, device="cpu"), "same"),
        (timed(1.0), timed(1.02), "slower"),
        (timed(1.0, aa_gap=0.03), timed(1.02), "same"),
        (timed(1.0, aa_gap=0.5), timed(1.3), "inconclusive"),
        (timed(1.0, aa_gap=0.5), timed(1.03), "inconclusive"),
        (timed(1.0, aa_gap=140.71), timed(1.04), "inconclusive"),
        (timed(1.0, aa_gap=0.049), timed(1.001), "same"),
        (timed(1.0, aa_gap=0.051), timed(1.001), "inconclusive"),
        (timed(1.0, half=0.02), timed(1.001, half=0.02), "same"),
        (timed(1.0, half=0.022), timed(1.001, half=0.022), "inconclusive"),
        (timed(1.0, half=0.022, device="cpu"), timed(1.001, half=0.022, device="cpu"), "same"),
        (timed(1.0, half=0.04, device="cpu"), timed(1.001, half=0.04, device="cpu"), "inconclusive"),
        (timed(1.0, aa_gap=0.5), timed(4.0), "slower"),
        (timed(1.0, half=0.2), timed(0.9, half=0.2), "inconclusive"),
        (timed(1.0, half=0.02), timed(0.93, half=0.02), "inconclusive"),
        (timed(1.0, half=0.01), timed(0.93, half=0.01), "faster"),
        (timed(1.0, samples_s=(1.0,) * 8), timed(0.5), "faster"),
        (timed(1.0, samples_s=(1.0,) * 8), timed(1.0), "inconclusive"),
        (timed(1.0, samples_s=(1.0,) * 8), timed(1.001), "inconclusive"),
        # A few rounds have to lie apart by what they are few, and by the limit.
        (timed(1.0, rounds=8), timed(1.031), "slower"),
        (timed(1.0, rounds=8), timed(1.029), "inconclusive"),
        (timed(1.0, rounds=5), timed(1.07), "slower"),
        (timed(1.0, rounds=5), timed(1.06), "inconclusive"),
        (timed(1.0), timed(0.93, rounds=5), "faster"),
        (timed(1.0, half=0.01, rounds=5), timed(1.07), "inconclusive"),
        (timed(1.0, rounds=5, aa_gap=0.02), timed(1.07), "inconclusive"),
        (timed(1.0, rounds=4), timed(5.1), "slower"),
        (timed(1.0, rounds=4), timed(5.0), "inconclusive"),
        (timed(1.0, rounds=2), timed(10.2), "slower"),
        (timed(1.0), timed(10.2, rounds=2), "slower"),
        (timed(1.0), timed(10.2, rounds=2, clock_hz=1.0e9), "slower"),
        (timed(1.0, rounds=2), timed(10.0), "inconclusive"),
        (timed(1.0, rounds=1), timed(1000.0), "inconclusive"),
        (timed(1.0, rounds=6), timed(1.06), "inconclusive"),
        (timed(1.0, rounds=7), timed(1.031), "slower"),
        # Three rounds reach further than from the least to the largest.
        (timed(1.0, half=0.1, rounds=3), timed(15.0), "inconclusive"),
        (timed(1.0, half=0.1, rounds=3), timed(30.0), "slower"),
        (timed(1.0, clock_hz=1.0e9), timed(0.9, clock_hz=1.111e9), "inconclusive"),
        (timed(1.0, clock_hz=1.9e9), timed(0.5, clock_hz=1.98e9), "faster"),
        (timed(1.0), timed(0.5, device="cpu"), "inconclusive"),
        (timed(1.0), timed(0.5, cache="cold"), "inconclusive"),
        (timed(1.0), timed(0.5, matrix_id="n"), "inconclusive"),
        (timed(1.0), timed(0.5, median_s=None), "inconclusive"),
        (timed(1.0), timed(0.5, ci_high_s=None), "inconclusive"),
        (timed(1.0), timed(1.0, ci_low_s=None), "inconclusive"),
    ],
)
def test_compare(baseline: Measurement, other: Measurement, kind: str) -> None:
    verdict = compare(baseline, other)
    assert verdict.kind == kind, verdict.reason
    assert verdict.reason


def test_a_measurement_under_two_names_is_the_same_whatever_the_noise() -> None:
    best = timed(1.0, half=0.3, aa_gap=0.5)
    assert compare(best, dataclasses.replace(best, kernel="cusparse/best")).kind == "same"
    assert compare(best, dataclasses.replace(best, min_s=0.39)).kind == "inconclusive"


def unknown(median: float, study: str = "", **fields: object) -> Measurement:
    """Of rounds that no kernel entered twice."""
    return timed(median, **{"aa_gap": None, "study": study, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize("other", [1.001, 1.5])
def test_a_verdict_without_a_reference_kernel_says_so(other: float) -> None:
    assert compare(unknown(1.0), unknown(other)).reason.endswith(
        f"{NO_CONTROL} {percent_text(max(UNKNOWN_GAP.values()))}."
    )
    assert NO_CONTROL not in compare(timed(1.0), unknown(other)).reason
    assert NO_CONTROL not in compare(unknown(1.0), timed(other)).reason


@pytest.mark.parametrize("gap", [0.005, 0.02, 0.049, 0.051, 0.5])
@pytest.mark.parametrize("other", [1.0009, 1.015, 1.03, 1.06, 0.93, 1.4, 3.0])
def test_an_unknown_gap_decides_as_a_measured_one_of_its_size(
    gap: float, other: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpu_engine.verdicts.verdict.UNKNOWN_GAP", {"formats": gap})
    found = compare(unknown(1.0, "formats"), unknown(other, "formats"))
    assert found.kind == compare(timed(1.0, aa_gap=gap), timed(other, aa_gap=gap)).kind


def test_an_unknown_gap_is_that_of_the_study_and_of_an_unknown_study_the_largest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gpu_engine.verdicts.verdict.UNKNOWN_GAP", {"formats": 0.015, "scaling": 0.04, "batched": 0.02})
    kinds = {study: compare(unknown(1.0, study), unknown(0.97, study)).kind for study in ("formats", "scaling", "else")}
    assert kinds == {"formats": "faster", "scaling": "inconclusive", "else": "inconclusive"}


def test_unknown_gaps_are_of_studies() -> None:
    assert set(UNKNOWN_GAP) <= {study.name for study in STUDIES}


def test_interval_of_ratio_adds_the_distances_in_squares() -> None:
    low, high = interval_of_ratio(timed(2.0, half=0.06), timed(1.0, half=0.04)) or (0.0, 0.0)
    assert low == pytest.approx(2 * math.exp(-math.hypot(math.log(2 / 1.94), math.log(1.04))))
    assert high == pytest.approx(2 * math.exp(math.hypot(math.log(2.06 / 2), math.log(1 / 0.96))))
    assert interval_of_ratio(timed(1.0), timed(1.0, ci_low_s=None)) is None
    assert interval_of_ratio(timed(1.0, ci_high_s=None), timed(1.0)) is None


def test_ratio_is_how_many_times_faster_the_other_is() -> None:
    assert compare(timed(1.0), timed(0.5)).ratio == pytest.approx(2.0)
    assert compare(timed(1.0), timed(0.5, median_s=None)).ratio is None


@pytest.mark.parametrize(
    ("other", "words"),
    [(0.8, "speedup 1.25 ×"), (1.5, "slowdown 1.50 ×"), (63.0, "slowdown 63.0 ×"), (0.05, "speedup 20.0 ×")],
)
def test_a_ratio_is_time_over_time_and_at_least_one(other: float, words: str) -> None:
    assert compare(timed(1.0), timed(other)).reason.startswith(words.capitalize())
    assert speedup_text(0.998) == speedup_text(1.004) == "same time"


def test_records_without_samples_are_judged_by_their_intervals() -> None:
    assert compare(timed(1.0, samples_s=()), timed(0.5, samples_s=())).kind == "faster"


@pytest.mark.parametrize(
    ("baseline", "other"),
    [
        (timed(1.0, clock_hz=1.0e9), timed(0.9, clock_hz=1.3e9)),
        (timed(0.9, clock_hz=1.3e9), timed(1.0, clock_hz=1.0e9)),
    ],
)
def test_a_gap_that_turns_round_in_clock_cycles_decides_nothing(baseline: Measurement, other: Measurement) -> None:
    assert compare(baseline, other).kind == "inconclusive"


@pytest.mark.parametrize(
    ("baseline", "other", "kind"),
    [
        (timed(1.03125, device="cpu", aa_gap=0.03125), timed(1.0, device="cpu"), "same"),
        (timed(1.0, aa_gap=0.05), timed(1.001), "same"),
        (timed(1.0), timed(1.02, aa_gap=0.03), "same"),
        # One end of the interval is enough for doubt.
        (timed(1.0, ci_high_s=1.05), timed(1.0), "inconclusive"),
        (timed(1.0, ci_low_s=0.95), timed(1.0), "inconclusive"),
        # What touches is not apart.
        (timed(1.0, ci_high_s=1.05), timed(1.1, ci_low_s=1.05), "inconclusive"),
        (timed(1.0, q3_s=1.05), timed(1.1, min_s=1.05), "inconclusive"),
        (timed(1.0, rounds=8, q3_s=1.07), timed(1.1, rounds=8), "inconclusive"),
        (timed(1.0, rounds=8), timed(1.1, rounds=8, min_s=1.02), "inconclusive"),
        (timed(1.0, rounds=4, aa_gap=0.25), timed(6.25), "inconclusive"),
        # 2 times as fast in 1.5 times fewer cycles: no more than two runs of the control kernel differ by.
        (timed(1.0, clock_hz=3.0e9, aa_gap=0.5), timed(0.5, clock_hz=4.0e9), "inconclusive"),
        # A gap of 3 % is a ratio of 1 / 1.03 to one side and of 1.03 to the other.
        (timed(1.0, ci_low_s=0.9705), timed(1.0), "inconclusive"),
        (timed(1.0, ci_low_s=0.972), timed(1.0), "same"),
        (timed(1.0, ci_high_s=1.0305), timed(1.0), "inconclusive"),
        (timed(1.0, ci_high_s=1.0295), timed(1.0), "same"),
        (timed(1.0, ci_high_s=1.03), timed(1.0), "same"),
        (timed(1.0, ci_low_s=1 / 1.03), timed(1.0), "same"),
    ],
)
def test_on_the_border_of_what_decides(baseline: Measurement, other: Measurement, kind: str) -> None:
    assert compare(baseline, other).kind == kind


def test_a_gap_is_told_as_a_factor_from_ten_times_on() -> None:
    assert (gap_text(8.99), gap_text(9.0)) == ("899.0\u202f%", "a factor of 10")


def test_the_fewer_the_rounds_the_further_they_have_to_be_apart() -> None:
    found = {rounds: rounds_apart(rounds) for rounds in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 99)}
    assert list(found.values()) == [math.inf, math.inf, 10.0, 10.0, 5.0, 1.05, 1.05, 1.02, 1.02, 1.0, 1.0, 1.0]
