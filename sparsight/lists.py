"""Lists of a server in a terminal: as many as the limit allows, with a word where there are more."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import islice
from typing import Annotated, TypeVar

import typer

from sparsight.terminal import Column, out, print_json, print_table, say, say_left_out

T = TypeVar("T")

Limit = Annotated[int, typer.Option(help="At most so many; 0: all.", min=0)]


def print_list(entries: Iterable[T], limit: int, columns: Sequence[Column[T]], none: str, as_json: bool) -> None:
    """Prints the first entries; `none` is the sentence on stderr where there are none."""
    found = list(islice(entries, limit + 1 if limit else None))
    shown = found[:limit] if limit else found
    if as_json:
        print_json(shown)
    elif not shown:
        say(none)
    else:
        say_left_out(print_table(out(), columns, shown), "--json")
    if len(found) > len(shown):
        say(f"These are the first {len(shown)}, and there are more. --limit 0 lists all.")


def moment(time: str) -> str:
    """A time of the API to the minute, in UTC."""
    return f"{datetime.fromisoformat(time):%Y-%m-%d %H:%M}"
