"""Files that are to be refused, sent to a live server: a problem each, and nothing that stays, memory included.

`HOSTILE=all pytest --log-cli-level=INFO tests/server/test_hostile_uploads.py` sends all of them; the default is a
sample of every format.
"""

import bz2
import gzip
import json
import logging
import math
import os
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from sqlalchemy import select

from gpu_engine.matrix_io import READERS, ReadLimits
from server.db import Database
from server.models import MatrixRow, MatrixState
from server.store import INCOMING, Store
from tests.battery import BATTERY
from tests.conftest import AddMatrix
from tests.gpu_engine import hostile
from tests.gpu_engine.hostile import (
    archives,
    dimacs,
    edge_lists,
    graph_xml,
    harwell_boeing,
    matlab,
    matlab4,
    matrix_market,
    npz,
    petsc,
)
from tests.server.jobs.conftest import wait_for
from tests.server.test_matrices import GOOD, PATIENCE_S
from tools.service import Service

log = logging.getLogger(__name__)

Make = Callable[[], bytes]
AT_A_TIME = 2
EACH = 2
"""Files of each kind in the sample."""

GROWTH_BYTES = 50 * 2**20
OPTIONS = {"directed": "true"}
"""What an edge list has to come with; no other file may."""

MARKET = {name: content for name, (content, _, _) in matrix_market.BAD.items()}
COSTLY = {name: content for name, (content, limits) in matrix_market.LARGE.items() if limits == ReadLimits()}


def _made(files: dict[str, bytes], pack: Callable[[bytes], bytes] = bytes) -> dict[str, Make]:
    return {name: partial(pack, content) for name, content in files.items()}


def _contents(cases: dict[str, tuple[bytes, str]]) -> dict[str, Make]:
    return _made({name: content for name, (content, _) in cases.items()})


#: kind → name → the file
FILES: dict[str, dict[str, Make]] = {
    "Matrix Market": _made(MARKET),
    "gzip": _made(MARKET, gzip.compress),
    "bzip2": _made(MARKET, bz2.compress),
    "SuiteSparse archive": _contents(archives.BAD),
    "SciPy .npz": _contents(npz.BAD),
    "MATLAB .mat v5": _contents(matlab.BAD),
    "MATLAB .mat v4": _contents(matlab4.BAD),
    "PETSc binary": _contents(petsc.BAD),
    "GraphML": _contents(graph_xml.GRAPHML),
    "GEXF": _contents(graph_xml.GEXF),
    "Harwell-Boeing": _contents(harwell_boeing.BAD),
    "DIMACS": _contents(dimacs.BAD),
    "edge list": _contents(edge_lists.BAD),
    "a limit": _made(COSTLY),
    "a limit, compressed": hostile.LARGE,
}


def chosen() -> list[tuple[str, str]]:
    """(kind, name) of the files to send: all of them, or a few of each kind, evenly."""
    everything = os.environ.get("HOSTILE") == "all"
    return [
        (kind, name)
        for kind, files in FILES.items()
        for name in list(files)[:: 1 if everything else math.ceil(len(files) / EACH)]
    ]


def test_every_format_has_its_hostile_files() -> None:
    assert {reader.name for reader in READERS} <= FILES.keys()
    assert sum(map(len, FILES.values())) >= 300


@pytest.mark.full(
    "gpu_engine/matrix_io/*", "server/ingest.py", "server/sandbox.py", "server/matrix_lifecycle.py", "tests/*hostile*"
)
@pytest.mark.timeout(3000)
def test_hostile_uploads_get_a_sentence_and_leave_nothing(
    home: Path, database: Database, store: Store, add_matrix: AddMatrix, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = add_matrix(BATTERY["identity"]())
    (home.parent / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(home.parent / "tmp"))
    # Some files are wrong in nothing but the number of their entries.
    with Service(home.parent, "--no-worker", nnz_max="1000") as service:
        api = psutil.Process(service.process.pid)
        with httpx.Client(base_url=f"{service.url}/api/v1", timeout=PATIENCE_S) as client:
            warm_up(client)
            before = api.memory_info().rss
            wrong, answered = send_all(client)
            growth = api.memory_info().rss - before
    log.info("%d uploads: %s; %.1f MB more memory", answered.total(), dict(answered), growth / 1e6)
    assert wrong == {}
    assert growth <= GROWTH_BYTES
    with database.read() as session:
        own = select(MatrixRow.id).where(MatrixRow.state != MatrixState.RECORDED)
        assert session.scalars(own).all() == [there]
    assert store.ids() == {there}
    folders = (Path(store.root) / INCOMING, home / "uploads", home.parent / "tmp")
    assert [path for folder in folders for path in folder.iterdir()] == []


def warm_up(client: httpx.Client) -> None:
    """A good file, a bad one and a large one: what the server allocates once."""
    for _ in range(3):
        for content in (GOOD, b"Dear all,\n", GOOD + b"\n" * 2**22):
            document = upload(client, content).json()
            if "id" in document:
                assert client.delete(f"/matrices/{document['id']}").status_code == 204


def send_all(client: httpx.Client) -> tuple[dict[str, str], Counter[int]]:
    """Sends the chosen files: what was wrong with the answer, by file, and how often each status came."""

    def send(kind: str, name: str) -> tuple[int, str]:
        options = OPTIONS if kind == "edge list" else {}
        return fault(client, upload(client, FILES[kind][name](), **options))

    files = chosen()
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        ended = list(pool.map(lambda file: send(*file), files))
    wrong = {f"{kind}: {name}": what for (kind, name), (_, what) in zip(files, ended, strict=True) if what}
    return wrong, Counter(status for status, _ in ended)


def upload(client: httpx.Client, content: bytes, **fields: str) -> httpx.Response:
    return client.post("/matrices", files={"file": ("file", content)}, data=fields)


def fault(client: httpx.Client, answer: httpx.Response) -> tuple[int, str]:
    """The status of the refusal, and what is wrong with it: empty where it is a problem with a sentence."""
    if answer.status_code == 202:
        return slow_fault(client, answer.json()["id"])
    if answer.headers["content-type"] != "application/problem+json":
        return answer.status_code, f"{answer.status_code} {answer.text[:200]}"
    return answer.status_code, fault_of(answer.status_code, answer.json())


def slow_fault(client: httpx.Client, matrix_id: str) -> tuple[int, str]:
    """The same of a file that took longer than the server lets one wait for; its row goes as its owner deletes it."""
    place = f"/matrices/{matrix_id}"
    wait_for(lambda: client.get(place).json()["state"] != "ingesting", "the end of a file")
    problem = client.get(place).json()["error"] or {}
    assert client.delete(place).status_code == 204
    return problem.get("status", 0), fault_of(problem.get("status", 0), problem)


def fault_of(status: int, problem: dict[str, Any]) -> str:
    detail = problem.get("detail", "")
    # Digits stand in groups of three, apart by a space that Python does not count as printable.
    is_printable = detail.isprintable()
    is_sentence = 20 < len(detail) < 600 and detail.endswith((".", "?", "!", ")")) and is_printable
    if status in (413, 422) and problem.get("code") in ("invalid_matrix_file", "too_large") and is_sentence:
        return ""
    return json.dumps(problem)
