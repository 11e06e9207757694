from gpu_engine.findings.conclusions import SCOPES, Conclusion, Statement, Trial, conclude, table_of
from gpu_engine.findings.data import StudyData

STATEMENT: Statement[None] = Statement("All are fast.", "case", lambda group, data: None)
MOST: Statement[None] = Statement("Most are fast.", "case", lambda group, data: None, mostly=True)


def trials(*held: bool) -> list[tuple[str, Trial]]:
    """Cases a, b, c … with the numbers 0, 1, 2 …."""
    return [("abcdef"[i], Trial(holds, str(i))) for i, holds in enumerate(held)]


def said(statement: Statement[None], *held: bool) -> str:
    return statement.conclusion(trials(*held), "cuda:0", "warm").says


def test_a_statement_agrees_where_all_do_and_one_on_most_where_more_than_half_do() -> None:
    assert [said(STATEMENT, *held) for held in ((True, True), (True, True, False), (True, False), (False, False))] == [
        "agrees",
        "mostly",
        "seldom",
        "disagrees",
    ]
    assert [said(MOST, *held) for held in ((True, True, False), (True, False), (False,))] == [
        "agrees",
        "seldom",
        "disagrees",
    ]


def test_what_does_not_hold_is_named() -> None:
    found = STATEMENT.conclusion(trials(True, True, False, True, False), "cpu", "warm")
    assert found.numbers == "Holds for 3 of 5. Not for c 2; e 4."
    assert MOST.conclusion(trials(True), "cpu", "warm").numbers == "Holds for 1 of 1. For a 0."
    assert found.cases == 5


def test_a_reason_has_its_share_of_the_cases() -> None:
    failures = [("d", Trial(False, "3", reason="long rows")), ("e", Trial(False, "4", reason="long rows"))]
    found = STATEMENT.conclusion([*trials(True), *failures, ("f", Trial(False, "5"))], "cpu", "warm")
    assert found.numbers.endswith("Reasons: long rows (2 of 4).")


def test_without_cases_there_is_no_data() -> None:
    without = STATEMENT.conclusion([], "cpu", "warm")
    lacking = "No case has the required timings."
    assert without == Conclusion("All are fast.", "no data", lacking, "cpu", "warm", why=lacking)
    assert STATEMENT.unjudged() == Conclusion("All are fast.", "no data", "")


def test_the_table_has_what_some_device_was_asked_for() -> None:
    found = [STATEMENT.conclusion(trials(True), "cpu", "warm"), STATEMENT.unjudged()]
    assert [head.text for head in table_of(found).heads] == [
        "statement of the paper",
        "matrices",
        "result",
        "numbers",
        "device",
        "cache",
    ]
    assert table_of(found).rows == (
        ("All are fast.", SCOPES["paper"], "agrees", "Holds for 1 of 1. For a 0.", "cpu", "warm"),
    )


def test_the_source_is_what_is_said_or_what_the_text_names_first() -> None:
    def source(text: str, said: str = "") -> str:
        return Statement(text, "case", lambda *_: None, source=said).unjudged().source

    assert source("Merging takes 17 % for COO (§5.5, Figure 19).") == "§5.5"
    assert source("PELLR is the best of Figure 12.") == "Figure 12"
    assert source("As Table II has it.") == "Table II"
    assert source("PELLR is the best of Figure 12.", "Figure 6") == "Figure 6"
    assert source("COO is the best.") == ""
    judged: Statement[None] = Statement("COO is the best.", "case", lambda *_: None, source="Figure 7")
    trials = [("m", Trial(True, "1.20 ×"))]
    assert judged.conclusion([], "cpu", "warm").source == judged.conclusion(trials, "cpu", "warm").source == "Figure 7"


def test_the_matrices_of_the_paper_have_a_conclusion_of_their_own() -> None:
    small: Statement[int] = Statement("They are small.", "case", lambda n, data: Trial(n < 5, str(n)) if n else None)
    cases = [("a", 1), ("b", 7), ("c", 0), ("d", 3)]

    def said(papers: set[int], *places: tuple[str, str]) -> list[tuple[str, str, str]]:
        found = conclude([small], dict.fromkeys(places, cases), StudyData(), lambda n: n in papers)
        return [(each.scope, each.says, each.device) for each in found]

    both = ("cuda:0", "warm")
    assert said({1, 3}, both) == [("paper", "agrees", "cuda:0"), ("all", "mostly", "cuda:0")]
    assert said({7}, both) == [("paper", "disagrees", "cuda:0"), ("all", "mostly", "cuda:0")]
    assert said(set(), both) == [("paper", "no data", "cuda:0"), ("all", "mostly", "cuda:0")]
    assert said({1, 3, 7}, both) == [("paper", "mostly", "cuda:0")]
    assert said({1}) == [("paper", "no data", "")]
