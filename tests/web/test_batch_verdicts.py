from tests.web.batch_samples import copies, mixed, multiplied, refused, shown
from web.batch_verdicts import sentences
from web.batches import batch_groups
from web.units import THIN


def said(*measurements: object) -> list[str]:
    """The sentences on a lone batch."""
    (group,) = batch_groups(shown(*measurements))  # type: ignore[arg-type]
    return [sentence.replace(THIN, " ") for sentence in sentences(group)]


def test_the_fastest_kernel_its_gains_and_the_choice() -> None:
    assert said(*copies()) == [
        "auto/shared is fastest on cuda:0, warm, with 1 000 problems: 125 GFLOP/s, 50 % of the floor.",
        "auto/shared runs at 2.00 × cusparse/best (faster), the fastest library, and at 25.00 × cusparse/chain "
        "(faster), one product after the other: 10 to 25 × in the paper.",
        "auto/shared runs at 1.25 × coo/segmented (faster), the best single kernel.",
    ]


def test_a_library_that_leads_is_said_to_lead() -> None:
    first, second = said(multiplied("cusparse/best", 100.0), multiplied("csr/smart", 50.0))
    assert first.startswith("cusparse/best is fastest on cuda:0")
    assert second == "csr/smart runs at 0.50 × cusparse/best (slower), the fastest library."


def test_a_loop_that_is_the_only_library_is_named_once() -> None:
    found = multiplied("csr/smart", 4.0, device="cpu"), multiplied("scipy/loop", 2.0, device="cpu")
    assert said(*found)[1] == (
        "csr/smart runs at 2.00 × scipy/loop (faster), one product after the other: 10 to 25 × in the paper."
    )


def test_a_loop_that_was_skipped_says_why() -> None:
    skipped = refused("cusparse/chain", "one launch a problem")
    assert said(multiplied("csr/smart", 4.0), multiplied("cusparse/best", 2.0), skipped)[1] == (
        "csr/smart runs at 2.00 × cusparse/best (faster), the fastest library. cusparse/chain skipped: one launch a "
        "problem."
    )
    assert said(multiplied("csr/smart", 4.0), skipped)[1].startswith("No library has a time here. cusparse/chain")


def test_a_choice_that_is_not_the_best_says_so() -> None:
    assert said(multiplied("auto/flexible", 90.0), multiplied("ell/thread", 100.0))[-1] == (
        "auto/flexible runs at 0.90 × ell/thread (slower), the best single kernel."
    )
    assert len(said(*mixed("west", "d2"))) == 2, "nothing chooses here"


def test_kernels_that_measure_the_same_lead_together() -> None:
    vague = multiplied("csri/warp", 95.0, ci_low_s=9e-6)
    found = said(multiplied("ell/thread", 100.0), multiplied("coo/segmented", 99.5), vague)
    assert found[0] == (
        "ell/thread and coo/segmented lead, not clearly, on cuda:0, warm, with 1 000 problems: 100 GFLOP/s, 40 % of "
        "the floor; csri/warp may be as fast (ambiguous)."
    )


def test_nothing_timed_says_why() -> None:
    assert said(refused("csr/smart", "the matrix has no entries")) == [
        "No kernel has a time here: the matrix has no entries."
    ]


def test_nothing_leads_on_a_busy_machine() -> None:
    first, *_ = said(multiplied("csr/smart", 50.0, reference_gap=0.12), multiplied("cusparse/best", 100.0))
    assert first.startswith("This machine was busy: the reference kernel differs from itself by 12.0%.")
