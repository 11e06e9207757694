"""Records of studies: dataclasses and their JSON schema. All values are in SI units; names end with the unit."""

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, cast, get_args

from gpu_engine.errors import InputError, quote
from gpu_engine.rounds import few_rounds, has_interval, shows_interval

if TYPE_CHECKING:
    # The default stands for the details of any study.
    from typing_extensions import TypeVar

    D = TypeVar("D", bound="Details", default=Any)
else:
    from typing import TypeVar

    D = TypeVar("D")

Backend = Literal["cpu", "cuda"]
"""Kinds of devices, which decide the kernels that run there."""
BACKENDS: tuple[Backend, ...] = ("cpu", "cuda")

Cache = Literal["cold", "warm"]
CACHES: tuple[Cache, ...] = ("cold", "warm")
"""`cold`: the last-level cache is flushed before each SpMV. `warm`: SpMVs run back to back, as in a solver."""

MeasurementState = Literal["ok", "unconverged", "failed", "skipped"]
TIMED: tuple[MeasurementState, ...] = ("ok", "unconverged")
STATES: tuple[MeasurementState, ...] = get_args(MeasurementState)
"""`unconverged`: an iteration has a time, but did not reach ε within the allowed number of steps."""


MIXTURE = "mixture"
"""Axis of a case of several matrices; its value identifies the set of matrices."""


OP, TRANSPOSED = "op", "AT"
"""Axis of a case of Aᵀ, and its value; a case of A does not have the axis."""

OPS = ("A", TRANSPOSED)
"""Operands that multiply x."""


@dataclass(frozen=True, slots=True)
class Case:
    """Measured combination of matrix, kernel, cache state, and axes; a study lists its cases in a fixed order.

    Raises InputError for a kernel, cache state, or axis with a separator of the key.
    """

    matrix_id: str
    kernel: str
    cache: Cache
    axes: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        for part in (self.kernel, self.cache):
            _refuse_dividers(part, "|")
        for name, value in self.axes:
            _refuse_dividers(name, "|,=")
            _refuse_dividers(value, "|,")
        if any(not name for name, _ in self.axes):
            raise InputError("An axis of a case has no name. Give each axis a name.")

    @property
    def key(self) -> str:
        """Key `matrix|kernel|cache|axis=value,…`, stable across processes, attempts, and releases."""
        return f"{self.matrix_id}|{self.kernel}|{self.cache}|{self.axes_text}"

    @property
    def axes_text(self) -> str:
        """Axes as in the key: `axis=value,…`."""
        return ",".join(f"{name}={value}" for name, value in self.axes)

    @classmethod
    def parse(cls, key: str) -> "Case":
        """Return the case of a key; the matrix may have any name, and a value may contain `=`."""
        matrix_id, kernel, cache, axes = key.rsplit("|", 3)
        pairs = (axis.partition("=") for axis in axes.split(",") if axis)
        return cls(matrix_id, kernel, cast(Cache, cache), tuple((name, value) for name, _, value in pairs))

    @property
    def format(self) -> str:
        """Storage format: the part of the kernel's name before the slash."""
        return self.kernel.partition("/")[0]


def _refuse_dividers(part: str, dividers: str) -> None:
    """Raise InputError if a part of a case contains a separator of its key."""
    if any(divider in part for divider in dividers):
        listed = " ".join(dividers)
        raise InputError(f"{quote(part)} contains one of the separators {listed} of case keys. Choose another name.")


@dataclass(frozen=True, slots=True)
class MatrixInfo:
    """Data of a matrix that a study has before the matrix is loaded."""

    id: str
    name: str
    n_rows: int
    n_cols: int
    nnz: int


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """A device that runs benchmarks.

    id            `cpu`, `cuda:0` …; `cuda:all` is all GPUs of a host, `cluster` those of several hosts, for studies
                  that partition a matrix
    backend       backend of its kernels
    memory_bytes  memory per GPU that a study may use; 0 if unknown
    cache_bytes   size of the last-level cache; 0 if unknown
    uuid          UUID of the GPU, comma-separated for several, for CUDA_VISIBLE_DEVICES; empty for a CPU
    details       driver, compute capability, cores … as text
    hosts         number of devices of each host of a cluster; empty for devices of one host
    """

    id: str
    backend: Backend
    name: str
    memory_bytes: int
    cache_bytes: int
    uuid: str = ""
    details: Mapping[str, str] = field(default_factory=dict)
    hosts: tuple[int, ...] = ()

    @property
    def uuids(self) -> tuple[str, ...]:
        """UUIDs of its GPUs."""
        return tuple(filter(None, self.uuid.split(",")))

    @property
    def is_several(self) -> bool:
        """Whether it is several GPUs, of one host or of a cluster."""
        return len(self.uuids) > 1 or bool(self.hosts)


