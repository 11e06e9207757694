"""Results of Ginkgo's benchmark `spmv`, as its JSON has them: a recording of a device that is not here.

It has one time a format: no rounds and no interval, no profile of the device, no cold products, no date, and of a
matrix neither values nor fingerprint. Whether its times are seconds or nanoseconds it does not say: their sizes do.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import PurePosixPath
from typing import Any, TypeVar

from gpu_engine.csr_matrix import compulsory_bytes
from gpu_engine.errors import InputError, ParameterError, quote
from gpu_engine.matrices.orders import GIVEN, ordered
from gpu_engine.parameters import parse_params
from gpu_engine.recordings.files import NAME_MAX, MatrixRecord, Recording, collected, uploaded
from gpu_engine.records import Case, DeviceInfo, Measurement
from gpu_engine.studies.formats.experiment import ProductDetails
from gpu_engine.verdicts.noise import BYTES_PER_NONZERO

T = TypeVar("T")

LIBRARY = "ginkgo"
KERNEL = re.compile(rf"{LIBRARY}/[a-z0-9_]{{1,40}}(\+[a-z0-9_]{{1,40}})?")
"""`ginkgo/csr`, `ginkgo/csr+rcm`: formats and orders are called as the benchmark calls them."""

UNITS: Mapping[str, float] = {"seconds": 1.0, "nanoseconds": 1e-9}
"""What Ginkgo's times are in → seconds: nanoseconds until the end of 2020, seconds since."""

RATES = (1e4, 3e13)
"""Bytes/s at which a product may move its compulsory bytes: no device is so slow, and the cache of none so fast.

In the wrong unit a time is off by 10⁹: there is little room for one that fits both.
"""

SHORTEST_S = 1e-8
"""Nothing is called in less."""

ERROR_MAX = 1e-10
"""Largest relative distance of a right product, in the 2-norm: fp64 errs by 10⁻¹⁵, fp32 by 10⁻⁷."""

MIXED = "_mixed"
"""In the names of formats that store their values in fewer bits."""

NOTE_MAX = 300
"""Most characters of a reason that are kept."""

GPU = "cuda:0"
"""What the device is called in the recording; the service has a name of its own for it."""

TIMES, BENCHMARK, EXECUTOR = "times", "benchmark", "executor"
"""Details of the device: the unit that was taken, whose benchmark it is, and what ran it there."""


@dataclass(frozen=True, slots=True)
class _Result:
    """What is said of a format; storage in bytes; max_relative_norm2 is None where it is no number."""

    completed: bool
    time: float | None = None
    storage: int = field(default=0, metadata={"ge": 0})
    repetitions: int | None = field(default=None, metadata={"ge": 1})
    max_relative_norm2: float | None = 0.0
    error: str = ""


@dataclass(frozen=True, slots=True)
class _Lengths:
    """What is said of the lengths of the rows."""

    min: int
    max: int
    mean: float
    variance: float = field(metadata={"ge": 0})


@dataclass(frozen=True, slots=True)
class _Matrix:
    """What is said of a matrix."""

    rows: int = field(metadata={"ge": 1})
    cols: int = field(metadata={"ge": 1})
    nonzeros: int = field(metadata={"ge": 1})
    group: str = ""
    name: str = ""
    filename: str = ""
    reorder: str = ""


@dataclass(frozen=True, slots=True)
class _Dataset:
    """What aggregated files say of the device."""

    system: str = ""
    executor: str = ""


@dataclass(frozen=True, slots=True)
class _Problem:
    """An item of the array; results: by kernel."""

    matrix: MatrixRecord
    results: Mapping[str, _Result]
    dataset: _Dataset

    @property
    def times(self) -> Iterator[tuple[str, float]]:
        """What has a time, in words, and the time as it stands there."""
        timed = ((kernel, r.time) for kernel, r in self.results.items() if r.completed and r.time)
        return ((f"{kernel} of {self.matrix.id}", time) for kernel, time in timed)

    @property
    def doubt(self) -> str:
        """Why none of its times is believed; empty where they are."""
        stored = [r.storage for kernel, r in self.results.items() if r.completed and r.storage and MIXED not in kernel]
        least, nnz = min(stored, default=math.inf), self.matrix.nnz
        if least >= BYTES_PER_NONZERO * nnz:
            return ""
        return (
            f"Refused: a format stores the matrix in {least:,} bytes, fewer than {BYTES_PER_NONZERO} for each of its "
            f"{nnz:,} nonzeros. Explicit zeros were left out, or the values are no fp64."
        )


