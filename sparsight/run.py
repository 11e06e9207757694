"""A study on a running server: the upload, the wait for its end and its results, with progress in the terminal."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from gpu_engine.errors import NotFoundError, ParameterError, quote
from gpu_engine.records import measurement_from_json
from server.documents import Job, Matrix
from sparsight.client import ENDED, Client
from sparsight.exits import JOB_STATES, Exit
from sparsight.report import print_results
from sparsight.terminal import print_json, say, say_left_out

ENDS = {"failed": "The job failed.", "cancelled": "The job was cancelled."}

LINE_S = 5.0
"""Shortest time between two lines of progress where there is no terminal to animate."""


class Task:
    """One study of one file: messages and progress go to `messages`, results to `out`."""

    def __init__(self, client: Client, messages: Console, out: Console) -> None:
        self.client = client
        self.messages = messages
        self.out = out
        self._names: dict[str, str] = {}

    def queue(self, study: str, file: Path, device: str) -> Job:
        """Uploads the file and queues the study; says which job that is and returns it."""
        known = [entry["name"] for entry in self.client.studies()]
        if study not in known:
            raise ParameterError(f"There is no study {quote(study)}; known studies: {', '.join(known)}.")
        matrix = self.upload(file)
        self._names[matrix["id"]] = matrix["name"]
        job = self.client.submit(study, [matrix["id"]], device=device)
        self._say(f"Job {job['id']} is queued: {self._page(job)}")
        return job

    def upload(self, file: Path, name: str = "", **options: Any) -> Matrix:
        """Uploads the file and waits until the server has read it; raises what is wrong with it.

        options  fields of ReadOptions, of an edge list
        """
        with self._progress() as show:
            size, sent = file.stat().st_size, 0

            def on_read(count: int) -> None:
                nonlocal sent
                sent += count
                show(sent, size, f"uploading {file.name}")

            return self.settle(self.client.upload(file, name, on_read, **options))

    def settle(self, matrix: Matrix) -> Matrix:
        """The matrix once it is no longer being read; raises what is wrong with it."""
        if matrix["state"] != "ingesting":
            return matrix
        self._say("The server is reading the matrix.")
        return self.client.wait_matrix(matrix["id"])

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
        self.print_results(ended, as_json)
        if ended["state"] != "succeeded":
            reason = (ended.get("error") or {}).get("detail", "")
            self._say(" ".join(filter(None, (ENDS[ended["state"]], reason, self._page(job)))))
        return JOB_STATES[ended["state"]]

    def print_results(self, job: Job, as_json: bool) -> None:
        """What a job has measured: the document, or tables; a sentence where that is nothing."""
        results = self.client.results(job["id"])
        if as_json:
            print_json(results)
            return
        measurements = [measurement_from_json(entry) for entry in results["measurements"]]
        if not measurements:
            self._say(f"The job {job['id']} is {job['state']} and has measured nothing.")
        elif job["state"] not in ENDED:
            self._say(f"The job is {job['state']}; this is what it has measured so far.")
        names = {m.matrix_id: self.name(m.matrix_id) for m in measurements}
        say_left_out(print_results(self.out, measurements, names), "--csv or --json of `sparsight results`")

    def name(self, matrix_id: str) -> str:
        """The name of a matrix; its id where the matrix is gone, which its results outlive."""
        if matrix_id not in self._names:
            try:
                self._names[matrix_id] = self.client.matrix(matrix_id)["name"]
            except NotFoundError:
                self._names[matrix_id] = matrix_id
        return self._names[matrix_id]

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
        ahead = job.get("queue_position")
        return 0, progress["total"], "queued" if ahead is None else f"queued, position {ahead}"
    return progress["done"], progress["total"], progress["message"] or job["state"]
