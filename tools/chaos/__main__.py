"""`python -m tools.chaos --kills 1000 --seed 1`: kill parts of the service at random, and check for lost work.

The kills are split into scenarios per database and victim. Each scenario has its own data directory and database, and
prints a line of JSON. A table of the sums follows. With `--sum LOG`, only the table of the lines in that log is
printed. Exit status 1 if anything is lost, doubled, stuck, or wrong.
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
from tools.chaos.consistency import Report
from tools.chaos.environment import Ground
from tools.chaos.scenario import run
from tools.chaos.services import SERVICES, Zygote
from tools.chaos.victims import VICTIMS, Victim

PIECE = 250
"""Maximum number of kills per scenario: compiling its kernels takes as long as dozens of kills."""

SHIPPED = 0.04
"""Share of kills under Ray with all processes started as a user does; each takes many seconds."""

FAULTS = ("lost", "doubled", "stuck", "wrong")
COUNTS = ("kills", "jobs", "failed_jobs", "cases", "failed_cases", "attempts", "matrices", *FAULTS, "seconds")


def pieces(options: argparse.Namespace) -> Iterator[tuple[str, str, Victim, int]]:
    """Yield (database, service, victim, kills), with the kills of each combination spread over the run."""
    cells = [
        (database, service, victim)
        for victim in VICTIMS
        for database in victim.databases
        for service in SERVICES
        if database in options.database and service in options.service and victim.name in options.victim
    ]
    shares = [cell[2].share * (SHIPPED if cell[1] == "shipped" else 1 - SHIPPED) for cell in cells]
    remaining = [max(1, round(options.kills * share / sum(shares))) for share in shares]
    while any(remaining):
        for number, (database, service, victim) in enumerate(cells):
            if kills := min(remaining[number], options.piece):
                remaining[number] -= kills
                yield database, service, victim, kills


def table(reports: Sequence[Report]) -> str:
    """Return a row for each database, service, and victim, and a row of their sums."""
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
    """Return the options; each choice defaults to all values."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="seed of the first scenario")
    parser.add_argument("--piece", type=int, default=PIECE, help="maximum number of kills per scenario")
    parser.add_argument("--sum", type=Path, help="log whose lines are summed up; nothing is killed")
    known = {"victim": [victim.name for victim in VICTIMS], "database": DATABASES, "service": list(SERVICES)}
    for name, choices in known.items():
        parser.add_argument(f"--{name}", choices=choices, action="append")
    options = parser.parse_args(arguments)
    for name, choices in known.items():
        setattr(options, name, getattr(options, name) or choices)
    return options


def main() -> int:
    """Run the scenarios, or sum up a log."""
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
