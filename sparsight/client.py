"""Client: the REST API of a running server as calls; documents come back typed, problems as our errors."""

import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote as escape

from gpu_engine.errors import NotFoundError, UnavailableError
from gpu_engine.verdicts.differences import compare_kernels, compare_results
from server.documents import (
    AuditEntry,
    CollectionEntry,
    CollectionIndex,
    Device,
    Job,
    Matrix,
    MatrixSet,
    Recording,
    StorageFormat,
    Study,
)
from server.result_documents import Results
from sparsight.connection import OUTAGE_S, PATIENCE_S, Connection
from sparsight.problems import error_of
from sparsight.tables import Differences, frame
from sparsight.uploads import Counted, fields_of, opened

if TYPE_CHECKING:
    import plotly.graph_objects as go

POLL_S = 0.3
ENDED = ("succeeded", "failed", "cancelled")
"""States of a job that nothing leaves."""


class Client(Connection):
    """The calls of the REST API of one server; takes what Connection takes."""

    def studies(self) -> list[Study]:
        """What the server can study."""
        return list(self._get("/studies")["items"])

    def devices(self) -> list[Device]:
        """What can be measured on, and devices with recorded results."""
        return list(self._get("/devices")["items"])

    def formats(self) -> list[StorageFormat]:
        """The storage formats and their kernels, and the libraries that they are measured against."""
        return list(self._get("/formats")["items"])

    def kernels(self, backend: str = "") -> list[str]:
        """The names of all kernels, of libraries too; backend: of those that run on `cpu` or `cuda` alone."""
        every = [kernel for format_ in self.formats() for kernel in format_["kernels"]]
        return [kernel["name"] for kernel in every if not backend or backend in kernel["backends"]]

    def upload(
        self, matrix: Any, name: str = "", on_read: Callable[[int], None] | None = None, **options: Any
    ) -> Matrix:
        """Sends a matrix as a stream and returns it as the server has it, perhaps still `ingesting`.

        matrix   the path of a file, or a sparse matrix of SciPy, CuPy or PyTorch
        on_read  is told the number of bytes of every block that is sent
        options  fields of ReadOptions, of what it leaves open: `directed=True`, `weights="ignore"`, `field="real"`
        Raises ParameterError for an option or a matrix that is none, InputError where the file cannot be opened,
        MatrixFileError where it is not a matrix.
        """
        fields = fields_of(options) | ({"name": name} if name else {})
        with opened(matrix) as (filename, file):
            sent = Counted(file, on_read or (lambda _: None))
            return cast(Matrix, self._call("POST", "/matrices", files={"file": (filename, sent)}, data=fields))

    def generate(self, generator: str, name: str = "", **parameters: Any) -> Matrix:
        """Has the server generate a matrix, which may still be `ingesting`; the same call again is the same matrix."""
        body = {"generator": generator, "name": name, **parameters}
        return cast(Matrix, self._call("POST", "/matrices/generate", json=body))

    def fetch(self, name: str) -> Matrix:
        """Has the server fetch a matrix of the SuiteSparse Matrix Collection, `HB/bcsstk16`; it may be `ingesting`.

        Raises NotFoundError with near names, and ConflictError where the server fetches none.
        """
        return cast(Matrix, self._call("POST", "/matrices/fetch", json={"name": name}))

    def collection(self, q: str = "", where: str = "", sort: str = "name") -> Iterator[CollectionEntry]:
        """What can be fetched by name, as far as the server knows, page by page.

        where  a condition, `nnz > 1e6 and spd`; sort: `name`, `nnz` or `-nnz`
        """
        return self._pages("/collection", {"q": q, "where": where, "sort": sort})

    def collection_index(self) -> CollectionIndex:
        """Where the server's list of the collection comes from."""
        return cast(CollectionIndex, self._get("/collection/index"))

    def fetch_collection_index(self) -> CollectionIndex:
        """Has the server fetch the list of all matrices; raises UnavailableError where it reaches nobody."""
        return cast(CollectionIndex, self._call("POST", "/collection/index"))

    def matrices(self, q: str = "", sort: str = "-created_at", recorded: bool = False) -> Iterator[Matrix]:
        """The matrices whose name contains `q`, page by page; recorded ones, which have no values, only if told so."""
        return self._pages("/matrices", {"q": q, "sort": sort, "recorded": "true" if recorded else ""})

    def matrix(self, matrix_id: str) -> Matrix:
        """The matrix of that id."""
        return cast(Matrix, self._get(f"/matrices/{escape(matrix_id, safe='')}"))

    def download(self, matrix_id: str, target: str | Path) -> Path:
        """Writes the matrix as a .npz file that `scipy.sparse.load_npz` reads; raises ConflictError without values."""
        return self._saved(f"/matrices/{escape(matrix_id, safe='')}/file", {}, target)

    def recordings(self) -> list[Recording]:
        """Results of devices that are not there, imported or of the release."""
        return list(self._get("/recordings")["items"])

    def record(self, device: str, study: str, target: str | Path) -> Path:
        """Writes what a device of the server has measured as a recording, which other servers import.

        Raises NotFoundError where it has no results of the study.
        """
        return self._saved(f"/devices/{escape(device, safe='')}/recording", {"study": study}, target)

    def import_recording(self, path: str | Path, name: str = "") -> Recording:
        """Sends a recording, as of a device of that name; it takes the place of one of the same device and study.

        JSON of Ginkgo's benchmark `spmv` is one too, of the study `formats`; it needs the name.
        """
        with opened(path) as (filename, file):
            parts = {"files": {"file": (filename, file)}, "data": {"name": name} if name else {}}
            return cast(Recording, self._call("POST", "/recordings", **parts))

    def delete_recording(self, recording_id: str) -> None:
        """Has the server forget a recording that was imported, `node7/formats`."""
        answer = self._send("DELETE", f"/recordings/{escape(recording_id)}")
        if answer.is_error:
            self._document(answer)

    def save_set(self, matrix_ids: Sequence[str], name: str = "") -> MatrixSet:
        """Saves matrices under a short id, which addresses of pages take as `set`; the same again is renamed."""
        return cast(MatrixSet, self._call("POST", "/sets", json={"matrix_ids": list(matrix_ids), "name": name}))

    def sets(self) -> list[MatrixSet]:
        """Every set of matrices, the newest first."""
        return list(self._get("/sets")["items"])

    def delete_matrix(self, matrix_id: str, with_results: bool = False) -> None:
        """Deletes a matrix; raises ConflictError where it has jobs, unless they go with it."""
        answer = self._send(
            "DELETE", f"/matrices/{escape(matrix_id, safe='')}", params={"with_results": json.dumps(with_results)}
        )
        if answer.is_error:
            self._document(answer)

    def wait_matrix(self, matrix_id: str) -> Matrix:
        """Waits until a matrix is read, over a restart of the server; raises the error that its file failed with."""
        while True:
            matrix = cast(Matrix, self._get(f"/matrices/{escape(matrix_id, safe='')}", OUTAGE_S))
            if matrix["state"] == "failed":
                raise error_of(matrix.get("error") or {}, 422, self._hints)
            if matrix["state"] != "ingesting":
                return matrix
            time.sleep(POLL_S)

    def submit(
        self,
        study: str,
        matrices: Sequence[str | Matrix],
        params: Mapping[str, Any] | None = None,
        device: str = "auto",
        tags: Sequence[str] = (),
        note: str = "",
    ) -> Job:
        """Queues a study and returns its job; waits a while for a server whose worker is still starting.

        matrices  each its document or its id
        """
        ids = [matrix if isinstance(matrix, str) else matrix["id"] for matrix in matrices]
        body: dict[str, Any] = {"study": study, "matrix_ids": ids, "params": dict(params or {}), "device": device}
        body |= {name: value for name, value in (("tags", list(tags)), ("note", note)) if value}
        # By its key the server knows a job that it has taken before.
        headers = {"Idempotency-Key": uuid.uuid4().hex}

        def post() -> dict[str, Any]:
            answer = self._send("POST", "/jobs", json=body, headers=headers)
            # It is there; its worker may still be starting.
            self._has_answered |= answer.status_code == 503
            return self._document(answer)

        # A quota is an answer.
        return cast(Job, self._patiently(post, PATIENCE_S, (UnavailableError,)))

    def jobs(self, state: str = "", study: str = "", matrix_id: str = "", tag: str = "") -> Iterator[Job]:
        """Jobs, the newest first, page by page; empty: of every state, study, matrix and tag."""
        return self._pages("/jobs", {"state": state, "study": study, "matrix_id": matrix_id, "tag": tag})

    def job(self, job_id: str) -> Job:
        """The job of that id."""
        return cast(Job, self._get(f"/jobs/{escape(job_id, safe='')}"))

    def cancel(self, job_id: str) -> Job:
        """Asks for the end of a job."""
        return cast(Job, self._call("POST", f"/jobs/{escape(job_id, safe='')}/cancel"))

    def stop(self, job_id: str) -> Job:
        """Ask a running job to stop after its current round and keep its results."""
        return cast(Job, self._call("POST", f"/jobs/{escape(job_id, safe='')}/stop"))

    def annotate(self, job_id: str, tags: Sequence[str] | None = None, note: str | None = None) -> Job:
        """Gives a job other tags or another note; what is None stays."""
        body = {"tags": None if tags is None else list(tags), "note": note}
        return cast(Job, self._call("POST", f"/jobs/{escape(job_id, safe='')}/annotations", json=body))

    def retry(self, job_id: str) -> Job:
        """Queues the same again as a new job; raises ConflictError unless the first one is over."""
        return cast(Job, self._call("POST", f"/jobs/{escape(job_id, safe='')}/retry"))

    def wait(
        self, job_id: str, on_progress: Callable[[Job], None] | None = None, timeout_s: float | None = None
    ) -> Job:
        """Waits for the end of a job, over a restart of the server, and returns it.

        on_progress  is told the job each time that it is looked at
        Raises TimeoutError after `timeout_s` seconds; the job goes on.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            left_s = OUTAGE_S if deadline is None else min(OUTAGE_S, deadline - time.monotonic())
            try:
                job = cast(Job, self._get(f"/jobs/{escape(job_id, safe='')}", left_s))
            except UnavailableError as error:
                if deadline is None or time.monotonic() < deadline or not self._has_answered:
                    raise
                raise TimeoutError(f"No server answers after {timeout_s:g} s; job {job_id} goes on.") from error
            if on_progress is not None:
                on_progress(job)
            if job["state"] in ENDED:
                return job
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(f"Job {job_id} is still {job['state']} after {timeout_s:g} s; it goes on.")
            time.sleep(POLL_S)

    def results(self, job_id: str, samples: bool = False) -> Results:
        """The results document of a job: measurements, traces, summary; partial while it runs."""
        parameters = {"samples": "true"} if samples else {}
        return cast(Results, self._get(f"/jobs/{escape(job_id, safe='')}/results", params=parameters))

    def results_csv(self, job_id: str) -> str:
        """The measurements of a job as CSV."""

        def ask() -> str:
            answer = self._send("GET", f"/jobs/{escape(job_id, safe='')}/results", headers={"Accept": "text/csv"})
            if answer.is_error:
                self._document(answer)
            return answer.text

        return self._patiently(ask, PATIENCE_S)

    def to_pandas(self, *job_ids: str) -> Any:
        """The measurements of jobs as a pandas DataFrame, one row each, with job, matrix by name and environment.

        Raises InputError where pandas is missing.
        """

        @cache
        def name_of(matrix_id: str) -> str:
            # It may have been deleted since.
            with suppress(NotFoundError):
                return self.matrix(matrix_id)["name"]
            return matrix_id

        return frame({job_id: self.results(job_id) for job_id in job_ids}, name_of)

    def figure(self, name: str, **selection: str | Sequence[str]) -> "go.Figure":
        """A figure of the pages, such as `figure("formats", job=…, cache="warm")`; a list chooses several values."""
        import plotly.io

        return plotly.io.from_json(json.dumps(self._get(f"/figures/{escape(name, safe='')}", params=selection)))

    def audit(self, who: str = "") -> Iterator[AuditEntry]:
        """Who did what, the newest first, page by page; who: the name of a token. Needs a token of an admin."""
        return self._pages("/audit", {"who": who})

    def compare(self, baseline: str, other: str, job_id: str = "") -> Differences:
        """Two jobs by id, or with `job_id` two kernels of that job: the verdict per matrix, device and cache state.

        Kernels of one job share their rounds. Jobs do not: between them a verdict is `inconclusive` unless it is plain.
        """
        if job_id:
            return Differences(compare_kernels(self.results(job_id, samples=True), baseline, other))
        return Differences(compare_results(self.results(baseline, samples=True), self.results(other, samples=True)))