@dataclass(frozen=True, slots=True)
class BandwidthPoint:
    """Bandwidths in bytes/s at one footprint in bytes: `copy` counts reads and writes, `read` only reads.

    The roofline uses the copy bandwidth; times are rejected as implausible by the better of the two.
    """

    footprint_bytes: int
    copy: float
    read: float

    @property
    def best(self) -> float:
        """Larger one of the two bandwidths."""
        return max(self.copy, self.read)


@dataclass(frozen=True, slots=True)
class DeviceProfile:
    """Measured bandwidth of a device, the basis of all rooflines.

    bandwidth    points by ascending footprint; the last is far larger than the last-level cache
    measured_at  UTC, ISO 8601
    """

    device: str
    name: str
    cache_bytes: int
    bandwidth: tuple[BandwidthPoint, ...]
    measured_at: str

    @property
    def memory(self) -> BandwidthPoint:
        """Bandwidths of the memory, without cache effects."""
        return self.bandwidth[-1]

    def rate(self, footprint_bytes: int, cache: Cache) -> float:
        """Return the copy bandwidth at a footprint: that of the memory, or of the cache if warm and small enough."""
        if cache == "cold" or footprint_bytes > self.cache_bytes:
            return self.memory.copy
        fitting = [point for point in self.bandwidth if point.footprint_bytes <= 2 * footprint_bytes]
        return max(self.memory.copy, *(point.copy for point in fitting or self.bandwidth[:1]))


@dataclass(frozen=True, slots=True)
class Started:
    """Message that the process starts a case; a crash until the next record is attributed to this case."""

    case: str


