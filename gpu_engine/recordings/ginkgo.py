"""Import of the JSON of Ginkgo's benchmark `spmv` as reference results.

The file has a single timing per format: no rounds, confidence intervals, device profile, cold SpMV, or date, and no
values or fingerprints of matrices. The unit (seconds or nanoseconds) is not stated; it follows from the sizes.
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
"""Library part of the kernel names."""
KERNEL = re.compile(rf"{LIBRARY}/[a-z0-9_]{{1,40}}(\+[a-z0-9_]{{1,40}})?")
"""Pattern of kernel names such as `ginkgo/csr` and `ginkgo/csr+rcm`, with the names of the benchmark."""

UNITS: Mapping[str, float] = {"seconds": 1.0, "nanoseconds": 1e-9}
"""Unit of Ginkgo's times → seconds: nanoseconds until the end of 2020, seconds since then."""

RATES = (1e4, 3e13)
"""Plausible range of compulsory bytes per second: slower than any device, faster than any cache.

A wrong unit changes a time by 10⁹, so that a time rarely fits both units.
"""

SHORTEST_S = 1e-8
"""Least plausible time of an SpMV in seconds."""

ERROR_MAX = 1e-10
"""Largest relative error (2-norm) of a correct SpMV: the error of fp64 is about 10⁻¹⁵, of fp32 10⁻⁷."""

MIXED = "_mixed"
"""Mark in the names of formats that store values in fewer bits."""

NOTE_MAX = 300
"""Maximum number of characters of a stored reason."""

GPU = "cuda:0"
"""Device id in the recording; the service replaces it."""

TIMES, BENCHMARK, EXECUTOR = "times", "benchmark", "executor"
"""Keys of the device details: assumed unit, benchmark, and executor."""


@dataclass(frozen=True, slots=True)
class _Result:
    """Result of a format; storage in bytes; max_relative_norm2 is None if it is not a number."""

    completed: bool
    time: float | None = None
    storage: int = field(default=0, metadata={"ge": 0})
    repetitions: int | None = field(default=None, metadata={"ge": 1})
    max_relative_norm2: float | None = 0.0
    error: str = ""


@dataclass(frozen=True, slots=True)
class _Lengths:
    """Statistics of the row lengths."""

    min: int
    max: int
    mean: float
    variance: float = field(metadata={"ge": 0})


@dataclass(frozen=True, slots=True)
class _Matrix:
    """Fields of a matrix."""

    rows: int = field(metadata={"ge": 1})
    cols: int = field(metadata={"ge": 1})
    nonzeros: int = field(metadata={"ge": 1})
    group: str = ""
    name: str = ""
    filename: str = ""
    reorder: str = ""


@dataclass(frozen=True, slots=True)
class _Dataset:
    """Fields of the device in aggregated files."""

    system: str = ""
    executor: str = ""


@dataclass(frozen=True, slots=True)
class _Problem:
    """An item of the array; results by kernel."""

    matrix: MatrixRecord
    results: Mapping[str, _Result]
    dataset: _Dataset

    @property
    def times(self) -> Iterator[tuple[str, float]]:
        """(name of a result, time in the file's unit) of all completed results."""
        timed = ((kernel, r.time) for kernel, r in self.results.items() if r.completed and r.time)
        return ((f"{kernel} of {self.matrix.id}", time) for kernel, time in timed)

    @property
    def doubt(self) -> str:
        """Why the times of the item are rejected; empty if they are accepted."""
        stored = [r.storage for kernel, r in self.results.items() if r.completed and r.storage and MIXED not in kernel]
        least, nnz = min(stored, default=math.inf), self.matrix.nnz
        if least >= BYTES_PER_NONZERO * nnz:
            return ""
        return (
            f"Rejected: a format stores the matrix in {least:,} bytes, fewer than {BYTES_PER_NONZERO} bytes for each "
            f"of its {nnz:,} nonzeros. Explicit zeros were dropped, or the values are not fp64."
        )


def is_benchmark(document: Any) -> bool:
    """Return whether a document has the form of the benchmark (an array of items), unlike a recording."""
    return isinstance(document, list) and bool(document)


