"""What the commands share: options, settings, the connection, tables; results go to stdout, all else to stderr."""

import json
import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar

import typer
from pydantic import ValidationError
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from gpu_engine.errors import InputError
from server.settings import Settings
from sparsight.addresses import Address, server_of

if TYPE_CHECKING:
    from sparsight.client import Client

T = TypeVar("T")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Server = Annotated[str | None, typer.Option(help="Address of the server, such as 127.0.0.1:18080.")]
Timeout = Annotated[float | None, typer.Option(help="Seconds to wait at most.", min=0)]

UNLIMITED = 100_000
"""Columns of what is no terminal."""

GAP = 2
NAME_CELLS = 22
"""A name is shortened to this where a table is too wide."""


def read_settings(**options: Any) -> Settings:
    """The settings of this process; raises InputError naming the variables that are wrong."""
    try:
        return Settings(**options)
    except ValidationError as error:
        wrong = "; ".join(f"SPARSIGHT_{'.'.join(map(str, e['loc'])).upper()}: {e['msg']}" for e in error.errors())
        raise InputError(f"{wrong}.") from error


def connect(server: str | None, *addresses: Address) -> "Client":
    """A client of the named server, else of the one that the addresses name, else of that of the settings.

    Raises InputError where two of them are named.
    """
    from sparsight.client import Client
    from sparsight.problems import COMMAND

    settings = read_settings()
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    named = server_of(server, *addresses)
    return Client(named or f"http://{host}:{settings.port}", settings.token, hints=COMMAND, on_outage=_say_outage)


def _say_outage(message: str) -> None:
    say(f"{message} Sparsight goes on trying.")


def messages() -> Console:
    """The console of everything but results."""
    return Console(stderr=True, highlight=False)


def out() -> Console:
    """The console of results: of any width where it is no terminal, unless COLUMNS gives one."""
    limited = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit()
    return Console(highlight=False, width=None if limited else UNLIMITED)


def say(message: str, console: Console | None = None, style: str = "") -> None:
    """A sentence for people; on a terminal it is broken between words, and never in one."""
    console = console or messages()
    if console.is_terminal:
        message = textwrap.fill(message, console.width, break_long_words=False, break_on_hyphens=False)
    console.print(Text(message, style), soft_wrap=True)


def print_json(document: Any) -> None:
    """A document on one line of stdout, in ASCII where stdout takes nothing else."""
    unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    typer.echo(json.dumps(document, allow_nan=False, ensure_ascii=not unicode))


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """A column of a table: its heading, and the cell of an item.

    right   numbers, one under the other
    is_name a name of any length, which may be shortened to whole words
    """

    heading: str
    cell: Callable[[T], object]
    right: bool = False
    is_name: bool = False


def print_table(console: Console, columns: Sequence[Column[T]], items: Sequence[T]) -> list[str]:
    """Prints the first columns, as many as fit; returns the headings of the others. No word is cut, no cell folded."""
    cells = [["" if (cell := c.cell(item)) is None else str(cell) for c in columns] for item in items]
    if sum(_widths(columns, cells)) + GAP * (len(columns) - 1) > console.width:
        cells = [[shorten(cell) if c.is_name else cell for c, cell in zip(columns, row, strict=True)] for row in cells]
    widths = _widths(columns, cells)
    ends = accumulate(width + GAP for width in widths)
    kept = max(1, sum(end - GAP <= console.width for end in ends))
    headings = [c.heading for c in columns]
    for row, style in [(headings, "bold"), *((row, "") for row in cells)]:
        padded = (_pad(cell, width, c.right) for c, cell, width in zip(columns[:kept], row, widths, strict=False))
        # Names are what strangers uploaded: Text keeps Rich from reading markup in them.
        console.print(Text((" " * GAP).join(padded).rstrip(), style), soft_wrap=True)
    return headings[kept:]


def print_pairs(console: Console, pairs: Mapping[str, str]) -> None:
    """Names and values, one pair a line; a value that is too long for that stands on lines of its own."""
    width = max(map(cell_len, pairs), default=0) + GAP
    for name, value in pairs.items():
        if width + cell_len(value) <= console.width:
            say(f"{name:<{width}}{value}", console)
        else:
            say(name, console)
            say(value, console)


def say_left_out(headings: Iterable[str], options: str) -> None:
    """Which columns a table had no room for, and the options that show them; nothing where there are none."""
    if names := ", ".join(dict.fromkeys(headings)):
        say(f"Left out for want of room: {names}. A wider terminal shows them, and so does {options}.")


def shorten(name: str) -> str:
    """The first words of a long name that fit NAME_CELLS, at least one."""
    if cell_len(name) <= NAME_CELLS:
        return name
    words = name.split()
    ends = accumulate(cell_len(word) + 1 for word in words)
    kept = max(1, sum(end + 1 <= NAME_CELLS for end in ends))
    return name if kept == len(words) else " ".join([*words[:kept], "…"])


def _widths(columns: Sequence[Column[T]], cells: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(cell_len, texts)) for texts in zip([c.heading for c in columns], *cells, strict=True)]


def _pad(text: str, width: int, right: bool) -> str:
    space = " " * (width - cell_len(text))
    return space + text if right else text + space
