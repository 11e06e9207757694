"""Findings of complete solves: the fastest, the share of the SpMVs, and conversions that pay back."""

import math
from dataclasses import replace

import pytest

from gpu_engine.findings.finding import Finding
from gpu_engine.findings.solvers import contests, findings, overview
from gpu_engine.findings.solvers.groups import SolveGroup, solve_groups
from gpu_engine.findings.solvers.tables import NEVER, break_even_text, conversions, one_solve
from gpu_engine.text.units import THIN
from tests.samples.solvers import LIBRARY, every, failed, shown, solved

CG = (("cg", "none"),)


def group(*measurements: object) -> SolveGroup:
    (only,) = solve_groups(shown(*measurements))  # type: ignore[arg-type]
    return only


def finding(*measurements: object) -> Finding:
    (only,) = findings(shown(*measurements))  # type: ignore[arg-type]
    return only


def test_solves_with_equal_axes_are_compared() -> None:
    every_finding = findings(shown(*every(), *every("fem", "cuda:1", CG)))
    assert [(f.matrix_id, f.device, f.axes["method"], f.axes["preconditioner"]) for f in every_finding] == [
        ("plane", "cuda:0", "cg", "none"),
        ("plane", "cuda:0", "cg", "jacobi"),
        ("plane", "cuda:0", "gmres", "none"),
        ("plane", "cuda:0", "bicgstab", "none"),
        ("fem", "cuda:1", "cg", "none"),
    ]
    assert {f.baseline for f in every_finding} == {LIBRARY}
    assert all(f.leaders == ("sellp/t1",) and f.decided for f in every_finding)
    assert [c.of for c in contests(shown(*every()))] == ["CG", "CG", "GMRES", "BiCGSTAB"]


def test_the_sentences_have_the_numbers_that_an_engineer_asks_for() -> None:
    first, one, library, share, conversion = (s.replace(THIN, " ") for s in finding(*every(solves=CG)).sentences)
    assert "sellp/t1 is fastest" in first
    assert "10.1 ms for 420 iterations" in first
    # 10.1 ms and 1.2 ms of conversion, against 79.8 ms.
    assert "11.3 ms" in one
    assert "speedup 7.07 × over cupy/solver (faster)" in one
    assert "speedup 7.92 × over cupy/solver (faster)" in library
    assert "50 %" in share
    assert "24.0 µs" in share
    # 1.2 ms of conversion, 6 µs less per iteration than CSR.
    assert "after 200 iterations" in conversion
    assert "packed/tile" not in conversion


def test_without_a_library_csr_is_the_baseline() -> None:
    one = finding(*every(solves=CG)[:3])
    assert one.baseline == "csr/vector"
    assert [row.word for row in one.rows] == ["faster", "faster", "baseline"]


def test_a_conversion_pays_back_after_so_many_iterations_or_never() -> None:
    slow = solved("packed/tile", iteration_s=31e-6)
    known = group(solved(), solved("sellp/t1"), slow)
    by_kernel = {solve.label: known.break_even(solve) for solve in known.solves}
    assert by_kernel["csr/vector"] is None
    assert by_kernel["sellp/t1"] == pytest.approx(200)
    assert by_kernel["packed/tile"] == math.inf
    assert {solve.label: known.pays_back(solve) for solve in known.solves} == {
        "csr/vector": None,
        "sellp/t1": True,
        "packed/tile": False,
    }
    assert [break_even_text(value) for value in (199.2, 200.0000000001, math.inf, None)] == ["200", "200", NEVER, "–"]
    rows = conversions(shown(solved(), solved("sellp/t1"), slow)).rows
    assert {row[7] for row in rows} == {"csr/vector (only one)"}
    assert [(row[3], row[8], row[9], row[10]) for row in rows] == [
        ("sellp/t1", "200", "420", "yes"),
        ("packed/tile", NEVER, "420", "no"),
    ]


def test_a_conversion_does_not_pay_back_if_the_solve_is_not_faster_by_its_verdict() -> None:
    vague = solved("sellp/t1", ci_low_s=9e-3, ci_high_s=13e-3, q3_s=13e-3)
    known = group(solved(), vague)
    (solve,) = (each for each in known.solves if each.label == "sellp/t1")
    assert known.break_even(solve) == pytest.approx(200)
    assert known.pays_back(solve) is False


def test_noisy_timings_say_nothing_but_that() -> None:
    one = finding(*(replace(m, aa_gap=0.3) for m in every(solves=CG)))
    assert len(one.sentences) == 1
    assert one.busy


