"""`sparsight jobs …`, `results` and `compare`: the queue of a running server, and what its jobs have measured."""

import dataclasses
from itertools import islice
from typing import Annotated, Any, Literal

import typer

from gpu_engine.errors import InputError
from server.documents import Job
from sparsight.exits import Exit
from sparsight.report import duration
from sparsight.terminal import AsJson, Server, Timeout, connect, messages, out, print_json, print_table, say

app = typer.Typer(help="Jobs of a running server.", no_args_is_help=True)
JobId = Annotated[str, typer.Argument(metavar="JOB", help="Id of the job; `sparsight jobs ls` lists them.")]


@app.command()
def ls(
    state: Annotated[str, typer.Option(help="queued, running, succeeded, failed or cancelled.")] = "",
    study: Annotated[str, typer.Option(help="Name of a study.")] = "",
    matrix: Annotated[str, typer.Option(help="Id of a matrix.")] = "",
    limit: Annotated[int, typer.Option(help="At most so many.", min=1)] = 50,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """List jobs, the newest first."""
    with connect(server) as client:
        found = list(islice(client.jobs(state, study, matrix), limit))
    if as_json:
        print_json(found)
        return
    print_table([_row(job) for job in found], "There is no such job. Queue one with `sparsight run`.")


@app.command()
def watch(job: JobId, timeout: Timeout = None, server: Server = None, as_json: AsJson = False) -> None:
    """Follow a job to its end and print its results; Ctrl-C leaves it running."""
    from sparsight.run import Task

    with connect(server) as client:
        found = client.job(job)
        raise typer.Exit(Task(client, messages(), out()).follow(found, timeout, as_json))


@app.command()
def cancel(job: JobId, server: Server = None, as_json: AsJson = False) -> None:
    """End a queued or running job; what it has measured stays."""
    with connect(server) as client:
        ended = client.cancel(job)
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
    with connect(server) as client:
        if as_csv:
            typer.echo(client.results_csv(job), nl=False)
        else:
            Task(client, messages(), out()).print_results(client.results(job), as_json)


def compare(
    baseline: Annotated[str, typer.Argument(metavar="A", help="Id of a job, or with --job a kernel.")],
    other: Annotated[str, typer.Argument(metavar="B", help="What is compared with it.")],
    job: Annotated[str, typer.Option(metavar="JOB", help="Compare two kernels of this job.")] = "",
    fail_on: Annotated[Literal["slow"] | None, typer.Option(help="Exit with 7 when B is slower anywhere.")] = None,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Say whether B is faster, the same or slower than A: two kernels of one job, or the same kernels of two jobs."""
    with connect(server) as client:
        differences = client.compare(baseline, other, job)
    rows = [dataclasses.asdict(difference) for difference in differences]
    if as_json:
        print_json(rows)
    else:
        print_table([_difference(row) for row in rows], "The two share no matrix, device and cache state.")
    if fail_on and any(difference.verdict == "slower" for difference in differences):
        raise typer.Exit(Exit.SLOWER)


def _row(job: Job) -> dict[str, Any]:
    progress = job["progress"]
    done = f"{progress['done']:.0f} of {progress['total']:.0f}"
    return {"id": job["id"], "study": job["study"], "device": job["device"], "state": job["state"], "cases": done}


def _difference(row: dict[str, Any]) -> dict[str, Any]:
    ratio = row["ratio"]
    kernels = row["baseline"] if row["baseline"] == row["other"] else f"{row['baseline']} → {row['other']}"
    return {
        "matrix": row["matrix_id"],
        "device": row["device"],
        "cache": row["cache"],
        "kernel": kernels,
        "A": duration(row["baseline_s"]),
        "B": duration(row["other_s"]),
        "verdict": row["verdict"],
        "ratio": "" if ratio is None else f"{ratio:.2f} ×",
        "why": row["reason"],
    }
