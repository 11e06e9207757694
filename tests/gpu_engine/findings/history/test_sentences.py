"""What histories say, word by word, and their tables."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from gpu_engine.findings.history import tables
from gpu_engine.findings.history.change_points import History, history
from gpu_engine.findings.history.sentences import SENTENCES_MAX, sentences, spread
from gpu_engine.text.units import THIN
from tests.samples.history import FLAT, NEW, OLD, scaled, taken

SLOWER = (*FLAT, *scaled(FLAT, 1.05))
UPDATED = [OLD] * 6 + [NEW] * 6


def said(*histories: History) -> list[str]:
    return [sentence.replace(THIN, " ") for sentence in sentences(histories)]


def plain(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    return [[cell.replace(THIN, " ") for cell in row] for row in rows]


def test_a_step_with_another_driver() -> None:
    assert said(history(taken(SLOWER, UPDATED))) == [
        "split/tile became 5.0 % slower on 2025-11-07, from 20.0 µs to 21.0 µs, with driver 580.1 → 590.2; no "
        "other recorded change."
    ]


def test_a_step_with_another_source_of_the_kernel() -> None:
    other = {**OLD, "source": "77aa91c09f3e21d0"}
    (sentence,) = said(history(taken(SLOWER[::-1], [OLD] * 6 + [other] * 6)))
    assert sentence.startswith("split/tile became 4.8 % faster on 2025-11-07")
    assert "with kernel source e0ab0ce3 → 77aa91c0;" in sentence


def test_a_step_with_nothing_underneath() -> None:
    (sentence,) = said(history(taken(SLOWER)))
    assert sentence.endswith("from 20.0 µs to 21.0 µs; no recorded driver, library, or kernel source changed.")


def test_a_large_step_is_a_factor() -> None:
    (sentence,) = said(history(taken((*FLAT, *scaled(FLAT, 2.5)))))
    assert sentence.startswith("split/tile became slower (2.50 ×) on 2025-11-07")


def test_cases_that_step_together_are_one_sentence() -> None:
    other = {**NEW, "source": "77aa91c09f3e21d0"}
    own = history(taken(SLOWER, UPDATED)), history(taken((*FLAT, *scaled(FLAT, 1.1)), UPDATED, "csr/vector"))
    assert said(*own) == [
        "2 cases became slower on 2025-11-07 (csr/vector by 10 % and split/tile by 5.0 %), with driver 580.1 → "
        "590.2; no other recorded change."
    ]
    third = history(taken(SLOWER, [OLD] * 6 + [other] * 6, "ell/thread"))
    assert "with driver 580.1 → 590.2 and a new kernel source in 1 of them;" in said(*own, third)[0]


def test_what_may_have_changed_says_why_it_is_left_open() -> None:
    slow = taken(SLOWER, clock_hz=1.98e9 / 1.05)
    (sentence,) = said(history([*taken(SLOWER)[:6], *slow[6:]]))
    assert sentence.startswith("split/tile may have become 5.0 % slower on 2025-11-07")
    assert sentence.endswith(
        "The difference disappears in clock cycles: the GPU clock changed in between. Measure again."
    )


def test_the_newest_come_first_and_a_few_are_told() -> None:
    levels = (1.0, 1.1, 1.0, 1.1, 1.0, 1.1, 1.0, 1.1)
    found = said(history(taken(tuple(time for level in levels for time in scaled(FLAT, level)))))
    assert len(found) == SENTENCES_MAX + 1
    assert "on 2025-12-13" in found[0]
    assert found[-1] == "2 earlier changes are in the table."


def test_no_change_point() -> None:
    assert said(history(taken((*FLAT, *FLAT)))) == ["No change detected in split/tile, 2025-11-01 to 2025-11-12."]
    assert "No change detected in 2 cases" in said(history(taken(FLAT)), history(taken(FLAT, kernel="ell/thread")))[0]


def test_an_environment_that_changed_without_a_step() -> None:
    assert said(history(taken((*FLAT, *FLAT), UPDATED)))[1:] == [
        "On 2025-11-07: driver 580.1 → 590.2; no change of a time was detected with it."
    ]
    recent = said(history(taken((*FLAT, *FLAT), [OLD] * 10 + [NEW] * 2)))[1]
    assert recent == "On 2025-11-11: driver 580.1 → 590.2; too early to tell (fewer than 3 measurements on one side)."
    # One that a change point names is not told again.
    assert len(said(history(taken(SLOWER, UPDATED)))) == 1


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (1, "Each case was measured only once. A change point needs 6 measurements, 3 on each side."),
        (5, "The history is too short: no case was measured more than 5 times. A change point needs 6"),
    ],
)
def test_too_short_a_history(number: int, words: str) -> None:
    (sentence,) = said(history(taken(FLAT[:number])))
    assert sentence.startswith(words)


def test_nothing_measured_and_nothing_looked_for() -> None:
    assert said() == ["No job has measured this yet, so there is no history."]
    assert said(replace(history(taken(SLOWER)), searched=False))[0].startswith("Change points cannot be searched")


def test_how_much_times_scatter() -> None:
    assert spread([history(taken(FLAT))]).startswith("Noise from job to job, without changes: 0.33 %")
    assert spread([history(taken(FLAT[:3]))]) == ""


def test_the_table_of_change_points_and_that_of_what_changed() -> None:
    found = [history(taken(SLOWER, UPDATED)), history(taken((*FLAT, *FLAT), UPDATED, "ell/thread"))]
    assert plain(tables.change_points(found).rows) == [
        [
            *("2025-11-07 00:00", "split/tile", "slower", "20.0 µs", "21.0 µs", "0.95 ×", "driver 580.1 → 590.2"),
            "Slowdown 1.05 ×; confidence intervals and rounds do not overlap.",
        ]
    ]
    assert plain(tables.underneath(found).rows) == [
        ["A", "2025-11-07 00:00", "driver", "580.1", "590.2", "all of the job", "1"]
    ]
    assert plain(tables.measurements(found).rows)[-1] == [
        *("2025-11-01 00:00", "j0", "ell/thread", "20.0 µs", "20.0 µs – 20.0 µs", "20.0 µs", "yes", "")
    ]
    doubtful = {("j0", found[0].timeline[0].measurement.case)}
    assert Counter(row[-2] for row in tables.measurements(found, doubtful).rows) == {"yes": 23, "no, noisy": 1}
    rows = plain(tables.measurements(found).rows)
    assert len(rows) == 24
    assert [row[-1] for row in rows if row[1] == "j6"] == ["driver 580.1 → 590.2"] * 2


def test_letters_go_from_the_oldest_to_the_newest() -> None:
    third = {**NEW, "cupy": "14.3"}
    found = [history(taken((*FLAT, *FLAT), [OLD] * 4 + [NEW] * 4 + [third] * 4))]
    assert [(mark, each.job_id) for mark, each, _ in tables.marked(found)] == [("B", "j8"), ("A", "j4")]
