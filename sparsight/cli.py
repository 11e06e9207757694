"""Command line of Sparsight: results go to stdout, everything else to stderr; exit_codes.py lists the exit codes."""

import dataclasses
import io
import sys
from contextlib import closing, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Column, Table
from rich.text import Text

from gpu_engine.errors import InputError, SparsightError, quote
from server import logs
from sparsight import (
    backup_commands,
    compare_command,
    compile_command,
    fetch_commands,
    job_commands,
    matrix_commands,
    record_commands,
    server_commands,
    token_commands,
)
from sparsight.addresses import Address
from sparsight.exit_codes import Exit, exit_of
from sparsight.read_options import ReadOptionsCommand
from sparsight.sources import find_sources, parse_call
from sparsight.terminal import AsJson, Server, Timeout, connect, messages, out, print_json, print_status, read_settings

PRODUCT_PACKAGES = ("gpu_engine", "server", "web", "sparsight")
"""Packages of the product, which every installation contains."""

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
matrix_commands.app.command(epilog="Example: sparsight matrix fetch HB/bcsstk16")(fetch_commands.fetch)
matrix_commands.app.command()(fetch_commands.index)
matrix_commands.app.add_typer(fetch_commands.app, name="collection")
app.add_typer(matrix_commands.app, name="matrix")
app.add_typer(job_commands.app, name="jobs")
app.add_typer(token_commands.app, name="token")
app.add_typer(record_commands.app, name="record")


def main() -> None:
    """Run the console script `sparsight`; errors become one line on stderr and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # The encoding of the terminal may lack characters of a matrix name.
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except SparsightError as error:
        print_status(error.message)
        sys.exit(exit_of(error))
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("", *PRODUCT_PACKAGES):
            raise
        print_status(f"{error.name} is not installed. This command needs it: pip install 'sparsight[server]'.")
        sys.exit(Exit.FAILED)


def _print_version(is_requested: bool) -> None:
    if is_requested:
        typer.echo(f"sparsight {version('sparsight')}")
        raise typer.Exit


@app.callback()
def common(
    _: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Benchmark sparse matrix–vector kernels on GPUs and CPUs."""


@app.command(epilog="Example: sparsight serve --port 18080")
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on (SPARSIGHT_HOST).")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on, 0 for any free one (SPARSIGHT_PORT).")] = None,
    worker: Annotated[bool, typer.Option(help="Run a worker on this machine.")] = True,
) -> None:
    """Serve the pages and the API and run a worker, until Ctrl-C."""
    options = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
    settings = read_settings(**options)
    logs.configure(settings.log_format)
    # The next import creates a folder in the data directory, and with it a data directory that everybody can read.
    with suppress(OSError):
        settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    from server import sandbox
    from server.private_folders import open_service

    open_service(settings)
    # While the slow next import runs.
    sandbox.servers.prepare()
    from sparsight.serve import serve as run_server

    def announce(url: str) -> None:
        typer.echo(f"Sparsight is at {url}  (Ctrl-C to stop)")

    run_server(settings, worker, announce)


@app.command()
def worker(
    parent: Annotated[int | None, typer.Option(hidden=True, help="End when this process ends.")] = None,
) -> None:
    """Run queued jobs on the devices of this machine, until Ctrl-C."""
    from server.db import Database
    from server.jobs.failed_starts import FailedStarts
    from server.jobs.worker import supervise
    from server.migrate import check_current
    from server.private_folders import open_service
    from sparsight.worker_process import end_with

    settings = read_settings()
    logs.configure(settings.log_format)
    if parent is not None:
        end_with(parent)
    open_service(settings)
    with closing(Database(settings.resolved_database_url)) as database:
        check_current(database)
        database.check_whole()
    failed_starts = FailedStarts(settings)
    supervise(drain_s=settings.drain_seconds, on_failed_start=failed_starts.report)
    failed_starts.clear()


