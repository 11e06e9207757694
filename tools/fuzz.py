"""Matrix files made from a seed, by grammar and by mutation, read in process and sent to a live service.

`python -m tools.fuzz --files 100000 --uploads 3000 --seed 1` judges each by what it means, prints a table, and
ends with 1 where one is read wrongly, crashes its reader, is answered with a server error, or leaves something behind.
"""

import argparse
import os
import random
import resource
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path

import httpx
import psutil

from server.db import Database
from server.first_start import SAMPLES
from server.settings import Settings
from server.store import INCOMING, Store
from tests.gpu_engine.matrix_io import corpus
from tests.gpu_engine.matrix_io.case import Case, is_same
from tests.server.jobs.conftest import wait_for
from tests.server.test_fuzz import contents
from tests.server.test_hostile_uploads import AT_A_TIME, GROWTH_BYTES, fault_of, warm_up
from tests.server.test_matrices import PATIENCE_S
from tools.service import Service

MIB = 2**20
SERVER_ERROR = "server error"
UNSAID = "refused without a sentence"
BAD = (corpus.WRONG, corpus.ACCEPTED, corpus.CRASHED, SERVER_ERROR, UNSAID)
COLUMNS = (corpus.RIGHT, corpus.REFUSED_RIGHT, corpus.REFUSED, *BAD)


