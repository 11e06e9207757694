"""`sparsight compare`: two kernels of a job, or two jobs, as a table, as JSON and as an exit code."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

import typer

from gpu_engine.errors import InputError, quote
from gpu_engine.verdicts.differences import Difference, DifferenceKind
from sparsight.addresses import Address, job_address
from sparsight.exits import Exit
from sparsight.lookups import find_job
from sparsight.report import duration, times
from sparsight.terminal import (
    AsJson,
    Column,
    Server,
    connect,
    messages,
    out,
    print_json,
    print_table,
    say,
    say_left_out,
)

FAIL_ON: Mapping[str, DifferenceKind] = {
    "slow": "slower",
    "failed": "failed",
    "missing": "missing",
    "inconclusive": "inconclusive",
}
"""What `--fail-on` takes, and the verdict that each word stands for."""


def compare(
    baseline: Annotated[str, typer.Argument(metavar="A", help="A job, or with --job a kernel.")],
    other: Annotated[str, typer.Argument(metavar="B", help="What is compared with it.")],
    job: Annotated[
        Address | None,
        typer.Option(metavar="JOB", help="Compare two kernels of this job.", parser=job_address),
    ] = None,
    fail_on: Annotated[
        str, typer.Option(metavar="KIND,…", help=f"Exit with 7 when B is so anywhere: {', '.join(FAIL_ON)}.")
    ] = "",
    threshold: Annotated[
        str, typer.Option(metavar="PERCENT", help="With --fail-on slow: pass what takes less longer, such as 5%.")
    ] = "",
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Say whether B is faster, the same or slower than A: two kernels of one job, or the same kernels of two jobs."""
    from sparsight.client import ENDED
    from sparsight.run import Task

    kinds = _kinds(fail_on)
    if threshold and "slower" not in kinds:
        raise InputError("--threshold belongs to --fail-on slow; give both.")
    least = _share(threshold) if threshold else 0.0
    jobs = [job] if job else [job_address(baseline), job_address(other)]
    with connect(server, *jobs) as client:
        found = [find_job(client, address) for address in jobs]
        for entry in found:
            if entry["state"] not in ENDED:
                say(f"The job {entry['id']} is {entry['state']}; this is what it has measured so far.")
        ids = [entry["id"] for entry in found]
        differences = client.compare(baseline, other, *ids) if job else client.compare(*ids)
        name = Task(client, messages(), out()).name
        if as_json:
            print_json([{"matrix": name(d.matrix_id), **dataclasses.asdict(d)} for d in differences])
        else:
            _print(differences, name)
    worse = Counter(
        d.verdict for d in differences if d.verdict in kinds and (d.verdict != "slower" or d.slowdown >= least)
    )
    if worse:
        counts = ", ".join(f"{count} {kind}" for kind, count in worse.items())
        say(f"Of {len(differences)} comparisons: {counts}.")
        raise typer.Exit(Exit.WORSE)
    if not any(d.baseline_s and d.other_s for d in differences):
        say("No two times could be compared.")
        raise typer.Exit(Exit.NOTHING)


def _kinds(text: str) -> list[DifferenceKind]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    for word in words:
        if word not in FAIL_ON:
            raise InputError(f"--fail-on has {quote(word)}; expected {', '.join(FAIL_ON)}, with commas between.")
    return [FAIL_ON[word] for word in words]


def _share(text: str) -> float:
    """0.05 of `5%`."""
    number, sign, rest = text.partition("%")
    try:
        share = float(number) / 100
    except ValueError:
        share = -1.0
    if not sign or rest.strip() or not 0 <= share < float("inf"):
        raise InputError(f"--threshold is {quote(text)}; expected a percentage such as 5%.")
    return share


def _print(differences: Sequence[Difference], name: Callable[[str], str]) -> None:
    """A table; what all share of matrix, cache state, device and axes is its title."""
    if not differences:
        say("The two share no matrix, device, cache state and axes.")
        return
    same = dict(set.intersection(*(set(d.axes.items()) for d in differences)))
    axes: Column[Difference] = Column("axes", lambda d: _axes({k: v for k, v in d.axes.items() if k not in same}))
    places: tuple[Column[Difference], ...] = (
        Column("matrix", lambda d: name(d.matrix_id), is_name=True),
        Column("cache", lambda d: d.cache),
        Column("device", lambda d: d.device),
    )
    shared = [column for column in places if len({column.cell(d) for d in differences}) == 1]
    columns: tuple[Column[Difference], ...] = (
        Column("kernel", lambda d: d.baseline if d.baseline == d.other else f"{d.baseline} → {d.other}"),
        *([axes] if any(map(axes.cell, differences)) else []),
        Column("verdict", lambda d: d.verdict),
        Column("ratio", lambda d: times(d.ratio), right=True),
        *(column for column in places if column not in shared),
        Column("A", lambda d: duration(d.baseline_s), right=True),
        Column("B", lambda d: duration(d.other_s), right=True),
        Column("why", lambda d: d.reason),
    )
    console, first = out(), differences[0]
    title = [str(column.cell(first)) for column in shared] + [_axes({k: v for k, v in first.axes.items() if k in same})]
    if any(title):
        say(", ".join(filter(None, title)), console, "italic")
    say_left_out(print_table(console, columns, differences), "--json")


def _axes(axes: Mapping[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in axes.items())
