"""Commands `sparsight token …`, which manage the tokens on the host of the service, and `sparsight audit`."""

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpu_engine.errors import ParameterError, quote
from server.documents import AuditEntry
from sparsight.paged_output import Limit, print_list, utc_minute
from sparsight.terminal import AsJson, Column, Server, connect, print_status, read_settings

if TYPE_CHECKING:
    from server.db import Database

app = typer.Typer(help="Manage access tokens on the host of the service.", no_args_is_help=True)

HOUR_S = 3600.0
DURATION_UNITS_S = {"h": HOUR_S, "d": 24 * HOUR_S, "w": 168 * HOUR_S}
"""Unit of `--expires` → seconds."""

FOREVER = "never"
SIZE_UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
"""Unit of `--bytes` → bytes."""

QUOTAS = ("uploads_per_day", "bytes_per_day", "queued_jobs", "gpu_seconds_per_day")
"""Fields of a token with its quotas."""

TOKENS: tuple[Column[dict[str, Any]], ...] = (
    Column("token", lambda token: token["name"]),
    Column("role", lambda token: token["role"]),
    Column("state", lambda token: token["state"]),
    Column("expires", lambda token: utc_minute(token["expires_at"]) if token["expires_at"] else FOREVER),
    Column("quotas", lambda token: _quotas(token)),
)
AUDIT: tuple[Column[AuditEntry], ...] = (
    Column("time (UTC)", lambda entry: utc_minute(entry["at"])),
    Column("who", lambda entry: entry["who"]),
    Column("status", lambda entry: entry["status"], right=True),
    Column("action", lambda entry: entry["action"]),
    Column("target", lambda entry: entry["target"]),
    Column("from", lambda entry: entry["address"]),
)

Name = Annotated[str, typer.Argument(help="Name of the user or program: letters, digits, dots, dashes, underscores.")]


@app.command(epilog="Example: sparsight token add ci --role submit --expires 30d --gpu-seconds 3600")
def add(
    name: Name,
    role: Annotated[str, typer.Option(help="read, submit (includes read), or admin.")] = "read",
    expires: Annotated[str, typer.Option(help="Lifetime: 12h, 30d, 4w, or never.")] = "90d",
    uploads: Annotated[int | None, typer.Option(help="Maximum uploads per day.", min=0)] = None,
    size: Annotated[str | None, typer.Option("--bytes", help="Maximum bytes per day, such as 20GiB.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Maximum number of queued jobs.", min=0)] = None,
    gpu_seconds: Annotated[int | None, typer.Option(help="Maximum GPU seconds per day.", min=0)] = None,
) -> None:
    """Create a token and print it once. The server stores only its hash."""
    from server import tokens
    from server.roles import Role

    if role not in tuple(Role):
        raise ParameterError(f"Unknown role {quote(role)}. Available roles: {', '.join(Role)}.")
    quotas = tokens.Quotas(uploads, None if size is None else parse_size(size), jobs, gpu_seconds)
    lifetime_s = parse_duration(expires)
    with _database() as database:
        typer.echo(tokens.add(database, name, Role(role), lifetime_s, quotas))
    print_status("Save this token now; it cannot be shown again. From now on every request needs a token.")


@app.command()
def list(as_json: AsJson = False) -> None:  # noqa: A001 (it is what the command is called)
    """List the tokens with roles, expiry dates, and quotas."""
    from server import tokens

    with _database() as database, database.read() as session:
        documents = [tokens.token_document(row, tokens.now(session)) for row in tokens.list_tokens(session)]
    print_list(documents, 0, TOKENS, "No tokens. Create one with `sparsight token add`.", as_json)


@app.command()
def revoke(name: Name) -> None:
    """Revoke a token and end the browser sessions that were signed in with it."""
    from server import tokens

    with _database() as database:
        tokens.revoke(database, name)
    print_status(f"Token {quote(name)} revoked.")


def audit(
    who: Annotated[str, typer.Option(help="Only entries of this token.")] = "",
    limit: Limit = 50,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """List the audit log, newest first. This needs an admin token."""
    with connect(server) as client:
        message = "The audit log is empty. Logging starts with the first token."
        print_list(client.audit(who), limit, AUDIT, message, as_json)


def parse_duration(text: str) -> float | None:
    """Return the seconds of `12h`, `30d`, or `4w`, or None for `never`; raise ParameterError."""
    match = re.fullmatch(r"([1-9][0-9]{0,4})([hdw])", text)
    if match is None and text != FOREVER:
        raise ParameterError(
            f"Invalid value {quote(text)} for --expires. Use hours, days, or weeks: 12h, 30d, 4w, never."
        )
    return int(match[1]) * DURATION_UNITS_S[match[2]] if match else None


def parse_size(text: str) -> int:
    """Return the bytes of `20GiB` or of a plain number; raise ParameterError."""
    match = re.fullmatch(r"([0-9]{1,6}) ?([KMGT]iB)|([0-9]{1,18})", text)
    if match is None:
        raise ParameterError(f"Invalid value {quote(text)} for --bytes. Use bytes, or whole KiB, MiB, GiB, or TiB.")
    return int(match[3]) if match[3] else int(match[1]) * SIZE_UNITS[match[2]]


def _quotas(token: dict[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {token[name]}" for name in QUOTAS if token[name] is not None)


@contextmanager
def _database() -> Iterator["Database"]:
    """Yield the existing database of the settings; access to its file replaces a token."""
    from server.db import Database
    from server.migrate import check_current

    with closing(Database(read_settings().resolved_database_url)) as database:
        check_current(database)
        with database.usable():
            yield database
