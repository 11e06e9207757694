"""What studies say: the record dataclasses and their file schema. SI units; names carry the unit."""

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, cast, get_args

from gpu_engine.errors import InputError, quote
from gpu_engine.rounds import few_rounds, has_interval

if TYPE_CHECKING:
    # A measurement of any study, where none is named.
    from typing_extensions import TypeVar

    D = TypeVar("D", bound="Details", default=Any)
else:
    from typing import TypeVar

    D = TypeVar("D")

Backend = Literal["cpu", "cuda"]
"""Which kernels run on a device."""
BACKENDS: tuple[Backend, ...] = ("cpu", "cuda")

Cache = Literal["cold", "warm"]
CACHES: tuple[Cache, ...] = ("cold", "warm")
"""`cold`: the last-level cache is rewritten before each call. `warm`: calls back to back, as in a solver."""

MeasurementState = Literal["ok", "unconverged", "failed", "skipped"]
TIMED: tuple[MeasurementState, ...] = ("ok", "unconverged")
STATES: tuple[MeasurementState, ...] = get_args(MeasurementState)
"""`unconverged`: an iteration has a time, and did not come under ε in as many steps as it was given."""


MIXTURE = "mixture"
"""The axis of a case of several matrices together; its value tells them from any others."""


OP, TRANSPOSED = "op", "AT"
"""The axis of a case of Aᵀ, and its value; a case of A has none."""

OPS = ("A", TRANSPOSED)
"""What multiplies x."""


@dataclass(frozen=True, slots=True)
class Case:
    """One measured combination of a study; a study lists its cases in a fixed order.

    Raises InputError for a kernel, a cache state or an axis with a character that divides the parts of a key.
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
        """`matrix|kernel|cache|axis=value,…`: stable across processes, attempts and releases."""
        return f"{self.matrix_id}|{self.kernel}|{self.cache}|{self.axes_text}"

    @property
    def axes_text(self) -> str:
        """`axis=value,…`, as the key has it."""
        return ",".join(f"{name}={value}" for name, value in self.axes)

    @classmethod
    def parse(cls, key: str) -> "Case":
        """Return the case whose key this is; a matrix may have any name, and a value an `=`."""
        matrix_id, kernel, cache, axes = key.rsplit("|", 3)
        pairs = (axis.partition("=") for axis in axes.split(",") if axis)
        return cls(matrix_id, kernel, cast(Cache, cache), tuple((name, value) for name, _, value in pairs))

    @property
    def format(self) -> str:
        """The part of the kernel's name before the slash."""
        return self.kernel.partition("/")[0]


def _refuse_dividers(part: str, dividers: str) -> None:
    """Raise InputError where a part of a case has a character that divides the parts of its key."""
    if any(divider in part for divider in dividers):
        listed = " ".join(dividers)
        raise InputError(
            f"{quote(part)} cannot be part of a case, whose key is divided by {listed}. Name it otherwise."
        )


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

    id            `cpu`, `cuda:0` …; `cuda:all` is all GPUs together, `cluster` those of several hosts, for studies
                  that share a matrix among them
    backend       which kernels run there
    memory_bytes  memory that a study may fill, of each GPU; 0 of a recorded one of which nobody has said
    cache_bytes   last-level cache; 0 where it is not known
    uuid          of the GPU, of several with commas between, for CUDA_VISIBLE_DEVICES; empty on a CPU
    details       driver, compute capability, cores: strings for people
    hosts         of a cluster, how many devices each of its hosts gives; empty of a device of one host
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
        """The UUID of each of its GPUs."""
        return tuple(filter(None, self.uuid.split(",")))

    @property
    def is_several(self) -> bool:
        """Whether it is several devices: GPUs of this host, or those of a cluster."""
        return len(self.uuids) > 1 or bool(self.hosts)


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
class Interim:
    """The time of a case by its rounds so far, in seconds: provisional, and no verdict.

    ci_low_s, ci_high_s  ends of the 95 % interval; None of so few rounds that there is none
    decided              whether more rounds of it could change no verdict, so that it gets none unless others need it
    min_s, max_s         the quickest and the slowest round
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
    """How far the run is: `done` counts cases of work behind it, in fractions, and never falls.

    interim  of the cases that share the rounds now, the shortest first; none before there are a few rounds
    """

    done: float
    message: str
    interim: tuple[Interim, ...] = ()


def described(description: str, default: Any = dataclasses.MISSING) -> Any:
    """A field of a record with its meaning and unit, which the API's schema and its documents repeat."""
    metadata = {"description": description}
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True)
class Details:
    """What only the measurements of one study say; each study derives its own.

    Every field has a default: a case without a time says what is known of it. Names are stored with each measurement:
    a field that is renamed or goes needs a migration, and an entry for the recordings of the release.
    """

    study: ClassVar[str] = ""

    @property
    def is_one_product(self) -> bool:
        """Whether the time is that of one product of one matrix on one device, to which a probe compares."""
        return False

    @property
    def is_reproducible(self) -> bool | None:
        """Whether the kernel gives the same bits on every run; None where nobody has looked."""
        return None


