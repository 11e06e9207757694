"""`sparsight jobs …`, `results` and `compare`: the queue of a running server, and what its jobs have measured."""

import dataclasses
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Annotated, Literal

import typer

from gpu_engine.errors import InputError
from server.documents import Job
from sparsight.addresses import Address, find_job, find_matrix, job_address, matrix_address
from sparsight.compare import Difference
from sparsight.exits import Exit
from sparsight.lists import Limit, moment, print_list
from sparsight.report import duration, times
from sparsight.terminal import (
    AsJson,
    Column,
    Server,
    Timeout,
    connect,
    messages,
    out,
    print_json,
    print_table,
    say,
    say_left_out,
)

app = typer.Typer(help="Jobs of a running server.", no_args_is_help=True)
JobId = Annotated[
    Address,
    typer.Argument(metavar="JOB", help="Id of the job, how it begins, or its URL.", parser=job_address),
]
SHORT_ID = 8
"""Characters of a job's id in a list; every command takes them for the id."""


@app.command()
def ls(
    state: Annotated[str, typer.Option(help="queued, running, succeeded, failed or cancelled.")] = "",
    study: Annotated[str, typer.Option(help="Name of a study.")] = "",
    matrix: Annotated[Address | None, typer.Option(help="Id or URL of a matrix.", parser=matrix_address)] = None,
    limit: Limit = 50,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """List jobs, the newest first."""
    from sparsight.run import Task

    with connect(server, *filter(None, [matrix])) as client:
        matrix_id = find_matrix(client, matrix)["id"] if matrix else ""
        columns = _columns(Task(client, messages(), out()).name)
        none = "There is no such job. Queue one with `sparsight run`."
        print_list(client.jobs(state, study, matrix_id), limit, columns, none, as_json)


@app.command(epilog="Example: sparsight jobs watch 5f0c6a1e --timeout 600")
def watch(job: JobId, timeout: Timeout = None, server: Server = None, as_json: AsJson = False) -> None:
    """Follow a job to its end and print its results; Ctrl-C leaves it running."""
    from sparsight.run import Task

    with connect(server, job) as client:
        found = find_job(client, job)
        raise typer.Exit(Task(client, messages(), out()).follow(found, timeout, as_json))


@app.command()
def cancel(job: JobId, server: Server = None, as_json: AsJson = False) -> None:
    """End a queued or running job; what it has measured stays."""
    with connect(server, job) as client:
        ended = client.cancel(find_job(client, job)["id"])
    if as_json:
        print_json(ended)
    else:
        say(f"The job {ended['id']} is {ended['state']}.")


def results(
    job: JobId,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV instead of tables.")] = False,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Print what a job has measured so far."""
    from sparsight.run import Task

    if as_csv and as_json:
        raise InputError("Choose one of --csv and --json.")
    with connect(server, job) as client:
        found = find_job(client, job)
        if as_csv:
            typer.echo(client.results_csv(found["id"]), nl=False)
        else:
            Task(client, messages(), out()).print_results(found, as_json)


def compare(
    baseline: Annotated[str, typer.Argument(metavar="A", help="A job, or with --job a kernel.")],
    other: Annotated[str, typer.Argument(metavar="B", help="What is compared with it.")],
    job: Annotated[
        Address | None,
        typer.Option(metavar="JOB", help="Compare two kernels of this job.", parser=job_address),
    ] = None,
    fail_on: Annotated[Literal["slow"] | None, typer.Option(help="Exit with 7 when B is slower anywhere.")] = None,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Say whether B is faster, the same or slower than A: two kernels of one job, or the same kernels of two jobs."""
    from sparsight.run import Task

    jobs = [job] if job else [job_address(baseline), job_address(other)]
    with connect(server, *jobs) as client:
        ids = [find_job(client, address)["id"] for address in jobs]
        differences = client.compare(baseline, other, *ids) if job else client.compare(*ids)
        if as_json:
            print_json([dataclasses.asdict(difference) for difference in differences])
        else:
            _print_differences(differences, Task(client, messages(), out()).name)
    if fail_on and any(difference.verdict == "slower" for difference in differences):
        raise typer.Exit(Exit.SLOWER)


def _columns(name: Callable[[str], str]) -> tuple[Column[Job], ...]:
    """The columns of a list of jobs; `name` is that of a matrix by its id."""
    return (
        Column("job", lambda job: job["id"][:SHORT_ID]),
        Column("matrix", lambda job: _names(job, name), is_name=True),
        Column("study", lambda job: job["study"]),
        Column("state", lambda job: job["state"]),
        Column("queued (UTC)", lambda job: moment(job["created_at"])),
        Column("took", _took, right=True),
        Column("cases", lambda job: f"{job['progress']['done']:.0f} of {job['progress']['total']:.0f}", right=True),
        Column("device", lambda job: job["device"]),
    )


def _names(job: Job, name: Callable[[str], str]) -> str:
    first, *others = job["matrix_ids"]
    return f"{name(first)} + {len(others)}" if others else name(first)


def _took(job: Job) -> str:
    """Hours, minutes and seconds of a job that has run; empty for any other."""
    if job["started_at"] is None or job["finished_at"] is None:
        return ""
    took = datetime.fromisoformat(job["finished_at"]) - datetime.fromisoformat(job["started_at"])
    return str(timedelta(seconds=round(took.total_seconds())))


def _print_differences(differences: list[Difference], name: Callable[[str], str]) -> None:
    """A table; where all share a matrix, a device or a cache state, its title says which."""
    places: tuple[Column[Difference], ...] = (
        Column("matrix", lambda d: name(d.matrix_id), is_name=True),
        Column("cache", lambda d: d.cache),
        Column("device", lambda d: d.device),
    )
    shared = [column for column in places if len({column.cell(d) for d in differences}) == 1]
    columns: tuple[Column[Difference], ...] = (
        Column("kernel", lambda d: d.baseline if d.baseline == d.other else f"{d.baseline} → {d.other}"),
        Column("verdict", lambda d: d.verdict),
        Column("ratio", lambda d: times(d.ratio), right=True),
        *(column for column in places if column not in shared),
        Column("A", lambda d: duration(d.baseline_s), right=True),
        Column("B", lambda d: duration(d.other_s), right=True),
        Column("why", lambda d: d.reason),
    )
    if not differences:
        say("The two share no matrix, device and cache state.")
        return
    console = out()
    if shared:
        say(", ".join(str(column.cell(differences[0])) for column in shared), console, "italic")
    say_left_out(print_table(console, columns, differences), "--json")
