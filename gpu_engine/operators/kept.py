"""What trials found, on disk: a file for each matrix pattern, device and state of the kernels."""

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from gpu_engine.csr_matrix import CsrMatrix, pattern_fingerprint
from gpu_engine.cuda.load import digest
from gpu_engine.formats import find_kernel
from gpu_engine.formats.packing import pack_values, value_bytes
from gpu_engine.host.caches import home
from gpu_engine.host.whole_files import write_whole
from gpu_engine.records import DeviceInfo

FOLDER = "choices"


def key_of(matrix: CsrMatrix, device: DeviceInfo, kernels: Iterable[str], threads: int, across: bool) -> str:
    """The name of a trial's file: of a host matrix, by its pattern and the bytes that packing leaves of its values.

    kernels  those of the trial: a change of the source of any of them is another trial
    across   whether the trial had the kernel that shares the arrays of the transpose
    """
    sources = [f"{name}={find_kernel(name)[1].source_hash(device.backend)}" for name in kernels]
    packed = value_bytes(*pack_values(matrix.values))
    said = [pattern_fingerprint(matrix), device.name, device.backend, str(threads), str(across), str(packed)]
    return digest("\n".join([*said, *sources]))


def read(key: str) -> dict[str, Any] | None:
    """What a trial found; None where there was none, or its file cannot be read."""
    folder = _folder()
    with suppress(OSError, ValueError):
        found = json.loads((folder / f"{key}.json").read_text(encoding="utf-8")) if folder else None
        return found if isinstance(found, dict) else None
    return None


def write(key: str, found: dict[str, Any]) -> bool:
    """Keeps what a trial found; False where the home cannot be written, and the next process tries again."""
    folder, text = _folder(), json.dumps(found)
    if folder is None:
        return False
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / f"{key}.json", text)
    except OSError:
        return False
    return True


def _folder() -> Path | None:
    found = home()
    return found / FOLDER if found else None
