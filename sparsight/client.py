"""Python client of a Sparsight server: one method per endpoint, typed documents, and errors of gpu_engine.errors."""

import json
import time
import uuid
import warnings
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
from sparsight.uploads import CountingFile, form_fields, open_source

if TYPE_CHECKING:
    import plotly.graph_objects as go

POLL_S = 0.3
"""Pause between two requests for the state of a matrix or a job, in seconds."""

ENDED = ("succeeded", "failed", "cancelled")
"""Final states of a job."""


class Client(Connection):
    """REST API of one server; it has the parameters of Connection."""

    def studies(self) -> list[Study]:
        """Return the studies of the server with their parameters."""
        return list(self._get("/studies")["items"])

    def devices(self) -> list[Device]:
        """Return the devices that run jobs, and those with reference results."""
        return list(self._get("/devices")["items"])

    def formats(self) -> list[StorageFormat]:
        """Return the storage formats with their kernels, and the library kernels."""
        return list(self._get("/formats")["items"])

    def kernels(self, backend: str = "") -> list[str]:
        """Return the names of all kernels, including library kernels; with `backend` only those of `cpu` or `cuda`."""
        kernels = [kernel for format_ in self.formats() for kernel in format_["kernels"]]
        return [kernel["name"] for kernel in kernels if not backend or backend in kernel["backends"]]

    def upload(
        self, matrix: Any, name: str = "", on_read: Callable[[int], None] | None = None, **options: Any
    ) -> Matrix:
        """Upload a matrix as a stream and return its document; its state may still be `ingesting`.

        matrix   path of a file, or a sparse matrix of SciPy, CuPy, or PyTorch
        on_read  called with the size in bytes of every block sent
        options  fields of ReadOptions that the file needs: `directed=True`, `weights="ignore"`, `field="real"`
        Raises ParameterError for an invalid option or an unsupported matrix type, InputError if the file cannot be
        opened, and MatrixFileError if it does not contain a matrix.
        """
        fields = form_fields(options) | ({"name": name} if name else {})
        with open_source(matrix) as (filename, file):
            upload = CountingFile(file, on_read or (lambda _: None))
            return cast(Matrix, self._call("POST", "/matrices", files={"file": (filename, upload)}, data=fields))

    def generate(self, generator: str, name: str = "", **parameters: Any) -> Matrix:
        """Generate a matrix on the server; its state may still be `ingesting`. Equal calls return the same matrix."""
        body = {"generator": generator, "name": name, **parameters}
        return cast(Matrix, self._call("POST", "/matrices/generate", json=body))

    def fetch(self, name: str) -> Matrix:
        """Download a matrix of the SuiteSparse collection (`HB/bcsstk16`) to the server; it may still be `ingesting`.

        Raises NotFoundError with similar names, and ConflictError if downloads are disabled on the server.
        """
        return cast(Matrix, self._call("POST", "/matrices/fetch", json={"name": name}))

    def collection(self, q: str = "", where: str = "", sort: str = "name") -> Iterator[CollectionEntry]:
        """Yield the matrices of the SuiteSparse collection that the server knows, one request per page.

        where  condition such as `nnz > 1e6 and spd`
        sort   `name`, `nnz`, or `-nnz`
        """
        return self._pages("/collection", {"q": q, "where": where, "sort": sort})

    def collection_index(self) -> CollectionIndex:
        """Return where the list of the collection on the server comes from."""
        return cast(CollectionIndex, self._get("/collection/index"))

    def fetch_collection_index(self) -> CollectionIndex:
        """Download the list of all matrices to the server; raise UnavailableError if the server is offline."""
        return cast(CollectionIndex, self._call("POST", "/collection/index"))

    def matrices(self, q: str = "", sort: str = "-created_at", recorded: bool = False) -> Iterator[Matrix]:
        """Yield the matrices whose name contains `q`, one request per page; `recorded` includes reference matrices."""
        return self._pages("/matrices", {"q": q, "sort": sort, "recorded": "true" if recorded else ""})

    def matrix(self, matrix_id: str) -> Matrix:
        """Return a matrix by its id."""
        return cast(Matrix, self._get(f"/matrices/{escape(matrix_id, safe='')}"))

    def download(self, matrix_id: str, target: str | Path) -> Path:
        """Write a matrix as a .npz file for `scipy.sparse.load_npz`; raise ConflictError if it has no values."""
        return self._save(f"/matrices/{escape(matrix_id, safe='')}/file", {}, target)

    def recordings(self) -> list[Recording]:
        """Return the reference results: those of the release and imported ones."""
        return list(self._get("/recordings")["items"])

    def record(self, device: str, study: str, target: str | Path) -> Path:
        """Write the results of a device and a study to a file that other servers can import as reference results.

        Raises NotFoundError if the device has no results of the study.
        """
        return self._save(f"/devices/{escape(device, safe='')}/recording", {"study": study}, target)

    def import_recording(self, path: str | Path, name: str = "") -> Recording:
        """Import reference results from a file; they replace those of the same device and study.

        name  device that the results belong to. It is required for JSON of Ginkgo's benchmark `spmv`, which is
              imported as results of the study `formats`.
        """
        with open_source(path) as (filename, file):
            form = {"files": {"file": (filename, file)}, "data": {"name": name} if name else {}}
            return cast(Recording, self._call("POST", "/recordings", **form))

    def delete_recording(self, recording_id: str) -> None:
        """Delete imported reference results by id, such as `node7/formats`."""
        self._delete(f"/recordings/{escape(recording_id)}")

    def save_set(self, matrix_ids: Sequence[str], name: str = "") -> MatrixSet:
        """Save matrices under a short id that page addresses accept as `set`; an existing selection is renamed."""
        return cast(MatrixSet, self._call("POST", "/sets", json={"matrix_ids": list(matrix_ids), "name": name}))

    def sets(self) -> list[MatrixSet]:
        """Return all saved selections, newest first."""
        return list(self._get("/sets")["items"])

    def delete_matrix(self, matrix_id: str, with_results: bool = False) -> None:
        """Delete a matrix; raise ConflictError if it has jobs, unless `with_results` deletes them too."""
        self._delete(f"/matrices/{escape(matrix_id, safe='')}", params={"with_results": json.dumps(with_results)})

    def wait_matrix(self, matrix_id: str) -> Matrix:
        """Wait until the server has read a matrix, even across a restart; raise the error of an invalid file."""
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
        """Queue a study and return its job; repeat the request for a while if the worker is still starting.

        matrices  documents or ids of matrices
        """
        ids = [matrix if isinstance(matrix, str) else matrix["id"] for matrix in matrices]
        body: dict[str, Any] = {"study": study, "matrix_ids": ids, "params": dict(params or {}), "device": device}
        body |= {name: value for name, value in (("tags", list(tags)), ("note", note)) if value}
        # The key lets the server recognize a repeated request, so that a job is queued only once.
        headers = {"Idempotency-Key": uuid.uuid4().hex}

        def post() -> dict[str, Any]:
            answer = self._send("POST", "/jobs", json=body, headers=headers)
            # The server responds, but its worker may still be starting.
            self._has_answered |= answer.status_code == 503
            return self._document(answer)

        # LimitError is not retried: an exceeded quota does not pass within seconds.
        return cast(Job, self._retry_outages(post, PATIENCE_S, (UnavailableError,)))

    def jobs(self, state: str = "", study: str = "", matrix_id: str = "", tag: str = "") -> Iterator[Job]:
        """Yield jobs, newest first, one request per page; an empty parameter does not filter."""
        return self._pages("/jobs", {"state": state, "study": study, "matrix_id": matrix_id, "tag": tag})

    def job(self, job_id: str) -> Job:
        """Return a job by its id."""
        return cast(Job, self._get(f"/jobs/{escape(job_id, safe='')}"))

    def cancel(self, job_id: str) -> Job:
        """Cancel a queued or running job and return it."""
        return cast(Job, self._call("POST", f"/jobs/{escape(job_id, safe='')}/cancel"))

    def stop(self, job_id: str) -> Job:
        """Stop a running job after the current round; keep its results."""
        return cast(Job, self._call("POST", f"/jobs/{escape(job_id, safe='')}/stop"))

    def enough(self, job_id: str) -> Job:
        """Call `stop`, the new name of this method."""
        warnings.warn("Client.enough is deprecated. Use Client.stop.", DeprecationWarning, stacklevel=2)
        return self.stop(job_id)

    def annotate(self, job_id: str, tags: Sequence[str] | None = None, note: str | None = None) -> Job:
        """Replace the tags or the note of a job; None leaves them unchanged."""
        body = {"tags": None if tags is None else list(tags), "note": note}
        return cast(Job, self._call("POST", f"/jobs/{escape(job_id, safe='')}/annotations", json=body))

    def retry(self, job_id: str) -> Job:
        """Queue an ended job again as a new job; raise ConflictError if it has not ended."""
        return cast(Job, self._call("POST", f"/jobs/{escape(job_id, safe='')}/retry"))

    def wait(
        self, job_id: str, on_progress: Callable[[Job], None] | None = None, timeout_s: float | None = None
    ) -> Job:
        """Wait for the end of a job, even across a restart of the server, and return it.

        on_progress  called with the job document after every request
        Raises TimeoutError after `timeout_s` seconds; the job keeps running.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            left_s = OUTAGE_S if deadline is None else min(OUTAGE_S, deadline - time.monotonic())
            try:
                job = cast(Job, self._get(f"/jobs/{escape(job_id, safe='')}", left_s))
            except UnavailableError as error:
                if deadline is None or time.monotonic() < deadline or not self._has_answered:
                    raise
                raise TimeoutError(f"No response within {timeout_s:g} s. Job {job_id} keeps running.") from error
            if on_progress is not None:
                on_progress(job)
            if job["state"] in ENDED:
                return job
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(f"Job {job_id} is still {job['state']} after {timeout_s:g} s. It is not cancelled.")
            time.sleep(POLL_S)

    def results(self, job_id: str, samples: bool = False) -> Results:
        """Return the results document of a job: measurements, traces, and summary; partial while the job runs."""
        parameters = {"samples": "true"} if samples else {}
        return cast(Results, self._get(f"/jobs/{escape(job_id, safe='')}/results", params=parameters))

    def results_csv(self, job_id: str) -> str:
        """Return the measurements of a job as CSV."""

        def request() -> str:
            answer = self._send("GET", f"/jobs/{escape(job_id, safe='')}/results", headers={"Accept": "text/csv"})
            if answer.is_error:
                self._document(answer)
            return answer.text

        return self._retry_outages(request, PATIENCE_S)

    def to_pandas(self, *job_ids: str) -> Any:
        """Return the measurements of jobs as a pandas DataFrame, one row per measurement.

        The columns include the job, the name of the matrix, and the environment. Raises InputError without pandas.
        """

        @cache
        def name_of(matrix_id: str) -> str:
            # The matrix may have been deleted after the measurement.
            with suppress(NotFoundError):
                return self.matrix(matrix_id)["name"]
            return matrix_id

        return frame({job_id: self.results(job_id) for job_id in job_ids}, name_of)

    def figure(self, name: str, **selection: str | Sequence[str]) -> "go.Figure":
        """Return a figure of the pages: `figure("formats", job=…, cache="warm")`; a list selects several values."""
        import plotly.io

        return plotly.io.from_json(json.dumps(self._get(f"/figures/{escape(name, safe='')}", params=selection)))

    def audit(self, who: str = "") -> Iterator[AuditEntry]:
        """Yield the audit log of all tokens or of one by name, newest first; this needs an admin token."""
        return self._pages("/audit", {"who": who})

    def compare(self, baseline: str, other: str, job_id: str = "") -> Differences:
        """Compare two jobs, or with `job_id` two kernels of one job: one verdict per matrix, device, and cache state.

        The rounds of kernels of one job are interleaved. Those of two jobs are not, so small differences between jobs
        are `inconclusive`.
        """
        if job_id:
            return Differences(compare_kernels(self.results(job_id, samples=True), baseline, other))
        return Differences(compare_results(self.results(baseline, samples=True), self.results(other, samples=True)))
