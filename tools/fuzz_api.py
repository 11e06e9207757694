"""Fuzz the API: requests generated from its description, sent to live services without tokens and with each role.

`python -m tools.fuzz_api --requests 50000 --seed 1` has schemathesis generate them and run all its checks, and prints a
table. Exit status 1 if an answer is undocumented or a server error, or if a role got more than it may. The service
counts the requests itself, in /metrics.
"""

import argparse
import json
import random
import secrets
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import httpx
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import select

from server import devices, matrix_sets, tokens
from server.db import Database
from server.jobs.queue import JobRequest, submit
from server.main import create_app
from server.models import SAMPLES_KEY, JobRow
from server.roles import Role, every_route, role_of
from server.settings import Settings
from server.tokens import Quotas
from sparsight import Client
from tests.server.jobs.conftest import wait_for
from tests.server.test_fuzz import CPU, ENDLESS, contents, is_kept
from tools.service import MATRIX, Service

OPEN, UNKNOWN = "no token asked for", "no token sent"
CALLERS = (OPEN, UNKNOWN, *Role)
"""Callers: anybody at a service without tokens; at one with tokens, an unknown caller and each role."""

BEAT_S = 20.0
"""Interval of the device heartbeat: without it, the device is unavailable, and jobs get status 503."""

STARTS_A_PROCESS = ["upload_matrix", "preview_matrix", "generate_matrix"]
"""Operations that take half a second each; `make fuzz` sends thousands of files."""

SEMANTICS = ["2xx", "3xx", "401", "403", "404", "409", "413", "422", "429", "507"]
"""Statuses of well-formed requests: no schema describes the contents of a file, or which parameters fit."""

REFUSALS = (400, 401, 403, 413, 422, 429)
"""Statuses of refusals. An unreadable body is refused before the token is checked; 401: tried without one."""

HEAD = """| caller | requests | by status | 5xx | undocumented | beyond the role |
| --- | ---: | --- | ---: | ---: | ---: |
"""


@dataclass
class Count:
    """Outcomes of the requests of one caller.

    beyond  answers other than refusals to calls that the role may not make
    """

    caller: str
    requests: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    beyond: list[str] = field(default_factory=list)

    @property
    def server_errors(self) -> int:
        """Return the number of answers from 500, except for a full disk, which is documented."""
        return sum(number for status, number in self.statuses.items() if status >= 500)


class Target:
    """A service with one matrix and one queued job, and its caller."""

    def __init__(self, folder: Path, caller: str, url: str, admin: str) -> None:
        """Set up the service; admin: the token of its settings, empty if it requires none."""
        self.folder, self.caller, self.url = folder, caller, url
        self.role = Role(caller) if caller in set(Role) else None
        self.settings = Settings(home=folder / "home", token=admin)
        self.database = Database(self.settings.resolved_database_url)
        self.token = tokens.add(self.database, "fuzz", self.role, None, Quotas()) if self.role else ""
        # After wrong tokens, the service rejects that of its settings for a minute.
        operator_token = tokens.add(self.database, "operator", Role.ADMIN, None, Quotas()) if admin else ""
        self._headers = {"authorization": f"Bearer {operator_token}"} if admin else {}
        devices.register(self.database, [CPU])
        # The first start must have added its samples before changes of callers are checked.
        wait_for(self._has_started, "the samples of the first start")
        with Client(url, operator_token) as client:
            (folder / "a.mtx").write_text(MATRIX)
            self.matrix_id = client.wait_matrix(client.upload(folder / "a.mtx")["id"])["id"]
        self.set_id = matrix_sets.save(self.database, [self.matrix_id])[0].id
        self.job_id = submit(self.database, self.settings, JobRequest("formats", (self.matrix_id,)))[0].id

    def offer(self, stopped: threading.Event) -> None:
        """Register the device regularly, as a worker does, until stopped."""
        while not stopped.wait(BEAT_S):
            devices.register(self.database, [CPU])

    def _has_started(self) -> bool:
        with self.database.read() as session:
            return session.scalar(select(JobRow.id).where(JobRow.idempotency_key == SAMPLES_KEY)) is not None

    def text(self, path: str) -> str:
        """Return the answer of the service to an admin."""
        return httpx.get(self.url + path, headers=self._headers, timeout=120.0).raise_for_status().text

    def answers(self) -> Counter[tuple[str, str, int]]:
        """Return how often (method, route, status) was answered."""
        counts: Counter[tuple[str, str, int]] = Counter()
        for metric in text_string_to_metric_families(self.text("/metrics")):
            for sample in metric.samples:
                if sample.name == "sparsight_requests_total":
                    label = sample.labels
                    counts[label["method"], label["route"], int(label["status"])] += int(sample.value)
        return counts


@contextmanager
def target(caller: str) -> Iterator[Target]:
    """Yield a running service for a caller."""
    stopped, admin = threading.Event(), "" if caller == OPEN else secrets.token_hex()
    with (
        tempfile.TemporaryDirectory(prefix="fuzz-") as folder,
        Service(Path(folder), "--no-worker", token=admin, requests_per_minute="1000000") as service,
    ):
        made = Target(Path(folder), caller, service.url, admin)
        beat = threading.Thread(target=made.offer, args=(stopped,))
        beat.start()
        try:
            yield made
        finally:
            stopped.set()
            beat.join()


