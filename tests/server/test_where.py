"""Conditions on the index: what they select, and what is refused."""

import pytest

from gpu_engine.errors import ParameterError
from server.collection.entries import Entry
from server.collection.where import parse_where

ENTRIES = (
    Entry(
        "HB", "stiff", 4884, 4884, 290_378, real=True, binary=False, spd=True, symmetric=True, kind="structural problem"
    ),
    Entry(
        "SNAP", "web", 900, 900, 5_105_039, real=True, binary=True, spd=False, symmetric=False, kind="directed graph"
    ),
    Entry("Toy", "wide", 3, 5, 9, real=False, binary=False, spd=False, symmetric=False),
    Entry("Toy", "dark"),
)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ["stiff", "web", "wide", "dark"]),
        ("nnz > 1e6", ["web"]),
        ("nnz>1e5 and spd", ["stiff"]),
        ("rows != cols", ["wide"]),
        ("1e5 < nnz <= 290378", ["stiff"]),
        ("not spd", ["web", "wide"]),
        ("spd == false and real", ["web"]),
        ("not (spd or binary)", ["wide"]),
        ("'GRAPH' in kind", ["web"]),
        ("kind not in 'x'", ["stiff", "web"]),
        ("group == 'Toy' and name != 'dark'", ["wide"]),
        ("nnz > -1", ["stiff", "web", "wide"]),
        ("nnz >= .5E1 or rows < 9", ["stiff", "web", "wide"]),
        # What is not known decides nothing, unless the rest does without it.
        ("spd or name == 'dark'", ["stiff", "dark"]),
        ("not (spd and name == 'wide')", ["stiff", "web", "wide", "dark"]),
        ("not not spd == True", ["stiff"]),
    ],
)
def test_a_condition_selects(text: str, names: list[str]) -> None:
    where = parse_where(text)
    assert [entry.name for entry in ENTRIES if where(entry)] == names


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("__import__('os').system('id')", "has no meaning in a condition"),
        ("nnz.__class__", "has no meaning"),
        ("().__class__.__bases__[0]", "has no meaning"),
        ("(lambda: 1)()", "has no meaning"),
        ("[x for x in kind]", "has no meaning"),
        ("f'{nnz}' == name", "has no meaning"),
        ("b'a' == name", "has no meaning"),
        ("nnz ** 9 ** 9 ** 9 > 1", "has no meaning"),
        ("nnz + 1 > 2", "has no meaning"),
        ("-nnz < 0", "has no meaning"),
        ("(nnz := 3) > 1", "has no meaning"),
        ("nnz if spd else rows", "has no meaning"),
        ("await nnz", "has no meaning"),
        ("nnz > 1e999", "has no meaning"),
        ("1j == nnz", "has no meaning"),
        ("nnz is 1", "compares by <, <=, "),
        ("import os", "is not a condition"),
        ("nnz > 1; nnz", "is not a condition"),
        ("(" * 300, "is not a condition"),
        ("nnz > ", "is not a condition"),
        ("spd and x", "There is no column 'x'; known: rows, cols"),
        ("__builtins__", "There is no column"),
        ("nnz", "'nnz' is a number; expected a condition such as"),
        ("spd and nnz", "'nnz' is a number, not yes or no"),
        ("not kind", "'kind' is a text, not yes or no"),
        ("kind > 3", "A text > a number compares nothing"),
        ("spd < symmetric", "Yes or no < yes or no compares nothing"),
        ("nnz in rows", "A number in a number compares nothing"),
        ("spd == 1", "Yes or no == a number compares nothing"),
        ("name == '\\x41'", "is not one line of at most 500 plain characters"),
        ("nnz > 1\nor spd", "is not one line"),
        ("nnz > 1 " + "or nnz > 1 " * 50, "is not one line"),
        ("spd\0", "is not one line"),
    ],
)
def test_what_is_no_condition_is_refused(text: str, words: str) -> None:
    with pytest.raises(ParameterError) as refused:
        parse_where(text)
    assert words in refused.value.message
