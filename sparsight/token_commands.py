"""`sparsight token …`: tokens of the service, made and ended on its host; `sparsight audit`: who did what with them."""

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpu_engine.errors import ParameterError, quote
from server.documents import AuditEntry
from sparsight.lists import Limit, moment, print_list
from sparsight.terminal import AsJson, Column, Server, connect, read_settings, say

if TYPE_CHECKING:
    from server.db import Database

app = typer.Typer(help="Tokens of the service on this host.", no_args_is_help=True)

HOUR_S = 3600.0
LASTS = {"h": HOUR_S, "d": 24 * HOUR_S, "w": 168 * HOUR_S}
FOREVER = "never"
SIZES = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
QUOTAS = ("uploads_per_day", "bytes_per_day", "queued_jobs", "gpu_seconds_per_day")

TOKENS: tuple[Column[dict[str, Any]], ...] = (
    Column("token", lambda token: token["name"]),
    Column("role", lambda token: token["role"]),
    Column("state", lambda token: token["state"]),
    Column("expires", lambda token: moment(token["expires_at"]) if token["expires_at"] else FOREVER),
    Column("quotas", lambda token: _quotas(token)),
)
AUDIT: tuple[Column[AuditEntry], ...] = (
    Column("when", lambda entry: moment(entry["at"])),
    Column("who", lambda entry: entry["who"]),
    Column("status", lambda entry: entry["status"], right=True),
    Column("action", lambda entry: entry["action"]),
    Column("target", lambda entry: entry["target"]),
    Column("from", lambda entry: entry["address"]),
)

Name = Annotated[str, typer.Argument(help="Whose token it is: letters, digits, dots, dashes and underscores.")]


@app.command(epilog="Example: sparsight token add ci --role submit --expires 30d --gpu-seconds 3600")
def add(
    name: Name,
    role: Annotated[str, typer.Option(help="read, submit (and read), or admin.")] = "read",
    expires: Annotated[str, typer.Option(help="12h, 30d, 4w, or never.")] = "90d",
    uploads: Annotated[int | None, typer.Option(help="Most uploads a day.", min=0)] = None,
    size: Annotated[str | None, typer.Option("--bytes", help="Most bytes a day, as in 20GiB.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Most jobs queued at a time.", min=0)] = None,
    gpu_seconds: Annotated[int | None, typer.Option(help="Most GPU seconds a day.", min=0)] = None,
) -> None:
    """Make a token and print it; it is kept as a hash and cannot be shown again."""
    from server import tokens
    from server.roles import Role

    if role not in tuple(Role):
        raise ParameterError(f"There is no role {quote(role)}; roles are {', '.join(Role)}.")
    quotas = tokens.Quotas(uploads, None if size is None else parse_size(size), jobs, gpu_seconds)
    lasts_s = parse_duration(expires)
    with _database() as database:
        typer.echo(tokens.add(database, name, Role(role), lasts_s, quotas))
    say("Keep it now: it is not shown again. The service asks everybody for a token from now on.")


@app.command()
def list(as_json: AsJson = False) -> None:  # noqa: A001 (it is what the command is called)
    """List the tokens; none of them can be read again."""
    from server import tokens

    with _database() as database, database.read() as session:
        found = [tokens.token_document(row, tokens.now(session)) for row in tokens.list_tokens(session)]
    print_list(found, 0, TOKENS, "There is no token; `sparsight token add` makes one.", as_json)


@app.command()
def revoke(name: Name) -> None:
    """End a token, and the sessions of browsers that signed in with it."""
    from server import tokens

    with _database() as database:
        tokens.revoke(database, name)
    say(f"The token {quote(name)} opens nothing any more.")


def audit(
    who: Annotated[str, typer.Option(help="Name of a token.")] = "",
    limit: Limit = 50,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """List who did what, the newest first; needs a token with the role admin."""
    with connect(server) as client:
        print_list(client.audit(who), limit, AUDIT, "Nothing was noted: that begins with the first token.", as_json)


def parse_duration(text: str) -> float | None:
    """Seconds of `12h`, `30d` or `4w`, None for `never`; raises ParameterError."""
    match = re.fullmatch(r"([1-9][0-9]{0,4})([hdw])", text)
    if match is None and text != FOREVER:
        raise ParameterError(f"--expires is {quote(text)}; expected hours, days or weeks as in 12h, 30d, 4w, or never.")
    return int(match[1]) * LASTS[match[2]] if match else None


def parse_size(text: str) -> int:
    """Bytes of `20GiB` or of a plain number; raises ParameterError."""
    match = re.fullmatch(r"([0-9]{1,6}) ?([KMGT]iB)|([0-9]{1,18})", text)
    if match is None:
        raise ParameterError(f"--bytes is {quote(text)}; expected bytes, or a whole number of KiB, MiB, GiB or TiB.")
    return int(match[3]) if match[3] else int(match[1]) * SIZES[match[2]]


def _quotas(token: dict[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {token[name]}" for name in QUOTAS if token[name] is not None)


@contextmanager
def _database() -> Iterator["Database"]:
    """The database of the settings, which has to be there: whoever can open it needs no token."""
    from server.db import Database
    from server.migrate import check_current

    with closing(Database(read_settings().resolved_database_url)) as database:
        check_current(database)
        with database.usable():
            yield database
