"""Fortran formats of numbers: the columns of each line that a format such as `(1X,8I9)` or `(3(1P,E24.16))` reads.

Fortran 2018 (ISO/IEC 1539-1), 13.3 to 13.8. A format may hold I, F, D, E, EN, ES, G, X, T, TL, TR, P, BN, BZ, S, SP, SS
and groups. Slashes, colons, and texts are refused: they make lines of a file that no reader of matrices expects.
"""

import re
from dataclasses import dataclass, field
from typing import TypeAlias

LINE_CHARACTERS_MAX = 4096
DEPTH_MAX = 16
"""Maximum depth of nested groups."""

ITEM = re.compile(
    r"(?P<repeat>\d{0,4})(?P<letter>I|E[NS]?|F|D|G)(?P<width>\d{1,4})(?:\.(?P<decimals>\d{1,3})(?:E\d{1,2})?)?"
    r"|(?P<scale>[+-]?\d{1,2})P|(?P<skip>\d{0,4})X|T(?P<tab>[LR]?)(?P<column>\d{1,4})|B(?P<blanks>[NZ])|S[SP]?",
    re.ASCII,
)
GROUP = re.compile(r"(\d{0,4})\(", re.ASCII)


@dataclass(frozen=True, slots=True)
class Field:
    """A number in the columns `begin` to `end` of a line, counted from 0; `real`: a decimal number.

    decimals  digits after the implied point of a number without a point
    scale     power of ten that a number without an exponent is divided by
    zeros     blanks behind the first digit are zeros (BZ)
    """

    begin: int
    end: int
    real: bool
    decimals: int = 0
    scale: int = 0
    zeros: bool = False


@dataclass(frozen=True, slots=True)
class Format:
    """Fields of the first line, and of later lines, which begin at the last group of the format."""

    first: tuple[Field, ...]
    later: tuple[Field, ...]

    @property
    def real(self) -> bool:
        """Whether a field is a decimal number."""
        return any(field.real for field in (*self.first, *self.later))


def parse(text: str) -> Format:
    """Return the parsed format of a text; case and blanks do not matter.

    Raises ValueError, with the end of a sentence, for an invalid format.
    """
    packed = text.upper().replace(" ", "")
    items, end = _items(packed, 0, 0)
    if end != len(packed):
        raise ValueError("is not a format of numbers")
    line = _Line()
    line.add(items)
    first = line.end()
    line.add(_reverted(items))
    later = line.end()
    if not first or not later:
        raise ValueError("has a line without a number")
    return Format(first, later)


@dataclass(frozen=True, slots=True)
class _Group:
    """Items in brackets that are read `times` times; `steps` counts what that lays out."""

    times: int
    items: "list[_Item]"
    steps: int


_Item: TypeAlias = re.Match[str] | _Group


def _items(text: str, begin: int, depth: int) -> tuple[list[_Item], int]:
    """Return the items in brackets that open at `begin`, and where they end."""
    if depth > DEPTH_MAX or text[begin : begin + 1] != "(":
        raise ValueError("is not a format of numbers")
    items: list[_Item] = []
    place = begin + 1
    while True:
        if group := GROUP.match(text, place):
            inner, place = _items(text, group.end() - 1, depth + 1)
            times = int(group[1] or 1)
            items.append(_Group(times, inner, times * sum(map(_count, inner))))
        elif item := ITEM.match(text, place):
            items.append(item)
            place = item.end()
        else:
            raise ValueError("is not a format of numbers")
        if sum(map(_count, items)) > LINE_CHARACTERS_MAX or not all(map(_count_given, items)):
            raise ValueError(f"makes no line of 1 to {LINE_CHARACTERS_MAX} characters")
        if text[place : place + 1] == ")":
            return items, place + 1
        if text[place : place + 1] == ",":
            place += 1
        elif isinstance(items[-1], _Group) or not (items[-1]["scale"] or items[-1]["skip"] is not None):
            # A comma may be left out behind a scale factor; some writers leave out the one behind X.
            raise ValueError("is not a format of numbers")


def _count(item: _Item) -> int:
    """Return how many steps an item takes to lay out, which repeat counts multiply."""
    return item.steps if isinstance(item, _Group) else int(item["repeat"] or 1)


def _count_given(item: _Item) -> bool:
    """Return whether no repeat count and no width is 0."""
    if isinstance(item, _Group):
        return item.times > 0
    return all(int(item[name] or 1) for name in ("repeat", "width", "skip", "column"))


def _reverted(items: list[_Item]) -> list[_Item]:
    """Return what is read again for the next line: from the last group of the outermost ones, with its repeat count."""
    groups = [place for place, item in enumerate(items) if isinstance(item, _Group)]
    return items[groups[-1] :] if groups else items


@dataclass
class _Line:
    """A line while its fields are laid out; the scale factor and the meaning of blanks last beyond it."""

    column: int = 0
    scale: int = 0
    zeros: bool = False
    fields: list[Field] = field(default_factory=list)

    def end(self) -> tuple[Field, ...]:
        """Return the fields and begin the next line."""
        fields, self.fields, self.column = tuple(self.fields), [], 0
        return fields

    def add(self, items: list[_Item]) -> None:
        """Lay the items out."""
        for item in items:
            if isinstance(item, _Group):
                for _ in range(item.times):
                    self.add(item.items)
            elif item["letter"]:
                self._number(item)
            elif item["scale"]:
                self.scale = int(item["scale"])
            elif item["blanks"]:
                self.zeros = item["blanks"] == "Z"
            elif item["column"]:
                size = int(item["column"])
                self.column = {"": size - 1, "L": max(self.column - size, 0), "R": self.column + size}[item["tab"]]
            elif item["skip"] is not None:
                self.column += int(item["skip"] or 1)
            if self.column > LINE_CHARACTERS_MAX:
                raise ValueError(f"makes no line of 1 to {LINE_CHARACTERS_MAX} characters")

    def _number(self, item: re.Match[str]) -> None:
        width, real = int(item["width"]), item["letter"] != "I"
        decimals = int(item["decimals"] or 0) if real else 0
        for _ in range(int(item["repeat"] or 1)):
            self.fields.append(
                Field(self.column, self.column + width, real, decimals, self.scale if real else 0, self.zeros)
            )
            self.column += width
