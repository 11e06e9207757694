"""Numbers with their nouns, and capitals."""

import pytest

from gpu_engine.text.words import amount, capital


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 matrices"), (1, "1 matrix"), (2, "2 matrices"), (12_000, "12,000 matrices")]
)
def test_a_noun_follows_its_number(number: int, text: str) -> None:
    assert amount(number, "matrix", "matrices") == text
    assert amount(number, "job") == text.replace("matrices", "jobs").replace("matrix", "job")


@pytest.mark.parametrize(("text", "expected"), [("", ""), ("cuSPARSE", "CuSPARSE"), ("the H100", "The H100")])
def test_only_the_first_letter_becomes_a_capital(text: str, expected: str) -> None:
    assert capital(text) == expected
