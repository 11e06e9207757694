"""Types of the REST API documents: what routes return, what OpenAPI describes, and what the client returns.

Durations are in seconds, sizes in bytes. examples.py has an example of each document.
"""

from typing import Annotated, Any, Literal, NotRequired

# Pydantic reads TypedDict from here before Python 3.12.
from typing_extensions import TypedDict

from gpu_engine import records
from server.result_documents import record_schema
from server.timestamps import Time

MATRICES_MAX = 100
"""Maximum number of matrices of a job."""


class Problem(TypedDict):
    """RFC 9457 problem document: `code` is stable and for programs, `detail` is a sentence for people, `line` is a line
    of a matrix file.

    `hint` says what to do in terms of HTTP; `hint_code` is its stable name. `asks` lists the required options: fields
    of an upload whose information the file lacks.
    """

    type: str
    title: str
    status: int
    code: str
    detail: str
    hint_code: NotRequired[str]
    hint: NotRequired[str]
    line: NotRequired[int]
    asks: NotRequired[list[str]]


class Advice(TypedDict):
    """Predicted kernel for a matrix; nothing was measured.

    `predicted_s`: seconds of a warm SpMV per GPU model, null if the layout does not fit in its memory. `equal`: whether
    it ties with the first kernel. `cold_place`: its rank for cold caches, from 1.
    """

    kernel: str
    predicted_s: dict[str, float | None]
    equal: bool
    cold_place: int
    reason: str


class Matrix(TypedDict):
    """Matrix; `error` is the problem document of a failed one, `advice` lists the predicted kernels, the best first.

    `advice` is for `advice_gpu`: the first GPU of the service that the performance model knows, calibrated by its
    measurements, or else an H200. `near_best`: the kernels predicted within 20 % of the fastest, with a warm cache.
    `confidence` is `high` if the model was calibrated on such a GPU and on matrices like this one. Both are null if
    there is no prediction.
    """

    id: str
    name: str
    state: Literal["ingesting", "ready", "failed", "recorded"]
    sha256: str
    fingerprint: str | None
    n_rows: int
    n_cols: int
    nnz: int
    features: dict[str, Any]
    advice: list[Advice]
    advice_gpu: str | None
    near_best: list[str]
    confidence: Literal["high", "low"] | None
    source: dict[str, Any]
    error: dict[str, Any] | None
    created_at: Time
    links: dict[str, str]


class MatrixSet(TypedDict):
    """Saved selection of matrices. `set=ID` selects it in the address of a page and in the query of a figure."""

    id: str
    name: str
    matrix_ids: list[str]
    created_at: Time
    links: dict[str, str]


class Recording(TypedDict):
    """Reference results of a study. `imported`: a caller imported them; otherwise they came with the release.

    `measured_at` is null if unknown. `times`: the unit of the times that the import assumed, null if the file states
    it.
    """

    id: str
    device: str
    name: str
    study: str
    imported: bool
    measured_at: Time | None
    times: str | None


class Preview(TypedDict):
    """Content of a file before an upload. `reciprocal` is the share of nonzeros (i, j) for which (j, i) is a nonzero
    too.

    `asks`: the required options of an upload, guessed for the preview. `needs_direction`: `directed` is one of them.
    `first_entries`: row, column, and value of the first nonzeros.
    """

    format: str
    needs_direction: bool
    asks: list[str]
    n_rows: int
    n_cols: int
    nnz: int
    symmetric: bool
    reciprocal: float
    duplicates: int
    first_entries: list[list[float]]
    notes: list[str]


class Prediction(TypedDict):
    """Expected size of a generated matrix: `nnz` nonzeros, and `bytes` of their columns and values."""

    generator: str
    params: dict[str, Any]
    nnz: int
    bytes: int


class CollectionEntry(TypedDict):
    """Matrix of the SuiteSparse Matrix Collection. Fields are null if the local index does not contain them.

    `nnz`: without explicit zeros; `entries`: with them. `spd`: symmetric and positive definite. `about_bytes`:
    estimated size of its archive.
    """

    id: str
    group: str
    name: str
    rows: int | None
    cols: int | None
    nnz: int | None
    entries: int | None
    real: bool | None
    binary: bool | None
    spd: bool | None
    symmetric: bool | None
    kind: str | None
    about_bytes: int | None


