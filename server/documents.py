"""The documents of the REST API as types: what routes answer, what OpenAPI describes, what the client returns.

Durations are seconds, sizes bytes. The example of each stands in examples.py.
"""

from typing import Annotated, Any, Literal, NotRequired

# Pydantic reads TypedDict from here before Python 3.12.
from typing_extensions import TypedDict

from gpu_engine import records
from server.result_documents import record_schema
from server.times import Time

MATRICES_MAX = 100
"""Most matrices of a job."""


class Problem(TypedDict):
    """RFC 9457: `code` is stable and for programs, `detail` a sentence for people; `line` of a matrix file.

    `hint`: what to do, where its words depend on the tool in hand; `hint_code` is its stable name. `asks`: the
    fields of an upload that say what the file leaves open.
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
    """A kernel to consider: predicted, not measured.

    `predicted_s`: seconds of a warm product by model of GPU, null where the layout does not fit its memory. `equal`: as
    good a choice as the first. `cold_place`: its place in the ranking for cold caches, from 1.
    """

    kernel: str
    predicted_s: dict[str, float | None]
    equal: bool
    cold_place: int
    reason: str


class Matrix(TypedDict):
    """A matrix; `error` is the problem document of a failed one, `advice` the best kernels first.

    `advice` is for the first GPU of the service that the advisor knows, calibrated by what was measured there, else for
    an H200: `advice_gpu`. `near_best`: the kernels predicted within 20 % of the first, warm. `confidence` is
    `high` if the model was calibrated on such a GPU and on matrices like this one, so that the first kernel needs no
    measurement. Both are null if there is no advice.
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
    """Matrices saved together; `set=ID` names them in the address of a page and in the query of a figure."""

    id: str
    name: str
    matrix_ids: list[str]
    created_at: Time
    links: dict[str, str]


class Recording(TypedDict):
    """Results of a study that were recorded elsewhere; `imported`: by a caller, else they came with the release.

    `measured_at`: null where nobody says. `times`: the unit that they were taken in, null where the file says it.
    """

    id: str
    device: str
    name: str
    study: str
    imported: bool
    measured_at: Time | None
    times: str | None


class Preview(TypedDict):
    """What would be read from a file; `reciprocal` is the share of entries with one across the diagonal.

    `asks`: the fields that an upload of it needs, guessed for the preview; `needs_direction`: `directed` is among them.
    First entries: row, column, value.
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
    """What a generator is expected to make: `nnz` nonzeros, whose columns and values take so many `bytes`."""

    generator: str
    params: dict[str, Any]
    nnz: int
    bytes: int


class CollectionEntry(TypedDict):
    """A matrix of the SuiteSparse Matrix Collection; null stands for what the index here does not say.

    `nnz`: without explicit zeros, `entries` with them; `spd`: symmetric and positive definite; `about_bytes`: of its
    archive.
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
    """The list of what can be fetched: `count` matrices; where from, its sha256 and when, once it is complete.

    `is_on`: whether this server fetches matrices at all.
    """

    is_complete: bool
    is_on: bool
    count: int
    address: str | None
    sha256: str | None
    fetched_at: Time | None


class JobInterim(TypedDict):
    """The time of a case by its rounds so far, in seconds: provisional, and no verdict.

    `ci_low_s`, `ci_high_s`: the 95 % interval, null of fewer than five rounds. `min_s`, `max_s`: the quickest and the
    slowest round. `decided`: it gets no more rounds, unless others that it is held against need them; else it is open.
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
    """`done` of `total` cases: 13.18 are 13 cases and 18 % of the next; `interim`: of the cases in the rounds now."""

    done: float
    total: int
    message: str
    interim: list[JobInterim]


class Job(TypedDict):
    """A queued study; `queue_position` counts from 1, `estimate_s` is the time until it is done.

    `waiting_reason`: why nothing runs a queued job now, a sentence for people; null where it only waits for its turn.
    `lease_expired`: it is running, and its worker has been silent for longer than its lease.
    """

    id: str
    study: str
    matrix_ids: list[str]
    params: dict[str, Any]
    device: str
    state: Literal["queued", "running", "succeeded", "failed", "cancelled"]
    attempt: int
    lease_expired: bool
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
    """What can be measured on; `alive`: a worker offers it now. `profile` is its measured bandwidth.

    `fault`: why its worker cannot run jobs, a sentence for people; null where it can. `seen_at`: when its worker was
    last heard of, null once that has stopped. `recorded`: results of it were recorded elsewhere, and nothing runs on
    it; its memory and cache are null where nobody says. `hosts`: of a cluster, how many
    devices each of its hosts gives.
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
    """A question; `params` is the JSON Schema of its parameters."""

    name: str
    question: str
    params: dict[str, Any]


class Generator(TypedDict):
    """A family of matrices; `params` is the JSON Schema of its parameters."""

    name: str
    summary: str
    params: dict[str, Any]


class FormatKernel(TypedDict):
    """One way to multiply with a format, and where it runs."""

    name: str
    variant: str
    summary: str
    backends: list[Literal["cpu", "cuda"]]


class StorageFormat(TypedDict):
    """A storage layout and its kernels; `is_library` marks other libraries."""

    name: str
    title: str
    summary: str
    is_library: bool
    kernels: list[FormatKernel]


class FigureEntry(TypedDict):
    """A figure that can be asked for, and what its query may name.

    `needs`: the study whose page has it, or what it is of: a `matrix`, a `device`, or a `case` of which the newest is
    taken where the query leaves some of matrix, device, cache and study open.
    """

    name: str
    title: str
    needs: str
    parameters: list[str]
    href: str


class PlotlyFigure(TypedDict):
    """A figure as `plotly.io.from_json` reads it."""

    data: list[dict[str, Any]]
    layout: dict[str, Any]


class AuditEntry(TypedDict):
    """Who did what: `action` is the method and path of a call, `target` what its answer named, `status` of that.

    `who`: the name of a token, `command line` on the host, null for somebody whom no token made known.
    """

    at: Time
    who: str | None
    action: str
    target: str | None
    address: str
    status: int


class Health(TypedDict):
    """The part of the service that was asked works."""

    status: str
