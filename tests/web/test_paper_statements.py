"""Verdicts on the statements of a paper: one row per statement and scope, devices side by side."""

from collections.abc import Callable
from typing import get_args

from gpu_engine.findings.conclusions import Conclusion, Says, Scope
from gpu_engine.findings.data import StudyData
from gpu_engine.records import Measurement
from tests.samples.formats import timed
from web.papers.components import StatementTable
from web.papers.statements import (
    NOT_CHECKED,
    TOO_NOISY,
    VERDICTS,
    Verdict,
    scoreboard,
    statement_table,
    verdict_counts,
    verdicts,
)

H100, H200 = "NVIDIA H100", "NVIDIA H200"
LONG = "Holds for 1 of 3, geometric mean 1.20 ×. Not for " + "; ".join(f"matrix-{n} 0.99 × (slower)" for n in range(3))


def verdict(
    says: Says,
    text: str = "A.",
    device: str = H200,
    setting: str = "",
    cache: str = "warm",
    scope: Scope = "paper",
    study: str = "pagerank",
    numbers: str = "",
    cases: int = 9,
    why: str = "",
) -> Verdict:
    """Return a verdict of a study."""
    place = ", ".join(filter(None, (device, setting)))
    return Verdict(study, device, setting, Conclusion(text, says, numbers, place, cache, "Figure 4", scope, cases, why))


def words(table: StatementTable | None) -> list[tuple[str, str, list[str]]]:
    """Return (statement, matrices, verdict per device) of each row."""
    assert table is not None
    return [
        (each.statement, row.matrices, [cell.verdict if cell else "" for cell in row.cells])
        for each in table.statements
        for row in each.rows
    ]


def test_a_statement_has_one_row_per_scope_and_a_column_per_device() -> None:
    table = statement_table(
        [
            verdict("agrees", device=H100),
            verdict("seldom", device=H100, scope="all"),
            verdict("mostly", device=H200),
            verdict("disagrees", "B.", device=H200),
        ],
        H200,
    )
    assert table is not None
    assert table.devices == (H200, H100)
    assert words(table) == [
        ("A.", "the paper’s matrices", ["mostly", "agrees"]),
        ("A.", "all matrices", ["", "seldom"]),
        ("B.", "the paper’s matrices", ["disagrees", ""]),
    ]
    assert {each.study for each in table.statements} == {""}


def test_a_setting_of_a_device_is_a_row_of_it_and_counts_for_it() -> None:
    found = [
        verdict("no data"),
        verdict("agrees", setting="lower triangles"),
        verdict("seldom", setting="lower triangles", scope="all"),
    ]
    assert words(statement_table(found, H200)) == [
        ("A.", "the paper’s matrices, lower triangles", ["agrees"]),
        ("A.", "all matrices, lower triangles", ["seldom"]),
    ]
    assert verdict_counts(found, H200) == "agrees"
    assert verdict_counts(found, H100) == NOT_CHECKED


def test_the_cache_state_is_named_where_there_are_two() -> None:
    found = [verdict("agrees"), verdict("disagrees", cache="cold"), verdict("agrees", "B."), verdict("seldom", "C.")]
    assert [row for _, row, _ in words(statement_table(found, H200))] == [
        "the paper’s matrices, warm",
        "the paper’s matrices, cold",
        "the paper’s matrices, warm",
        "the paper’s matrices, warm",
    ]
    assert verdict_counts(found, H200) == "agrees (2), seldom (1)"
    board = scoreboard(found, H200)
    assert board.verdicts == VERDICTS
    assert [(row.label, row.counts) for row in board.rows] == [(H200, (2, 0, 1, 0, 0))]


def test_the_study_is_named_only_where_two_judge_an_exhibit() -> None:
    table = statement_table([verdict("agrees"), verdict("agrees", study="reduced_spmv")], H200)
    assert table is not None
    names = [each.study for each in table.statements]
    assert len(set(names)) == 2
    assert all(names)


def test_a_device_without_a_verdict_has_no_column_but_a_line_on_the_scoreboard() -> None:
    found = [verdict("agrees"), verdict("no data", device=H100), verdict("mostly", "B.")]
    table = statement_table(found, H100)
    assert table is not None
    assert table.devices == (H200,)
    board = scoreboard(found, H100)
    assert [(row.label, row.counts) for row in board.rows] == [(H200, (1, 1, 0, 0, 0)), (H100, (0, 0, 0, 0, 2))]
    assert board.total == 2


