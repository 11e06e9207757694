"""`sparsight jobs …` and `results`: the queue of a running server, and what its jobs have measured."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Annotated, Any

import typer

from gpu_engine.errors import InputError
from server.documents import Job
from sparsight.addresses import Address, job_address, matrix_address
from sparsight.lists import Limit, moment, print_list
from sparsight.lookups import find_job, find_matrix
from sparsight.terminal import (
    AsJson,
    Column,
    Server,
    Timeout,
    connect,
    messages,
    out,
    print_json,
    print_pairs,
    say,
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


@app.command(epilog="Example: sparsight jobs show 5f0c6a1e")
def show(job: JobId, server: Server = None, as_json: AsJson = False) -> None:
    """Show one job: its matrices, parameters, state and times."""
    from sparsight.run import Task

    with connect(server, job) as client:
        found = find_job(client, job)
        if as_json:
            print_json(found)
            return
        name = Task(client, messages(), out()).name
        facts: dict[str, Any] = {column.heading: column.cell(found) for column in _columns(name)} | {"job": found["id"]}
        del facts["matrix"]
        facts |= {f"matrix {place}": f"{entry}  {name(entry)}" for place, entry in enumerate(found["matrix_ids"], 1)}
    facts |= {"place in the queue": found["queue_position"]} if found["queue_position"] else {}
    facts |= {"waits because": found["waiting_reason"]} if found.get("waiting_reason") else {}
    facts |= {"retry of": found["retry_of"]} if found["retry_of"] else {}
    facts |= {"error": found["error"].get("detail", "")} if found["error"] else {}
    facts |= found["params"]
    print_pairs(out(), {name: _shown(value) for name, value in facts.items()})


@app.command(epilog="Example: sparsight jobs retry 5f0c6a1e")
def retry(job: JobId, server: Server = None, as_json: AsJson = False) -> None:
    """Queue the same again once a job is over; prints the id of the new job."""
    from sparsight.run import Task

    with connect(server, job) as client:
        again = client.retry(find_job(client, job)["id"])
        task = Task(client, messages(), out())
        task.tell(again)
        task.print_job(again, as_json)


@app.command()
def cancel(job: JobId, server: Server = None, as_json: AsJson = False) -> None:
    """End a queued or running job; what it has measured stays."""
    with connect(server, job) as client:
        ended = client.cancel(find_job(client, job)["id"])
    if as_json:
        print_json(ended)
    else:
        say(f"The job {ended['id']} is {ended['state']}.")


@app.command()
def stop(job: JobId, server: Server = None, as_json: AsJson = False) -> None:
    """Stop a running job after its current round and keep its results."""
    with connect(server, job) as client:
        stopped = client.stop(find_job(client, job)["id"])
    if as_json:
        print_json(stopped)
    else:
        say(f"Job {stopped['id']} will stop after the current round; its results are kept.")


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


def _columns(name: Callable[[str], str]) -> tuple[Column[Job], ...]:
    """The columns of a list of jobs; `name` is that of a matrix by its id."""
    return (
        Column("job", lambda job: job["id"][:SHORT_ID]),
        Column("matrix", lambda job: _names(job, name), is_name=True),
        Column("study", lambda job: job["study"]),
        Column("state", lambda job: "running, worker silent" if job["lease_expired"] else job["state"]),
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


def _shown(value: Any) -> str:
    """A fact in a terminal; a list as `--set` takes it."""
    return ",".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
