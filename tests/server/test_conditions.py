"""Conditions on the index: what they select, and what is refused."""

import pytest

from gpu_engine.errors import ParameterError
from server.collection.conditions import parse_where
from server.collection.entries import Entry

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
        ("__import__('os').system('id')", "is not allowed in a condition"),
        ("nnz.__class__", "is not allowed"),
        ("().__class__.__bases__[0]", "is not allowed"),
        ("(lambda: 1)()", "is not allowed"),
        ("[x for x in kind]", "is not allowed"),
        ("f'{nnz}' == name", "is not allowed"),
        ("b'a' == name", "is not allowed"),
        ("nnz ** 9 ** 9 ** 9 > 1", "is not allowed"),
        ("nnz + 1 > 2", "is not allowed"),
        ("-nnz < 0", "is not allowed"),
        ("(nnz := 3) > 1", "is not allowed"),
        ("nnz if spd else rows", "is not allowed"),
        ("await nnz", "is not allowed"),
        ("nnz > 1e999", "is not allowed"),
        ("1j == nnz", "is not allowed"),
        ("nnz is 1", "the comparisons <, <=, "),
        ("import os", "is not a valid condition"),
        ("nnz > 1; nnz", "is not a valid condition"),
        ("(" * 300, "is not a valid condition"),
        ("nnz > ", "is not a valid condition"),
        ("spd and x", "Unknown column 'x'. Columns: rows, cols"),
        ("__builtins__", "Unknown column"),
        ("nnz", "'nnz' is a number. Use a condition such as"),
        ("spd and nnz", "'nnz' is a number, not yes or no"),
        ("not kind", "'kind' is a text, not yes or no"),
        ("kind > 3", "Cannot compare a text > a number"),
        ("spd < symmetric", "Cannot compare yes or no < yes or no"),
        ("nnz in rows", "Cannot compare a number in a number"),
        ("spd == 1", "Cannot compare yes or no == a number"),
        ("name == '\\x41'", "must be one line of at most 500 printable characters"),
        ("nnz > 1\nor spd", "must be one line"),
        ("nnz > 1 " + "or nnz > 1 " * 50, "must be one line"),
        ("spd\0", "must be one line"),
    ],
)
def test_what_is_no_condition_is_refused(text: str, words: str) -> None:
    with pytest.raises(ParameterError) as refused:
        parse_where(text)
    assert words in refused.value.message
