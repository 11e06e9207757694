"""Recordings: files with reference results of a study on a device.

A recording has the measurements without raw samples, the traces, the study, the device with its profile, and the
matrices without their values. The release contains `recorded/<device>/<study>.json.gz`.
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
"""Kinds of sources of a matrix."""

RECORDED = Path(str(files("gpu_engine") / "recorded"))
"""Folder of the recordings of the release."""

ENDING = ".json.gz"
BYTES_MAX = 2_000_000
DOCUMENT_MAX = 2**24
"""Maximum number of bytes: BYTES_MAX of the file, DOCUMENT_MAX of the uncompressed document."""

PLAIN = (b"[", b"{")
"""First bytes of JSON that is not compressed."""

NAME_MAX = 200
"""Maximum number of characters of the name of a matrix or a device."""

DEVICE_MAX = 40
DEVICE = re.compile(rf"[a-z0-9][a-z0-9-]{{0,{DEVICE_MAX - 1}}}")
"""Pattern of the folder name of a device."""

FINGERPRINT = re.compile(r"[0-9a-f]{64}")
"""Pattern of a fingerprint: sha256 in hexadecimal."""


@dataclass(frozen=True, slots=True)
class MatrixRecord:
    """A matrix of a recording, without its values.

    id           id of the matrix in the measurements
    fingerprint  identifies the same matrix elsewhere; empty if the values are unknown
    features     named as in `gpu_engine.matrices.features`, None for non-finite ones
    source       source of the values: `generated(…)`, `collected(…)`, or `uploaded(…)`
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
    """Results of a study on a device.

    created_at  UTC, ISO 8601 with offset; empty if unknown
    device      device of the worker, such as `cuda:0`, as in the measurements
    """

    study: str
    created_at: str
    device: DeviceInfo
    profile: DeviceProfile | None
    matrices: tuple[MatrixRecord, ...]
    measurements: tuple[Measurement, ...]
    traces: tuple[Trace, ...] = ()


def generated(generator: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the source of a generated matrix with all parameters; raises ParameterError for invalid ones."""
    full = dataclasses.asdict(parse_params(find_generator(generator).Params, params))
    return {"kind": "generated", "generator": generator, "params": full}


def collected(name: str) -> dict[str, Any]:
    """Return the source of a matrix of the SuiteSparse Matrix Collection: `Group/Name`."""
    return {"kind": "collection", "name": name}


def uploaded(filename: str) -> dict[str, Any]:
    """Return the source of an uploaded matrix, which can be measured only with its file."""
    return {"kind": "upload", "filename": filename}


def kind_of(source: Mapping[str, Any]) -> SourceKind:
    """Return the kind of a source, typed so that unknown kinds are type errors."""
    return cast(SourceKind, source.get("kind"))


def describe(matrix_id: str, name: str, matrix: CsrMatrix, source: Mapping[str, Any]) -> MatrixRecord:
    """Return the record of a host matrix whose id in the measurements is `matrix_id`."""
    known = features.features(matrix)
    return MatrixRecord(matrix_id, name, fingerprint(matrix), matrix.n_rows, matrix.n_cols, matrix.nnz, known, source)


def write(path: Path, recording: Recording) -> int:
    """Write a recording of the release and return its size in bytes.

    Raises InputError and TooLargeError as `dump`, and InputError for a wrong path.
    """
    _refuse(_name(path), _about_place(path, recording))
    data = dump(recording, _name(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, data)
    return len(data)


def dump(recording: Recording, name: str) -> bytes:
    """Return the file of a recording without raw samples; equal recordings give equal files.

    name  name of the recording in messages

    Raises InputError for an inconsistent recording, TooLargeError above BYTES_MAX or DOCUMENT_MAX.
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
    """Return the earlier recording updated with a later one of the same study and device.

    Cases measured again keep their position, so that the rows of tables keep their order. Cases of a matrix that has
    changed since are left out.
    """
    fingerprints = {matrix.id: matrix.fingerprint for matrix in later.matrices}
    changed = {m.id for m in earlier.matrices if fingerprints.get(m.id, m.fingerprint) != m.fingerprint}
    unchanged = [measurement for measurement in earlier.measurements if measurement.matrix_id not in changed]
    gone = {m.case for m in earlier.measurements if m.matrix_id in changed} | {m.case for m in later.measurements}
    return dataclasses.replace(
        earlier,
        created_at=later.created_at,
        matrices=_joined(earlier.matrices, later.matrices, lambda matrix: matrix.id),
        measurements=_joined(unchanged, later.measurements, lambda measurement: measurement.case),
        traces=(*(trace for trace in earlier.traces if trace.case not in gone), *later.traces),
    )


def _joined(earlier: Iterable[T], later: Iterable[T], key: Callable[[T], Hashable]) -> tuple[T, ...]:
    return tuple({key(each): each for each in (*earlier, *later)}.values())


def read(path: Path) -> Recording:
    """Return the recording in a file of the release; raises InputError and TooLargeError as `load`."""
    recording = load(path.read_bytes(), _name(path))
    _refuse(_name(path), _about_place(path, recording))
    return recording


def load(data: bytes, name: str) -> Recording:
    """Return the recording in the bytes of a file: `document`, then `of`."""
    return of(document(data, name), name)


def document(data: bytes, name: str) -> Any:
    """Return the JSON in the bytes of a file, gzipped or plain; at most DOCUMENT_MAX bytes are uncompressed.

    name  name of the file in messages

    Raises InputError for invalid JSON, TooLargeError above BYTES_MAX or DOCUMENT_MAX.
    """
    _check_size(name, len(data), BYTES_MAX)
    is_plain = data.lstrip()[:1] in PLAIN
    try:
        text = data if is_plain else _unpacked(data)
        _check_size(name, len(text), DOCUMENT_MAX)
        return strict_json.loads(text)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        kind = "JSON" if is_plain else "gzipped JSON"
        raise InputError(f"{name} is not {kind}: {error}. Create it again.") from None


def of(content: Any, name: str) -> Recording:
    """Return the recording of a document; raises InputError if it is incomplete or inconsistent."""
    try:
        recording = parse(content)
    except (KeyError, TypeError, AttributeError, InputError) as error:
        raise InputError(f"{name} is not a recording: {_reason(error)} Create it again.") from None
    _refuse(name, _contradictions(recording))
    return recording


def _unpacked(data: bytes) -> bytes:
    with gzip.open(io.BytesIO(data)) as file:
        return file.read(DOCUMENT_MAX + 1)


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"{error} is missing."
    return str(error) if isinstance(error, InputError) else "a field has the wrong type."


def parse(document: Any) -> Recording:
    """Return the recording of a document; raises KeyError, TypeError, AttributeError, or InputError if invalid."""
    document = PRESENT.recording(document)
    name, profile = _text(document["study"]), document["profile"]
    details = study(name).details
    device = parse_params(DeviceInfo, document["device"])
    # Measurements of earlier releases have no backend; that of their device is used.
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
            f"{name}{unpacked} has {size} bytes; the limit is {most}. Record fewer matrices or kernels."
        )