def recording(document: Sequence[Any], name: str, device: str = "") -> Recording:
    """Return the `formats` recording of a Ginkgo document, without a date and without fingerprints of matrices.

    name    name of the document in messages
    device  name of the device, if the document does not contain it

    Raises InputError if an item has another form or the times have several units, and ParameterError if the device is
    unknown.
    """
    problems = [_problem(entry, f"{name}, item {number}") for number, entry in enumerate(document)]
    unit = _unit(problems, name)
    matrices: dict[str, MatrixRecord] = {}
    for problem in problems:
        if matrices.setdefault(problem.matrix.id, problem.matrix) != problem.matrix:
            raise InputError(f"{name}: two matrices have the name {quote(problem.matrix.id)}. Remove one of them.")
    measurements = tuple(m for problem in problems for m in _measurements(problem, UNITS[unit]))
    case, times = Counter(m.case for m in measurements).most_common(1)[0]
    if times > 1:
        raise InputError(f"{name}: the case {quote(case)} occurs {times} times. Keep only one.")
    measured = {m.matrix_id for m in measurements}
    measured_matrices = tuple(matrix for matrix in matrices.values() if matrix.id in measured)
    return Recording("formats", "", _device(problems, name, device, unit), None, measured_matrices, measurements)


def _known(cls: type[T], values: Any, where: str) -> T:
    """Return an instance from the values for which the class has fields."""
    try:
        given = _object(values, where)
        return parse_params(cls, {f.name: given[f.name] for f in fields(cls) if f.name in given})  # type: ignore[arg-type]
    except ParameterError as error:
        raise InputError(f"{where}: {error} Expected the output of Ginkgo's benchmark spmv.") from None


