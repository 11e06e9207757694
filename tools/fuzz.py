"""Fuzz the matrix readers: files generated from a seed, by grammar and by mutation, read in process and by a service.

`python -m tools.fuzz --files 100000 --uploads 3000 --seed 1` compares each with its meaning and prints a table. Exit
status 1 if a file is misread, crashes its reader, causes a server error, or leaves something behind.
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
UNSAID = "refused without a reason"
BAD = (corpus.WRONG, corpus.ACCEPTED, corpus.CRASHED, SERVER_ERROR, UNSAID)
COLUMNS = (corpus.RIGHT, corpus.REFUSED_RIGHT, corpus.REFUSED, *BAD)


@contextmanager
def memory_limit(limit_bytes: int) -> Iterator[None]:
    """Run the block with the address space limit of an upload process, in bytes."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (limit_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def read_in_process(seed: int, files: int, limit_bytes: int) -> tuple[dict[str, Counter[str]], list[str]]:
    """Read `files` files; return verdicts by format, and the faults."""
    with memory_limit(limit_bytes):
        tallies = corpus.run(seed, files)
    faults = [
        f"{case.kind}, {case.name}: {verdict} {text} {case.content[:300]!r}"
        for tally in tallies.values()
        for case, verdict, text in tally.bad
    ]
    return {kind: tally.verdicts for kind, tally in tallies.items()}, faults


def different(seed: int, uploads: int) -> list[Case]:
    """Return `uploads` cases, of all formats in turn, without duplicate files: equal bytes are the same matrix."""
    each = -(-uploads // len(corpus.GENERATORS)) * 2
    kinds = [corpus.cases(kind, seed, each) for kind in corpus.GENERATORS]
    by_content: dict[bytes, Case] = {}
    for case in (case for cases in zip_longest(*kinds) for case in cases if case):
        by_content.setdefault(case.content, case)
    return list(by_content.values())[:uploads]


class Uploads:
    """Sends cases to a service and evaluates its answers."""

    def __init__(self, client: httpx.Client, store: Store) -> None:
        self._client = client
        self._store = store

    def judge(self, case: Case) -> tuple[str, str]:
        """Return the verdict on an upload, and the text of the answer."""
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
        status, detail = int(str(problem["status"])), str(problem["detail"])
        if status >= 500:
            return SERVER_ERROR, detail
        if "The reader crashed" in detail:
            return corpus.CRASHED, detail
        if fault_of(status, problem):
            return UNSAID, detail
        if case.meaning is None:
            return corpus.REFUSED_RIGHT, ""
        return corpus.REFUSED, case.meaning.refusable or f"NO REASON: {detail}"


def samples(client: httpx.Client) -> set[str]:
    """Return the ids of the sample matrices of a first start, once they exist."""

    def made() -> dict[str, str]:
        return {matrix["id"]: matrix["state"] for matrix in client.get("/matrices").json()["items"]}

    wait_for(lambda: [*made().values()] == ["ready"] * len(SAMPLES), "the samples")
    return {*made()}


def send(seed: int, uploads: int, folder: Path) -> tuple[Counter[str], list[str]]:
    """Send `uploads` files to a service with an empty data directory; return verdicts, and the faults."""
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
        sample_ids = samples(client)
        before = server.memory_info().rss
        with ThreadPoolExecutor(AT_A_TIME) as pool:
            cases = different(seed, uploads)
            for case, (verdict, text) in zip(cases, pool.map(Uploads(client, store).judge, cases), strict=True):
                verdicts[verdict] += 1
                if verdict in BAD or text.startswith("NO REASON"):
                    faults.append(f"{case.kind}, {case.name}: {verdict} {text} {case.content[:300]!r}")
        growth = server.memory_info().rss - before
        left = [*({*contents(database)[0], *store.ids()} - sample_ids)]
        folders = (Path(store.root) / INCOMING, settings.home / "uploads", folder / "tmp")
        left += [path.name for parent in folders for path in parent.iterdir()]
    sys.stdout.write(f"\nserver: memory grew by {growth / MIB:.0f} MiB; {len(left)} files and rows left\n")
    faults += [f"left: {name}" for name in left]
    faults += [f"the server has grown by {growth / MIB:.0f} MiB"] if growth > GROWTH_BYTES else []
    return verdicts, faults


def row(name: str, verdicts: Counter[str]) -> str:
    """Return a row of the table."""
    return f"| {name} | {verdicts.total()} | {' | '.join(str(verdicts[column]) for column in COLUMNS)} |\n"


def peak_mib(who: int) -> float:
    """Return the peak memory of this process, or of its children, in MiB."""
    return resource.getrusage(who).ru_maxrss / 1024


def main() -> int:
    """Run both parts, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=100_000, help="minimum number of files to read in process")
    parser.add_argument("--uploads", type=int, default=3000, help="number of files to send to a service")
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
        f"peak memory: {peaks[0]:.0f} MiB in this process, {peaks[1]:.0f} MiB in the service or a reader, "
    )
    sys.stdout.write(f"limit {most / MIB:.0f} MiB\n")
    sys.stdout.write("".join(f"{fault}\n" for fault in faults))
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
