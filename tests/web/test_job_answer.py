"""The sentence of a job that is over: its winner, and counts that add up to the total it names."""

import re
from dataclasses import replace

import pytest

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import Finding
from gpu_engine.findings.formats import findings
from gpu_engine.records import Measurement
from server.models import JobRow, JobState
from tests.samples.formats import timed, untimed
from web.views.job_answer import WORDS_MAX, case_count, kind_of, pill, rest_of, sentence_of
from web.views.job_custom import custom_sentences
from web.views.list_rows import NOTHING, STOPPED_EARLY

KINDS = {
    "clear": (timed("csr/vector", 1e-3), timed("csr/scalar", 2e-3)),
    "tied": (timed("csr/vector", 1e-3), timed("csr/scalar", 1e-3)),
    "undecided": (timed("csr/vector", 1e-3), timed("csr/scalar", 1.03e-3, ci_low_s=0.9e-3, ci_high_s=1.2e-3)),
    "noisy": (timed("csr/vector", 1e-3, aa_gap=0.4), timed("csr/scalar", 2e-3, aa_gap=0.4)),
}


def finding(*measurements: Measurement) -> Finding:
    (own,) = findings(StudyData(measurements))
    return own


@pytest.mark.parametrize("kind", KINDS)
def test_a_group_is_clear_tied_undecided_or_noisy(kind: str) -> None:
    own = finding(*KINDS[kind])
    assert kind_of(own) == kind
    assert ("csr/vector" in sentence_of([own], "matrices")) == (kind != "noisy")


def test_the_winner_is_named_with_its_speedup_over_the_baseline() -> None:
    sentence = sentence_of([finding(timed("csr/vector", 2e-3), timed("coo/segmented", 1e-3))], "matrices")
    assert "coo/segmented" in sentence
    assert "2.00" in sentence
    assert "csr/vector" in sentence
    # The baseline has no speedup over itself.
    assert "1.00" not in sentence_of([finding(*KINDS["clear"])], "matrices")


def test_nothing_timed_has_no_winner() -> None:
    assert "csr" not in sentence_of([finding(untimed("csr/scalar", "skipped", "large"))], "matrices")


def test_counts_of_several_groups_add_up() -> None:
    every = [finding(*KINDS[kind]) for kind in ("clear", "clear", "clear", "tied", "undecided", "noisy")]
    clear, total, by_kernel = map(int, re.findall(r"\d+", sentence_of(every, "matrices")))
    assert (clear, total, by_kernel) == (3, 6, 3)
    rest = map(int, re.findall(r"\d+", rest_of(every)))
    assert clear + sum(rest) == total


def test_two_groups_are_both_named_if_that_is_short() -> None:
    pair = [finding(*KINDS["clear"]), finding(*KINDS["tied"])]
    assert "csr/scalar and csr/vector" in sentence_of(pair, "matrices")
    long = [replace(each, title=" ".join("abcdefghijklmnopqr")) for each in pair]
    for each in (pair, long):
        assert len(sentence_of(each, "matrices").split()) <= WORDS_MAX
    assert rest_of(pair) == ""


@pytest.mark.parametrize(
    ("state", "outcome", "busy", "look"),
    [
        (JobState.QUEUED, "queued", False, ""),
        (JobState.RUNNING, "running", False, "predicted"),
        (JobState.SUCCEEDED, "succeeded", False, "measured"),
        (JobState.SUCCEEDED, "succeeded", True, "busy"),
        (JobState.SUCCEEDED, STOPPED_EARLY, True, "busy"),
        (JobState.SUCCEEDED, NOTHING, False, "busy"),
        (JobState.FAILED, "failed", False, "failed"),
        (JobState.CANCELLED, "cancelled", False, ""),
    ],
)
def test_every_state_has_a_label(state: JobState, outcome: str, busy: bool, look: str) -> None:
    label = pill(JobRow(state=state, stop_requested=False), outcome, 12.0, "round 3 of 9", 2, busy)
    assert label.look == look
    assert (outcome in label.text) == (outcome != "succeeded")


def test_cases_that_were_not_reached_are_counted_once() -> None:
    numbers = re.findall(r"\d+", case_count(JobRow(cases_total=42), 20, 22))
    assert numbers == ["20", "42", "22"]
    assert re.findall(r"\d+", case_count(JobRow(cases_total=42), 42, 0)) == ["42", "42"]


def test_a_custom_kernel_has_its_verdict_against_cusparse() -> None:
    mine = "custom:mine/rows"
    one = [timed("csr/vector", 1e-3), timed("cusparse/best", 2e-3), timed(mine, 1.6e-3)]
    (sentence,) = custom_sentences([finding(*one)])
    assert all(text in sentence for text in (mine, "cusparse/best", "1.25", "faster"))
    other = [replace(m, matrix_id="m2", case=m.case.replace("m1", "m2")) for m in (one[0], one[1])]
    other.append(timed(mine, 4e-3, matrix="m2"))
    (sentence,) = custom_sentences([finding(*one), finding(*other)])
    assert re.findall(r"[0-9.]*[0-9]", sentence) == ["0.79", "1", "2", "1"]
    (sentence,) = custom_sentences([finding(timed("csr/vector", 1e-3), timed(mine, 4e-3))])
    assert all(text in sentence for text in (mine, "csr/vector", "0.25", "slower"))
    (sentence,) = custom_sentences([finding(one[0], untimed(mine, "failed", "differs"))])
    assert mine in sentence
    assert custom_sentences([finding(*one[:2])]) == ()
