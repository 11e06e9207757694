"""Records of call overhead and of complete solves: the time of user code, in addition to the records of studies."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gpu_engine.errors import InputError
from gpu_engine.host.whole_files import write_whole
from gpu_engine.parameters import parse_params
from gpu_engine.records import DeviceInfo, MatrixInfo, as_json, dumps

NAME = "calls"
"""Name of the benchmark, next to those of studies."""

FILE = f"{NAME}.json"


@dataclass(frozen=True, slots=True)
class CallTimes:
    """Seconds of an SpMV or SpMM of one matrix by a library or an operator; None with the reason in `note`.

    name      `sparsight/predict`, `sparsight/measure`, `cupy`, `cusparse/csr_alg1` …
    kernel    kernel that the operator chose
    made_s    one-time preparation: choice of the kernel, conversion, compilation
    cold_s    time on the device, cold, replayed as a CUDA graph; warm_s: back to back
    host_s    time of the host per call, over many calls in a row
    whole_s   time of one call, from an idle device to its result
    versions  versions of the library
    columns   columns of X of an SpMM, row major; None for an SpMV
    """

    matrix_id: str
    name: str
    kernel: str = ""
    made_s: float | None = None
    cold_s: float | None = None
    warm_s: float | None = None
    host_s: float | None = None
    whole_s: float | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    columns: int | None = None


@dataclass(frozen=True, slots=True)
class SolveTimes:
    """Seconds of a solve by SciPy or CuPy, with the matrix of the library or with an operator.

    name      `own matrix`, `sparsight/predict`, `sparsight/measure`
    kernel    kernel that the operator chose
    made_s    one-time creation of the operator; solve_s: time of a solve without it
    products  number of SpMVs of the solve
    residual  ‖b − A·x‖ / ‖b‖, computed by SciPy
    """

    matrix_id: str
    solver: str
    name: str
    kernel: str = ""
    made_s: float | None = None
    solve_s: float | None = None
    products: int | None = None
    residual: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class CallsRecording:
    """Recording of the calls and solves on a device.

    created_at   UTC, ISO 8601 with the offset
    environment  versions, driver and device, as in records of studies
    matrices     matrices of the calls; systems: matrices of the solves
    """

    created_at: str
    device: DeviceInfo
    environment: Mapping[str, str]
    matrices: tuple[MatrixInfo, ...]
    systems: tuple[MatrixInfo, ...]
    calls: tuple[CallTimes, ...]
    solves: tuple[SolveTimes, ...]


def write(path: Path, recording: CallsRecording) -> int:
    """Write the file and return its bytes."""
    data = dumps(as_json(recording)).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, data)
    return len(data)


def read(path: Path) -> CallsRecording:
    """Return the recording of a file; raise InputError if it is invalid."""
    try:
        return parse_params(CallsRecording, json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError, InputError) as error:
        raise InputError(f"{path} is not a valid record of calls: {error} Measure it again.") from None