def is_benchmark(document: Any) -> bool:
    """Whether a document is an array of items, as that of the benchmark is; a recording is none."""
    return isinstance(document, list) and bool(document)


def recording(document: Sequence[Any], name: str, device: str = "") -> Recording:
    """The recording of `formats` that such a document is: undated, its matrices without fingerprints.

    name    as messages call it
    device  what it was measured on, where the document does not say

    Raises InputError unless every item is of that form and all times are of one unit, ParameterError where nobody says
    what the device is.
    """
    problems = [_problem(entry, f"{name}, item {number}") for number, entry in enumerate(document)]
    unit = _unit(problems, name)
    matrices: dict[str, MatrixRecord] = {}
    for problem in problems:
        if matrices.setdefault(problem.matrix.id, problem.matrix) != problem.matrix:
            raise InputError(f"{name}: two matrices are called {quote(problem.matrix.id)}. Leave one of them out.")
    measurements = tuple(m for problem in problems for m in _measurements(problem, UNITS[unit]))
    case, times = Counter(m.case for m in measurements).most_common(1)[0]
    if times > 1:
        raise InputError(f"{name}: the case {quote(case)} is there {times} times. Leave all but one out.")
    measured = {m.matrix_id for m in measurements}
    kept = tuple(matrix for matrix in matrices.values() if matrix.id in measured)
    return Recording("formats", "", _device(problems, name, device, unit), None, kept, measurements)


def _known(cls: type[T], values: Any, where: str) -> T:
    """An instance from those of the values that it has fields for."""
    try:
        given = _object(values, where)
        return parse_params(cls, {f.name: given[f.name] for f in fields(cls) if f.name in given})  # type: ignore[arg-type]
    except ParameterError as error:
        raise InputError(f"{where}: {error} Expected what Ginkgo's benchmark spmv writes.") from None