@dataclass(frozen=True, slots=True)
class Interim:
    """Provisional time of a case from its rounds so far, in seconds, without a verdict.

    ci_low_s, ci_high_s  ends of the 95 % CI; None with too few rounds
    decided              whether further rounds cannot change its verdicts; it is then sampled only if others need it
    min_s, max_s         fastest and slowest round
    """

    case: str
    median_s: float
    ci_low_s: float | None
    ci_high_s: float | None
    rounds: int = 0
    decided: bool = False
    min_s: float | None = None
    max_s: float | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a run: `done` is the number of finished cases, including fractions, and never decreases.

    interim  provisional times of the cases in the current rounds, the fastest first; empty in the first rounds
    """

    done: float
    message: str
    interim: tuple[Interim, ...] = ()


def described(description: str, default: Any = dataclasses.MISSING) -> Any:
    """Return a field of a record with its meaning and unit, which the API schema and documents show."""
    metadata = {"description": description}
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True)
class Details:
    """Fields of measurements of one study; each study derives its own class.

    Every field has a default for cases without a time. The names are stored with each measurement, so renaming or
    removing a field needs a migration, and an entry for the recordings of the release.
    """

    study: ClassVar[str] = ""

    @property
    def is_one_product(self) -> bool:
        """Whether the time is of one SpMV with one matrix on one device, so that it can be compared with probes."""
        return False

    @property
    def is_reproducible(self) -> bool | None:
        """Whether the kernel is bitwise reproducible; None if it was not recorded."""
        return None


@dataclass(frozen=True, slots=True)
class Measurement(Generic[D]):
    """Result of a case: its times, or the reason why there are none; null if a field does not apply."""

    case: str = described("Name of the case: `matrix|kernel|cache|axis=value,…`.")
    study: str = described("Name of the study.")
    matrix_id: str = described("Id of the matrix.")
    device: str = described("Id of the device that ran the case.")
    format: str = described("Storage format: the part of the kernel's name before the slash.")
    kernel: str = described("Kernel, as `format/variant`.")
    state: MeasurementState = described(  # noqa: RUF009 (a field)
        "`ok`: has times. `unconverged`: has times, but the iteration did not reach ε. `failed`, `skipped`: no times."
    )
    cache: Cache = described(  # noqa: RUF009 (a field)
        "`cold`: the last-level cache is overwritten before each SpMV. `warm`: SpMVs back to back."
    )
    axes: Mapping[str, str] = described("Further parameters of the case, by name.")
    details: D = described("Fields specific to this study.")  # noqa: RUF009 (a field)
    median_s: float | None = described("Seconds per SpMV (or run, or iteration): median of the round medians.", None)
    ci_low_s: float | None = described(
        "Seconds: lower end of the bootstrapped 95 % confidence interval of the median; null for fewer than five "
        "rounds.",
        None,
    )
    ci_high_s: float | None = described("Seconds: upper end of that interval.", None)
    min_s: float | None = described("Seconds: the fastest round.", None)
    q1_s: float | None = described("Seconds: first quartile of the rounds.", None)
    q3_s: float | None = described("Seconds: third quartile of the rounds.", None)
    gflops: float | None = described("GFLOP/s: 2·nnz / median_s / 10⁹; for a batch, nnz of all its matrices.", None)
    stored_bytes: int | None = described("Bytes of the arrays of the format.", None)
    roofline_s: float | None = described(
        "Seconds: compulsory bytes / copy bandwidth of the device for this amount of data.", None
    )
    gather_probe_s: float | None = described(
        "Seconds of the gather probe: it streams indices and values, gathers x, and does no row work.", None
    )
    max_error: float | None = described("Largest |y − y_ref|ᵢ / (ε·(|A|·|x|)ᵢ) over the rows, ε = 2⁻⁵²; no unit.", None)
    energy_j: float | None = described("Joules per SpMV; null if the device has no energy counter.", None)
    aa_gap: float | None = described(
        "A/A gap: relative difference of the two runs of the control kernel in the same rounds; 0.01 is 1 %.", None
    )
    clock_hz: float | None = described("Hertz: median clock of the SMs; null on a CPU.", None)
    rounds: int | None = described(
        "Number of rounds; adaptive sampling stops early for decided cases. null in older records.",
        None,
    )
    placements: int | None = described(
        "Number of places in memory at which the kernel was measured: one per round, or 1 for a layout above 1 GiB (16 "
        "MiB on a CPU). null in older records.",
        None,
    )
    note: str = described("Why there is no time, or another remark.", "")
    environment: Mapping[str, str] = described(
        "Device, driver, versions, and the hash of the kernel source if it has one.", {}
    )
    samples_s: tuple[float, ...] = described("Seconds: round medians in time order; only on request.", ())
    max_s: float | None = described("Seconds: the slowest round; null in older records with five rounds or more.", None)
    # Empty until __post_init__ fills it. A factory, because an empty default would be invalid in the API schema.
    backend: Backend = field(
        default_factory=lambda: cast(Backend, ""),
        metadata={"description": "Backend of the device; it decides which kernels run and which thresholds apply."},
    )

    def __post_init__(self) -> None:
        """Fill fields that older records lack, and drop a confidence interval of too few rounds."""
        if not has_interval(self.rounds):
            object.__setattr__(self, "ci_low_s", None)
            object.__setattr__(self, "ci_high_s", None)
        if self.max_s is None and (few := self.few_rounds_s):
            object.__setattr__(self, "max_s", few[-1])
        if not self.backend:
            known = {"device": self.device, "environment": self.environment}
            object.__setattr__(self, "backend", backend_of(known))

    @classmethod
    def of(
        cls, case: Case, device: str, details: type[D], state: MeasurementState = "ok", **fields: Any
    ) -> "Measurement[D]":
        """Return the measurement of a case; `fields`: values of its fields and of its details, by name."""
        axes = dict(case.axes)
        names = details.study, case.matrix_id, device, case.format, case.kernel
        return cls(case.key, *names, state, case.cache, axes, details()).with_(**fields)

    @property
    def shown_ci_s(self) -> tuple[float | None, float | None]:
        """Ends of the 95 % CI in seconds; None with too few rounds to show one."""
        return (self.ci_low_s, self.ci_high_s) if shows_interval(self.rounds) else (None, None)

    @property
    def few_rounds_s(self) -> tuple[float, ...]:
        """Seconds of each round, ascending, if there are too few for a confidence interval; else empty."""
        return few_rounds(self.rounds, self.min_s, self.q1_s, self.median_s, self.q3_s)

    @property
    def members(self) -> tuple[str, ...]:
        """Ids of the matrices of a case of several; empty for one matrix."""
        return tuple(filter(None, self.environment.get("matrices", "").split(", ")))

    def with_(self, **fields: Any) -> "Measurement[D]":
        """Return a copy with some fields (also of its details) replaced; raises TypeError for unknown ones."""
        common = {name: value for name, value in fields.items() if name in COMMON_FIELDS}
        details = {name: value for name, value in fields.items() if name not in COMMON_FIELDS}
        if details:
            common["details"] = dataclasses.replace(common.get("details", self.details), **details)
        return dataclasses.replace(self, **common)


def backend_of(measurement: Mapping[str, Any]) -> Backend:
    """Return the backend of a measurement given as JSON.

    If the record has none, it follows from the software in its environment, else from the device id. Imports and
    migrations, which know the device, set the backend instead.
    """
    if measurement.get("backend"):
        return cast(Backend, measurement["backend"])
    environment = measurement.get("environment", {}).keys()
    if environment & ON_GPU:
        return "cuda"
    return "cpu" if environment & ON_CPU or measurement["device"] == CPU else "cuda"


CPU = "cpu"
"""Device id of the CPU of a worker's host."""

