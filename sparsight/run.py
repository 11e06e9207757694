"""A study on a running server: the upload, the wait for its end and its results, with progress in the terminal."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from gpu_engine.errors import ConflictError, NotFoundError, ParameterError, quote
from gpu_engine.text import units
from server.documents import Job, Matrix
from server.result_documents import Results
from sparsight.client import ENDED, Client
from sparsight.exits import JOB_STATES, Exit
from sparsight.lookups import find_matrix
from sparsight.report import print_findings
from sparsight.sources import Call, Source, naming
from sparsight.terminal import print_json, say, say_left_out

if TYPE_CHECKING:
    from gpu_engine.findings.finding import Finding

ENDS = {"failed": "The job failed.", "cancelled": "The job was cancelled."}

LINE_S = 5.0
"""Shortest time between two lines of progress where there is no terminal to animate."""


class Task:
    """A study of some matrices: messages and progress go to `messages`, results to `out`."""

    def __init__(self, client: Client, messages: Console, out: Console) -> None:
        self.client = client
        self.messages = messages
        self.out = out
        self._matrices_by_id: dict[str, Matrix | None] = {}

    def queue(self, study: str, sources: Sequence[Source], parameters: Mapping[str, Any], device: str) -> Job:
        """Queues the study of the matrices, once the server has read all of them; says which job that is."""
        known = [entry["name"] for entry in self.client.studies()]
        if study not in known:
            raise ParameterError(f"There is no study {quote(study)}; known studies: {', '.join(known)}.")
        job = self.client.submit(study, self._matrices(sources), parameters, device)
        self.tell(job)
        return job

    def _matrices(self, sources: Sequence[Source]) -> list[str]:
        """The ids of the matrices, each once, when all are read; an error names its source."""
        begun: dict[int, Matrix] = {}
        # Files come last: none is sent for a job that an unknown id refuses.
        for place, source in sorted(enumerate(sources), key=lambda entry: isinstance(entry[1].what, Path)):
            with naming(source.text):
                begun[place] = self._begin(source)
        ready: dict[str, str] = {}
        for place, source in enumerate(sources):
            with naming(source.text):
                matrix = self.settle(begun[place])
            first = ready.setdefault(matrix["id"], source.text)
            if first != source.text:
                self._say(f"{quote(source.text)} is the same matrix as {quote(first)}, and is measured once.")
            self._matrices_by_id[matrix["id"]] = matrix
        return list(ready)

    def _begin(self, source: Source) -> Matrix:
        """The matrix of a source, which the server may still be reading."""
        match source.what:
            case Path() as file:
                return self._send(file, "", source.options)
            case Call(generator, parameters):
                return self.client.generate(generator, **parameters)
            case address:
                matrix = find_matrix(self.client, address)
        if matrix["state"] == "recorded":
            raise ConflictError("It came with recorded results and has no values, so that it cannot be measured.")
        return matrix

    def upload(self, file: Path, name: str = "", **options: Any) -> Matrix:
        """Uploads the file and waits until the server has read it; raises what is wrong with it.

        options  fields of ReadOptions, of what the file leaves open
        """
        return self.settle(self._send(file, name, options))

    def _send(self, file: Path, name: str, options: Mapping[str, Any]) -> Matrix:
        with self._progress() as show:
            size, sent = file.stat().st_size, 0

            def on_read(count: int) -> None:
                nonlocal sent
                sent += count
                show(sent, size, f"uploading {file.name}")

            return self.client.upload(file, name, on_read, **options)

    def settle(self, matrix: Matrix) -> Matrix:
        """The matrix once it is no longer being read; raises what is wrong with it."""
        if matrix["state"] == "ready":
            return matrix
        if matrix["state"] == "ingesting":
            what = "fetching" if matrix["source"].get("kind") == "collection" else "reading"
            self._say(f"The server is {what} {matrix['name']}.")
        return self.client.wait_matrix(matrix["id"])

    def tell(self, job: Job) -> None:
        """Says that the job is queued, and where its page is."""
        self._say(f"Job {job['id']} is queued: {self._page(job)}")
        if job["estimate_s"] is not None:
            self._say(f"It is expected to end in {units.about(job['estimate_s'])}.")

    def print_job(self, job: Job, as_json: bool) -> None:
        """The queued job: its id, or its document."""
        if as_json:
            print_json(job)
        else:
            typer.echo(job["id"])
            self._say("`sparsight jobs watch` follows it, by this id or by its URL.")

    def follow(self, job: Job, timeout_s: float | None, as_json: bool) -> Exit:
        """Waits for the end of the job and prints its results; returns the exit code. Ctrl-C leaves the job running."""
        try:
            with self._progress() as show:
                ended = self.client.wait(job["id"], lambda now: show(*_progress_of(now)), timeout_s)
        except TimeoutError as error:
            self._say(f"{error} {self._page(job)}")
            return Exit.TIMEOUT
        except KeyboardInterrupt:
            self._say(f"The job goes on; to follow it again: sparsight jobs watch {self._page(job)}")
            return Exit.INTERRUPTED
        has_times = self.print_results(ended, as_json)
        if ended["state"] != "succeeded":
            reason = (ended.get("error") or {}).get("detail", "")
            self._say(" ".join(filter(None, (ENDS[ended["state"]], reason, self._page(job)))))
        elif not has_times:
            self._say(f"No case of the job has a time. {self._page(job)}")
            return Exit.NOTHING
        return JOB_STATES[ended["state"]]

    def print_results(self, job: Job, as_json: bool) -> bool:
        """Prints the document of what a job has measured, or tables; returns whether a case has a time."""
        results = self.client.results(job["id"])
        has_times = any(entry["median_s"] is not None for entry in results["measurements"])
        if as_json:
            print_json(results)
            return has_times
        if not results["measurements"]:
            self._say(f"The job {job['id']} is {job['state']} and has measured nothing.")
        elif job["state"] not in ENDED:
            self._say(f"The job is {job['state']}; this is what it has measured so far.")
        say_left_out(print_findings(self.out, self._findings(results)), "--csv or --json of `sparsight results`")
        return has_times

    def _findings(self, results: Results) -> "tuple[Finding, ...]":
        # The studies take seconds to import.
        from gpu_engine.findings.data import MatrixFeatures, StudyData
        from gpu_engine.studies import parse_measurement
        from gpu_engine.studies.results import findings_of

        measurements = [parse_measurement(entry) for entry in results["measurements"]]
        known = {}
        for matrix_id in dict.fromkeys(m.matrix_id for m in measurements):
            matrix = self._known(matrix_id)
            shape = (matrix["n_rows"], matrix["n_cols"], matrix["nnz"]) if matrix else ()
            known[matrix_id] = MatrixFeatures(self.name(matrix_id), *shape)
        return findings_of(StudyData(measurements, known))

    def name(self, matrix_id: str) -> str:
        """The name of a matrix; its id where the matrix is gone, which its results outlive."""
        matrix = self._known(matrix_id)
        return matrix["name"] if matrix else matrix_id

    def _known(self, matrix_id: str) -> Matrix | None:
        """The matrix, asked for once; None where it is gone."""
        if matrix_id not in self._matrices_by_id:
            try:
                self._matrices_by_id[matrix_id] = self.client.matrix(matrix_id)
            except NotFoundError:
                self._matrices_by_id[matrix_id] = None
        return self._matrices_by_id[matrix_id]

    def _page(self, job: Job) -> str:
        return f"{self.client.server}/jobs/{job['id']}"

    def _say(self, message: str) -> None:
        say(message, self.messages)

    @contextmanager
    def _progress(self) -> Iterator[Callable[[float, float, str], None]]:
        """A function (done, total, message) that moves a bar on a terminal, and elsewhere prints new messages."""
        if not self.messages.is_terminal or self.messages.is_dumb_terminal:
            yield _Lines(self._say)
            return
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn())
        with Progress(*columns, console=self.messages, transient=True) as bar:
            task = bar.add_task("", total=None)
            yield lambda done, total, message: bar.update(
                task, completed=done, total=total or None, description=message
            )


def parse_settings(study: str, texts: Sequence[str]) -> dict[str, Any]:
    """The parameters of `--set name=value,…`; raises ParameterError naming those that the study has."""
    if not texts:
        return {}
    # The studies take seconds to import.
    from gpu_engine.parameters import assignments, parse_params
    from gpu_engine.studies import study as find_study

    parameters = find_study(study).Params
    values = assignments(parameters, ",".join(texts))
    parse_params(parameters, values)
    return values


class _Lines:
    """Progress without animation: a new message now and then, one line each."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._last = ""
        self._quiet_until = 0.0

    def __call__(self, _done: float, _total: float, message: str) -> None:
        if message != self._last and time.monotonic() >= self._quiet_until:
            self._last, self._quiet_until = message, time.monotonic() + LINE_S
            self._say(message)


def _progress_of(job: Job) -> tuple[float, float, str]:
    """(done, total, message) of a job document."""
    progress = job["progress"]
    if job["state"] == "queued":
        ahead, reason = job.get("queue_position"), job.get("waiting_reason")
        place = "queued" if ahead is None else f"queued, position {ahead}"
        return 0, progress["total"], f"{place}: {reason}" if reason else place
    return progress["done"], progress["total"], progress["message"] or job["state"]
