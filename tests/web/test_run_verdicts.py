from tests.web.run_samples import luxembourg, ran, shown, stopped
from web.run_verdicts import run_verdicts
from web.shown import Shown
from web.units import THIN


def said(found: Shown) -> list[str]:
    """The sentences of a lone verdict."""
    (verdict,) = run_verdicts(found)
    return [sentence.replace(THIN, " ") for sentence in verdict.sentences]


def test_both_ratios_are_always_said() -> None:
    assert said(shown(*luxembourg())) == [
        "csr/thread+free is fastest on cpu: 100 ms to convergence.",
        "The best with segments is csr/thread+cpms4: 1.16 × csr/thread+fp64 (faster), the same kernel in fp64; "
        "0.94 × csr/thread+free (slower), the fastest run in fp64.",
        "113 iterations (1/46/61/5 by segments) against 113 in fp64; the ranks are right: residual 8.1·10⁻¹¹ under "
        "10⁻¹⁰, distance 2.3·10⁻¹⁰ from those in fp64, 100 % of the top pages the same.",
    ]


def test_one_run_in_fp64_is_named_once() -> None:
    found = shown(ran("csr/thread+fp64", 28, 0.2), ran("csr/thread+cpms2", (13, 15), 0.1))
    assert said(found)[1] == (
        "The best with segments is csr/thread+cpms2: 2.00 × csr/thread+fp64 (faster), the same kernel in fp64 and the "
        "fastest run in fp64."
    )


def test_a_format_without_fp64_says_so() -> None:
    found = shown(ran("csr/thread+fp64", 28, 0.2), ran("ell/thread+cpms2", (13, 15), 0.1))
    assert said(found)[1] == (
        "The best with segments is ell/thread+cpms2: the same kernel has no time in fp64; 2.00 × csr/thread+fp64 "
        "(faster), the fastest run in fp64."
    )


def test_runs_within_what_a_kernel_differs_from_itself_lead_together() -> None:
    found = shown(ran("csr/thread+fp64", 28, 0.100), ran("csr/thread+cpms2", (13, 15), 0.101))
    assert said(found)[0] == (
        "csr/thread+fp64 and csr/thread+cpms2 are fastest, with no measurable difference, on cpu: 100 ms to "
        "convergence."
    )
    assert "0.99 × csr/thread+fp64 (same)" in said(found)[1]


def test_a_lead_that_is_not_settled_is_said_to_be_so() -> None:
    vague = ran("csr/thread+cpms2", (13, 15), 0.090, ci_high_s=0.12)
    sentences = said(shown(ran("csr/thread+fp64", 28, 0.100), vague))
    assert sentences[0] == (
        "csr/thread+cpms2 leads, not clearly, on cpu: 90.0 ms to convergence; csr/thread+fp64 may be as fast "
        "(ambiguous)."
    )
    assert "1.11 × csr/thread+fp64 (ambiguous)" in sentences[1]


def test_a_schedule_that_begins_with_all_segments_is_no_gain_of_fewer() -> None:
    whole = (("first", "2"), ("near", "16"), ("stall", "0.98"), ("at_end", "fp64"))
    found = shown(
        ran("csr/thread+fp64", 28, 0.2),
        ran("csr/thread+cpms2", (0, 28), 0.1, axes=whole),
        ran("csr/thread+cpms2", (13, 15), 0.16),
    )
    assert said(found)[0].startswith("csr/thread+cpms2, first 2 is fastest")
    assert said(found)[1].startswith("The best with segments is csr/thread+cpms2, first 1: 1.25 × csr/thread+fp64")


def test_a_fast_run_with_wrong_ranks_does_not_lead() -> None:
    found = shown(*luxembourg(), ran("csr/thread+fp32", 1000, 0.01, residual=3e-8))
    sentences = said(found)
    assert sentences[0].startswith("csr/thread+free is fastest")
    assert sentences[-1] == "Not ranked, the ranks not being right to ε: csr/thread+fp32 (residual 3.0·10⁻⁸)."


def test_without_segments_the_fastest_run_says_whether_it_is_right() -> None:
    assert said(shown(ran("csr/thread+fp64", 28, 0.2))) == [
        "csr/thread+fp64 is fastest on cpu: 200 ms to convergence.",
        "28 iterations; the ranks are right: residual 8.1·10⁻¹¹ under 10⁻¹⁰.",
    ]


def test_parameters_that_differ_from_the_defaults_are_said() -> None:
    found = shown(ran("csr/thread+fp64", 28, 0.2, axes=(("part", "lower"),)))
    assert said(found)[0] == "csr/thread+fp64 is fastest on cpu with part=lower: 200 ms to convergence."


def test_nothing_right_is_said() -> None:
    assert said(shown(stopped("csr/thread+fp64", "failed", "no"))) == ["No run here has a time and the right ranks."]
    assert run_verdicts(Shown()) == []


def test_devices_have_verdicts_of_their_own() -> None:
    found = run_verdicts(shown(*luxembourg(), *luxembourg("cuda:0")))
    assert [verdict.device for verdict in found] == ["cpu", "cuda:0"]
    assert "cuda:0" in found[1].sentences[0]


def test_nothing_leads_on_a_busy_machine() -> None:
    found = shown(ran("csr/thread+fp64", 28, 0.100, reference_gap=0.12), ran("csr/thread+cpms2", (13, 15), 0.050))
    assert said(found)[0].startswith("This machine was busy: the reference kernel differs from itself by 12.0%.")
