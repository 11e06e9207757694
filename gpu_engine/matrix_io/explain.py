"""Explains why a line is invalid; runs once, after the compiled reader has rejected the line."""

import re

from gpu_engine.errors import quote
from gpu_engine.matrix_io import tokenizer
from gpu_engine.matrix_io.decimals import NUMBER, WHOLE
from gpu_engine.matrix_io.foreign_files import explain_binary, explain_magic, explain_markup


def explain_line(line: bytes, kind: int, n_rows: int, n_cols: int) -> str:
    """Return the error of an entry line for a kind of values and a shape; n_rows = -1 is the array layout."""
    text = line.decode("utf-8", "backslashreplace").strip("\r\n")
    if text.lstrip().startswith("%"):
        return "A comment between the entries; comments may only stand before the size line. Remove it."
    if "\r" in text:
        return "A carriage return inside the line; save the file with LF or CRLF line ends."
    tokens = text.split()
    if len(tokens) != len(_names(kind, n_rows)):
        return _explain_columns(text, tokens, kind, n_rows)
    for name, token in zip(_names(kind, n_rows), tokens, strict=True):
        problem = (
            explain_value(token, kind)
            if name == "value"
            else _explain_index(name, token, n_rows if name == "row" else n_cols)
        )
        if problem:
            return problem
    return f"{quote(text)} is not an entry; expected {_form(kind, n_rows)}, separated by spaces or tabs."


def _names(kind: int, n_rows: int) -> tuple[str, ...]:
    names = ("row", "column") if n_rows >= 0 else ()
    return names if kind == tokenizer.PATTERN else (*names, "value")


def _form(kind: int, n_rows: int) -> str:
    return f"'{' '.join(_names(kind, n_rows))}'"


def _explain_columns(text: str, tokens: list[str], kind: int, n_rows: int) -> str:
    expected = len(_names(kind, n_rows))
    advice = ""
    if kind == tokenizer.PATTERN and len(tokens) == expected + 1:
        advice = " The header says pattern; say real (or integer) there to keep the values."
    elif kind != tokenizer.PATTERN and n_rows >= 0 and len(tokens) == 2:
        advice = " The value is missing; the header says pattern where entries have none."
    return f"{quote(text)} has {len(tokens)} columns; expected {expected}: {_form(kind, n_rows)}.{advice}"


def _explain_index(name: str, token: str, limit: int) -> str:
    if not WHOLE.fullmatch(token):
        return f"The {name} index {quote(token)} is not a whole number."
    if token.startswith("+"):
        return f"The {name} index {quote(token)} has a sign; write the digits alone."
    if token.strip("-0") == "":
        return f"The {name} index is 0; indices start at 1."
    if token.startswith("-"):
        return f"The {name} index {quote(token)} is negative; indices start at 1."
    if len(token) > 18 or int(token) > limit:
        return f"The {name} index {quote(token)} is outside 1 … {limit}, the size in the header."
    return ""


def explain_value(token: str, kind: int) -> str:
    """Return the error of a value, or ""."""
    bare = token.lower().lstrip("+-")
    if bare.startswith(("nan", "inf")):
        return f"The value {quote(token)} is not finite; a matrix to be measured needs finite values."
    if bare.startswith("0x"):
        return f"The value {quote(token)} is hexadecimal; write it as a decimal number."
    if "," in token:
        return f"The value {quote(token)} has a comma; write a decimal point."
    if kind == tokenizer.UNSIGNED and WHOLE.fullmatch(token) and token.startswith("-"):
        return f"The value {quote(token)} is negative, but the header says unsigned-integer; say integer there."
    if kind in (tokenizer.INTEGER, tokenizer.UNSIGNED) and not WHOLE.fullmatch(token):
        return f"The value {quote(token)} is not a whole number, but the header says integer; say real there."
    if not NUMBER.fullmatch(token):
        return f"The value {quote(token)} is not a decimal number."
    return ""


def explain_head(head: bytes) -> str:
    """Return the kind of an unreadable file, by its head, and what to do."""
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if words := explain_magic(text) or explain_binary(head):
        return words
    if b"\0" in head:
        return (
            "This is a binary file of an unknown kind; upload a matrix as .mtx, .tar.gz of SuiteSparse, .npz or .mat."
        )
    first = text.split(b"\n", 1)[0].strip()
    if text[:1] == b"<":
        return explain_markup(text)
    if not text:
        return "The file is empty; expected a matrix, such as Matrix Market text."
    if re.match(rb"[%#\d\s]", first) and re.search(rb"^\s*\d+[\s,]+\d+", text, re.MULTILINE):
        return (
            "The first line is missing, as in edge lists of Network Repository and SNAP. Put "
            "'%%MatrixMarket matrix coordinate pattern general' (or real, where lines have a value) and a line "
            "'rows columns entries' before the entries."
        )
    begin = quote(first.decode("utf-8", "backslashreplace"))
    message = f"The file begins with {begin}; expected '%%MatrixMarket matrix coordinate real general' or the like."
    lines = (line.strip() for line in text.split(b"\n"))
    columns = [len(re.split(rb"[\s,;]+", line)) for line in lines if line and line[:1] not in b"#%"][:2]
    if columns in ([2, 2], [3, 3]):
        return f"{message} In edge lists, ids are integers or names that begin with a letter, and weights are numbers."
    return message