def _refuse(name: str, findings: Iterable[str]) -> None:
    """Raise InputError with the first of the findings."""
    for finding in findings:
        raise InputError(f"{name}: {finding}")


def _about_place(path: Path, recording: Recording) -> Iterable[str]:
    known = study(recording.study).name
    if path.name != known + ENDING or not DEVICE.fullmatch(path.parent.name):
        yield f"its path must be <device>/{known}{ENDING}, with lowercase letters, digits, and dashes in <device>."


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
        yield f"created_at is {quote(recording.created_at)}; expected ISO 8601 with a UTC offset."
    if not 0 < len(recording.device.name) <= NAME_MAX:
        yield f"the name of the device has {len(recording.device.name)} characters; expected 1 to {NAME_MAX}."
    if recording.profile is not None and not (recording.profile.bandwidth and recording.profile.measured_at):
        yield "the profile has no bandwidth or no time. Use None for a device without a profile."


def _about_matrices(recording: Recording) -> Iterable[str]:
    for what in ("id", "fingerprint"):
        for value, times in Counter(getattr(matrix, what) for matrix in recording.matrices).items():
            if times > 1:
                yield f"{times} matrices have the {what} {quote(value)}. Record each matrix once."
    measured = {m.matrix_id for m in recording.measurements}
    for matrix in recording.matrices:
        if not FINGERPRINT.fullmatch(matrix.fingerprint):
            yield f"the fingerprint of {quote(matrix.id)} must be a sha256 in hexadecimal."
        if not 0 < len(matrix.name) <= NAME_MAX or min(matrix.n_rows, matrix.n_cols, matrix.nnz) < 0:
            yield f"{quote(matrix.id)} must have a name of 1 to {NAME_MAX} characters and no negative sizes."
        if matrix.id not in measured:
            yield f"{quote(matrix.id)} has no measurement. Remove the matrix."
        if not _is_source(matrix.source):
            yield f"the source of {quote(matrix.id)} must be a generator, a matrix of the collection, or a file."


def _is_source(source: Mapping[str, Any]) -> bool:
    """Return whether a source is valid; raises ParameterError for invalid parameters of a generator."""
    if kind_of(source) == "generated":
        return bool(generated(str(source.get("generator")), source.get("params", {})))
    key = {"collection": "name", "upload": "filename"}.get(kind_of(source), "")
    return isinstance(source.get(key), str)


def _about_measurements(recording: Recording) -> Iterable[str]:
    cases = Counter(m.case for m in recording.measurements)
    known, details = {matrix.id for matrix in recording.matrices}, study(recording.study).details
    for m in recording.measurements:
        if cases[m.case] > 1:
            yield f"the case {quote(m.case)} occurs {cases[m.case]} times."
        case = Case(m.matrix_id, m.kernel, m.cache, tuple(m.axes.items()))
        if m.matrix_id not in known:
            yield f"the matrix of the case {quote(m.case)} is not in the recording."
        if (m.case, m.format) != (case.key, case.format):
            yield f"the case {quote(m.case)} must be {quote(case.key)}, from its matrix, kernel, cache state, and axes."
        if m.study != recording.study or not isinstance(m.details, details):
            yield f"the case {quote(m.case)} is of the study {quote(m.study)}, or has details of another study."
        if m.device != recording.device.id:
            yield f"the case {quote(m.case)} was measured on {quote(m.device)}, not on {quote(recording.device.id)}."
        if m.backend != recording.device.backend:
            yield f"the case {quote(m.case)} ran on {m.backend}, its device on {recording.device.backend}."
        if (m.state in TIMED) != (m.median_s is not None and m.median_s > 0):
            yield f"the case {quote(m.case)} is {m.state} with the time {m.median_s}."
        if m.samples_s:
            yield f"the case {quote(m.case)} has raw samples, which recordings must not have."
    for trace in recording.traces:
        if trace.case not in cases:
            yield f"the trace {quote(trace.case)} has no measurement."


def _name(path: Path) -> str:
    """Return the name of a recording in messages."""
    return f"The recording {path.parent.name}/{path.name}"
