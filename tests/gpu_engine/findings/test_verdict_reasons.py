"""The reason of a verdict: the numbers that decide it, in one short sentence."""

import re

from gpu_engine.findings.printed import Printed
from gpu_engine.findings.verdict_reasons import (
    IS_HALF,
    IS_MOST,
    WORDS_MAX,
    NamedTrial,
    Trial,
    reason_of_existence,
    reason_of_verdict,
)


def trials(*factors: float, least: float = 1.0, accepts: str = "") -> list[NamedTrial]:
    """Return trials a, b, c … that hold from `least` on."""
    return [
        (name, Trial(factor >= least, f"{factor:.2f} ×", factor, accepts=accepts))
        for name, factor in zip("abcdefgh", factors, strict=False)
    ]


def numbers(text: str) -> list[str]:
    return re.findall(r"\d+(?:\.\d+)?", text)


def test_the_cases_that_hold_and_the_exceptions_have_a_mean_of_their_own() -> None:
    why = reason_of_verdict(trials(2.0, 8.0, 0.25, 0.25, 0.5, least=1.0))
    assert numbers(why) == ["2", "5", "4.00", "3", "0.31", "0.25"]


def test_the_exception_is_the_one_farthest_from_the_others() -> None:
    assert " c " in reason_of_verdict(trials(1.0, 1.0, 0.02, 0.9))
    assert numbers(reason_of_verdict(trials(1.5, 1.5, 0.9))) == ["2", "3", "1.50", "0.90"]


def test_half_of_the_cases_and_statements_about_most_are_explained() -> None:
    assert IS_HALF in reason_of_verdict(trials(2.0, 0.5))
    assert IS_MOST in reason_of_verdict(trials(2.0, 2.0, 0.5), is_about_most=True)
    assert IS_MOST not in reason_of_verdict(trials(2.0, 2.0, 0.5))
    assert IS_MOST not in reason_of_verdict(trials(2.0, 0.5, 0.5), is_about_most=True)


def test_a_number_that_rounds_to_the_print_says_which_would_agree() -> None:
    printed = Printed("1.1")
    of_one = trials(1.04, least=printed.least, accepts=printed.range_text())
    assert numbers(reason_of_verdict(of_one)) == ["1.04", "1.05", "1.15", "1.1"]
    assert numbers(reason_of_verdict(trials(1.06, least=1.05, accepts=printed.range_text()))) == ["1.06"]
    none = trials(1.0, 1.0, least=printed.least, accepts=printed.reached_text())
    assert numbers(reason_of_verdict(none)) == ["2", "1.00", "1.05", "1.1"]
    assert (printed.reached_text(" s"), printed.kept_text(" s")) == (
        "1.05 s or more (rounds to 1.1)",
        "less than 1.15 s (rounds to 1.1)",
    )


def test_one_case_is_enough_for_a_statement_about_some() -> None:
    best = ("a", Trial(False, "1.20 ×", accepts="1.25 or more"))
    assert numbers(reason_of_existence(0, 9, best)) == ["9", "1.20", "1.25"]
    assert numbers(reason_of_existence(2, 9, best)) == ["2", "9", "1.20"]


def test_a_reason_has_at_most_25_words_whatever_the_names_are() -> None:
    long = ("a name of many words " * 5, Trial(False, "and a number of many words " * 3, 0.5, accepts="1 or more"))
    for entries in ([long], [long, long], [*trials(2.0, 2.0), long], [("b", Trial(True, "x")), long]):
        assert len(reason_of_verdict(entries).split()) <= WORDS_MAX
