"""What the commands share: options, settings, the connection; results go to stdout, everything else to stderr."""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gpu_engine.errors import InputError
from gpu_engine.records import dumps
from server.settings import Settings

if TYPE_CHECKING:
    from sparsight.client import Client

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Server = Annotated[str | None, typer.Option(help="Address of the server.")]
Timeout = Annotated[float | None, typer.Option(help="Seconds to wait at most.", min=0)]


def read_settings(**options: Any) -> Settings:
    """The settings of this process; raises InputError naming the variables that are wrong."""
    try:
        return Settings(**options)
    except ValidationError as error:
        wrong = "; ".join(f"SPARSIGHT_{'.'.join(map(str, e['loc'])).upper()}: {e['msg']}" for e in error.errors())
        raise InputError(f"{wrong}.") from error


def connect(server: str | None) -> "Client":
    """A client of the named server, else of the one that the settings name."""
    from sparsight.client import Client
    from sparsight.problems import COMMAND

    settings = read_settings()
    return Client(server or f"http://{settings.host}:{settings.port}", settings.token, hints=COMMAND)


def say(message: str) -> None:
    """One line for people."""
    messages().print(Text(message), soft_wrap=True)


def messages() -> Console:
    """The console of everything but results."""
    return Console(stderr=True, highlight=False)


def out() -> Console:
    """The console of results; where it is no terminal, lines are not cut to the width of one."""
    width = None if sys.stdout.isatty() else int(os.environ.get("COLUMNS", 200))
    return Console(highlight=False, width=width)


def print_json(document: Any) -> None:
    """A document on one line of stdout."""
    typer.echo(dumps(document))


def print_table(rows: Sequence[Mapping[str, Any]], empty: str) -> None:
    """Rows with the same keys as a table, or on stderr the sentence that says that there are none."""
    if not rows:
        say(empty)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, value in rows[0].items():
        table.add_column(name, justify="right" if isinstance(value, int | float) else "left", overflow="fold")
    for row in rows:
        # Names are what strangers uploaded: Text keeps Rich from reading markup in them.
        table.add_row(*(Text("" if value is None else str(value)) for value in row.values()))
    out().print(table)
