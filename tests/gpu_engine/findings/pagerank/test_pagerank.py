import pytest

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import Finding
from gpu_engine.findings.pagerank import findings, top_pages
from gpu_engine.text.units import THIN
from tests.samples.pagerank import luxembourg, ran, shown, stopped


def only(found: StudyData) -> Finding:
    """The lone finding."""
    (finding,) = findings(found)
    return finding


def said(found: StudyData) -> list[str]:
    """Its sentences."""
    return [sentence.replace(THIN, " ") for sentence in only(found).sentences]


def test_both_ratios_are_always_said() -> None:
    assert said(shown(*luxembourg())) == [
        "csr/thread+pattern is fastest on cpu: 100 ms to convergence.",
        "Fastest run with adaptive precision: csr/thread+cpms4, speedup 1.16 × over csr/thread+fp64 (faster), the "
        "same kernel in fp64. Slowdown 1.07 × against csr/thread+pattern (slower), the fastest run in fp64.",
        "113 iterations (1/46/61/5 by segments; fp64: 113). Ranks verified: residual 8.1·10⁻¹¹ < 10⁻¹⁰, distance "
        "2.3·10⁻¹⁰ from fp64, 100 % of the top 3 pages agree with fp64.",
    ]


def test_one_run_in_fp64_is_named_once() -> None:
    found = shown(ran("csr/thread+fp64", 28, 0.2), ran("csr/thread+cpms2", (13, 15), 0.1))
    assert said(found)[1] == (
        "Fastest run with adaptive precision: csr/thread+cpms2, speedup 2.00 × over csr/thread+fp64 (faster), which is "
        "the same kernel and the fastest run in fp64."
    )


def test_a_format_without_fp64_says_so() -> None:
    found = shown(ran("csr/thread+fp64", 28, 0.2), ran("ell/thread+cpms2", (13, 15), 0.1))
    assert said(found)[1] == (
        "Fastest run with adaptive precision: ell/thread+cpms2, the same kernel was not timed in fp64. Speedup 2.00 × "
        "over csr/thread+fp64 (faster), the fastest run in fp64."
    )


def test_runs_within_what_a_kernel_differs_from_itself_lead_together() -> None:
    found = shown(ran("csr/thread+fp64", 28, 0.100), ran("csr/thread+cpms2", (13, 15), 0.101))
    assert said(found)[0] == (
        "csr/thread+fp64 and csr/thread+cpms2 show no measurable difference on cpu: 100 ms to convergence."
    )
    assert "slowdown 1.01 × against csr/thread+fp64 (equal)" in said(found)[1]


def test_a_lead_that_is_not_settled_is_said_to_be_so() -> None:
    vague = ran("csr/thread+cpms2", (13, 15), 0.090, ci_high_s=0.12)
    sentences = said(shown(ran("csr/thread+fp64", 28, 0.100), vague))
    assert sentences[0] == (
        "csr/thread+cpms2 is probably fastest on cpu: 90.0 ms to convergence. csr/thread+fp64 may be equally fast "
        "(inconclusive)."
    )
    assert "speedup 1.11 × over csr/thread+fp64 (inconclusive)" in sentences[1]


def test_a_schedule_that_begins_with_all_segments_is_no_gain_of_fewer() -> None:
    whole = (("start_segments", "2"), ("raise_at", "16"), ("stall_ratio", "0.98"), ("final_storage", "fp64"))
    found = shown(
        ran("csr/thread+fp64", 28, 0.2),
        ran("csr/thread+cpms2", (0, 28), 0.1, axes=whole),
        ran("csr/thread+cpms2", (13, 15), 0.16),
    )
    assert said(found)[0].startswith("csr/thread+cpms2, start segments 2 is fastest")
    assert said(found)[1].startswith(
        "Fastest run with adaptive precision: csr/thread+cpms2, start segments 1, speedup 1.25 × over csr/thread+fp64"
    )


def test_a_fast_run_with_wrong_ranks_does_not_lead() -> None:
    found = shown(*luxembourg(), ran("csr/thread+fp32", 1000, 0.01, residual=3e-8))
    sentences = said(found)
    assert sentences[0].startswith("csr/thread+pattern is fastest")
    assert sentences[-1] == "Excluded (residual above ε): csr/thread+fp32 (residual 3.0·10⁻⁸)."


def test_without_segments_the_fastest_run_says_whether_it_is_right() -> None:
    assert said(shown(ran("csr/thread+fp64", 28, 0.2))) == [
        "csr/thread+fp64 is the only kernel ranked on cpu: 200 ms to convergence.",
        "28 iterations. Ranks verified: residual 8.1·10⁻¹¹ < 10⁻¹⁰.",
    ]


