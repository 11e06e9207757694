"""What studies say: the record dataclasses and their file schema. SI units; names carry the unit."""

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

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
        return f"{self.matrix_id}|{self.kernel}|{self.cache}|{self.axes_text}"

    @property
    def axes_text(self) -> str:
        """`axis=value,…`, as the key has it."""
        return ",".join(f"{name}={value}" for name, value in self.axes)

    @classmethod
    def parse(cls, key: str) -> "Case":
        """The case of a key; a matrix may have any name, and a value may have an `=` of its own."""
        matrix_id, kernel, cache, axes = key.rsplit("|", 3)
        pairs = (axis.partition("=") for axis in axes.split(",") if axis)
        return cls(matrix_id, kernel, cast(Cache, cache), tuple((name, value) for name, _, value in pairs))

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


def _said(description: str, default: Any = dataclasses.MISSING) -> Any:
    """A field with its meaning and unit, which the API's schema and its documents repeat."""
    metadata = {"description": description}
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True)
class Measurement:
    """A timed case, or the reason why there is no time; null where a field does not apply."""

    case: str = _said("Name of the case: `matrix|kernel|cache|axis=value,…`.")
    matrix_id: str = _said("Id of the matrix.")
    device: str = _said("Id of the device that it was measured on.")
    format: str = _said("Storage format: the part of the kernel's name before the slash.")
    kernel: str = _said("Kernel, as `format/variant`.")
    state: MeasurementState = _said("Only `ok` has times.")  # noqa: RUF009 (a field)
    cache: Cache = _said("`cold`: the last-level cache is rewritten first; `warm`: back to back.")  # noqa: RUF009
    median_s: float | None = _said("Seconds per product: the median over the medians of the rounds.", None)
    ci_low_s: float | None = _said("Seconds: lower end of the bootstrapped 95 % interval of the median.", None)
    ci_high_s: float | None = _said("Seconds: upper end of that interval.", None)
    min_s: float | None = _said("Seconds: the fastest round.", None)
    q1_s: float | None = _said("Seconds: first quartile of the rounds.", None)
    q3_s: float | None = _said("Seconds: third quartile of the rounds.", None)
    gflops: float | None = _said("GFLOP/s: 2·nnz / median_s / 10⁹; nnz of all problems for a batch.", None)
    stored_bytes: int | None = _said("Bytes of the arrays that the format holds.", None)
    floor_s: float | None = _said("Seconds: compulsory bytes over the device's copy rate at that footprint.", None)
    gather_floor_s: float | None = _said(
        "Seconds of a probe that streams indices and values and gathers x, and does no row work.", None
    )
    convert_s: float | None = _said("Seconds of the conversion from CSR on this device, once.", None)
    convert_peak_bytes: int | None = _said("Bytes: peak memory of that conversion.", None)
    order_s: float | None = _said(
        "Seconds on the host to find a new order and permute the matrix; null in the given order.", None
    )
    permute_s: float | None = _said("Seconds to bring x into the new order and y back, once.", None)
    max_error: float | None = _said("Largest |y − y_ref|ᵢ / (ε·(|A|·|x|)ᵢ) over the rows, ε = 2⁻⁵²; no unit.", None)
    energy_j: float | None = _said("Joules per product; null where the device has no energy counter.", None)
    reference_gap: float | None = _said(
        "Relative gap between the two entries of the reference kernel in the same rounds; 0.01 is 1 %.", None
    )
    clock_hz: float | None = _said("Hertz: median clock of the SMs; null on a CPU.", None)
    iterations: int | None = _said(
        "Of PageRank until γ < ε, or the most allowed; the times are then those of a whole run, over several devices "
        "those of its median iteration.",
        None,
    )
    iterations_by_segments: tuple[int, ...] = _said(
        "How many of them wrote 1, 2 … segments; empty for values without segments.", ()
    )
    phases_s: Mapping[str, float] = _said(
        "Seconds by phase: of a run those of its trace, added up; of a product from the host `partition`, "
        "`distribute`, `compute`, `merge`; of an iteration over devices `compute` and `exchange`, each timed apart, so "
        "that their sum exceeds a median in which they overlap.",
        {},
    )
    residual: float | None = _said("‖G(p) − p‖₁ of the ranks p, G one more iteration in extended precision.", None)
    mass_error: float | None = _said("|‖p‖₁ − 1| of the ranks.", None)
    distance: float | None = _said("‖p − p_fp64‖₁ of the ranks.", None)
    overlap: float | None = _said("Share of the highest ranks' pages that fp64 has among its highest, 0 to 1.", None)
    top_pages: tuple[int, ...] = _said("Pages of the highest ranks, descending; the first page is 0.", ())
    top_ranks: tuple[float, ...] = _said("The ranks of these pages.", ())
    problems: int | None = _said(
        "Problems of a batch, whose product the times are then those of; null for one matrix.", None
    )
    vector_bytes: int | None = _said(
        "Bytes of x and y that a product of a batch moves: x read, y written and, where it adds, read.", None
    )
    partitioning: str = _said(
        "How a matrix is shared by devices: `pCSR`, `pCSC`, `pCOO` or `pCOO-columns`; empty for one device.", ""
    )
    strategy: str = _said("`baseline`, `p*` or `p*-opt`; empty where the matrix stays on the devices.", "")
    devices: int | None = _said(
        "How many share the work; floor_s stays that of one of them alone: the floor of all is floor_s / devices.", None
    )
    entries_by_device: tuple[int, ...] = _said("Nonzeros of each device's part.", ())
    exchanged_bytes: int | None = _said("Bytes of vectors that cross between devices in one iteration.", None)
    note: str = _said("Why there is no time, or what else there is to say.", "")
    environment: Mapping[str, str] = _said(
        "Device, driver, versions, hash of the kernel's source where it has one.", {}
    )
    samples_s: tuple[float, ...] = _said(
        "Seconds: medians of the rounds in the order they were taken; only where they are asked for.", ()
    )

    @property
    def axes(self) -> dict[str, str]:
        """The axes of its case, by name."""
        return dict(Case.parse(self.case).axes)


@dataclass(frozen=True, slots=True)
class Trace:
    """Per-iteration arrays of a case; all arrays have the same length."""

    case: str = _said("Name of the case, as in its measurement.")
    arrays: Mapping[str, tuple[float, ...]] = _said(
        "Arrays by name. Of PageRank: `gamma`; `read` and `written`, in segments (0: values without segments); seconds "
        "of the phases `pull_s` (product, teleport, sums), `settle_s` (sums to γ and the next base), `scale_s` "
        "(‖p‖₁ = 1 at a change of precision) and `convert_s` (segments to fp64, in place); `gather_s`, the probe that "
        "gathers p at this precision, 0 where there is none."
    )


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
