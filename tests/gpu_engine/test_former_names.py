"""Notes of former releases in the words of this one."""

import re

import pytest

from gpu_engine.former_names import PRESENT

FORMER_NOTES = {
    "one launch a problem: 10000 problems are more than 1000, the loop_max": ["10,000", "1,000"],
    "one launch per matrix, and the batch has 7 matrices (limit: loop_max=6)": ["7", "6"],
    "narrow: At most 2048 columns. At most 34909 in work a group, so that each of 132 processors has 4. 128 threads a "
    "block, for problems are light, alike and whole. The largest start first.": ["2,048", "34,909", "4", "132", "128"],
    "narrow: At most 2048 columns. At most 49152 in work a group, so that the batch is large. 256 threads a block, for "
    "problems are heavy, unlike or cut.": ["2,048", "49,152", "256"],
    "Of 9 entries 7 columns and 5 values are stored.": ["7", "5", "9"],
    "The entries are no dense blocks of 2 to 8 rows and columns.": ["2", "8"],
    "needs 1.26e+04 GB, 75.1 GB allowed": ["12,600", "75.1"],
}
"""Former note → its numbers, in the order of the present one."""


@pytest.mark.parametrize(("note", "numbers"), FORMER_NOTES.items())
def test_a_former_note_has_the_same_numbers_in_other_words(note: str, numbers: list[str]) -> None:
    present = PRESENT.measurement({"note": note})["note"]
    assert present != note
    assert re.findall(r"\d[\d.,]*\d|\d", present) == numbers
    assert not re.search(r"loop_max|\ba (group|block|problem)\b|\bare no\b|e\+", present)
    assert PRESENT.note(present) == present


@pytest.mark.parametrize("note", ["", "needs 41 GB of memory; the limit is 16 GB", "coo_alg2", "1000 rows"])
def test_other_notes_stay(note: str) -> None:
    assert PRESENT.note(note) == note