@app.command()
def migrate() -> None:
    """Create the database, or update its schema to this release."""
    from server.migrate import migrate as run_migrations
    from server.private_folders import open_service

    settings = read_settings()
    logs.configure(settings.log_format)
    open_service(settings)
    run_migrations(settings.resolved_database_url)
    print_status("The database is up to date.")


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Check this machine and say what is missing."""
    from sparsight.doctor import examine

    colors = {"ok": "green", "warn": "yellow", "fail": "bold red"}
    console, checks = out(), []
    for check in examine(read_settings()):
        checks.append(check)
        if not as_json:
            # A grid wraps long lines between words and indents the continuation lines.
            grid = Table.grid(Column(width=5), Column(width=15), Column())
            grid.add_row(Text(check.status, colors[check.status]), check.name, Text(check.found))
            if check.advice:
                grid.add_row("", "", Text(check.advice, "dim"))
            console.print(grid)
    if as_json:
        print_json([dataclasses.asdict(check) for check in checks])
    raise typer.Exit(Exit.FAILED if any(check.status == "fail" for check in checks) else Exit.DONE)


@app.command(epilog="Example: sparsight generate rmat:scale=14 rmat.mtx.gz")
def generate(
    call: Annotated[str, typer.Argument(metavar="GENERATOR:NAME=VALUE,…", help="Generator and its parameters.")],
    file: Annotated[Path, typer.Argument(help="Matrix Market file to write. A name with .gz is compressed.")],
) -> None:
    """Generate a matrix and write it to a file. This needs no server."""
    from gpu_engine import generators
    from gpu_engine.matrix_io import write_matrix_market

    parsed = parse_call(call)
    matrix = generators.generate(parsed.generator, parsed.parameters)
    try:
        write_matrix_market(file, matrix)
    except OSError as error:
        raise InputError(f"Cannot write {quote(file)}: {error.strerror or error}.") from error
    print_status(f"Wrote {file}: {matrix.n_rows} × {matrix.n_cols}, {matrix.nnz} nonzeros.")


@app.command(
    cls=ReadOptionsCommand,
    epilog="Example: sparsight run formats cnr-2000.mtx.gz rmat:scale=14 --set rounds=9 --wait",
)
def run(
    ctx: typer.Context,
    study: Annotated[str, typer.Argument(help="Name of the study; `sparsight studies` lists them.")],
    matrices: Annotated[
        list[str],
        typer.Argument(
            metavar="MATRIX",
            help="Matrix file, folder of matrix files, id or URL of a matrix, or GENERATOR:NAME=VALUE,….",
        ),
    ],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE,…", help="Study parameters; `sparsight studies STUDY` lists them."),
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda:0 …, cluster; `sparsight devices` lists them.")] = "auto",
    server: Server = None,
    wait: Annotated[bool, typer.Option("--wait", help="Follow the job and print its results.")] = False,
    timeout: Timeout = None,
    as_json: AsJson = False,
) -> None:
    """Queue a study of one or more matrices as one job, and print its id."""
    from gpu_engine.matrix_io.options import chosen, parse_options
    from sparsight.run import Task, parse_settings

    sources = find_sources(matrices, chosen(parse_options(ctx.obj or {})))
    parameters = parse_settings(study, settings or [])
    with connect(server, *(source.what for source in sources if isinstance(source.what, Address))) as client:
        task = Task(client, messages(), out())
        job = task.queue(study, sources, parameters, device)
        if not wait:
            task.print_job(job, as_json)
            return
        raise typer.Exit(task.follow(job, timeout, as_json))


app.command(epilog="Example: sparsight backup /backups/sparsight-$(date +%F).tar")(backup_commands.backup)
app.command()(backup_commands.restore)
app.command(epilog="Example: sparsight results JOB --csv > results.csv")(job_commands.results)
app.command(epilog="Example: sparsight compare BEFORE AFTER --fail-on slow,failed,missing --threshold 10%")(
    compare_command.compare
)
app.command(epilog="Example: sparsight compile --arch sm_80 --arch sm_90")(compile_command.compile)
app.command()(server_commands.studies)
app.command()(server_commands.kernels)
app.command()(server_commands.devices)
app.command()(token_commands.audit)
