"""Recordings: the results of a study on a device, as a file that says them to whoever does not have that device.

It has measurements without raw samples, traces, the study, the device, its profile, and of each matrix everything but
the values. Those that come with the product lie in `recorded/<device>/<study>.json.gz`.
"""

import dataclasses
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from gpu_engine.csr_matrix import CsrMatrix, fingerprint
from gpu_engine.errors import InputError, TooLargeError, quote
from gpu_engine.former_names import PRESENT
from gpu_engine.generators import find_generator
from gpu_engine.host import strict_json
from gpu_engine.host.whole_files import write_whole
from gpu_engine.matrices import features
from gpu_engine.parameters import parse_params
from gpu_engine.records import (
    TIMED,
    Case,
    DeviceInfo,
    DeviceProfile,
    Measurement,
    Trace,
    as_json,
    dumps,
)
from gpu_engine.studies import study
from gpu_engine.studies.results import SCHEMA

T = TypeVar("T")

SourceKind = Literal["upload", "generated", "collection"]
"""Where the values of a matrix come from."""

RECORDED = Path(str(files("gpu_engine") / "recorded"))
"""The recordings that come with the product."""

ENDING = ".json.gz"
BYTES_MAX = 2_000_000
DOCUMENT_MAX = 2**24
"""Most bytes of the document in the file."""

PLAIN = (b"[", b"{")
"""How JSON begins that is not gzipped."""

NAME_MAX = 200
"""Most characters of the name of a matrix or a device."""

DEVICE_MAX = 40
DEVICE = re.compile(rf"[a-z0-9][a-z0-9-]{{0,{DEVICE_MAX - 1}}}")
"""What a recorded device is called."""

FINGERPRINT = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class MatrixRecord:
    """A matrix of a recording: everything but its values.

    id           what the measurements call it
    fingerprint  joins the results with the same matrix elsewhere; empty where nobody has read the values
    features     as `gpu_engine.matrices.features` names them, None for what is not finite
    source       where its values come from: `generated(…)`, `collected(…)` or `uploaded(…)`
    """

    id: str
    name: str
    fingerprint: str
    n_rows: int
    n_cols: int
    nnz: int
    features: Mapping[str, Any] = field(default_factory=dict)
    source: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recording:
    """What a study found on a device.

    created_at  UTC, ISO 8601 with the offset; empty where nobody has said
    device      as the worker knew it, `cuda:0` …; the measurements name the same
    """

    study: str
    created_at: str
    device: DeviceInfo
    profile: DeviceProfile | None
    matrices: tuple[MatrixRecord, ...]
    measurements: tuple[Measurement, ...]
    traces: tuple[Trace, ...] = ()


