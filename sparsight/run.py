"""Studies on a running server: upload, submission, progress in the terminal, and results."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from gpu_engine import release
from gpu_engine.errors import ConflictError, NotFoundError, ParameterError, SparsightError, quote
from gpu_engine.text import units
from server.documents import Job, Matrix
from server.result_documents import Results
from sparsight.client import ENDED, Client
from sparsight.exit_codes import JOB_STATES, Exit
from sparsight.lookups import find_matrix
from sparsight.report import print_findings
from sparsight.sources import Call, Source, prefix_errors
from sparsight.terminal import print_hidden_columns, print_json, print_status

if TYPE_CHECKING:
    from gpu_engine.findings.finding import Finding

END_MESSAGES = {"failed": "The job failed.", "cancelled": "The job was cancelled."}
"""Final state of a job → message for the user."""

LINE_INTERVAL_S = 5.0
"""Minimum time between two lines of progress without a terminal, in seconds."""


class Task:
    """One study as a command runs it on a server.

    messages  console for status and progress
    out       console for results
    """

    def __init__(self, client: Client, messages: Console, out: Console) -> None:
        self.client = client
        self.messages = messages
        self.out = out
        self._matrices_by_id: dict[str, Matrix | None] = {}

    def queue(self, study: str, sources: Sequence[Source], parameters: Mapping[str, Any], device: str) -> Job:
        """Queue the study when the server has read all matrices; print and return the job."""
        known = [entry["name"] for entry in self.client.studies()]
        if study not in known:
            raise ParameterError(f"Unknown study {quote(study)}. Available studies: {', '.join(known)}.")
        job = self.client.submit(study, self._matrices(sources), parameters, device)
        self.print_queued(job)
        return job

    def _matrices(self, sources: Sequence[Source]) -> list[str]:
        """Return the distinct ids of the matrices when the server has read all; an error names its source."""
        pending: dict[int, Matrix] = {}
        # Files come last, so that an unknown id ends the command before any upload.
        for index, source in sorted(enumerate(sources), key=lambda entry: isinstance(entry[1].what, Path)):
            with prefix_errors(source.text):
                pending[index] = self._add(source)
        text_by_id: dict[str, str] = {}
        for index, source in enumerate(sources):
            with prefix_errors(source.text):
                matrix = self.wait_until_read(pending[index])
            first = text_by_id.setdefault(matrix["id"], source.text)
            if first != source.text:
                self._print_status(f"{quote(source.text)} and {quote(first)} are the same matrix; it is measured once.")
            self._matrices_by_id[matrix["id"]] = matrix
        return list(text_by_id)

    def _add(self, source: Source) -> Matrix:
        """Return the matrix of a source; the server may still be reading it."""
        match source.what:
            case Path() as file:
                return self._send(file, "", source.options)
            case Call(generator, parameters):
                return self.client.generate(generator, **parameters)
            case address:
                matrix = find_matrix(self.client, address)
        if matrix["state"] == "recorded":
            raise ConflictError("A reference matrix has no values and cannot be measured. Fetch or generate it first.")
        return matrix

    def upload(self, file: Path, name: str = "", **options: Any) -> Matrix:
        """Upload the file and return its matrix when the server has read it; raise the error of an invalid file.

        options  fields of ReadOptions that the file needs
        """
        return self.wait_until_read(self._send(file, name, options))

    def _send(self, file: Path, name: str, options: Mapping[str, Any]) -> Matrix:
        with self._progress() as show:
            size, uploaded = file.stat().st_size, 0

            def on_read(count: int) -> None:
                nonlocal uploaded
                uploaded += count
                show(uploaded, size, f"uploading {file.name}")

            return self.client.upload(file, name, on_read, **options)

    def wait_until_read(self, matrix: Matrix) -> Matrix:
        """Return the matrix when the server has read it; raise the error of an invalid file."""
        if matrix["state"] == "ready":
            return matrix
        if matrix["state"] == "ingesting":
            action = "downloading" if matrix["source"].get("kind") == "collection" else "reading"
            self._print_status(f"The server is {action} {matrix['name']}.")
        return self.client.wait_matrix(matrix["id"])

    def print_queued(self, job: Job) -> None:
        """Print that the job is queued, the address of its page, and the estimated time."""
        self._print_status(f"Job {job['id']} is queued: {self._page(job)}")
        if job["estimate_s"] is not None:
            self._print_status(f"Estimated time left: {units.about(job['estimate_s'])}.")

    def print_job(self, job: Job, as_json: bool) -> None:
        """Print a queued job: its id, or its document as JSON."""
        if as_json:
            print_json(job)
        else:
            typer.echo(job["id"])
            self._print_status("Follow it with `sparsight jobs watch ID`.")

    def follow(self, job: Job, timeout_s: float | None, as_json: bool) -> Exit:
        """Wait for the end of the job and print its results; return the exit code. Ctrl-C leaves the job running."""
        try:
            with self._progress() as show:
                ended_job = self.client.wait(job["id"], lambda now: show(*_progress_of(now)), timeout_s)
        except TimeoutError as error:
            self._print_status(f"{error} {self._page(job)}")
            return Exit.TIMEOUT
        except KeyboardInterrupt:
            self._print_status(f"The job keeps running. Follow it with: sparsight jobs watch {self._page(job)}")
            return Exit.INTERRUPTED
        has_times = self.print_results(ended_job, as_json)
        if ended_job["state"] != "succeeded":
            reason = (ended_job.get("error") or {}).get("detail", "")
            message = END_MESSAGES[ended_job["state"]]
            self._print_status(" ".join(filter(None, (message, reason, self._page(job)))))
        elif not has_times:
            self._print_status(f"The job finished without a single timing. {self._page(job)}")
            return Exit.NOTHING
        return JOB_STATES[ended_job["state"]]

    def print_results(self, job: Job, as_json: bool) -> bool:
        """Print the results of a job as JSON or as tables; return whether any case was timed."""
        results = self.client.results(job["id"])
        has_times = any(entry["median_s"] is not None for entry in results["measurements"])
        if as_json:
            print_json(results)
            return has_times
        if not results["measurements"]:
            self._print_status(f"Job {job['id']} is {job['state']} and has no results.")
        elif job["state"] not in ENDED:
            self._print_status(f"The job is {job['state']}. These are its results so far.")
        print_hidden_columns(
            print_findings(self.out, self._findings(results)), "--csv or --json of `sparsight results`"
        )
        return has_times

    def _findings(self, results: Results) -> "tuple[Finding, ...]":
        # These modules take seconds to import.
        from gpu_engine.findings.data import MatrixFeatures, StudyData
        from gpu_engine.studies import parse_measurement
        from gpu_engine.studies.results import findings_of

        with _readable(results):
            measurements = [parse_measurement(entry) for entry in results["measurements"]]
        known = {}
        for matrix_id in dict.fromkeys(m.matrix_id for m in measurements):
            matrix = self._find_matrix(matrix_id)
            shape = (matrix["n_rows"], matrix["n_cols"], matrix["nnz"]) if matrix else ()
            known[matrix_id] = MatrixFeatures(self.name(matrix_id), *shape)
        return findings_of(StudyData(measurements, known))

    def name(self, matrix_id: str) -> str:
        """Return the name of a matrix, or its id if the matrix was deleted (results may remain)."""
        matrix = self._find_matrix(matrix_id)
        return matrix["name"] if matrix else matrix_id

    def _find_matrix(self, matrix_id: str) -> Matrix | None:
        """Return the matrix, requested only once, or None if it was deleted."""
        if matrix_id not in self._matrices_by_id:
            try:
                self._matrices_by_id[matrix_id] = self.client.matrix(matrix_id)
            except NotFoundError:
                self._matrices_by_id[matrix_id] = None
        return self._matrices_by_id[matrix_id]

    def _page(self, job: Job) -> str:
        return f"{self.client.server}/jobs/{job['id']}"

    def _print_status(self, message: str) -> None:
        print_status(message, self.messages)

    @contextmanager
    def _progress(self) -> Iterator[Callable[[float, float, str], None]]:
        """Yield a function (done, total, message) that moves a progress bar, or prints lines without a terminal."""
        if not self.messages.is_terminal or self.messages.is_dumb_terminal:
            yield _ProgressLines(self._print_status)
            return
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn())
        with Progress(*columns, console=self.messages, transient=True) as bar:
            task = bar.add_task("", total=None)
            yield lambda done, total, message: bar.update(
                task, completed=done, total=total or None, description=message
            )


def parse_settings(study: str, texts: Sequence[str]) -> dict[str, Any]:
    """Return the parameters of `--set name=value,…`; raise ParameterError listing the parameters of the study."""
    if not texts:
        return {}
    # These modules take seconds to import.
    from gpu_engine.parameters import assignments, parse_params
    from gpu_engine.studies import study as find_study

    parameters = find_study(study).Params
    values = assignments(parameters, ",".join(texts))
    parse_params(parameters, values)
    return values


@contextmanager
def _readable(results: Results) -> Iterator[None]:
    """Turn errors of reading results into ConflictError: they come from another release of Sparsight."""
    try:
        yield
    except (SparsightError, KeyError, TypeError, ValueError, AttributeError) as error:
        theirs = {str(entry.get("environment", {}).get("sparsight", "")) for entry in results["measurements"]}
        other = ", ".join(sorted(theirs - {"", release()}))
        source = f"Sparsight {other}" if other else "another build"
        raise ConflictError(
            f"This command line is Sparsight {release()} and cannot read results of {source}. Install the release "
            "of the server here, or use --json."
        ) from error


class _ProgressLines:
    """Progress as lines: one line per new message, at most one per LINE_INTERVAL_S."""

    def __init__(self, print_status: Callable[[str], None]) -> None:
        self._print_status = print_status
        self._last_message = ""
        self._next_line_s = 0.0

    def __call__(self, _done: float, _total: float, message: str) -> None:
        if message != self._last_message and time.monotonic() >= self._next_line_s:
            self._last_message, self._next_line_s = message, time.monotonic() + LINE_INTERVAL_S
            self._print_status(message)


def _progress_of(job: Job) -> tuple[float, float, str]:
    """Return (done, total, message) of a job document."""
    progress = job["progress"]
    if job["state"] == "queued":
        position, reason = job.get("queue_position"), job.get("waiting_reason")
        status = "queued" if position is None else f"queued, position {position}"
        return 0, progress["total"], f"{status}: {reason}" if reason else status
    return progress["done"], progress["total"], progress["message"] or job["state"]
