"""Fortran formats by rewriting: groups are written out as text until none is left, then read item by item."""

import re
from dataclasses import dataclass

from tests.gpu_engine.matrix_io.case import UnreadableError
from tests.gpu_engine.matrix_io.market import need

GROUP = re.compile(r"(\d*)\(([^()]*)\)")
EDIT = re.compile(
    r"(?:(\d*)(I|EN|ES|E|F|D|G)(\d{1,4})(?:\.(\d{1,3})(?:E\d{1,2})?)?(?=,|$)"
    r"|([+-]?\d{1,2})P|(\d*)X|(T|TL|TR)(\d{1,4})(?=,|$)|(BN|BZ|SP|SS|S)(?=,|$))(?:,|$)?"
)
CHARACTERS_MAX = 4096


@dataclass(frozen=True)
class Column:
    """A field of a line; `letter` I is a whole number."""

    begin: int
    width: int
    letter: str
    decimals: int = 0
    scale: int = 0
    zeros: bool = False


def columns_of(text: str) -> tuple[list[Column], list[Column]]:
    """(fields of the first line, fields of each later line) of a format; raises UnreadableError."""
    packed = text.upper().replace(" ", "")
    need(re.fullmatch(r"\(.+\)", packed) and not re.search(r",,|\(,|,\)|\(\)|[^\x20-\x7e]", packed), "format")
    # A comma behind a group, and before one unless a scale factor or a skip stands there.
    need(not re.search(r"\)[^,)]", packed) and not re.search(r"[^(,PX\d]\d*\(", packed[1:]), "format")
    whole, again = packed[1:-1], packed[1:-1]
    depth, begin = 0, None
    for place in range(len(whole) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(whole[place], 0)
        need(depth >= 0, "brackets")
        if whole[place] == "(" and depth == 0 and begin is None:
            begin = place - len(re.findall(r"\d*$", whole[:place])[0])
    need(depth == 0, "brackets")
    if begin is not None:
        again = whole[begin:]
    first, state = _laid_out(_rewritten(whole), (0, False))
    later, _ = _laid_out(_rewritten(again), state)
    need(first and later, "no field")
    return first, later


def _rewritten(text: str) -> str:
    while group := GROUP.search(text):
        times = int(group[1] or 1)
        need(1 <= times <= 9999 and times * len(group[2]) < 10**6, "repeat")
        text = f"{text[: group.start()]},{','.join([group[2]] * times)},{text[group.end() :]}"
    return re.sub(",+", ",", text).strip(",")


def _laid_out(text: str, state: tuple[int, bool]) -> tuple[list[Column], tuple[int, bool]]:
    scale, zeros = state
    place, column, columns = 0, 0, []
    while place < len(text):
        edit = EDIT.match(text, place)
        if edit is None:
            raise UnreadableError("format")
        place = edit.end()
        repeat, letter, width, decimals, factor, skip, tab, by, blanks = edit.groups()
        if letter:
            need(1 <= int(repeat or 1) <= CHARACTERS_MAX and int(width), "width")
            for _ in range(int(repeat or 1)):
                real = letter != "I"
                columns.append(Column(column, int(width), letter, int(decimals or 0) * real, scale * real, zeros))
                column += int(width)
        elif factor:
            scale = int(factor)
        elif tab:
            need(int(by), "tab")
            column = {"T": int(by) - 1, "TL": max(column - int(by), 0), "TR": column + int(by)}[tab]
        elif blanks in ("BN", "BZ"):
            zeros = blanks == "BZ"
        elif skip is not None:
            need(skip == "" or int(skip), "skip")
            column += int(skip or 1)
        need(column <= CHARACTERS_MAX, "too wide")
    return columns, (scale, zeros)


def is_real(columns: list[Column]) -> bool:
    return any(column.letter != "I" for column in columns)
