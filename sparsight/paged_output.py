"""Lists of documents in a terminal, up to a limit, with a note if there are more."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import islice
from typing import Annotated, TypeVar

import typer

from sparsight.terminal import Column, out, print_hidden_columns, print_json, print_status, print_table

T = TypeVar("T")

Limit = Annotated[int, typer.Option(help="Maximum number of rows (0 = all).", min=0)]


def print_list(
    entries: Iterable[T], limit: int, columns: Sequence[Column[T]], empty_message: str, as_json: bool
) -> None:
    """Print the first `limit` entries (0: all); if there are none, print `empty_message` to stderr."""
    first_entries = list(islice(entries, limit + 1 if limit else None))
    page = first_entries[:limit] if limit else first_entries
    if as_json:
        print_json(page)
    elif not page:
        print_status(empty_message)
    else:
        print_hidden_columns(print_table(out(), columns, page), "--json")
    if len(first_entries) > len(page):
        print_status(f"Showing the first {len(page)}. Use --limit 0 to list all.")


def utc_minute(time: str) -> str:
    """Return a time of the API as `2026-11-26 00:29`, in UTC."""
    return f"{datetime.fromisoformat(time):%Y-%m-%d %H:%M}"