def generated(generator: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """The source of a generated matrix, defaults filled in; raises ParameterError for a call that is none."""
    full = dataclasses.asdict(parse_params(find_generator(generator).Params, params))
    return {"kind": "generated", "generator": generator, "params": full}


def collected(name: str) -> dict[str, Any]:
    """The source of a matrix of the SuiteSparse Matrix Collection: `Group/Name`."""
    return {"kind": "collection", "name": name}


def uploaded(filename: str) -> dict[str, Any]:
    """The source of a matrix that only whoever has its file can measure."""
    return {"kind": "upload", "filename": filename}


def kind_of(source: Mapping[str, Any]) -> SourceKind:
    """What a source is; whoever reads one asks here, so that a kind that nobody writes is a type error."""
    return cast(SourceKind, source.get("kind"))


def describe(matrix_id: str, name: str, matrix: CsrMatrix, source: Mapping[str, Any]) -> MatrixRecord:
    """The record of a host matrix that the measurements call `matrix_id`."""
    found = features.features(matrix)
    return MatrixRecord(matrix_id, name, fingerprint(matrix), matrix.n_rows, matrix.n_cols, matrix.nnz, found, source)


def write(path: Path, recording: Recording) -> int:
    """Writes a recording that comes with the product and returns its bytes.

    Raises InputError and TooLargeError as `dump`, and for a path that is not that of its study.
    """
    _refuse(_name(path), _about_place(path, recording))
    data = dump(recording, _name(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, data)
    return len(data)


def dump(recording: Recording, name: str) -> bytes:
    """The file of a recording, without raw samples; the same recording gives the same file.

    name  as messages call it

    Raises InputError for a recording that contradicts itself, TooLargeError past BYTES_MAX or DOCUMENT_MAX.
    """
    recording = dataclasses.replace(
        recording, measurements=tuple(dataclasses.replace(m, samples_s=()) for m in recording.measurements)
    )
    _refuse(name, _contradictions(recording))
    document = dumps({"schema": SCHEMA} | as_json(recording)).encode()
    _check_size(name, len(document), DOCUMENT_MAX)
    data = gzip.compress(document, mtime=0)
    _check_size(name, len(data), BYTES_MAX)
    return data


def joined(earlier: Recording, later: Recording) -> Recording:
    """The earlier recording with what a later one of the same study and device measured, anew or for the first time.

    What is measured anew keeps its place, so that a table changes where a figure does.
    """
    cases = {measurement.case for measurement in later.measurements}
    return dataclasses.replace(
        earlier,
        created_at=later.created_at,
        matrices=_joined(earlier.matrices, later.matrices, lambda matrix: matrix.id),
        measurements=_joined(earlier.measurements, later.measurements, lambda measurement: measurement.case),
        traces=(*(trace for trace in earlier.traces if trace.case not in cases), *later.traces),
    )


def _joined(earlier: Iterable[T], later: Iterable[T], key: Callable[[T], Hashable]) -> tuple[T, ...]:
    return tuple({key(each): each for each in (*earlier, *later)}.values())


def read(path: Path) -> Recording:
    """The recording of a file of the product; raises InputError and TooLargeError as `load`."""
    recording = load(path.read_bytes(), _name(path))
    _refuse(_name(path), _about_place(path, recording))
    return recording


def load(data: bytes, name: str) -> Recording:
    """The recording in the bytes of a file; `document` and `of` one after the other."""
    return of(document(data, name), name)


def document(data: bytes, name: str) -> Any:
    """The JSON in the bytes of a file, gzipped or plain; no more than DOCUMENT_MAX of it are unpacked.

    name  as messages call it

    Raises InputError for what is no JSON, TooLargeError past BYTES_MAX or DOCUMENT_MAX.
    """
    _check_size(name, len(data), BYTES_MAX)
    is_plain = data.lstrip()[:1] in PLAIN
    try:
        text = data if is_plain else _unpacked(data)
        _check_size(name, len(text), DOCUMENT_MAX)
        return strict_json.loads(text)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        kind = "JSON" if is_plain else "gzipped JSON"
        raise InputError(f"{name} is not {kind}: {error}. Write it again.") from None


def of(found: Any, name: str) -> Recording:
    """The recording that a document is; raises InputError unless it is whole and consistent."""
    try:
        recording = parse(found)
    except (KeyError, TypeError, AttributeError, InputError) as error:
        raise InputError(f"{name} does not hold a recording: {_reason(error)} Write it again.") from None
    _refuse(name, _contradictions(recording))
    return recording


def _unpacked(data: bytes) -> bytes:
    with gzip.open(io.BytesIO(data)) as file:
        return file.read(DOCUMENT_MAX + 1)


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"{error} is missing."
    return str(error) if isinstance(error, InputError) else "a part of it has another type than expected."


def parse(document: Any) -> Recording:
    """The recording of a document; KeyError, TypeError, AttributeError or InputError where it is none."""
    document = PRESENT.recording(document)
    name, profile = _text(document["study"]), document["profile"]
    details = study(name).details
    device = parse_params(DeviceInfo, document["device"])
    # Measurements of an earlier release do not say the backend, which their device does.
    measurements = ({"backend": device.backend, **entry} for entry in document["measurements"])
    return Recording(
        name,
        _text(document["created_at"]),
        device,
        None if profile is None else parse_params(DeviceProfile, profile),
        tuple(parse_params(MatrixRecord, entry) for entry in document["matrices"]),
        tuple(parse_params(Measurement, entry, details=details) for entry in measurements),
        tuple(parse_params(Trace, entry) for entry in document["traces"]),
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _check_size(name: str, size: int, most: int) -> None:
    if size > most:
        unpacked = ", unpacked," if most == DOCUMENT_MAX else ""
        raise TooLargeError(
            f"{name}{unpacked} has {size} bytes; a recording has at most {most}. Record fewer matrices or kernels."
        )


def _refuse(name: str, findings: Iterable[str]) -> None:
    """Raises InputError naming the first thing that was found."""
    for finding in findings:
        raise InputError(f"{name}: {finding}")


def _about_place(path: Path, recording: Recording) -> Iterable[str]:
    known = study(recording.study).name
    if path.name != known + ENDING or not DEVICE.fullmatch(path.parent.name):
        yield f"a recording of {known} lies in <device>/{known}{ENDING}, <device> of small letters, digits, dashes."


def _contradictions(recording: Recording) -> Iterable[str]:
    yield from _about_device(recording)
    yield from _about_matrices(recording)
    yield from _about_measurements(recording)


def _about_device(recording: Recording) -> Iterable[str]:
    try:
        zone = datetime.fromisoformat(recording.created_at).tzinfo
    except ValueError:
        zone = None
    if zone is None:
        yield f"created_at is {quote(recording.created_at)}; expected ISO 8601 with the offset from UTC."
    if not 0 < len(recording.device.name) <= NAME_MAX:
        yield f"the name of the device has {len(recording.device.name)} characters; 1 to {NAME_MAX} were expected."
    if recording.profile is not None and not (recording.profile.bandwidth and recording.profile.measured_at):
        yield "the profile has no bandwidth, or no time; give None where the device has no profile."


def _about_matrices(recording: Recording) -> Iterable[str]:
    for what in ("id", "fingerprint"):
        for value, times in Counter(getattr(matrix, what) for matrix in recording.matrices).items():
            if times > 1:
                yield f"{times} matrices have the {what} {quote(value)}; each is recorded once."
    measured = {m.matrix_id for m in recording.measurements}
    for matrix in recording.matrices:
        if not FINGERPRINT.fullmatch(matrix.fingerprint):
            yield f"the fingerprint of {quote(matrix.id)} is no sha256 in hexadecimal."
        if not 0 < len(matrix.name) <= NAME_MAX or min(matrix.n_rows, matrix.n_cols, matrix.nnz) < 0:
            yield f"{quote(matrix.id)} has a name of 1 to {NAME_MAX} characters, and counts from 0 on."
        if matrix.id not in measured:
            yield f"there is no measurement of {quote(matrix.id)}; leave the matrix out."
        if not _is_source(matrix.source):
            yield f"the source of {quote(matrix.id)} is no generator's call, matrix of the collection or file."


def _is_source(source: Mapping[str, Any]) -> bool:
    """Whether one of the functions above gives such a source; raises ParameterError for a call that is none."""
    if kind_of(source) == "generated":
        return bool(generated(str(source.get("generator")), source.get("params", {})))
    said = {"collection": "name", "upload": "filename"}.get(kind_of(source), "")
    return isinstance(source.get(said), str)


def _about_measurements(recording: Recording) -> Iterable[str]:
    cases = Counter(m.case for m in recording.measurements)
    known, details = {matrix.id for matrix in recording.matrices}, study(recording.study).details
    for m in recording.measurements:
        if cases[m.case] > 1:
            yield f"the case {quote(m.case)} is there {cases[m.case]} times."
        case = Case(m.matrix_id, m.kernel, m.cache, tuple(m.axes.items()))
        if m.matrix_id not in known:
            yield f"the case {quote(m.case)} is of no matrix of the recording."
        if (m.case, m.format) != (case.key, case.format):
            yield f"the case {quote(m.case)} is not {quote(case.key)}, as its matrix, kernel, cache state and axes say."
        if m.study != recording.study or not isinstance(m.details, details):
            yield f"the case {quote(m.case)} is of the study {quote(m.study)}, or has not the details of this one."
        if m.device != recording.device.id:
            yield f"the case {quote(m.case)} was measured on {quote(m.device)}, not on {quote(recording.device.id)}."
        if m.backend != recording.device.backend:
            yield f"the case {quote(m.case)} ran on {m.backend}, its device on {recording.device.backend}."
        if (m.state in TIMED) != (m.median_s is not None and m.median_s > 0):
            yield f"the case {quote(m.case)} is {m.state} with the time {m.median_s}."
        if m.samples_s:
            yield f"the case {quote(m.case)} has raw samples; a recording has none."
    for trace in recording.traces:
        if trace.case not in cases:
            yield f"the trace {quote(trace.case)} is of no case that was measured."


def _name(path: Path) -> str:
    """A recording as messages call it."""
    return f"The recording {path.parent.name}/{path.name}"