@contextmanager
def memory_limit(most: int) -> Iterator[None]:
    """Runs the block in as much address space as the process of an upload has."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def read_in_process(seed: int, files: int, most: int) -> tuple[dict[str, Counter[str]], list[str]]:
    """Reads so many files: verdicts by format, and what is at fault."""
    with memory_limit(most):
        tallies = corpus.run(seed, files)
    faults = [
        f"{case.kind}, {case.name}: {verdict} {said} {case.content[:300]!r}"
        for tally in tallies.values()
        for case, verdict, said in tally.bad
    ]
    return {kind: tally.verdicts for kind, tally in tallies.items()}, faults


def different(seed: int, uploads: int) -> list[Case]:
    """So many cases, of every format in turn, no file twice: the same bytes again are the same matrix."""
    each = -(-uploads // len(corpus.GENERATORS)) * 2
    kinds = [corpus.cases(kind, seed, each) for kind in corpus.GENERATORS]
    found: dict[bytes, Case] = {}
    for case in (case for cases in zip_longest(*kinds) for case in cases if case):
        found.setdefault(case.content, case)
    return list(found.values())[:uploads]


class Uploads:
    """Sends cases to a service and judges its answers."""

    def __init__(self, client: httpx.Client, store: Store) -> None:
        self._client = client
        self._store = store

    def judge(self, case: Case) -> tuple[str, str]:
        """The verdict on an upload, and what was said about it."""
        fields = {name: str(value).lower() for name, value in asdict(case.options).items() if value is not None}
        fields = fields if case.kind == "edge list" else {}
        answer = self._client.post("/matrices", files={"file": ("file", case.content)}, data=fields)
        document = answer.json()
        if answer.status_code < 300:
            place = f"/matrices/{document['id']}"
            wait_for(lambda: self._client.get(place).json()["state"] != "ingesting", "the end of an upload")
            document = self._client.get(place).json()
            try:
                if document["state"] == "ready":
                    return self._compare(case, document["id"])
            finally:
                self._client.delete(place).raise_for_status()
            document = document["error"]
        return self._refusal(case, document)

    def _compare(self, case: Case, matrix_id: str) -> tuple[str, str]:
        if case.meaning is None:
            return corpus.ACCEPTED, ""
        return (corpus.RIGHT if is_same(self._store.load(matrix_id), case.meaning) else corpus.WRONG), ""

    def _refusal(self, case: Case, problem: dict[str, object]) -> tuple[str, str]:
        status, said = int(str(problem["status"])), str(problem["detail"])
        if status >= 500:
            return SERVER_ERROR, said
        if "The reader crashed" in said:
            return corpus.CRASHED, said
        if fault_of(status, problem):
            return UNSAID, said
        if case.meaning is None:
            return corpus.REFUSED_RIGHT, ""
        return corpus.REFUSED, case.meaning.refusable or f"NO REASON: {said}"


def samples(client: httpx.Client) -> set[str]:
    """The ids of the matrices that a first start makes, once they are there."""

    def made() -> dict[str, str]:
        return {matrix["id"]: matrix["state"] for matrix in client.get("/matrices").json()["items"]}

    wait_for(lambda: [*made().values()] == ["ready"] * len(SAMPLES), "the samples")
    return {*made()}


def send(seed: int, uploads: int, folder: Path) -> tuple[Counter[str], list[str]]:
    """Sends so many files to a service with an empty home: verdicts, and what is at fault."""
    (folder / "tmp").mkdir()
    os.environ["TMPDIR"] = str(folder / "tmp")
    settings = Settings(home=folder / "home")
    verdicts: Counter[str] = Counter()
    faults: list[str] = []
    with Service(folder, "--no-worker") as service, ExitStack() as stack:
        store, database = Store(settings.resolved_store), Database(settings.resolved_database_url)
        stack.callback(database.close)
        server = psutil.Process(service.process.pid)
        client = stack.enter_context(httpx.Client(base_url=f"{service.url}/api/v1", timeout=PATIENCE_S))
        warm_up(client)
        own = samples(client)
        before = server.memory_info().rss
        with ThreadPoolExecutor(AT_A_TIME) as pool:
            cases = different(seed, uploads)
            for case, (verdict, said) in zip(cases, pool.map(Uploads(client, store).judge, cases), strict=True):
                verdicts[verdict] += 1
                if verdict in BAD or said.startswith("NO REASON"):
                    faults.append(f"{case.kind}, {case.name}: {verdict} {said} {case.content[:300]!r}")
        growth = server.memory_info().rss - before
        left = [*({*contents(database)[0], *store.ids()} - own)]
        folders = (Path(store.root) / INCOMING, settings.home / "uploads", folder / "tmp")
        left += [path.name for place in folders for path in place.iterdir()]
    sys.stdout.write(f"\nserver: {growth / MIB:.0f} MiB more memory; {len(left)} files and rows left\n")
    faults += [f"left: {name}" for name in left]
    faults += [f"the server has grown by {growth / MIB:.0f} MiB"] if growth > GROWTH_BYTES else []
    return verdicts, faults


def row(name: str, verdicts: Counter[str]) -> str:
    """A row of the table."""
    return f"| {name} | {verdicts.total()} | {' | '.join(str(verdicts[column]) for column in COLUMNS)} |\n"


def peak_mib(who: int) -> float:
    """The most memory that a process of ours, or one of its children, has had, in MiB."""
    return resource.getrusage(who).ru_maxrss / 1024


def main() -> int:
    """Both parts, and a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=100_000, help="to read in process, at least")
    parser.add_argument("--uploads", type=int, default=3000, help="to send to a service")
    parser.add_argument("--seed", type=int, default=random.randrange(2**31))
    options = parser.parse_args()
    most = Settings().ingest_memory_bytes
    sys.stdout.write(f"seed {options.seed}\n| files | number | {' | '.join(COLUMNS)} |\n")
    sys.stdout.write("| --- |" + " ---: |" * (len(COLUMNS) + 1) + "\n")
    faults: list[str] = []
    if options.files:
        by_kind, faults = read_in_process(options.seed, options.files, most)
        for kind, verdicts in by_kind.items():
            sys.stdout.write(row(kind, verdicts))
        sys.stdout.write(row("in process", sum(by_kind.values(), Counter())))
        sys.stdout.flush()
    if options.uploads:
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            verdicts, wrong = send(options.seed + 1, options.uploads, Path(folder))
        sys.stdout.write(row("by HTTP", verdicts))
        faults += wrong
    peaks = [peak_mib(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    sys.stdout.write(
        f"peak memory {peaks[0]:.0f} MiB here, {peaks[1]:.0f} MiB of the service or a process that reads, "
    )
    sys.stdout.write(f"of {most / MIB:.0f} MiB\n")
    sys.stdout.write("".join(f"{fault}\n" for fault in faults))
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