class CollectionIndex(TypedDict):
    """Index of the SuiteSparse Matrix Collection: `count` matrices. Address, sha256, and time are null until the
    complete index is downloaded.

    `is_on`: whether this server downloads matrices.
    """

    is_complete: bool
    is_on: bool
    count: int
    address: str | None
    sha256: str | None
    fetched_at: Time | None


class JobInterim(TypedDict):
    """Provisional time of a case in seconds, from the rounds so far. It has no verdict.

    `ci_low_s`, `ci_high_s`: 95 % confidence interval, null with fewer than five rounds. `min_s`, `max_s`: the fastest
    and the slowest round. `decided`: it gets no more rounds, unless a comparison with an undecided case needs them.
    """

    case: str
    median_s: float
    ci_low_s: float | None
    ci_high_s: float | None
    rounds: int
    decided: bool
    min_s: float | None
    max_s: float | None


class JobProgress(TypedDict):
    """Progress of a job: `done` of `total` cases. 13.18 means 13 cases and 18 % of the next. `interim`: provisional
    times of the cases that are being sampled.
    """

    done: float
    total: int
    message: str
    interim: list[JobInterim]


class Job(TypedDict):
    """Queued study. `queue_position` counts from 1. `estimate_s` is the estimated time left.

    `waiting_reason`: a sentence that says why a queued job cannot start, null if it only waits for its turn.
    `lease_expired`: the job is running, but its worker has sent no heartbeat for longer than its lease.
    `stopped_early`: the job succeeded with the results that it had when it was asked to stop.
    """

    id: str
    study: str
    matrix_ids: list[str]
    params: dict[str, Any]
    device: str
    state: Literal["queued", "running", "succeeded", "failed", "cancelled"]
    attempt: int
    lease_expired: bool
    stopped_early: bool
    progress: JobProgress
    queue_position: int | None
    waiting_reason: str | None
    estimate_s: float | None
    error: dict[str, Any] | None
    retry_of: str | None
    tags: list[str]
    note: str
    created_at: Time
    started_at: Time | None
    finished_at: Time | None
    links: dict[str, str]


class Device(TypedDict):
    """Device that can run jobs. `alive`: a worker offers it now. `profile`: its measured bandwidth.

    `fault`: a sentence that says why its worker cannot run jobs, otherwise null. `seen_at`: last heartbeat of its
    worker, null after the worker stopped. `recorded`: the device only has reference results, and jobs cannot run on it;
    its memory and cache are null if unknown. `hosts`: number of devices per host of a cluster.
    """

    id: str
    backend: Literal["cpu", "cuda"]
    name: str
    memory_bytes: int | None
    cache_bytes: int | None
    uuid: str
    details: dict[str, str]
    hosts: list[int]
    recorded: bool
    alive: bool
    fault: str | None
    seen_at: Time | None
    profile: Annotated[dict[str, Any], record_schema(records.DeviceProfile)] | None


class Study(TypedDict):
    """Kind of benchmark. `params` is the JSON Schema of its parameters."""

    name: str
    question: str
    params: dict[str, Any]


class Generator(TypedDict):
    """Function that creates matrices. `params` is the JSON Schema of its parameters."""

    name: str
    summary: str
    params: dict[str, Any]


class FormatKernel(TypedDict):
    """Kernel of a storage format, and the back ends that it runs on."""

    name: str
    variant: str
    summary: str
    backends: list[Literal["cpu", "cuda"]]


class StorageFormat(TypedDict):
    """Storage format and its kernels. `is_library` marks formats of other libraries."""

    name: str
    title: str
    summary: str
    is_library: bool
    kernels: list[FormatKernel]


class FigureEntry(TypedDict):
    """Figure, with the query parameters that it accepts.

    `needs`: the study whose page shows it, or its subject: a `matrix`, a `device`, or a `case`. A query of a `case` may
    omit matrix, device, cache, and study; the newest measurement that matches is used.
    """

    name: str
    title: str
    needs: str
    parameters: list[str]
    href: str


class PlotlyFigure(TypedDict):
    """Figure in the JSON form of `plotly.io.from_json`."""

    data: list[dict[str, Any]]
    layout: dict[str, Any]


class AuditEntry(TypedDict):
    """Row of the audit log: `action` is the method and path of a request, `target` is what the response refers to.

    `who`: the name of a token, `command line` for commands on the host, null for a caller without a valid token.
    `status`: the HTTP status.
    """

    at: Time
    who: str | None
    action: str
    target: str | None
    address: str
    status: int


class Health(TypedDict):
    """State of the tested part of the service."""

    status: str