@dataclass(frozen=True, slots=True)
class Measurement(Generic[D]):
    """A timed case, or the reason why there is no time; null where a field does not apply."""

    case: str = described("Name of the case: `matrix|kernel|cache|axis=value,…`.")
    study: str = described("Name of the study.")
    matrix_id: str = described("Id of the matrix.")
    device: str = described("Id of the device that it was measured on.")
    format: str = described("Storage format: the part of the kernel's name before the slash.")
    kernel: str = described("Kernel, as `format/variant`.")
    state: MeasurementState = described(  # noqa: RUF009 (a field)
        "`ok` has times; so has `unconverged`, of an iteration that did not come under ε."
    )
    cache: Cache = described("`cold`: the last-level cache is rewritten first; `warm`: back to back.")  # noqa: RUF009
    axes: Mapping[str, str] = described("What else tells the case from others of its kernel, by name.")
    details: D = described("What only measurements of this study say.")  # noqa: RUF009 (a field)
    median_s: float | None = described("Seconds per product: the median over the medians of the rounds.", None)
    ci_low_s: float | None = described(
        "Seconds: lower end of the bootstrapped 95 % interval of the median; null of fewer than five rounds.", None
    )
    ci_high_s: float | None = described("Seconds: upper end of that interval.", None)
    min_s: float | None = described("Seconds: the fastest round.", None)
    q1_s: float | None = described("Seconds: first quartile of the rounds.", None)
    q3_s: float | None = described("Seconds: third quartile of the rounds.", None)
    gflops: float | None = described("GFLOP/s: 2·nnz / median_s / 10⁹; nnz of all problems for a batch.", None)
    stored_bytes: int | None = described("Bytes of the arrays that the format holds.", None)
    roofline_s: float | None = described(
        "Seconds: compulsory bytes over the device's copy rate at that footprint.", None
    )
    gather_probe_s: float | None = described(
        "Seconds of a probe that streams indices and values and gathers x, and does no row work.", None
    )
    max_error: float | None = described("Largest |y − y_ref|ᵢ / (ε·(|A|·|x|)ᵢ) over the rows, ε = 2⁻⁵²; no unit.", None)
    energy_j: float | None = described("Joules per product; null where the device has no energy counter.", None)
    aa_gap: float | None = described(
        "Relative gap between the two entries of the reference kernel in the same rounds; 0.01 is 1 %.", None
    )
    clock_hz: float | None = described("Hertz: median clock of the SMs; null on a CPU.", None)
    rounds: int | None = described(
        "Rounds that its times are of: fewer than others where its verdicts were settled before; null in older ones.",
        None,
    )
    note: str = described("Why there is no time, or what else there is to say.", "")
    environment: Mapping[str, str] = described(
        "Device, driver, versions, hash of the kernel's source where it has one.", {}
    )
    samples_s: tuple[float, ...] = described(
        "Seconds: medians of the rounds in the order they were taken; only where they are asked for.", ()
    )
    max_s: float | None = described("Seconds: the slowest round; null in older records of five rounds or more.", None)
    # Empty until __post_init__ fills it in. Made by a factory: the schema of the API has no default that is no backend.
    backend: Backend = field(
        default_factory=lambda: cast(Backend, ""),
        metadata={"description": "Backend of the device: which kernels ran, and by which limits times are judged."},
    )

    def __post_init__(self) -> None:
        """Fill what an older record does not say, and drop an interval of fewer rounds than have one."""
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
        """The measurement of a case; `fields` are its own and those of its details, by name."""
        axes = dict(case.axes)
        names = details.study, case.matrix_id, device, case.format, case.kernel
        return cls(case.key, *names, state, case.cache, axes, details()).with_(**fields)

    @property
    def few_rounds_s(self) -> tuple[float, ...]:
        """Seconds of each round, ascending, where there are too few for an interval; else empty."""
        return few_rounds(self.rounds, self.min_s, self.q1_s, self.median_s, self.q3_s)

    @property
    def members(self) -> tuple[str, ...]:
        """Ids of the matrices that a case of several is of together, of one matrix none."""
        return tuple(filter(None, self.environment.get("matrices", "").split(", ")))

    def with_(self, **fields: Any) -> "Measurement[D]":
        """The same with some fields replaced, those of its details among them; raises TypeError on an unknown one."""
        own = {name: value for name, value in fields.items() if name in OWN}
        details = {name: value for name, value in fields.items() if name not in OWN}
        if details:
            own["details"] = dataclasses.replace(own.get("details", self.details), **details)
        return dataclasses.replace(self, **own)


