"""Shared parts of the commands: options, settings, the connection, consoles, and tables."""

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
Server = Annotated[str | None, typer.Option(help="Server address, such as 127.0.0.1:18080.")]
Timeout = Annotated[float | None, typer.Option(help="Maximum waiting time in seconds.", min=0)]

UNLIMITED = 100_000
"""Width of output that does not go to a terminal, in characters."""

GAP = 2
"""Spaces between two columns of a table."""

NAME_CELLS = 22
"""Width to which a name is shortened if a table is too wide, in terminal cells."""


def read_settings(**options: Any) -> Settings:
    """Return the settings of this process; raise InputError with the names of invalid variables."""
    try:
        return Settings(**options)
    except ValidationError as error:
        wrong = "; ".join(f"SPARSIGHT_{'.'.join(map(str, e['loc'])).upper()}: {e['msg']}" for e in error.errors())
        raise InputError(f"{wrong}.") from error


def connect(server: str | None, *addresses: Address) -> "Client":
    """Return a client of the server given with --server, in a URL, or in the settings, in this order.

    Raises InputError if option and URLs give different servers.
    """
    from sparsight.client import Client
    from sparsight.problems import COMMAND

    settings = read_settings()
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    given = server_of(server, *addresses)
    return Client(given or f"http://{host}:{settings.port}", settings.token, hints=COMMAND, on_outage=_print_outage)


def _print_outage(message: str) -> None:
    print_status(f"{message} Trying again.")


def messages() -> Console:
    """Return the console for messages (stderr)."""
    return Console(stderr=True, highlight=False)


def out() -> Console:
    """Return the console for results (stdout); its width is unlimited without a terminal, unless COLUMNS is set."""
    limited = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit()
    return Console(highlight=False, width=None if limited else UNLIMITED)


def print_status(message: str, console: Console | None = None, style: str = "") -> None:
    """Print a message to stderr or to another console; a terminal wraps it between words."""
    console = console or messages()
    if console.is_terminal:
        message = textwrap.fill(message, console.width, break_long_words=False, break_on_hyphens=False)
    console.print(Text(message, style), soft_wrap=True)


def print_json(document: Any) -> None:
    """Print a document as one line of JSON to stdout, in ASCII unless stdout has a Unicode encoding."""
    unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    typer.echo(json.dumps(document, allow_nan=False, ensure_ascii=not unicode))


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """Column of a table.

    cell     function that returns the cell of an item
    right    align the cells to the right, for numbers
    is_name  cells are names of any length, which may be shortened
    """

    heading: str
    cell: Callable[[T], object]
    right: bool = False
    is_name: bool = False


def print_table(console: Console, columns: Sequence[Column[T]], items: Sequence[T]) -> list[str]:
    """Print the leading columns that fit and return the headings of the hidden ones; no cell is cut or wrapped."""
    cells = [["" if (cell := c.cell(item)) is None else str(cell) for c in columns] for item in items]
    if sum(_widths(columns, cells)) + GAP * (len(columns) - 1) > console.width:
        cells = [[shorten(cell) if c.is_name else cell for c, cell in zip(columns, row, strict=True)] for row in cells]
    widths = _widths(columns, cells)
    ends = accumulate(width + GAP for width in widths)
    n_visible = max(1, sum(end - GAP <= console.width for end in ends))
    headings = [c.heading for c in columns]
    for row, style in [(headings, "bold"), *((row, "") for row in cells)]:
        padded = (_pad(cell, width, c.right) for c, cell, width in zip(columns[:n_visible], row, widths, strict=False))
        # Names come from uploads of other users: Text prevents Rich from interpreting markup in them.
        console.print(Text((" " * GAP).join(padded).rstrip(), style), soft_wrap=True)
    return headings[n_visible:]


def print_pairs(console: Console, pairs: Mapping[str, str]) -> None:
    """Print one name and value per line; a value that does not fit starts on the next line."""
    width = max(map(cell_len, pairs), default=0) + GAP
    for name, value in pairs.items():
        if width + cell_len(value) <= console.width:
            print_status(f"{name:<{width}}{value}", console)
        else:
            print_status(name, console)
            print_status(value, console)


def print_hidden_columns(headings: Iterable[str], options: str) -> None:
    """Print which columns are hidden and which options show them; print nothing if none is hidden."""
    if names := ", ".join(dict.fromkeys(headings)):
        print_status(f"Columns hidden (terminal too narrow): {names}. Widen it or use {options}.")


def shorten(name: str) -> str:
    """Return the first words of a long name that fit NAME_CELLS, at least one."""
    if cell_len(name) <= NAME_CELLS:
        return name
    words = name.split()
    ends = accumulate(cell_len(word) + 1 for word in words)
    n_words = max(1, sum(end + 1 <= NAME_CELLS for end in ends))
    return name if n_words == len(words) else " ".join([*words[:n_words], "…"])


def _widths(columns: Sequence[Column[T]], cells: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(cell_len, texts)) for texts in zip([c.heading for c in columns], *cells, strict=True)]


def _pad(text: str, width: int, right: bool) -> str:
    space = " " * (width - cell_len(text))
    return space + text if right else text + space
