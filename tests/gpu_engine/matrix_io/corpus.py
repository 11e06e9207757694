"""A corpus of matrix files made from a seed, read by our readers and judged by what each file means.

`python -m tests.gpu_engine.matrix_io.corpus --seed 7 --cases 5000` reads so many and prints a table. `wrong`, `accepted
though unreadable` and `crashed` must be 0; each valid file that is refused has a reason that its owner can accept.
"""

import argparse
import random
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from gpu_engine.errors import InputError
from gpu_engine.matrix_io import read_matrix
from tests.gpu_engine.matrix_io import (
    archives,
    dimacs,
    edges,
    graphs,
    harwell_boeing,
    market,
    matlab,
    matlab4,
    npz,
    petsc,
)
from tests.gpu_engine.matrix_io.case import LIMITS, Case, Generate, is_same

GENERATORS: dict[str, Generate] = {
    "Matrix Market": market.generate,
    "compressed": market.generate_packed,
    "SuiteSparse archive": archives.generate,
    "SciPy .npz": npz.generate,
    "MATLAB .mat": matlab.generate,
    "MATLAB .mat v4": matlab4.generate,
    "PETSc binary": petsc.generate,
    "GraphML": graphs.generate_graphml,
    "GEXF": graphs.generate_gexf,
    "Harwell-Boeing": harwell_boeing.generate,
    "DIMACS": dimacs.generate,
    "edge list": edges.generate,
}
SECOND_OPINIONS = {
    "Matrix Market": market.agrees_with_scipy,
    "MATLAB .mat": matlab.agrees_with_scipy,
    "MATLAB .mat v4": matlab4.agrees_with_scipy,
    "SuiteSparse archive": archives.agrees_with_tar,
}
"""Whether another program reads a valid file as our oracle does; SciPy itself is the oracle of .npz files."""

RIGHT, REFUSED_RIGHT, WRONG, ACCEPTED, REFUSED, CRASHED = (
    "read right",
    "refused right",
    "wrong",
    "accepted though unreadable",
    "valid refused",
    "crashed",
)
VERDICTS = (RIGHT, REFUSED_RIGHT, WRONG, ACCEPTED, REFUSED, CRASHED)


def cases(kind: str, seed: int, count: int) -> Iterator[Case]:
    """The first files of a kind that a seed makes."""
    return islice(GENERATORS[kind](random.Random(f"{kind} {seed}")), count)


def judge(case: Case, folder: Path) -> tuple[str, str]:
    """The verdict on reading a case, and what was said about it."""
    path = folder / "file"
    path.write_bytes(case.content)
    try:
        matrix = read_matrix(path, LIMITS, case.options).matrix
    except InputError as error:
        if case.meaning is None:
            return REFUSED_RIGHT, ""
        return REFUSED, case.meaning.refusable or f"NO REASON: {error.message}"
    except Exception as error:
        return CRASHED, repr(error)
    if case.meaning is None:
        return ACCEPTED, ""
    return (RIGHT if is_same(matrix, case.meaning) else WRONG), ""


@dataclass
class Tally:
    """What became of the files of one kind."""

    verdicts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    disagreements: int = 0
    slowest_s: float = 0.0
    bad: list[tuple[Case, str, str]] = field(default_factory=list)


def run(seed: int, count: int) -> dict[str, Tally]:
    """Reads about so many files, the same number of each kind."""
    tallies: dict[str, Tally] = defaultdict(Tally)
    with tempfile.TemporaryDirectory() as folder:
        for kind in GENERATORS:
            tally = tallies[kind]
            # Compiled code is loaded once, which is no file's fault.
            judge(next(cases(kind, seed, 1)), Path(folder))
            for case in cases(kind, seed, -(-count // len(GENERATORS))):
                begin = time.perf_counter()
                verdict, said = judge(case, Path(folder))
                tally.slowest_s = max(tally.slowest_s, time.perf_counter() - begin)
                tally.verdicts[verdict] += 1
                if verdict == REFUSED:
                    tally.reasons[said] += 1
                if is_bad(verdict, said):
                    tally.bad.append((case, verdict, said))
                agrees = SECOND_OPINIONS.get(kind)
                if case.meaning and not case.meaning.refusable and agrees and not agrees(case.content, case.meaning):
                    tally.disagreements += 1
                    tally.bad.append((case, "another program disagrees", ""))
    return tallies


def is_bad(verdict: str, said: str) -> bool:
    return verdict in (WRONG, ACCEPTED, CRASHED) or (verdict == REFUSED and said.startswith("NO REASON"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--show", type=int, default=0, help="files at fault to print")
    options = parser.parse_args()
    tallies = run(options.seed, options.cases)
    print(f"| format | cases | {' | '.join(VERDICTS)} | others disagree | slowest |")  # noqa: T201
    print("| --- |" + " ---: |" * (len(VERDICTS) + 3))  # noqa: T201
    for kind, tally in tallies.items():
        counts = " | ".join(str(tally.verdicts[verdict]) for verdict in VERDICTS)
        print(f"| {kind} | {tally.verdicts.total()} | {counts} | {tally.disagreements} | {tally.slowest_s:.2f} s |")  # noqa: T201
    reasons = sum((tally.reasons for tally in tallies.values()), Counter[str]())
    for reason, number in reasons.most_common():
        print(f"{number:6} refused: {reason}")  # noqa: T201
    for case, verdict, said in [bad for tally in tallies.values() for bad in tally.bad[: options.show]]:
        print(f"\n{case.kind}, {case.name}: {verdict} {said}\n{case.content[:1500]!r}\n{str(case.meaning)[:600]}")  # noqa: T201


if __name__ == "__main__":
    main()
