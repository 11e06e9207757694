"""Commands `sparsight jobs …` and `results`: the jobs of a running server and their results."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Annotated, Any

import typer

from gpu_engine.errors import InputError
from server.documents import Job
from sparsight.addresses import Address, job_address, matrix_address
from sparsight.lookups import find_job, find_matrix
from sparsight.paged_output import Limit, print_list, utc_minute
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
    print_status,
)

app = typer.Typer(help="List, follow, and stop jobs.", no_args_is_help=True)
JobId = Annotated[
    Address,
    typer.Argument(metavar="JOB", help="Job id, a unique prefix of it, or its URL.", parser=job_address),
]
SHORT_ID = 8
"""Characters of a job id in a table; every command accepts them as the id."""


@app.command()
def ls(
    state: Annotated[str, typer.Option(help="Only queued, running, succeeded, failed, or cancelled jobs.")] = "",
    study: Annotated[str, typer.Option(help="Only jobs of this study.")] = "",
    matrix: Annotated[
        Address | None, typer.Option(help="Only jobs of this matrix (id or URL).", parser=matrix_address)
    ] = None,
    limit: Limit = 50,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """List jobs, newest first."""
    from sparsight.run import Task

    with connect(server, *filter(None, [matrix])) as client:
        matrix_id = find_matrix(client, matrix)["id"] if matrix else ""
        columns = _columns(Task(client, messages(), out()).name)
        message = "No jobs match. Queue one with `sparsight run`."
        print_list(client.jobs(state, study, matrix_id), limit, columns, message, as_json)


@app.command(epilog="Example: sparsight jobs watch 5f0c6a1e --timeout 600")
def watch(job: JobId, timeout: Timeout = None, server: Server = None, as_json: AsJson = False) -> None:
    """Follow a job until it ends and print its results. Ctrl-C leaves the job running."""
    from sparsight.run import Task

    with connect(server, job) as client:
        document = find_job(client, job)
        raise typer.Exit(Task(client, messages(), out()).follow(document, timeout, as_json))


@app.command(epilog="Example: sparsight jobs show 5f0c6a1e")
def show(job: JobId, server: Server = None, as_json: AsJson = False) -> None:
    """Show one job: its matrices, parameters, state, and times."""
    from sparsight.run import Task

    with connect(server, job) as client:
        document = find_job(client, job)
        if as_json:
            print_json(document)
            return
        name = Task(client, messages(), out()).name
        facts: dict[str, Any] = {column.heading: column.cell(document) for column in _columns(name)}
        facts["job"] = document["id"]
        del facts["matrix"]
        facts |= {f"matrix {number}": f"{id_}  {name(id_)}" for number, id_ in enumerate(document["matrix_ids"], 1)}
    facts |= {"position": document["queue_position"]} if document["queue_position"] else {}
    facts |= {"waiting for": document["waiting_reason"]} if document.get("waiting_reason") else {}
    facts |= {"rerun of": document["retry_of"]} if document["retry_of"] else {}
    facts |= {"error": document["error"].get("detail", "")} if document["error"] else {}
    facts |= document["params"]
    print_pairs(out(), {name: _cell_text(value) for name, value in facts.items()})


@app.command(epilog="Example: sparsight jobs retry 5f0c6a1e")
def retry(job: JobId, server: Server = None, as_json: AsJson = False) -> None:
    """Queue an ended job again and print the id of the new job."""
    from sparsight.run import Task

    with connect(server, job) as client:
        new_job = client.retry(find_job(client, job)["id"])
        task = Task(client, messages(), out())
        task.print_queued(new_job)
        task.print_job(new_job, as_json)


@app.command()
def cancel(job: JobId, server: Server = None, as_json: AsJson = False) -> None:
    """End a queued or running job at once. The results so far are kept."""
    with connect(server, job) as client:
        document = client.cancel(find_job(client, job)["id"])
    if as_json:
        print_json(document)
    else:
        print_status(f"Job {document['id']} is {document['state']}.")


@app.command()
def stop(job: JobId, server: Server = None, as_json: AsJson = False) -> None:
    """Stop a running job after the current round. The results so far are kept."""
    with connect(server, job) as client:
        document = client.stop(find_job(client, job)["id"])
    if as_json:
        print_json(document)
    else:
        print_status(f"Job {document['id']} will stop after the current round; its results are kept.")


app.command("enough", hidden=True, help="Former name of `jobs stop`.")(stop)


def results(
    job: JobId,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV instead of tables.")] = False,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Print the results of a job. A running job has partial results."""
    from sparsight.run import Task

    if as_csv and as_json:
        raise InputError("--csv and --json exclude each other. Use one of them.")
    with connect(server, job) as client:
        document = find_job(client, job)
        if as_csv:
            typer.echo(client.results_csv(document["id"]), nl=False)
        else:
            Task(client, messages(), out()).print_results(document, as_json)


def _state(job: Job) -> str:
    if job["lease_expired"]:
        return "running, worker unavailable"
    return "stopped early" if job.get("stopped_early") else str(job["state"])


def _columns(name: Callable[[str], str]) -> tuple[Column[Job], ...]:
    """Return the columns of a table of jobs; `name` maps the id of a matrix to its name."""
    return (
        Column("job", lambda job: job["id"][:SHORT_ID]),
        Column("matrix", lambda job: _names(job, name), is_name=True),
        Column("study", lambda job: job["study"]),
        Column("state", _state),
        Column("queued (UTC)", lambda job: utc_minute(job["created_at"])),
        Column("duration", _duration, right=True),
        Column("cases", lambda job: f"{job['progress']['done']:.0f} of {job['progress']['total']:.0f}", right=True),
        Column("device", lambda job: job["device"]),
    )


def _names(job: Job, name: Callable[[str], str]) -> str:
    first, *others = job["matrix_ids"]
    return f"{name(first)} + {len(others)}" if others else name(first)


def _duration(job: Job) -> str:
    """Return the run time of an ended job as H:MM:SS; empty for other jobs."""
    if job["started_at"] is None or job["finished_at"] is None:
        return ""
    run_time = datetime.fromisoformat(job["finished_at"]) - datetime.fromisoformat(job["started_at"])
    return str(timedelta(seconds=round(run_time.total_seconds())))


def _cell_text(value: Any) -> str:
    """Return a value as text; a list in the form that `--set` accepts."""
    return ",".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