def backend_of(measurement: Mapping[str, Any]) -> Backend:
    """Return the backend of a measurement as JSON.

    Of a record that does not say it: by the software that it names, else by the id of its device. Whoever knows that
    device, an import or a migration, says its backend instead.
    """
    if measurement.get("backend"):
        return cast(Backend, measurement["backend"])
    environment = measurement.get("environment", {}).keys()
    if environment & ON_GPU:
        return "cuda"
    return "cpu" if environment & ON_CPU or measurement["device"] == CPU else "cuda"


CPU = "cpu"
"""The id that a worker gives to the CPU of its host."""

ON_GPU = frozenset({"compute capability", "CUDA runtime", "cupy"})
ON_CPU = frozenset({"numba", "threads", "threading"})
"""What only the environments of one backend name."""

OWN = frozenset(f.name for f in dataclasses.fields(Measurement))
"""The fields that measurements of all studies have."""


@dataclass(frozen=True, slots=True)
class Trace:
    """Per-iteration arrays of a case; all arrays have the same length."""

    case: str = described("Name of the case, as in its measurement.")
    arrays: Mapping[str, tuple[float, ...]] = described(
        "Arrays by name. Of PageRank: `gamma`; `read` and `written`, in segments (0: values without segments); seconds "
        "of the phases `pull_s` (product, teleport, sums), `norm_s` (sums to γ and the next base), `scale_s` "
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


def measurement_from_json(fields: Mapping[str, Any], details: type[D] = Details) -> Measurement[D]:  # type: ignore[assignment]
    """The inverse of `as_json` for a Measurement; raises TypeError on unknown fields.

    details  those of its study; Details: what only that study says is left out
    """
    own = {} if details is Details else fields["details"]
    values = {name: tuple(value) if name == "samples_s" else value for name, value in fields.items()}
    return Measurement(**values | {"details": _from_json(details, own)})


def _from_json(cls: type[D], fields: Mapping[str, Any]) -> D:
    return cls(**{name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()})


def trace_from_json(fields: Mapping[str, Any]) -> Trace:
    """The inverse of `as_json` for a Trace."""
    return Trace(fields["case"], {name: tuple(values) for name, values in fields["arrays"].items()})


def profile_from_json(fields: Mapping[str, Any]) -> DeviceProfile:
    """The inverse of `as_json` for a DeviceProfile."""
    values = dict(fields)
    values["bandwidth"] = tuple(BandwidthPoint(**point) for point in values["bandwidth"])
    return DeviceProfile(**values)


def dumps(document: Any) -> str:
    """JSON text of a document of plain values; raises ValueError on NaN and infinity."""
    return json.dumps(document, allow_nan=False, ensure_ascii=False)