def test_parameters_that_differ_from_the_defaults_are_said() -> None:
    found = shown(ran("csr/thread+fp64", 28, 0.2, axes=(("triangle", "lower"),)))
    assert said(found)[0] == (
        "csr/thread+fp64 is the only kernel ranked on cpu, lower triangle: 200 ms to convergence."
    )


def test_nothing_right_is_said() -> None:
    assert said(shown(stopped("csr/thread+fp64", "failed", "no"))) == ["No run converged to verified ranks."]
    assert findings(StudyData()) == ()


def test_devices_have_verdicts_of_their_own() -> None:
    found = findings(shown(*luxembourg(), *luxembourg("cuda:0")))
    assert [finding.device for finding in found] == ["cpu", "cuda:0"]
    assert "cuda:0" in found[1].sentences[0]


def test_nothing_leads_on_a_busy_machine() -> None:
    found = shown(ran("csr/thread+fp64", 28, 0.100, aa_gap=0.12), ran("csr/thread+cpms2", (13, 15), 0.050))
    assert said(found)[0].startswith("Too noisy to rank: two runs of the control kernel differ by 12.0 %.")


def test_every_run_has_its_row_the_fastest_first() -> None:
    table = only(shown(*luxembourg())).table
    rows = [tuple(cell.replace(THIN, " ") for cell in row) for row in table.rows]
    heads = [f"{head.text} {head.unit}".strip() for head in table.heads]
    assert dict(zip(heads, rows[1], strict=True)) == {
        "kernel": "csr/thread+cpms4",
        "verdict": "slower",
        "speedup vs csr/thread+pattern": "0.94 ×",
        "ranks": "verified",
        "iterations": "113",
        "iterations by segments": "1/46/61/5",
        "time median": "107 ms",
        "95 % CI": "106 ms – 107 ms",
        "% of roofline": "50 %",
        "speedup same kernel in fp64": "1.16 ×",
        "upper bound by bytes": "1.16 ×",
        "residual": "8.1·10⁻¹¹",
        "distance from fp64": "2.3·10⁻¹⁰",
        "top-k agreement top pages": "100 %",
        "mass error": "2.0·10⁻¹⁶",
        "note": "",
    }
    assert (rows[-1][:4], rows[-1][-1]) == (
        ("ell/thread+cpms2", "skipped", "–", ""),
        "needs 41 GB of memory; the limit is 16 GB",
    )


def test_ranks_that_are_not_right_are_called_so() -> None:
    (row,) = only(shown(ran("csr/thread+fp32", 40, residual=1e-7))).table.rows
    assert row[3] == "residual above ε"


def test_parameters_stand_beside_the_name_and_are_axes() -> None:
    found = only(shown(ran("csr/thread+fp64", 28, axes=(("triangle", "lower"),))))
    assert (found.title, found.axes) == ("luxembourg_osm, lower triangle", {"triangle": "lower"})


@pytest.mark.parametrize("kernel", ["csr/thread+fp64", "csr/thread+cpms2"])
def test_what_did_not_converge_leads_nothing_and_nothing_is_held_against_it(kernel: str) -> None:
    iterations = 5 if kernel.endswith("fp64") else (2, 3)
    cut = ran(kernel, iterations, 0.01, residual=1e-12, state="unconverged", note="γ is 0.1 after 5 iterations")
    finding = only(shown(cut))
    assert (finding.leaders, finding.decided, finding.baseline) == ((), False, "")
    assert finding.sentences[0] == "No run converged to verified ranks."
    assert [(row.word, row.ratio, row.leads) for row in finding.rows] == [("unconverged", None, False)]
    beside = only(shown(cut, ran("csr/warp+fp64", 28, 0.2), ran("csr/thread+cpms4", (0, 9, 9, 9), 0.1)))
    assert (beside.leaders, beside.baseline) == (("csr/thread+cpms4",), "csr/warp+fp64")
    assert "the same kernel was not timed in fp64. Speedup 2.00 × over csr/warp+fp64 (faster)" in beside.sentences[1]


def test_the_top_pages_are_those_of_fp64() -> None:
    other = ran("csr/thread+fp32", 40, 0.01, top_pages=(7, 12, 3))
    rows = top_pages(shown(other, *luxembourg())).rows
    assert rows == (
        ("luxembourg_osm", "cpu", "1", "7", "2.0·10⁻³", "5 of 5"),
        ("luxembourg_osm", "cpu", "2", "3", "1.5·10⁻³", "4 of 5"),
        ("luxembourg_osm", "cpu", "3", "12", "10⁻³", "4 of 5"),
    )
    assert top_pages(StudyData()).rows == ()