def _object(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{where} is {quote(value)}; expected an object, as Ginkgo's benchmark spmv writes it.")
    return value


def _problem(entry: Any, where: str) -> _Problem:
    problem = _object(_object(entry, where).get("problem", {}), f"{where}, problem")
    # Newer files store the numbers of the matrix next to the problem, older ones those of the collection inside it.
    values = {**problem, **entry}
    matrix = _known(_Matrix, {"cols": values.get("columns"), **values}, where)
    order = GIVEN if matrix.reorder in ("", "natural") else matrix.reorder
    results = {
        ordered(f"{LIBRARY}/{each}", order): _result(result, f"{where}, spmv.{each}")
        for each, result in _object(entry.get("spmv", {}), f"{where}, spmv").items()
    }
    for kernel in results:
        if not KERNEL.fullmatch(kernel):
            raise InputError(f"{where}: {quote(kernel)} may only have lowercase letters, digits, and underscores.")
    distribution = values.get("row_distribution")
    spread = None if distribution is None else _known(_Lengths, distribution, f"{where}, row_distribution")
    return _Problem(_record(matrix, spread, where), results, _known(_Dataset, entry.get("dataset", {}), where))


def _result(value: Any, where: str) -> _Result:
    result = _known(_Result, value, where)
    if result.completed and not (result.time and result.time > 0):
        raise InputError(f"{where} is completed, but its time is {result.time}. Expected a time above 0.")
    return result


def _record(matrix: _Matrix, lengths: _Lengths | None, where: str) -> MatrixRecord:
    """Return the record of a matrix without a fingerprint, because its values are unknown."""
    path = PurePosixPath(matrix.filename)
    if matrix.group and matrix.name:
        called, name = f"{matrix.group}/{matrix.name}", matrix.name
        source = collected(called)
    else:
        # Only the file name is kept: the folders of a path name the user who ran the benchmark.
        called, name, source = path.name, path.stem, uploaded(path.name)
    if not 0 < len(called) <= NAME_MAX:
        raise InputError(
            f"{where}: the matrix has no group, name, or filename, or a name of over {NAME_MAX} characters. "
            "Remove it, like all matrices that Ginkgo generates."
        )
    ave = matrix.nonzeros / matrix.rows
    features = {"n_rows": matrix.rows, "n_cols": matrix.cols, "nnz": matrix.nonzeros, "ave": ave}
    if lengths and math.isclose(lengths.mean, ave):
        spread = {"min": lengths.min, "max": lengths.max, "max_min": lengths.max - lengths.min}
        features |= spread | {"sigma": math.sqrt(lengths.variance)}
    return MatrixRecord(called, name, "", matrix.rows, matrix.cols, matrix.nonzeros, features, source)


def _unit(problems: Sequence[_Problem], name: str) -> str:
    """Return the unit of all times, from the bytes that each SpMV moves."""
    timed = {what: (time, _fitting(time, p.matrix)) for p in problems for what, time in p.times}
    if not timed:
        raise InputError(f"{name} has no timing of an SpMV: spmv is missing, or nothing was completed.")
    for what, (time, fitting) in timed.items():
        if not fitting:
            raise InputError(f"{name}: the time {time:g} of {what} is implausible in every unit. Remove it.")
    common = set(UNITS).intersection(*(fitting for _, fitting in timed.values()))
    if not common:
        examples = (
            next(f"{what} ({time:g}) in {u}" for what, (time, fit) in timed.items() if fit == {u}) for u in UNITS
        )
        raise InputError(f"{name} has times in two units: {', '.join(examples)}. Import them separately.")
    if len(common) > 1:
        raise InputError(f"{name}: the times may be seconds or nanoseconds. Import it together with more matrices.")
    return common.pop()


def _fitting(time: float, matrix: MatrixRecord) -> set[str]:
    """Return the units in which the time of an SpMV with the matrix is plausible."""
    moved, (slowest, fastest) = compulsory_bytes(matrix.n_rows, matrix.n_cols, matrix.nnz), RATES
    seconds = {unit: time * factor for unit, factor in UNITS.items()}
    return {u for u, s in seconds.items() if s >= SHORTEST_S and slowest * s <= moved <= fastest * s}


def _device(problems: Sequence[_Problem], name: str, device: str, unit: str) -> DeviceInfo:
    """Return the device; its memory and cache sizes are unknown, and therefore 0."""
    datasets = {problem.dataset for problem in problems}
    if len(datasets) > 1:
        systems = ", ".join(sorted(quote(each.system) for each in datasets))
        raise InputError(f"{name} has results of several devices: {systems}. Import each device separately.")
    (dataset,) = datasets
    called = dataset.system or device
    if not called:
        raise ParameterError(f"{name} does not name its device. Give the device a name, such as a100.")
    details = {BENCHMARK: "Ginkgo, spmv", TIMES: f"assumed to be {unit}", EXECUTOR: dataset.executor}
    known = {key: value for key, value in details.items() if value}
    return DeviceInfo(GPU, "cuda", called[:NAME_MAX], 0, 0, details=known)


def _measurements(problem: _Problem, factor: float) -> Iterator[Measurement[ProductDetails]]:
    for kernel, result in problem.results.items():
        case, reason = Case(problem.matrix.id, kernel, "warm"), _failure(result) or problem.doubt
        if reason or not result.time:
            yield Measurement.of(case, GPU, ProductDetails, "failed", backend="cuda", note=reason)
            continue
        seconds = result.time * factor
        repetitions = f" of {result.repetitions:,} SpMVs" if result.repetitions else ""
        yield Measurement.of(
            case,
            GPU,
            ProductDetails,
            backend="cuda",
            median_s=seconds,
            gflops=2 * problem.matrix.nnz / seconds / 1e9,
            stored_bytes=result.storage or None,
            note=f"Single timing{repetitions} by Ginkgo's benchmark, without rounds and confidence interval.",
        )


def _failure(result: _Result) -> str:
    """Return why there is no valid time; empty if there is one."""
    if not result.completed:
        return result.error[:NOTE_MAX] or "Not completed by Ginkgo's benchmark, which gives no reason."
    error = result.max_relative_norm2
    if error is None or error > ERROR_MAX:
        distance = "not a number" if error is None else f"{error:.2g}"
        return f"Wrong result: the relative error of y is {distance} (limit {ERROR_MAX:g})."
    return ""
