"""`python -m tools.chaos --kills 1000 --seed 1`: so many kills, shared by databases and victims, in pieces.

Each piece has a home and a database of its own, and prints a line of JSON; a table follows, and for `--sum LOG` nothing
but the table of what such lines in a log add up to. Exit status 1 where anything is lost, doubled, stuck or wrong.
"""

import argparse
import json
import random
import signal
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from tests.postgres import DATABASES, serve
from tools.chaos.books import Report
from tools.chaos.ground import Ground
from tools.chaos.piece import run
from tools.chaos.services import SERVICES, Zygote
from tools.chaos.victims import VICTIMS, Victim

PIECE = 250
"""Most kills of a piece: compiling its kernels takes as long as dozens of kills."""

SHIPPED = 0.04
"""Of the kills: under Ray, and with every process started as a user does, each takes many seconds."""

FAULTS = ("lost", "doubled", "stuck", "wrong")
COUNTS = ("kills", "jobs", "failed_jobs", "cases", "failed_cases", "attempts", "matrices", *FAULTS, "seconds")


def pieces(options: argparse.Namespace) -> Iterator[tuple[str, str, Victim, int]]:
    """(database, service, victim, kills), those of each database, service and victim spread over the run."""
    cells = [
        (database, service, victim)
        for victim in VICTIMS
        for database in victim.databases
        for service in SERVICES
        if database in options.database and service in options.service and victim.name in options.victim
    ]
    shares = [cell[2].share * (SHIPPED if cell[1] == "shipped" else 1 - SHIPPED) for cell in cells]
    owed = [max(1, round(options.kills * share / sum(shares))) for share in shares]
    while any(owed):
        for number, (database, service, victim) in enumerate(cells):
            if kills := min(owed[number], options.piece):
                owed[number] -= kills
                yield database, service, victim, kills


def table(reports: Sequence[Report]) -> str:
    """One row for each database, service and victim, and one of their sums."""
    groups = defaultdict(list)
    for report in reports:
        groups[report.database, report.service, report.victim].append(report)
    rows = [("database", "service", "victim", *(name.replace("_", " ") for name in COUNTS), "seeds")]
    for names, group in [*sorted(groups.items()), (("all", "", ""), list(reports))]:
        sums = (f"{sum(getattr(report, name) for report in group):.0f}" for name in COUNTS)
        seeds = [report.seed for report in group]
        rows.append((*names, *sums, f"{min(seeds)}-{max(seeds)}" if seeds else ""))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ("  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(lines) + "\n"


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options; without a choice all of each kind."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="of the first piece; the next: + 1")
    parser.add_argument("--piece", type=int, default=PIECE, help="most kills of a piece")
    parser.add_argument("--sum", type=Path, help="a log: print the table of its lines, and kill nothing")
    known = {"victim": [victim.name for victim in VICTIMS], "database": DATABASES, "service": list(SERVICES)}
    for name, choices in known.items():
        parser.add_argument(f"--{name}", choices=choices, action="append")
    options = parser.parse_args(arguments)
    for name, choices in known.items():
        setattr(options, name, getattr(options, name) or choices)
    return options


def main() -> int:
    """Runs the pieces, or sums up a log."""
    options = parse()
    # As at Ctrl-C: Postgres and the service end with it.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if options.sum:
        lines = [line for line in options.sum.read_text().splitlines() if line.startswith("{")]
        reports = [Report(**json.loads(line)) for line in lines]
    else:
        reports = []
        with (
            tempfile.TemporaryDirectory(prefix="chaos-") as folder,
            serve(Path(folder)) as server,
            Zygote() as zygote,
        ):
            ground = Ground(Path(folder), server, zygote)
            for number, (database, service, victim, kills) in enumerate(pieces(options)):
                home = Path(folder) / str(number)
                reports.append(run(ground, database, service, victim, kills, options.seed + number, home))
                sys.stdout.write(json.dumps(asdict(reports[-1])) + "\n")
                sys.stdout.flush()
    sys.stdout.write(table(reports))
    return 1 if any(getattr(report, name) for report in reports for name in FAULTS) else 0


if __name__ == "__main__":
    sys.exit(main())
