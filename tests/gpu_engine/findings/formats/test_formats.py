import math
from dataclasses import replace

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import Finding
from gpu_engine.findings.formats import findings
from gpu_engine.findings.formats.groups import products_to_pay
from gpu_engine.records import Measurement
from gpu_engine.text.units import THIN
from tests.samples.formats import sized, study_of, timed, untimed


def found(*measurements: Measurement, baseline: str = "") -> tuple[Finding, ...]:
    """The findings, matrices without names."""
    return findings(StudyData(measurements, baseline=baseline))


def only(*measurements: Measurement, baseline: str = "") -> Finding:
    """The lone finding."""
    (finding,) = found(*measurements, baseline=baseline)
    return finding


def said(*measurements: Measurement, baseline: str = "") -> str:
    """Its one sentence."""
    (sentence,) = only(*measurements, baseline=baseline).sentences
    return sentence.replace(THIN, " ")


def test_the_verdict_in_words() -> None:
    warm = [m for m in study_of("m1") if m.cache == "warm"]
    assert said(*warm, baseline="csr/scalar") == (
        "csr/vector is fastest on cpu, warm: 2.50 GFLOP/s, 50 % of roofline, speedup 1.25 × over csr/scalar (faster)."
    )


def test_equal_kernels_lead_together() -> None:
    equal = timed("csr/vector", 800e-6), timed("coo/segmented", 803e-6)
    finding = only(*equal, timed("csr/scalar", 1e-3))
    assert (finding.leaders, finding.decided) == (("csr/vector", "coo/segmented"), True)
    assert said(*equal, timed("csr/scalar", 1e-3)) == (
        "csr/vector and coo/segmented tie for fastest on cpu, warm: 2.50 GFLOP/s, 50 % of roofline, speedup 1.25 × "
        "over csr/scalar (faster)."
    )
    # All of them are the same: there is no fastest.
    assert said(*equal).startswith("csr/vector and coo/segmented show no measurable difference on cpu, warm: 2.50")


def test_a_lone_kernel_is_compared_with_nothing() -> None:
    assert said(timed("csr/vector", 800e-6)) == (
        "csr/vector is the only kernel ranked on cpu, warm: 2.50 GFLOP/s, 50 % of roofline."
    )


def test_a_gap_that_is_not_settled_is_said_to_be_so() -> None:
    near = timed("coo/segmented", 840e-6, ci_low_s=700e-6, ci_high_s=950e-6)
    # No number may look like a result.
    assert said(timed("csr/vector", 800e-6), near) == (
        "csr/vector is probably fastest on cpu, warm: 2.50 GFLOP/s, 50 % of roofline. coo/segmented may be equally "
        "fast (inconclusive)."
    )
    finding = only(timed("csr/vector", 800e-6), near)
    assert (finding.leaders, finding.decided) == (("csr/vector",), False)
    assert [row.word for row in finding.rows] == ["baseline", "inconclusive"]


def test_devices_and_cache_states_are_never_ranked_together() -> None:
    several = found(*study_of("m1"), *study_of("m1", "cuda:0", 0.01), *study_of("m2"))
    assert [(f.matrix_id, f.device, f.cache) for f in several] == [
        ("m1", "cpu", "cold"),
        ("m1", "cpu", "warm"),
        ("m1", "cuda:0", "cold"),
        ("m1", "cuda:0", "warm"),
        ("m2", "cpu", "cold"),
        ("m2", "cpu", "warm"),
    ]


def test_rows_hold_numbers_in_the_units_of_the_head() -> None:
    warm = [m for m in study_of("m1") if m.cache == "warm"]
    (finding,) = findings(StudyData(warm, {"m1": sized("grid")}, baseline="csr/scalar"))
    table = finding.table
    rows = [tuple(cell.replace(THIN, " ") for cell in row) for row in table.rows]
    assert [f"{head.text} {head.unit}".strip() for head in table.heads] == [
        *(
            "kernel",
            "verdict",
            "speedup vs csr/scalar",
            "throughput GFLOP/s",
            "median µs",
            "95 % CI µs",
            ("% of roofline"),
        ),
        *(
            "% of gather probe",
            "storage MB",
            "conversion from CSR",
            "break-even SpMVs vs csr/scalar",
            "max error ε(|A||x|)",
        ),
    ]
    assert rows == [
        (
            *("csr/vector", "faster", "1.25 ×", "2.50", "800", "792 – 808", "50 %", "62 %"),
            *("12.0", "none", "immediate", "0.500"),
        ),
        (
            *("coo/segmented", "faster", "1.11 ×", "2.22", "900", "891 – 909", "44 %", "56 %"),
            *("12.0", "10.0 ms", "100", "0.500"),
        ),
        (
            *("csr/scalar", "baseline", "1.00 ×", "2.00", "1,000", "990 – 1,010", "40 %", "50 %"),
            *("12.0", "none", "–", "0.500"),
        ),
        ("ell/thread", "skipped", *("–",) * 10),
    ]
    assert finding.title == "grid"
    assert [(name, text.replace(THIN, " ")) for name, text in finding.facts] == [
        ("roofline", "400 µs"),
        ("gather probe", "500 µs"),
    ]


def test_the_library_is_named_once() -> None:
    best = [timed("cusparse/best", 500e-6), timed("cusparse/csr_alg2", 500e-6), timed("csr/vector", 800e-6)]
    finding = only(*best)
    assert (finding.leaders, finding.baseline, len(finding.rows)) == (("cusparse/best",), "cusparse/best", 3)


def test_nothing_timed() -> None:
    finding = only(untimed("csr/vector", "failed", "row 3 is wrong"))
    assert finding.sentences == ("No kernel was timed.",)
    assert (finding.baseline, finding.leaders, finding.decided) == ("", (), False)
    assert found() == ()


def test_conversion_pays_off_after_whole_products() -> None:
    csr, ell = timed("csr/vector", 1e-3), timed("ell/thread", 0.9e-3, convert_s=1.05e-3)
    assert products_to_pay(ell, csr) == 11
    assert products_to_pay(timed("ell/thread", 2e-3, convert_s=1.05e-3), csr) == math.inf
    assert products_to_pay(timed("csr/scalar", 2e-3), csr) == math.inf
    same, unsettled = timed("ell/thread", 0.99e-3, convert_s=1e-3), replace(ell, ci_high_s=1.1e-3)
    assert products_to_pay(same, csr) == math.inf, "what is no gain pays nothing back"
    assert products_to_pay(unsettled, csr) is None
    assert products_to_pay(ell.with_(convert_s=None), csr) is None
    assert products_to_pay(ell, None) is None


def test_nothing_leads_on_a_busy_machine() -> None:
    busy = timed("csr/vector", 800e-6, aa_gap=1.4), timed("coo/segmented", 832e-6)
    assert (only(*busy).leaders, only(*busy).decided) == ((), False)
    assert said(*busy).startswith("Too noisy to rank: two runs of the control kernel differ by 140.0 %")
    assert not any(row.leads for row in only(*busy).rows)
