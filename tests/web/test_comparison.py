import math
from dataclasses import replace

from tests.web.samples import study_of, timed, untimed
from web.comparison import comparisons, join, overview, products_to_pay
from web.units import THIN


def test_the_verdict_in_words() -> None:
    warm = [m for m in study_of("m1") if m.cache == "warm"]
    (comparison,) = comparisons(warm, baseline="csr/scalar")
    said = comparison.sentence.replace(THIN, " ")
    assert said == "csr/vector is fastest on cpu, warm: 2.50 GFLOP/s, 50 % of the floor, 1.25 × csr/scalar (faster)."


def test_equal_kernels_lead_together() -> None:
    (comparison,) = comparisons(
        [timed("csr/vector", 800e-6), timed("coo/segmented", 803e-6), timed("csr/scalar", 1e-3)]
    )
    assert comparison.leaders == ("csr/vector", "coo/segmented")
    assert comparison.sentence.startswith("csr/vector and coo/segmented are fastest, with no measurable difference,")
    assert comparison.sentence.replace(THIN, " ").endswith("1.25 × csr/scalar (faster).")


def test_kernels_that_are_all_the_same_have_no_fastest() -> None:
    (comparison,) = comparisons([timed("csr/vector", 800e-6), timed("coo/segmented", 803e-6)])
    assert comparison.sentence.startswith(
        "csr/vector and coo/segmented show no measurable difference on cpu, warm: 2.50"
    )


def test_a_lone_kernel_is_compared_with_nothing() -> None:
    assert comparisons([timed("csr/vector", 800e-6)])[0].sentence.endswith("50\u202f% of the floor.")


def test_a_gap_that_is_not_settled_is_said_to_be_so() -> None:
    near = timed("coo/segmented", 840e-6, ci_low_s=700e-6, ci_high_s=950e-6)
    (comparison,) = comparisons([timed("csr/vector", 800e-6), near])
    assert comparison.sentence.startswith("csr/vector leads, not clearly, on cpu, warm:")
    assert comparison.sentence.endswith("; coo/segmented may be as fast (ambiguous).")
    assert "×" not in comparison.sentence, "no number may look like a result"
    assert [row.word for row in comparison.rows] == ["baseline", "ambiguous"]


def test_devices_and_cache_states_are_never_ranked_together() -> None:
    found = comparisons([*study_of("m1"), *study_of("m1", "cuda:0", 0.01), *study_of("m2")])
    assert [(c.matrix_id, c.device, c.cache) for c in found] == [
        ("m1", "cpu", "cold"),
        ("m1", "cpu", "warm"),
        ("m1", "cuda:0", "cold"),
        ("m1", "cuda:0", "warm"),
        ("m2", "cpu", "cold"),
        ("m2", "cpu", "warm"),
    ]


def test_rows_hold_numbers_in_the_units_of_the_head() -> None:
    (comparison,) = comparisons([m for m in study_of("m1") if m.cache == "warm"], baseline="csr/scalar")
    assert (comparison.time_unit, comparison.size_unit, comparison.baseline) == ("µs", "MB", "csr/scalar")
    fastest, second, baseline, skipped = comparison.rows
    assert (fastest.kernel, fastest.median, fastest.interval, fastest.gflops) == (
        "csr/vector",
        "800",
        "792 – 808",
        "2.50",
    )
    assert (fastest.floor, fastest.gather_floor, fastest.stored) == (f"50{THIN}%", f"62{THIN}%", "12.0")
    assert (fastest.word, fastest.leads, fastest.pays_off, fastest.convert) == ("faster", True, "at once", "none")
    assert (second.kernel, second.pays_off) == ("coo/segmented", "100")
    assert (baseline.word, baseline.ratio) == ("baseline", f"1.00{THIN}×")
    assert (skipped.word, skipped.reason, skipped.median) == ("skipped", "needs 41 GB, 16 GB allowed", "–")


def test_the_library_is_named_once() -> None:
    best = [timed("cusparse/best", 500e-6), timed("cusparse/csr_alg2", 500e-6), timed("csr/vector", 800e-6)]
    (comparison,) = comparisons(best)
    assert comparison.leaders == ("cusparse/best",)
    assert comparison.baseline == "cusparse/best"
    assert len(comparison.rows) == 3


def test_nothing_timed() -> None:
    (comparison,) = comparisons([untimed("csr/vector", "failed", "row 3 is wrong")])
    assert comparison.sentence == "No kernel has a time here."
    assert comparisons([]) == []


def test_conversion_pays_off_after_whole_products() -> None:
    csr, ell = timed("csr/vector", 1e-3), timed("ell/thread", 0.9e-3, convert_s=1.05e-3)
    assert products_to_pay(ell, csr) == 11
    assert products_to_pay(timed("ell/thread", 2e-3, convert_s=1.05e-3), csr) == math.inf
    assert products_to_pay(timed("csr/scalar", 2e-3), csr) == math.inf
    same, unsettled = timed("ell/thread", 0.99e-3, convert_s=1e-3), replace(ell, ci_high_s=1.1e-3)
    assert products_to_pay(same, csr) == math.inf, "what is no gain pays nothing back"
    assert products_to_pay(unsettled, csr) is None
    assert products_to_pay(replace(ell, convert_s=None), csr) is None
    assert products_to_pay(ell, None) is None


def test_join() -> None:
    assert [join(names) for names in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == ["", "a", "a and b", "a, b and c"]
    assert join(["a", "b", "c"], most=3) == "a, b and c"
    assert join(["a", "b", "c", "d"], most=3) == "a, b and 2 more"


def test_the_overview_counts_on_how_many_matrices_a_kernel_leads() -> None:
    lead = [timed("csr/vector", 1e-3, matrix=m) for m in ("m1", "m2", "m3")]
    rival = [timed("coo/segmented", s, matrix=m) for m, s in (("m1", 2e-3), ("m2", 1.001e-3), ("m3", 0.5e-3))]
    alone = timed("csr/vector", 1e-5, device="cuda:0")
    assert overview(comparisons([*lead, *rival, alone])) == [
        "Over 3 matrices on cpu, warm: csr/vector leads or shares the lead on 2, coo/segmented on 2."
    ]


def test_many_leaders_are_counted_and_not_all_named() -> None:
    (comparison,) = comparisons([timed(f"csr/k{number}", 1e-3) for number in range(6)])
    assert len(comparison.leaders) == 6
    assert comparison.sentence.startswith("csr/k0, csr/k1, csr/k2 and 3 more show no measurable difference")


def test_nothing_leads_on_a_busy_machine() -> None:
    busy = [timed("csr/vector", 800e-6, reference_gap=1.4), timed("coo/segmented", 832e-6)]
    (comparison,) = comparisons(busy)
    assert comparison.leaders == ()
    assert comparison.sentence.startswith("This machine was busy: the reference kernel differs from itself by 140.0%")
    assert not any(row.leads for row in comparison.rows)
    quiet = comparisons(study_of("m2"))[1]
    assert overview([comparison, quiet])[0].endswith("csr/vector leads or shares the lead on 1; on 1 nothing leads.")
