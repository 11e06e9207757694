from gpu_engine.findings.batched import findings
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import Finding
from gpu_engine.records import Measurement
from gpu_engine.text.units import THIN
from tests.samples.batched import copies, mixed, multiplied, refused, shown


def only(*measurements: Measurement) -> Finding:
    """The finding on a lone batch."""
    (finding,) = findings(shown(*measurements))
    return finding


def said(*measurements: Measurement) -> list[str]:
    """Its sentences."""
    return [sentence.replace(THIN, " ") for sentence in only(*measurements).sentences]


def test_the_fastest_kernel_its_gains_and_the_choice() -> None:
    assert said(*copies()) == [
        "auto/shared is fastest on cuda:0, warm, with 1,000 matrices: 125 GFLOP/s, 50 % of roofline.",
        "auto/shared: speedup 2.00 × over cusparse/best (faster), the fastest library kernel. Speedup 25.0 × over "
        "cusparse/chain (faster), a launch loop (paper: 10 × to 25 ×).",
        "auto/shared: speedup 1.25 × over coo/segmented (faster), the best single kernel.",
    ]


def test_a_library_that_leads_is_said_to_lead() -> None:
    first, second = said(multiplied("cusparse/best", 100.0), multiplied("csr/smart", 50.0))
    assert first.startswith("cusparse/best is fastest on cuda:0")
    assert second == "csr/smart: slowdown 2.00 × against cusparse/best (slower), the fastest library kernel."


def test_a_loop_that_is_the_only_library_is_named_once() -> None:
    found = multiplied("csr/smart", 4.0, device="cpu"), multiplied("scipy/loop", 2.0, device="cpu")
    assert said(*found)[1] == (
        "csr/smart: speedup 2.00 × over scipy/loop (faster), a launch loop (paper: 10 × to 25 ×)."
    )


def test_a_loop_that_was_skipped_says_why() -> None:
    skipped = refused("cusparse/chain", "one launch a problem")
    assert said(multiplied("csr/smart", 4.0), multiplied("cusparse/best", 2.0), skipped)[1] == (
        "csr/smart: speedup 2.00 × over cusparse/best (faster), the fastest library kernel. cusparse/chain skipped: "
        "one launch a problem."
    )
    assert said(multiplied("csr/smart", 4.0), skipped)[1].startswith("No library kernel was timed. cusparse/chain")


def test_a_choice_that_is_not_the_best_says_so() -> None:
    assert said(multiplied("auto/flexible", 90.0), multiplied("ell/thread", 100.0))[-1] == (
        "auto/flexible: slowdown 1.11 × against ell/thread (slower), the best single kernel."
    )
    assert len(said(*mixed("west", "d2"))) == 2, "nothing chooses here"


def test_kernels_that_measure_the_same_lead_together() -> None:
    vague = multiplied("csri/warp", 95.0, ci_low_s=9e-6)
    found = said(multiplied("ell/thread", 100.0), multiplied("coo/segmented", 99.5), vague)
    assert found[0] == (
        "ell/thread and coo/segmented probably tie for fastest on cuda:0, warm, with 1,000 matrices: 100 GFLOP/s, "
        "40 % of roofline. csri/warp may be equally fast (inconclusive)."
    )


def test_nothing_timed_says_why() -> None:
    assert said(refused("csr/smart", "the matrix has no entries")) == [
        "No kernel was timed: the matrix has no entries."
    ]


def test_nothing_leads_on_a_busy_machine() -> None:
    first, *_ = said(multiplied("csr/smart", 50.0, aa_gap=0.12), multiplied("cusparse/best", 100.0))
    assert first.startswith("Too noisy to rank: two runs of the control kernel differ by 12.0 %.")


def test_every_kernel_has_a_row_against_the_best_library() -> None:
    table = only(*copies(), refused("cusparse/branches", "one launch a problem")).table
    rows = {row[0]: tuple(cell.replace(THIN, " ") for cell in row[1:]) for row in table.rows}
    assert next(iter(rows)) == "auto/shared"
    assert table.heads[2].unit == "vs cusparse/best"
    assert rows["coo/segmented"] == (
        *("faster", "1.60 ×", "100", "10.0 µs", "9.99 µs – 10.0 µs", "40 %", "6.00 MB", "800 GB/s", "100 µs"),
        *("0.500", ""),
    )
    assert rows["cusparse/chain"][:2] == ("slower", "0.080 ×")
    assert rows["cusparse/best"][:2] == ("baseline", "1.00 ×")
    assert rows["csr/scalar"][8] == "none"
    assert rows["cusparse/branches"] == ("skipped", *("–",) * 9, "one launch a problem")
    assert all(len(row) == len(table.heads) for row in table.rows)


def test_without_a_library_there_is_no_verdict() -> None:
    ((_, word, ratio, *_),) = only(multiplied("csr/smart", 1.0)).table.rows
    assert (word, ratio) == ("inconclusive", "–")
    assert findings(StudyData()) == ()


def test_a_batch_says_what_it_is_of() -> None:
    finding = only(*copies())
    assert (finding.title.replace(THIN, " "), finding.members) == ("west0989, 1,000 matrices", ("west",))
    assert finding.axes == {"batch": "1000", "compose": "uniform", "operation": "y=Ax+y"}
    # What was recorded may name members that are not here.
    assert only(*mixed("west", "d2", "elsewhere")).members == ("west", "d2")


def test_sizes_and_operations_have_findings_of_their_own() -> None:
    several = findings(shown(*copies(batch_size=10), *copies(), multiplied("csr/smart", 9.0, operation="y=Ax")))
    assert [(f.axes["batch"], f.axes["operation"], len(f.rows)) for f in several] == [
        ("10", "y=Ax+y", 9),
        ("1000", "y=Ax+y", 9),
        ("1000", "y=Ax", 1),
    ]
