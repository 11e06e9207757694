"""Command `sparsight compare`: comparison of two kernels of a job, or of two jobs, as a table, JSON, and exit code."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

import typer

from gpu_engine.errors import InputError, quote
from gpu_engine.verdicts.differences import Difference, DifferenceKind
from sparsight.addresses import Address, job_address
from sparsight.exit_codes import Exit
from sparsight.lookups import find_job
from sparsight.report import format_duration, format_ratio
from sparsight.terminal import (
    AsJson,
    Column,
    Server,
    connect,
    messages,
    out,
    print_hidden_columns,
    print_json,
    print_status,
    print_table,
)

FAIL_ON: Mapping[str, DifferenceKind] = {
    "slow": "slower",
    "failed": "failed",
    "missing": "missing",
    "inconclusive": "inconclusive",
}
"""Word that `--fail-on` accepts → verdict that it stands for."""

FailOn = Annotated[
    str, typer.Option(metavar="KIND,…", help=f"Exit with code 7 if any kernel of B is: {', '.join(FAIL_ON)}.")
]
Threshold = Annotated[
    str,
    typer.Option(metavar="PERCENT", help="With --fail-on slow: tolerate slowdowns below this percentage, such as 5%."),
]


def compare(
    baseline: Annotated[str, typer.Argument(metavar="A", help="Baseline: a job, or with --job a kernel.")],
    other: Annotated[str, typer.Argument(metavar="B", help="Job (or, with --job, kernel) to compare with A.")],
    job: Annotated[
        Address | None,
        typer.Option(metavar="JOB", help="Compare two kernels of this job.", parser=job_address),
    ] = None,
    fail_on: FailOn = "",
    threshold: Threshold = "",
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Compare two jobs, or two kernels of one job: is B faster, equal, or slower than A?"""
    from sparsight.client import ENDED
    from sparsight.run import Task

    kinds = _kinds(fail_on)
    if threshold and "slower" not in kinds:
        raise InputError("--threshold applies only to --fail-on slow. Use both options.")
    threshold_share = _parse_percentage(threshold) if threshold else 0.0
    jobs = [job] if job else [job_address(baseline), job_address(other)]
    with connect(server, *jobs) as client:
        documents = [find_job(client, address) for address in jobs]
        for document in documents:
            if document["state"] not in ENDED:
                print_status(f"Job {document['id']} is {document['state']}. Comparing its results so far.")
        ids = [document["id"] for document in documents]
        differences = client.compare(baseline, other, *ids) if job else client.compare(*ids)
        name = Task(client, messages(), out()).name
        if as_json:
            print_json([{"matrix": name(d.matrix_id), **dataclasses.asdict(d)} for d in differences])
        else:
            _print(differences, name)
    worse = Counter(
        d.verdict
        for d in differences
        if d.verdict in kinds and (d.verdict != "slower" or d.slowdown >= threshold_share)
    )
    if worse:
        counts = ", ".join(f"{count} {kind}" for kind, count in worse.items())
        print_status(f"{counts} (of {len(differences)} comparisons).")
        raise typer.Exit(Exit.WORSE)
    if not any(d.baseline_s and d.other_s for d in differences):
        print_status("Nothing to compare: no case was timed in both A and B.")
        raise typer.Exit(Exit.NOTHING)


def _kinds(text: str) -> list[DifferenceKind]:
    # Gates that were written for the former word go on.
    words = [word.strip().replace("ambiguous", "inconclusive") for word in text.split(",") if word.strip()]
    for word in words:
        if word not in FAIL_ON:
            raise InputError(
                f"Invalid value {quote(word)} for --fail-on. Use {', '.join(FAIL_ON)}, separated by commas."
            )
    return [FAIL_ON[word] for word in words]


def _parse_percentage(text: str) -> float:
    """Return a percentage as a fraction, 0.05 for `5%`; raise InputError."""
    number, sign, rest = text.partition("%")
    try:
        share = float(number) / 100
    except ValueError:
        share = -1.0
    if not sign or rest.strip() or not 0 <= share < float("inf"):
        raise InputError(f"Invalid value {quote(text)} for --threshold. Use a percentage such as 5%.")
    return share


def _print(differences: Sequence[Difference], name: Callable[[str], str]) -> None:
    """Print a table of comparisons; values common to all rows (matrix, cache, device, parameters) form its title."""
    if not differences:
        print_status("Nothing to compare: the two have no matrix, device and cache state in common.")
        return
    common = dict(set.intersection(*(set(d.axes.items()) for d in differences)))
    axes: Column[Difference] = Column(
        "parameters", lambda d: _axes_text({k: v for k, v in d.axes.items() if k not in common})
    )
    settings: tuple[Column[Difference], ...] = (
        Column("matrix", lambda d: name(d.matrix_id), is_name=True),
        Column("cache", lambda d: d.cache),
        Column("device", lambda d: d.device),
    )
    shared = [column for column in settings if len({column.cell(d) for d in differences}) == 1]
    columns: tuple[Column[Difference], ...] = (
        Column("kernel", lambda d: d.baseline if d.baseline == d.other else f"{d.baseline} → {d.other}"),
        *([axes] if any(map(axes.cell, differences)) else []),
        Column("verdict", lambda d: d.verdict),
        Column("ratio", lambda d: format_ratio(d.ratio), right=True),
        *(column for column in settings if column not in shared),
        Column("A", lambda d: format_duration(d.baseline_s), right=True),
        Column("B", lambda d: format_duration(d.other_s), right=True),
        Column("reason", lambda d: d.reason),
    )
    console, first = out(), differences[0]
    title = [str(column.cell(first)) for column in shared] + [
        _axes_text({k: v for k, v in first.axes.items() if k in common})
    ]
    if any(title):
        print_status(", ".join(filter(None, title)), console, "italic")
    print_hidden_columns(print_table(console, columns, differences), "--json")


def _axes_text(axes: Mapping[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in axes.items())
