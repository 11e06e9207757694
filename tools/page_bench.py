"""Load times of the formats page in a browser: `make page-bench` prints a table.

Each view is loaded nine times into a new context without a cache. The table has the medians of the time until the page
reacts to input, of the time until all figures in view are drawn, and of the bytes sent. It also has the time of the
answer to nine selections that are not cached. The larger databases are generated in a temporary folder: the reference
results again, on matrices with other names, by jobs.
"""

import argparse
import dataclasses
import shutil
import tempfile
import time
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Any

import httpx
from playwright.sync_api import Browser, sync_playwright
from sqlalchemy import insert
from tabulate import tabulate

from gpu_engine.recordings import files as recordings
from gpu_engine.recordings.files import MatrixRecord, Recording
from gpu_engine.records import Case, as_json
from server import devices, import_recordings
from server.db import Database
from server.migrate import migrate
from server.models import JobRow, JobState, MatrixRow, MatrixState, MeasurementRow
from server.settings import Settings
from tools.service import Service

SIZES = (10_000, 100_000)
"""Numbers of measurements in the generated databases."""

LOADS, SCREEN = 9, (1280, 900)
MATRICES_OF_A_JOB = 10
DRAWN_MS = 120_000

NOTE_WHEN_DRAWN = """new MutationObserver(() => {
  for (const figure of document.querySelectorAll("figure[data-figure][aria-busy=false]")) {
    figure.dataset.drawn ??= performance.now();
  }
}).observe(document, { subtree: true, attributes: true, attributeFilter: ["aria-busy"] })"""

IN_VIEW = """() => [...document.querySelectorAll("figure[data-figure]:not([hidden])")]
    .filter((figure) => figure.querySelector(".plot").getBoundingClientRect().top < innerHeight)
    .map((figure) => figure.id)"""

LOADED = """(ids) => {
  const [page] = performance.getEntriesByType("navigation");
  const drawn = ids.map((id) => Number(document.getElementById(id).dataset.drawn));
  const sent = performance.getEntriesByType("resource").reduce((sum, each) => sum + each.transferSize, 0);
  const { domContentLoadedEventEnd: interactive, responseEnd: answered, transferSize: html } = page;
  return { answered, interactive, figures_drawn: Math.max(interactive, ...drawn), html, sent: html + sent };
}"""


@dataclasses.dataclass(frozen=True, slots=True)
class Load:
    """Milliseconds from the start of the navigation, and bytes: of the HTML, and of all resources."""

    answered: float
    interactive: float
    figures_drawn: float
    html: int
    sent: int


def load(browser: Browser, url: str) -> Load:
    """Load the page once, as a new visitor."""
    with browser.new_context(viewport={"width": SCREEN[0], "height": SCREEN[1]}) as context:
        page = context.new_page()
        page.add_init_script(NOTE_WHEN_DRAWN)
        page.goto(url)
        figure_ids = page.evaluate(IN_VIEW)
        for name in figure_ids:
            page.locator(f"#{name}[data-drawn]").wait_for(state="attached", timeout=DRAWN_MS)
        return Load(**page.evaluate(LOADED, figure_ids))


def uncached_answer_s(url: str) -> float:
    """Return the seconds until a page that is not cached is answered."""
    answer = httpx.get(url, timeout=DRAWN_MS / 1000).raise_for_status()
    return answer.elapsed.total_seconds()


def kernels_of(recording: Recording) -> list[str]:
    """Return LOADS kernels with times: each as the baseline makes another page."""
    return list(dict.fromkeys(m.kernel for m in recording.measurements if m.median_s))[:LOADS]


