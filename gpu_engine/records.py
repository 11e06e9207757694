"""What studies say: the record dataclasses and their file schema. SI units; names carry the unit."""

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Cache = Literal["cold", "warm"]
CACHES: tuple[Cache, ...] = ("cold", "warm")
"""`cold`: the last-level cache is rewritten before each call. `warm`: calls back to back, as in a solver."""

MeasurementState = Literal["ok", "failed", "skipped"]
SCHEMA = "sparsight.records"


@dataclass(frozen=True, slots=True)
class Case:
    """One measured combination of a study; a study lists its cases in a fixed order."""

    matrix_id: str
    kernel: str
    cache: Cache
    axes: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> str:
        """`matrix|kernel|cache|axis=value,…`: stable across processes, attempts and releases."""
        return f"{self.matrix_id}|{self.kernel}|{self.cache}|{','.join(f'{name}={value}' for name, value in self.axes)}"

    @property
    def format(self) -> str:
        """The part of the kernel's name before the slash."""
        return self.kernel.partition("/")[0]


@dataclass(frozen=True, slots=True)
class MatrixInfo:
    """What a study may know of a matrix before it is loaded."""

    id: str
    name: str
    n_rows: int
    n_cols: int
    nnz: int


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """A device that can be measured on.

    id            `cpu`, `cuda:0` …; `cuda:all` is all GPUs together, for studies that share a matrix among them
    backend       which kernels run there
    memory_bytes  memory that a study may fill, of each GPU
    cache_bytes   last-level cache
    uuid          of the GPU, of several with commas between, for CUDA_VISIBLE_DEVICES; empty on a CPU
    details       driver, compute capability, cores: strings for people
    """

    id: str
    backend: Literal["cpu", "cuda"]
    name: str
    memory_bytes: int
    cache_bytes: int
    uuid: str = ""
    details: Mapping[str, str] = field(default_factory=dict)

    @property
    def uuids(self) -> tuple[str, ...]:
        """The UUID of each of its GPUs."""
        return tuple(filter(None, self.uuid.split(",")))

    @property
    def is_several(self) -> bool:
        """Whether it is several GPUs."""
        return len(self.uuids) > 1


@dataclass(frozen=True, slots=True)
class BandwidthPoint:
    """Rates in bytes/s at one footprint in bytes: a copy counts bytes read and written, a read only what it reads.

    Floors divide by the copy rate; a time is refused as impossible by the best of the two.
    """

    footprint_bytes: int
    copy: float
    read: float

    @property
    def best(self) -> float:
        """The faster of the two."""
        return max(self.copy, self.read)


@dataclass(frozen=True, slots=True)
class DeviceProfile:
    """Measured bandwidth of a device: the denominator of every floor.

    bandwidth    ascending footprints; the last is far larger than the last-level cache
    measured_at  UTC, ISO 8601
    """

    device: str
    name: str
    cache_bytes: int
    bandwidth: tuple[BandwidthPoint, ...]
    measured_at: str

    @property
    def memory(self) -> BandwidthPoint:
        """The point that memory, not a cache, serves."""
        return self.bandwidth[-1]

    def rate(self, footprint_bytes: int, cache: Cache) -> float:
        """Copy rate at a footprint: memory's when cold, the cache's when warm and it fits."""
        if cache == "cold" or footprint_bytes > self.cache_bytes:
            return self.memory.copy
        fitting = [point for point in self.bandwidth if point.footprint_bytes <= 2 * footprint_bytes]
        return max(self.memory.copy, *(point.copy for point in fitting or self.bandwidth[:1]))


