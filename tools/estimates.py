"""Compare estimated with actual run times of jobs: `make estimates [JOBS=40]`.

Jobs of several studies, sizes, and settings run one after the other on the CPU of a new service. Each is estimated when
it is queued, and the first jobs train the estimates. Exit status 1 if, in the second half, fewer than nine of ten jobs
are within LIMIT of the estimate.
"""

import argparse
import random
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tabulate import tabulate

from server.documents import Job
from sparsight.client import Client
from tools.service import Service

LIMIT = 1.5
SHARE = 0.9

MATRICES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("stencil", {"points": 5, "nx": 60, "ny": 60}),
    ("stencil", {"points": 27, "nx": 24, "ny": 24, "nz": 24}),
    ("rmat", {"scale": 13, "edge_factor": 12}),
    ("rows", {"n": 60_000, "mean": 8}),
    ("stencil", {"points": 7, "nx": 64, "ny": 64, "nz": 64}),
)
STUDIES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("formats", {}),
    ("formats", {"kernels": ["csr/vector", "split/tile"], "rounds": 9}),
    ("formats", {"caches": ["warm"], "sampling": "fixed", "rounds": 25}),
    ("pagerank", {"kernels": ["csr/thread+fp64", "csr/thread+cpms2"]}),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finished job; times in seconds."""

    study: str
    matrix: str
    expected_s: float
    actual_s: float

    @property
    def factor(self) -> float:
        """Return the ratio of the larger of the two times to the smaller one."""
        return max(self.expected_s / self.actual_s, self.actual_s / self.expected_s)


def main() -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Service(Path(folder)) as service, Client(service.url) as client:
        finished = list(_outcomes(client, arguments.jobs, random.Random(arguments.seed)))
    rows = [(n + 1, o.study, o.matrix, o.expected_s, o.actual_s, o.factor) for n, o in enumerate(finished)]
    heads = ("job", "study", "matrix", "estimated, s", "actual, s", "factor")
    sys.stdout.write(tabulate(rows, heads, floatfmt=".1f") + "\n")
    halves = finished[: len(finished) // 2], finished[len(finished) // 2 :]
    shares = [sum(o.factor <= LIMIT for o in half) / max(len(half), 1) for half in halves]
    rates = " and ".join(
        f"{share:.0%} of the {word} half" for share, word in zip(shares, ("first", "later"), strict=True)
    )
    sys.stdout.write(f"Within a factor of {LIMIT} of the estimate: {rates}.\n")
    return int(shares[1] < SHARE)


def _outcomes(client: Client, jobs: int, chance: random.Random) -> Iterator[Outcome]:
    matrices = [client.wait_matrix(client.generate(generator, **params)["id"]) for generator, params in MATRICES]
    for _ in range(jobs):
        matrix, (study, params) = chance.choice(matrices), chance.choice(STUDIES)
        expected = client.submit(study, [matrix], params, device="cpu")
        over = client.wait(expected["id"])
        yield Outcome(study, matrix["name"], expected["estimate_s"] or 0.0, _duration_s(over))


def _duration_s(job: Job) -> float:
    started, finished = job["started_at"], job["finished_at"]
    if job["state"] != "succeeded" or started is None or finished is None:
        raise RuntimeError(f"The job {job['id']} is {job['state']}: {job['error']}")
    return (datetime.fromisoformat(finished) - datetime.fromisoformat(started)).total_seconds()


if __name__ == "__main__":
    sys.exit(main())