def fill(database: Database, recording: Recording, number: int) -> None:
    """Repeat `number` measurements of the recording, each matrix under another name, in jobs of ten matrices."""
    devices.register(database, [recording.device])
    records_by_matrix: dict[str, list[dict[str, Any]]] = {}
    for m in recording.measurements:
        records_by_matrix.setdefault(m.matrix_id, []).append(as_json(m))
    matrices = islice(cycle(recording.matrices), -(-number * len(recording.matrices) // len(recording.measurements)))
    left = number
    numbered = enumerate(matrices)
    for job, several in enumerate(iter(lambda: list(islice(numbered, MATRICES_OF_A_JOB)), [])):
        rows = [_measurement(row, job, place) for place, matrix in several for row in records_by_matrix[matrix.id]][
            :left
        ]
        left -= len(rows)
        with database.write() as session:
            session.add_all(_matrix(matrix, place) for place, matrix in several)
            session.add(_job(recording, job, [_id(place) for place, _ in several], len(rows)))
            session.flush()
            session.execute(insert(MeasurementRow), rows)


def _id(place: int) -> str:
    return f"matrix{place}"


def _matrix(matrix: MatrixRecord, place: int) -> MatrixRow:
    return MatrixRow(
        id=_id(place),
        name=f"{matrix.name} {place}",
        state=MatrixState.READY,
        sha256=f"{place:064x}",
        fingerprint=f"{place:064x}",
        source={"kind": "upload", "filename": matrix.name, "bytes": 0},
        n_rows=matrix.n_rows,
        n_cols=matrix.n_cols,
        nnz=matrix.nnz,
        features=dict(matrix.features),
        created_at=time.time(),
    )


def _job(recording: Recording, job: int, matrices: Sequence[str], cases: int) -> JobRow:
    return JobRow(
        id=f"job{job}",
        study=recording.study,
        matrix_ids=list(matrices),
        device=recording.device.id,
        state=JobState.SUCCEEDED,
        attempt=1,
        cases_done=cases,
        cases_total=cases,
        progress=cases,
        created_at=time.time(),
        started_at=time.time(),
        finished_at=time.time(),
    )


def _measurement(record: dict[str, Any], job: int, place: int) -> dict[str, Any]:
    case = dataclasses.replace(Case.parse(record["case"]), matrix_id=_id(place)).key
    columns = {name: record[name] for name in ("device", "kernel", "cache", "state")}
    return {
        "job_id": f"job{job}",
        "case_key": case,
        "matrix_id": _id(place),
        "record": {**record, "case": case, "matrix_id": _id(place)},
        "created_at": time.time(),
        **columns,
    }


def measured(browser: Browser, recording: Recording, number: int) -> list[object]:
    """Return a row of the table: for the reference results, or for `number` measurements."""
    with tempfile.TemporaryDirectory(prefix="sparsight-bench-") as folder:
        settings = Settings(home=Path(folder) / "home")
        settings.home.mkdir()
        migrate(settings.resolved_database_url)
        database = Database(settings.resolved_database_url)
        import_recordings.run(database)
        if number:
            fill(database, recording, number)
        database.engine.dispose()
        with Service(Path(folder), "--no-worker") as service:
            url = f"{service.url}/{recording.study}"
            # The first answer of a server also compiles templates and fills its caches.
            load(browser, url)
            loads = [load(browser, url) for _ in range(LOADS)]
            uncached = median(uncached_answer_s(f"{url}?baseline={kernel}") for kernel in kernels_of(recording))
    of = {field.name: median(getattr(each, field.name) for each in loads) for field in dataclasses.fields(Load)}
    seconds = (f"{of[name] / 1000:.2f}" for name in ("answered", "interactive", "figures_drawn"))
    return [number or "recorded", f"{uncached:.2f}", *seconds, *(f"{of[name] / 1000:.0f}" for name in ("html", "sent"))]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "sizes", nargs="*", type=int, default=(0, *SIZES), help="numbers of measurements; 0: the reference results"
    )
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    sizes = parser.parse_args().sizes
    recording = recordings.read(recordings.RECORDED / "h200/formats.json.gz")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        rows = [measured(browser, recording, number) for number in sizes]
        browser.close()
    heads = (
        "measurements",
        "not cached, s",
        "answered, s",
        "interactive, s",
        "figures in view, s",
        "HTML, kB",
        "all, kB",
    )
    print(tabulate(rows, heads, tablefmt="github", disable_numparse=True))  # noqa: T201


if __name__ == "__main__":
    main()