@dataclass(frozen=True, slots=True)
class Started:
    """The process is about to run this case; a process that dies now died of it."""

    case: str


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the run is: `done` counts cases of work behind it, in fractions, and never falls."""

    done: float
    message: str


@dataclass(frozen=True, slots=True)
class Measurement:
    """A timed case, or the reason why there is no time.

    median_s … q3_s     seconds per product over the medians of the rounds; ci_* is the bootstrapped 95 % interval
    gflops              2·nnz / median / 10⁹; nnz of all problems for a batch
    stored_bytes        sum of the arrays that the format holds
    floor_s             compulsory bytes / copy rate of the device at that footprint (DeviceProfile.rate)
    gather_floor_s      time of a probe that streams indices and values and gathers x
    convert_s           conversion from CSR on this device, once; convert_peak_bytes its peak memory
    order_s             seconds on the host to find a new order and permute the matrix; None in the given order
    permute_s           seconds to bring x into the new order and y back, once
    max_error           max |y − y_ref|ᵢ / (ε·(|A|·|x|)ᵢ)
    energy_j            joules per product, None where the device has no energy counter
    reference_gap       relative gap between the two entries of the reference kernel in the same rounds
    clock_hz            median SM clock, None on a CPU
    iterations          of PageRank until γ < ε, or the most allowed; the times are then those of a whole run,
                        over several devices those of its median iteration
    iterations_by_segments  how many of them wrote 1, 2 … segments; empty for values without segments
    phases_s            seconds by phase: of a run those of the trace `*_s`, added up; of a product from the host
                        partition, distribute, compute, merge; of an iteration over devices compute and exchange, each
                        timed apart: their sum exceeds a median in which they overlap
    residual, mass_error, distance, overlap  of the ranks, as gpu_engine/pagerank/verify.py defines them
    top_pages           the pages of the highest ranks, descending, and these ranks in top_ranks
    problems            of a batch, whose product the times are then those of; None for one matrix
    vector_bytes        bytes of x and y that a product of a batch moves: x read, y written and, where it adds, read;
                        the sustained bandwidth is (stored_bytes + vector_bytes) / median_s
    partitioning        of a matrix shared by devices: pCSR, pCSC, pCOO or pCOO-columns; empty for one device
    strategy            baseline, p* or p*-opt; empty where the matrix stays on the devices
    devices             how many share the work; floor_s stays that of one of them alone: the floor of all is
                        floor_s / devices
    entries_by_device   nonzeros of each device's part
    exchanged_bytes     bytes of vectors that cross between devices in one iteration
    samples_s           medians of the rounds, in the order they were taken
    environment         device, driver, versions, hash of the kernel's source
    """

    case: str
    matrix_id: str
    device: str
    format: str
    kernel: str
    state: MeasurementState
    cache: Cache
    median_s: float | None = None
    ci_low_s: float | None = None
    ci_high_s: float | None = None
    min_s: float | None = None
    q1_s: float | None = None
    q3_s: float | None = None
    gflops: float | None = None
    stored_bytes: int | None = None
    floor_s: float | None = None
    gather_floor_s: float | None = None
    convert_s: float | None = None
    convert_peak_bytes: int | None = None
    order_s: float | None = None
    permute_s: float | None = None
    max_error: float | None = None
    energy_j: float | None = None
    reference_gap: float | None = None
    clock_hz: float | None = None
    iterations: int | None = None
    iterations_by_segments: tuple[int, ...] = ()
    phases_s: Mapping[str, float] = field(default_factory=dict)
    residual: float | None = None
    mass_error: float | None = None
    distance: float | None = None
    overlap: float | None = None
    top_pages: tuple[int, ...] = ()
    top_ranks: tuple[float, ...] = ()
    problems: int | None = None
    vector_bytes: int | None = None
    partitioning: str = ""
    strategy: str = ""
    devices: int | None = None
    entries_by_device: tuple[int, ...] = ()
    exchanged_bytes: int | None = None
    note: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    samples_s: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Trace:
    """Per-iteration arrays of a case; all arrays have the same length.

    Of `pagerank`: gamma; read and written, in segments (0: values without segments); seconds of the phases pull_s
    (product, teleport, sums), settle_s (sums to γ and the next base), scale_s (‖p‖₁ = 1 at a change of precision) and
    convert_s (segments to fp64, in place); gather_s, the probe that gathers p at this precision, 0 where there is none.
    """

    case: str
    arrays: Mapping[str, tuple[float, ...]]


Record = Started | Progress | DeviceProfile | Measurement | Trace


def as_json(record: Any, samples: bool = False) -> dict[str, Any]:
    """A record as plain JSON values; non-finite numbers become null; raw samples only when asked for."""
    fields = {f.name: getattr(record, f.name) for f in dataclasses.fields(record)}
    if not samples:
        fields.pop("samples_s", None)
    return {name: _plain(value) for name, value in fields.items()}


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return as_json(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): _plain(entry) for name, entry in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(entry) for entry in value]
    return value


def measurement_from_json(fields: Mapping[str, Any]) -> Measurement:
    """The inverse of `as_json` for a Measurement; raises TypeError on unknown fields."""
    values = dict(fields)
    for name in ("samples_s", "iterations_by_segments", "top_pages", "top_ranks", "entries_by_device"):
        values[name] = tuple(values.get(name, ()))
    return Measurement(**values)


def trace_from_json(fields: Mapping[str, Any]) -> Trace:
    """The inverse of `as_json` for a Trace."""
    return Trace(fields["case"], {name: tuple(values) for name, values in fields["arrays"].items()})


def profile_from_json(fields: Mapping[str, Any]) -> DeviceProfile:
    """The inverse of `as_json` for a DeviceProfile."""
    values = dict(fields)
    values["bandwidth"] = tuple(BandwidthPoint(**point) for point in values["bandwidth"])
    return DeviceProfile(**values)


def results_document(measurements: list[Measurement], traces: list[Trace], samples: bool = False) -> dict[str, Any]:
    """The document that `python -m gpu_engine --json` writes and `/results` serves: measurements, traces, summary."""
    return {
        "schema": SCHEMA,
        "measurements": [as_json(measurement, samples) for measurement in measurements],
        "traces": [as_json(trace) for trace in traces],
        "summary": summary(measurements),
    }


def summary(measurements: list[Measurement]) -> dict[str, Any]:
    """Counts per state, and per matrix and cache the fastest kernel."""
    fastest: dict[tuple[str, str], Measurement] = {}
    for m in measurements:
        if m.median_s is not None:
            best = fastest.get((m.matrix_id, m.cache))
            if best is None or best.median_s is None or m.median_s < best.median_s:
                fastest[m.matrix_id, m.cache] = m
    return {
        "total": len(measurements),
        **{state: sum(m.state == state for m in measurements) for state in ("ok", "failed", "skipped")},
        "fastest": [
            {"matrix_id": matrix, "cache": cache, "kernel": m.kernel, "median_s": m.median_s, "gflops": m.gflops}
            for (matrix, cache), m in sorted(fastest.items())
        ],
    }


def dumps(document: Any) -> str:
    """JSON text of a document of plain values; raises ValueError on NaN and infinity."""
    return json.dumps(document, allow_nan=False, ensure_ascii=False)
