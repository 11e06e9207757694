from dataclasses import replace

import pytest

from gpu_engine.findings.finding import Finding, Row, against, common_axes, gain, row_of, share, verdict_on, with_energy
from gpu_engine.records import Measurement
from gpu_engine.text.tables import Head, Table
from tests.samples.batched import multiplied
from tests.samples.formats import timed, untimed

BASE = timed("csr/scalar", 1e-3)
UNCONVERGED = replace(timed("csr/vector", 1e-6), state="unconverged", note="γ is 0.1")


@pytest.mark.parametrize(
    ("m", "baseline", "word", "ratio", "reason"),
    [
        (timed("csr/vector", 800e-6), BASE, "faster", 1.25, "Speedup 1.25 ×"),
        (timed("csr/vector", 4e-3), BASE, "slower", 0.25, "Slowdown 4.00 ×"),
        (timed("csr/vector", 1.001e-3), BASE, "same", 1 / 1.001, "The difference of 0.1\u202f% is within the noise"),
        (
            timed("csr/vector", 0.9e-3, ci_low_s=None),
            BASE,
            "inconclusive",
            1 / 0.9,
            "One of the two timings has no confidence interval.",
        ),
        (BASE, BASE, "baseline", 1.0, "All other kernels are compared with this one."),
        (BASE, None, "inconclusive", None, "No baseline was measured."),
        (UNCONVERGED, BASE, "unconverged", None, "γ is 0.1"),
        (untimed("csr/vector", "failed", "row 3 is wrong"), BASE, "failed", None, "row 3 is wrong"),
        (untimed("csr/vector", "skipped", ""), None, "skipped", None, "No timing (skipped); no reason was recorded."),
    ],
)
def test_the_word_beside_a_measurement(
    m: Measurement, baseline: Measurement | None, word: str, ratio: float | None, reason: str
) -> None:
    found, value, why = verdict_on(m, baseline)
    assert (found, value) == (word, None if ratio is None else pytest.approx(ratio))
    assert why.startswith(reason)


def test_against_is_time_over_time_at_least_one_with_a_word() -> None:
    fast, slow = timed("csr/vector", 800e-6), timed("csr/scalar", 1e-3)
    assert against(slow, fast) == "speedup 1.25 × over csr/scalar (faster)"
    assert against(fast, slow) == "slowdown 1.25 × against csr/vector (slower)"
    assert against(slow, timed("csr/vector", 1.001e-3)) == "same time as csr/scalar (equal)"
    assert against(fast, slow, "it") == "slowdown 1.25 × against it (slower)"
    assert against(None, fast) == against(untimed("csr/k", "failed", ""), fast) == ""
    assert against(fast, untimed("csr/k", "failed", "")) == ""


def test_a_share_is_the_bound_and_a_gain_the_base_over_the_time() -> None:
    assert share(400e-6, BASE) == pytest.approx(0.4)
    assert gain(BASE, timed("csr/vector", 2e-3)) == pytest.approx(0.5)
    assert gain(None, BASE) is gain(BASE, untimed("csr/k", "failed", "")) is None
    assert share(None, BASE) is share(400e-6, untimed("csr/k", "failed", "")) is None


def test_common_axes_are_those_that_all_have_alike() -> None:
    several = [multiplied("csr/scalar", 1.0, 10), multiplied("csr/vector", 1.0, 100)]
    assert common_axes(several) == {"compose": "uniform", "operation": "y=Ax+y"}
    assert common_axes(several[:1]) == {"batch": "10", "compose": "uniform", "operation": "y=Ax+y"}
    assert common_axes([*several, BASE]) == common_axes([]) == {}


HEADS = (Head("rate", "GFLOP/s"), Head("note", numeric=False))
NUMBERS = Table(HEADS, (("1.00", ""), ("2.00", ""), ("–", "no")))


def finding(*rows: Row, baseline: str = "csr/scalar") -> Finding:
    leaders = tuple(row.label for row in rows if row.leads)
    sentences, numbers = ("One is fastest.",), Table(HEADS, NUMBERS.rows[: len(rows)])
    said = leaders, True, sentences, baseline
    return Finding("formats", "m1", "cpu", "warm", "grid", {"a": "b"}, *said, rows, lambda: numbers)


ROWS = (
    row_of(timed("csr/vector", 2e-3), "csr/vector, x 2", True, BASE),
    row_of(BASE, "csr/scalar", False, BASE),
    row_of(untimed("ell/thread", "failed", "no"), "ell/thread", False, BASE),
)


def test_the_table_has_the_verdict_before_the_numbers() -> None:
    table = finding(*ROWS).table
    assert [(head.text, head.unit, head.numeric) for head in table.heads] == [
        ("kernel", "", False),
        ("verdict", "", False),
        ("speedup", "vs csr/scalar", True),
        ("rate", "GFLOP/s", True),
        ("note", "", False),
    ]
    assert table.rows == (
        ("csr/vector, x 2", "slower", "0.50\u202f×", "1.00", ""),
        ("csr/scalar", "baseline", "1.00\u202f×", "2.00", ""),
        ("ell/thread", "failed", "–", "–", "no"),
    )
    assert finding(baseline="").table.heads[2] == Head("speedup", "vs no baseline")


def test_energy_stands_before_the_note_where_it_was_measured() -> None:
    measured = [row.measurement for row in ROWS]
    assert with_energy(NUMBERS, measured) is NUMBERS
    # 1 GFLOP/s over 2 ms are 2 MFLOP, for 4 mJ.
    spent = timed("csr/vector", 2e-3, energy_j=4e-3, gflops=1.0)
    noted = Table(HEADS, (("1.00", "steady"), *NUMBERS.rows[1:]))
    wider = with_energy(noted, [spent, *measured[1:]])
    assert [(head.text, head.unit) for head in wider.heads[1:3]] == [("energy", "warm"), ("GFLOP/s", "per watt")]
    assert wider.rows == (
        ("1.00", "4.00\u202fmJ", "0.500", "steady"),
        ("2.00", "–", "–", ""),
        ("–", "–", "–", "no"),
    )
    # What has no note at its end has energy there.
    assert with_energy(Table(HEADS[:1], (("1.00",),)), [spent]).rows == (("1.00", "4.00\u202fmJ", "0.500"),)


def test_the_document_has_a_verdict_for_each_row() -> None:
    document = finding(*ROWS).document()
    verdicts = document.pop("verdicts")
    assert document == {
        "study": "formats",
        "matrix_id": "m1",
        "device": "cpu",
        "cache": "warm",
        "axes": {"a": "b"},
        "fastest": ["csr/vector, x 2"],
        "decided": True,
        "busy": None,
        "sentences": ["One is fastest."],
        "baseline": "csr/scalar",
    }
    assert verdicts[0] == {
        "case": "m1|csr/vector|warm|",
        "kernel": "csr/vector",
        "label": "csr/vector, x 2",
        "state": "ok",
        "leads": True,
        "verdict": "slower",
        "factor": 2.0,
        "reason": "Slowdown 2.00 ×; confidence intervals and rounds do not overlap.",
    }
    assert [(v["verdict"], v["factor"], v["leads"]) for v in verdicts[1:]] == [
        ("baseline", 1.0, False),
        ("failed", None, False),
    ]
    assert finding(baseline="").document()["baseline"] is None