def test_only_the_papers_matrices_count() -> None:
    found = [verdict("agrees"), verdict("disagrees", scope="all")]
    assert scoreboard(found, H200).rows[0].counts == (1, 0, 0, 0, 0)
    assert verdict_counts(found, H200) == "agrees"


def test_a_cell_has_the_reason_and_folds_the_numbers_of_several_cases() -> None:
    few = verdict("agrees", "B.", numbers="Holds for 1 of 1.", cases=1, why="Measured: a 1.00 ×.")
    with_reasons = verdict("disagrees", "C.", numbers="No. Reasons: x (1 of 1).", cases=1, why="Measured.")
    table = statement_table([verdict("seldom", numbers=LONG, why="Why."), few, with_reasons], "")
    assert table is not None
    cells = [cell for each in table.statements for row in each.rows for cell in row.cells if cell]
    assert [(cell.why, cell.numbers) for cell in cells] == [
        ("Why.", LONG),
        ("Measured: a 1.00 ×.", ""),
        ("Measured.", "No. Reasons: x (1 of 1)."),
    ]


def test_a_cold_cache_with_fewer_statements_has_no_row_on_the_scoreboard() -> None:
    warm = [verdict("agrees"), verdict("mostly", "B.")]
    partly = scoreboard([*warm, verdict("agrees", cache="cold")], H200)
    assert [(row.label, row.counts) for row in partly.rows] == [(H200, (1, 1, 0, 0, 0))]
    both = scoreboard([*warm, verdict("agrees", cache="cold"), verdict("agrees", "B.", cache="cold")], H200)
    assert [row.label for row in both.rows] == [f"{H200}, warm", f"{H200}, cold"]
    alone = scoreboard([verdict("agrees", cache="cold"), verdict("agrees", device=H100)], H200)
    assert [row.label for row in alone.rows] == [f"{H200}, cold", f"{H100}, warm"]


def test_verdicts_carry_the_device_of_their_results_and_the_rest_of_its_name_as_setting() -> None:
    def judge(data: StudyData) -> list[Conclusion]:
        places = [
            f"{m.device}{suffix}" for m in data.measurements for suffix in ("", ", lower triangles", " (simulated)")
        ]
        return [Conclusion("A.", "agrees", "", place, "cold") for place in places] or [Conclusion("A.", "no data", "")]

    def on(device: str) -> tuple[Measurement, ...]:
        return (timed("ellr/thread", 1e-3, device=device),)

    judges: dict[str, Callable[[StudyData], list[Conclusion]]] = {"pagerank": judge, "scaling": judge}
    found = verdicts(judges, {"pagerank": {H200: StudyData(on(H200)), H100: StudyData(on(H100))}, "scaling": {}})
    assert [(v.study, v.device, v.setting) for v in found if v.device == H100] == [
        ("pagerank", H100, ""),
        ("pagerank", H100, "lower triangles"),
        ("pagerank", H100, "simulated"),
    ]
    unjudged = [v for v in found if not v.device]
    assert [(v.study, v.word) for v in unjudged] == [("scaling", NOT_CHECKED)]
    assert "scaling" in unjudged[0].conclusion.why


def test_noisy_timings_are_no_evidence() -> None:
    def judge(data: StudyData) -> list[Conclusion]:
        every = [m.kernel for m in data.measurements]
        return [
            Conclusion(kernel, "agrees" if kernel in every else "no data", "1.0", H200 if every else "", "warm")
            for kernel in ("ellr/thread", "csr/vector")
        ]

    noisy, quiet = timed("ellr/thread", 1e-3, aa_gap=0.4), timed("csr/vector", 1e-3, matrix_id="m2")
    for measurements, words_of in (((noisy,), [NOT_CHECKED] * 2), ((noisy, quiet), [NOT_CHECKED, "agrees"])):
        found = verdicts({"formats": judge}, {"formats": {H200: StudyData(measurements)}})
        by_statement = {v.conclusion.statement: v for v in found}
        assert [by_statement[kernel].word for kernel in ("ellr/thread", "csr/vector")] == words_of
        assert by_statement["ellr/thread"].conclusion.why == TOO_NOISY


def test_every_word_of_a_conclusion_has_a_column() -> None:
    assert {verdict(says).word for says in get_args(Says)} == {*VERDICTS}