ON_GPU = frozenset({"compute capability", "CUDA runtime", "cupy"})
ON_CPU = frozenset({"numba", "threads", "threading"})
"""Keys of an environment that only one backend has."""

COMMON_FIELDS = frozenset(f.name for f in dataclasses.fields(Measurement))
"""Fields that the measurements of all studies have."""


@dataclass(frozen=True, slots=True)
class Trace:
    """Arrays per iteration of a case, all of the same length."""

    case: str = described("Name of the case, as in its measurement.")
    arrays: Mapping[str, tuple[float, ...]] = described(
        "Arrays by name, for PageRank: `gamma`; `read` and `written`: segments (0: values without segments). Seconds "
        "of the phases: `pull_s` (SpMV, teleport, sums), `norm_s` (sums to γ and the next base); `scale_s` "
        "(‖p‖₁ = 1 at a change of precision), `convert_s` (segments to fp64, in place). `gather_s`: seconds of the "
        "probe that gathers p at this precision, 0 without a probe. For solvers: `iteration` of each test of "
        "convergence, and `residual`, ‖r‖ / ‖b‖ of the recurrence."
    )


Record = Started | Progress | DeviceProfile | Measurement | Trace


def as_json(record: Any, samples: bool = False) -> dict[str, Any]:
    """Return a record as JSON values; non-finite numbers become null; raw samples only on request."""
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


def measurement_from_json(fields: Mapping[str, Any], details: type[D] = Details) -> Measurement[D]:  # type: ignore[assignment]
    """Return the Measurement of `as_json` output; raises TypeError for unknown fields.

    details  class of the study's details; with `Details` itself they are left out
    """
    known = {} if details is Details else fields["details"]
    values = {name: tuple(value) if name == "samples_s" else value for name, value in fields.items()}
    return Measurement(**values | {"details": _from_json(details, known)})


def _from_json(cls: type[D], fields: Mapping[str, Any]) -> D:
    return cls(**{name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()})


def trace_from_json(fields: Mapping[str, Any]) -> Trace:
    """Return the Trace of `as_json` output."""
    return Trace(fields["case"], {name: tuple(values) for name, values in fields["arrays"].items()})


def profile_from_json(fields: Mapping[str, Any]) -> DeviceProfile:
    """Return the DeviceProfile of `as_json` output."""
    values = dict(fields)
    values["bandwidth"] = tuple(BandwidthPoint(**point) for point in values["bandwidth"])
    return DeviceProfile(**values)


def dumps(document: Any) -> str:
    """Return the JSON text of a document; raises ValueError for NaN and infinity."""
    return json.dumps(document, allow_nan=False, ensure_ascii=False)