def test_a_share_of_the_spmv_that_cannot_be_true_is_withheld() -> None:
    true, false = solved(spmv_s=15e-6), solved("sellp/t1", spmv_s=50e-6)
    assert {s.label: s.spmv_share for s in group(true, false).solves} == {
        "csr/vector": pytest.approx(0.5),
        "sellp/t1": None,
    }


def test_a_bicgstab_iteration_has_two_spmvs() -> None:
    (only,) = group(solved(method="bicgstab")).solves
    assert only.spmv_share == pytest.approx(2 * 18 / 60)


def test_the_best_preconditioner_counts_its_set_up() -> None:
    (sentence,) = overview(shown(*every(solves=(("cg", "none"), ("cg", "jacobi")))))
    assert "jacobi is fastest for one solve" in sentence
    table = one_solve(shown(*every()))
    assert [(*row[2:5], row[-1]) for row in table.rows] == [
        ("CG", "jacobi", "sellp/t1", "1"),
        ("CG", "none", "sellp/t1", NEVER),
        ("BiCGSTAB", "none", "sellp/t1", NEVER),
        ("GMRES", "none", "sellp/t1", NEVER),
    ]
    # 300 iterations of 24 µs, 1.2 ms of conversion, and 50 µs of set-up.
    assert [text.replace(THIN, " ") for text in table.rows[0][6:10]] == ["1.20 ms", "50.0 µs", "7.20 ms", "8.45 ms"]
    costly = [replace(m, details=replace(m.details, setup_s=0.02)) for m in every(solves=(("cg", "jacobi"),))]
    (sentence,) = overview(shown(*every(solves=CG), *costly))
    assert "no preconditioner is fastest" in sentence
    assert overview(shown(*every(solves=CG))) == ()
    (sentence,) = overview(shown(*every(), *every("fem")))
    assert "jacobi is fastest on 2 of 2 systems" in sentence
    (sentence,) = overview(shown(*every("fem"), *every(solves=CG), *costly))
    assert "is fastest on 1 of 2 systems, " in sentence


def test_different_systems_of_a_matrix_are_different_problems() -> None:
    changed = [solved(preconditioner="jacobi", more=(("system", "definite"),))]
    assert overview(shown(*every(solves=CG), *changed)) == ()
    assert {row[1] for row in one_solve(shown(*every(solves=CG), *changed)).rows} == {
        "as is",
        "made definite (excess 0.001)",
    }
    assert {row[1] for row in one_solve(shown(*every(), *every("fem", "cuda:1"))).rows} == {"cuda:0", "cuda:1"}


def test_a_failed_solve_has_its_status_and_no_time() -> None:
    note = "status indefinite: broke down"
    one = finding(failed("csr/vector", note), failed("sellp/t1", note), failed(LIBRARY, "not installed"))
    assert (one.leaders, one.baseline) == ((), "")
    assert note in one.sentences[0]
    assert {row.reason for row in one.rows} == {note, "not installed"}


def test_a_library_that_needs_other_iterations_is_said_to() -> None:
    library = solved(LIBRARY, iterations=500)
    assert "500 iterations" in finding(solved(), library).sentences[2]
    assert "iterations" not in finding(solved(), solved(LIBRARY)).sentences[2]


def test_a_costly_conversion_is_not_chosen_for_one_solve() -> None:
    slow_to_convert = solved("sellp/t1", convert_s=5e-3)
    known = group(solved(), slow_to_convert, solved(LIBRARY))
    assert [solve.label for solve in known.built_in] == ["sellp/t1", "csr/vector"]
    assert known.for_one is not None
    assert known.for_one.label == "csr/vector"
    # 420 iterations of 30 µs and 1 µs of conversion.
    assert known.for_one.total_s == pytest.approx(12.601e-3)
    total = known.for_one.total
    assert (total.ci_low_s, total.ci_high_s) == pytest.approx((12.6e-3 * 0.998 + 1e-6, 12.6e-3 * 1.002 + 1e-6))


def test_a_preconditioner_pays_from_a_number_of_solves_on() -> None:
    plain = solved()
    better = solved(preconditioner="jacobi", setup_s=0.03)
    without, with_jacobi = solve_groups(shown(plain, better))
    # 9 ms in place of 12.6 ms, after 30 ms of set-up: 30 / 3.6.
    assert with_jacobi.pays_from(without) == 9
    assert without.pays_from(with_jacobi) is None
