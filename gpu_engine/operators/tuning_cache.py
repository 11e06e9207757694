"""Tuning cache: results of auto-tuning runs on disk, one file per matrix pattern, device, and kernel sources."""

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
    """Return the key of an auto-tuning run of a host matrix, from its pattern and the width of its packed values.

    kernels  kernels of the run; a change of their sources changes the key
    across   whether the run includes the kernel that shares the arrays of the transpose
    """
    sources = [f"{name}={find_kernel(name)[1].source_hash(device.backend)}" for name in kernels]
    packed = value_bytes(*pack_values(matrix.values))
    identity = [pattern_fingerprint(matrix), device.name, device.backend, str(threads), str(across), str(packed)]
    return digest("\n".join([*identity, *sources]))


def read(key: str) -> dict[str, Any] | None:
    """Return the result of an auto-tuning run; None if there is none or its file cannot be read."""
    folder = _folder()
    with suppress(OSError, ValueError):
        result = json.loads((folder / f"{key}.json").read_text(encoding="utf-8")) if folder else None
        return result if isinstance(result, dict) else None
    return None


def write(key: str, result: dict[str, Any]) -> bool:
    """Store the result of an auto-tuning run; return False if the data directory is not writable."""
    folder, text = _folder(), json.dumps(result)
    if folder is None:
        return False
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / f"{key}.json", text)
    except OSError:
        return False
    return True


def _folder() -> Path | None:
    directory = home()
    return directory / FOLDER if directory else None