def _object(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{where} is {quote(value)}; expected an object, as Ginkgo's benchmark spmv writes it.")
    return value


def _problem(entry: Any, where: str) -> _Problem:
    problem = _object(_object(entry, where).get("problem", {}), f"{where}, problem")
    # Newer files have the numbers of what was read beside the problem, older ones those of the collection in it.
    said = {**problem, **entry}
    matrix = _known(_Matrix, {"cols": said.get("columns"), **said}, where)
    order = GIVEN if matrix.reorder in ("", "natural") else matrix.reorder
    results = {
        ordered(f"{LIBRARY}/{each}", order): _result(result, f"{where}, spmv.{each}")
        for each, result in _object(entry.get("spmv", {}), f"{where}, spmv").items()
    }
    for kernel in results:
        if not KERNEL.fullmatch(kernel):
            raise InputError(f"{where}: {quote(kernel)} is not of small letters, digits and underscores.")
    lengths = said.get("row_distribution")
    spread = None if lengths is None else _known(_Lengths, lengths, f"{where}, row_distribution")
    return _Problem(_record(matrix, spread, where), results, _known(_Dataset, entry.get("dataset", {}), where))


def _result(value: Any, where: str) -> _Result:
    result = _known(_Result, value, where)
    if result.completed and not (result.time and result.time > 0):
        raise InputError(f"{where} is completed with the time {result.time}; expected one above 0.")
    return result


def _record(matrix: _Matrix, lengths: _Lengths | None, where: str) -> MatrixRecord:
    """Without a fingerprint, for its values were not read."""
    path = PurePosixPath(matrix.filename)
    if matrix.group and matrix.name:
        called, name = f"{matrix.group}/{matrix.name}", matrix.name
        source = collected(called)
    else:
        # The folders of a path say who has run it, and nothing of the matrix.
        called, name, source = path.name, path.stem, uploaded(path.name)
    if not 0 < len(called) <= NAME_MAX:
        raise InputError(
            f"{where}: its matrix has no group and name and no filename, or one of over {NAME_MAX} characters. "
            "Leave it out, as all that Ginkgo makes itself."
        )
    ave = matrix.nonzeros / matrix.rows
    features = {"n_rows": matrix.rows, "n_cols": matrix.cols, "nnz": matrix.nonzeros, "ave": ave}
    if lengths and math.isclose(lengths.mean, ave):
        spread = {"min": lengths.min, "max": lengths.max, "max_min": lengths.max - lengths.min}
        features |= spread | {"sigma": math.sqrt(lengths.variance)}
    return MatrixRecord(called, name, "", matrix.rows, matrix.cols, matrix.nonzeros, features, source)


def _unit(problems: Sequence[_Problem], name: str) -> str:
    """What all times are in, by the bytes that their products move."""
    found = {what: (time, _fitting(time, p.matrix)) for p in problems for what, time in p.times}
    if not found:
        raise InputError(f"{name} has no time of a product: nothing of spmv is there, or was completed.")
    for what, (time, fitting) in found.items():
        if not fitting:
            raise InputError(f"{name}: {what} has the time {time:g}; for its bytes no unit makes it one. Leave it out.")
    common = set(UNITS).intersection(*(fitting for _, fitting in found.values()))
    if not common:
        said = (next(f"{what} ({time:g}) in {u}" for what, (time, own) in found.items() if own == {u}) for u in UNITS)
        raise InputError(f"{name} has times of two units, by their bytes: {', '.join(said)}. Import them apart.")
    if len(common) > 1:
        raise InputError(f"{name}: its times fit seconds as well as nanoseconds. Import it with more matrices.")
    return common.pop()


def _fitting(time: float, matrix: MatrixRecord) -> set[str]:
    """The units in which a product of the matrix may take that long."""
    moved, (slowest, fastest) = compulsory_bytes(matrix.n_rows, matrix.n_cols, matrix.nnz), RATES
    seconds = {unit: time * factor for unit, factor in UNITS.items()}
    return {u for u, s in seconds.items() if s >= SHORTEST_S and slowest * s <= moved <= fastest * s}


def _device(problems: Sequence[_Problem], name: str, device: str, unit: str) -> DeviceInfo:
    """What nobody has said of its memory and cache is 0."""
    said = {problem.dataset for problem in problems}
    if len(said) > 1:
        systems = ", ".join(sorted(quote(each.system) for each in said))
        raise InputError(f"{name} has results of several devices: {systems}. Import those of each by themselves.")
    (dataset,) = said
    called = dataset.system or device
    if not called:
        raise ParameterError(f"{name} does not say what it was measured on; give the device a name, such as a100.")
    details = {BENCHMARK: "Ginkgo, spmv", TIMES: f"taken as {unit}", EXECUTOR: dataset.executor}
    shown = {key: value for key, value in details.items() if value}
    return DeviceInfo(GPU, "cuda", called[:NAME_MAX], 0, 0, details=shown)


def _measurements(problem: _Problem, factor: float) -> Iterator[Measurement[ProductDetails]]:
    for kernel, result in problem.results.items():
        case, reason = Case(problem.matrix.id, kernel, "warm"), _failure(result) or problem.doubt
        if reason or not result.time:
            yield Measurement.of(case, GPU, ProductDetails, "failed", backend="cuda", note=reason)
            continue
        seconds = result.time * factor
        products = f" of {result.repetitions:,} products" if result.repetitions else ""
        yield Measurement.of(
            case,
            GPU,
            ProductDetails,
            backend="cuda",
            median_s=seconds,
            gflops=2 * problem.matrix.nnz / seconds / 1e9,
            stored_bytes=result.storage or None,
            note=f"One time{products}, as Ginkgo's benchmark gives it: no rounds, no interval.",
        )


def _failure(result: _Result) -> str:
    """Why there is no time, or it is not that of a right product; empty where there is one."""
    if not result.completed:
        return result.error[:NOTE_MAX] or "Ginkgo's benchmark did not complete it, and says no reason."
    error = result.max_relative_norm2
    if error is None or error > ERROR_MAX:
        distance = "is no number" if error is None else f"is {error:.2g}"
        return f"The product is not right: its relative distance from the expected one {distance}."
    return ""