def configuration(made: Target) -> str:
    """Return the configuration of schemathesis: half of the requests name existing ids, and few start a process."""
    known = {
        "job_id": made.job_id,
        "matrix_id": made.matrix_id,
        "set_id": made.set_id,
        "name": "formats",
        "storage": "split",
        "variant": "tile",
    }
    lines = [f"headers = {{ Authorization = 'Bearer {made.token}' }}"] if made.token else []
    lines += [f"[dictionaries.{name}]\nvalues = ['{value}']" for name, value in known.items()]
    lines += [f"[parameters]\n{_bindings(known)}"]
    lines += [f"[checks]\npositive_data_acceptance.expected-statuses = {json.dumps(SEMANTICS)}"]
    lines += ["[generation]\ndatabase = 'none'\nno-shrink = true"]
    few = f"include-operation-id = {json.dumps(STARTS_A_PROCESS)}\ngeneration.max-examples = 10"
    if made.role is not Role.READ and made.caller != UNKNOWN:
        lines += [f"[[operations]]\n{few}"]
    return "\n".join(lines) + "\n"


def _bindings(known: dict[str, str]) -> str:
    return "\n".join(f"'path.{name}' = {{ dictionary = '{name}', probability = 0.5 }}" for name in known)


def run(made: Target, seed: int, examples: int, phases: str) -> list[str]:
    """Run schemathesis once with all checks; return its failures."""
    folder = made.folder
    report, config = folder / "report.json", folder / "schemathesis.toml"
    config.write_text(configuration(made))
    (folder / "openapi.json").write_text(made.text("/api/v1/openapi.json"))
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(config), "run"]
    command += [str(folder / "openapi.json"), "--url", made.url, "--checks", "all", "--continue-on-failure"]
    command += ["--phases", phases, "--max-examples", str(examples), "--seed", str(seed), "--warnings", "off"]
    command += ["--suppress-health-check", "all", "--report", "json", "--report-json-path", str(report)]
    for name in ENDLESS:
        command += ["--exclude-operation-id", name]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    if not report.exists():
        return [f"schemathesis ended with {ended.returncode}: {ended.stdout[-2000:]}{ended.stderr[-2000:]}"]
    document = json.loads(report.read_text())
    failures = [f"{entry['title']}: {', '.join(entry['operations'])}" for entry in document["failures"]]
    failures += [f"error: {json.dumps(entry)[:500]}" for entry in document["errors"]]
    if failures:
        sys.stderr.write(ended.stdout)
    return failures


def beyond(answers: Counter[tuple[str, str, int]], role: Role | None) -> list[str]:
    """Return answers other than refusals to calls that the role may not make."""
    violations = []
    for route in every_route(create_app(Settings()).routes) if role else ():
        for method in route.methods if role and not role.covers(role_of(route) or Role.READ) else ():
            got = {s: n for (m, path, s), n in answers.items() if (m, path) == (method, route.path)}
            violations += [f"{method} {route.path}: {n} × {s}" for s, n in got.items() if s not in REFUSALS]
    return violations


def fuzz(caller: str, requests: int, seed: int, examples: int) -> Count:
    """Send at least `requests` requests of one caller, in several runs."""
    tally = Count(caller)
    chance = random.Random(f"{seed} {caller}")
    with target(caller) as made:
        before, there = made.answers(), contents(made.database)
        for number in count():
            phases = "fuzzing,stateful" if number else "examples,coverage,fuzzing,stateful"
            tally.failures += run(made, chance.randrange(2**31), examples, phases)
            answered = made.answers() - before
            tally.requests = answered.total()
            sys.stderr.write(f"{caller}: {tally.requests} requests\n")
            if tally.requests >= requests or tally.failures:
                break
        for (_, _, status), number in answered.items():
            tally.statuses[status] += number
        tally.beyond = beyond(answered, made.role)
        if not is_kept(there, contents(made.database), Role.READ if caller == UNKNOWN else made.role):
            tally.beyond.append("what was there has changed")
    return tally


def main() -> int:
    """Run every caller, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=50_000, help="minimum number for all callers together")
    parser.add_argument("--examples", type=int, default=300, help="examples per call in one run of schemathesis")
    parser.add_argument("--seed", type=int, default=random.randrange(2**31))
    parser.add_argument("--caller", choices=CALLERS, action="append")
    options = parser.parse_args()
    callers = options.caller or CALLERS
    share = -(-options.requests // len(callers))
    sys.stdout.write(f"seed {options.seed}\n{HEAD}")
    counts = []
    for caller in callers:
        tally = fuzz(caller, share, options.seed, options.examples)
        counts.append(tally)
        statuses = ", ".join(f"{status}: {number}" for status, number in sorted(tally.statuses.items()))
        row = (caller, tally.requests, statuses, tally.server_errors, len(tally.failures), len(tally.beyond))
        sys.stdout.write(f"| {' | '.join(map(str, row))} |\n")
        sys.stdout.flush()
    for tally in counts:
        for fault in (*tally.failures, *tally.beyond):
            sys.stdout.write(f"{tally.caller}: {fault}\n")
    sys.stdout.write(f"{sum(tally.requests for tally in counts)} requests\n")
    return int(any(tally.server_errors or tally.failures or tally.beyond for tally in counts))


if __name__ == "__main__":
    sys.exit(main())
