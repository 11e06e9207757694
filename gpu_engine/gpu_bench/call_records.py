"""What calls and solves take: records beside those of studies, for what users write instead of what kernels do."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gpu_engine.errors import InputError
from gpu_engine.host.whole_files import write_whole
from gpu_engine.parameters import parse_params
from gpu_engine.records import DeviceInfo, MatrixInfo, as_json, dumps

NAME = "calls"
"""What the benchmark is called, beside those of studies."""

FILE = f"{NAME}.json"


@dataclass(frozen=True, slots=True)
class CallTimes:
    """Seconds of a product of one matrix by one library, or by an operator; None with a `note` that says why.

    name      `sparsight/predict`, `sparsight/measure`, `cupy`, `cusparse/csr_alg1` …
    kernel    that the operator chose
    made_s    to make what multiplies, once: choosing, converting, compiling
    cold_s    of the device, captured and replayed; warm_s  the same, back to back
    host_s    of the host to hand a call over, many in a row
    whole_s   of one call, from an idle device to its answer
    versions  of the library
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


@dataclass(frozen=True, slots=True)
class SolveTimes:
    """Seconds in which a solver of SciPy or CuPy solves one system, with its own matrix or with an operator of it.

    name      `own matrix`, `sparsight/predict`, `sparsight/measure`
    kernel    that the operator chose
    made_s    to make the operator, once; solve_s  of a solve, without that
    products  of the matrix with a vector in it
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
    """What was measured on a device.

    created_at   UTC, ISO 8601 with the offset
    environment  versions, driver, device: as records of studies have them
    matrices     of the calls; systems  of the solves
    """

    created_at: str
    device: DeviceInfo
    environment: Mapping[str, str]
    matrices: tuple[MatrixInfo, ...]
    systems: tuple[MatrixInfo, ...]
    calls: tuple[CallTimes, ...]
    solves: tuple[SolveTimes, ...]


def write(path: Path, recording: CallsRecording) -> int:
    """Writes the file and returns its bytes."""
    data = dumps(as_json(recording)).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, data)
    return len(data)


def read(path: Path) -> CallsRecording:
    """The recording of a file; raises InputError where it is none."""
    try:
        return parse_params(CallsRecording, json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError, InputError) as error:
        raise InputError(f"{path} holds no record of calls: {error} Measure it again.") from None
