"""Each kernel's archive: its loader makes the same layout and the same launches as the engine, from its own text."""

import functools
import io
import runpy
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.errors import ParameterError
from gpu_engine.formats import FORMATS, coo, kernel_names
from gpu_engine.formats.base import Format, Kernel
from gpu_engine.standalone import archive, folder_of
from tests.battery import BATTERY
from tests.gpu_engine.formats.contract import suited
from tests.gpu_engine.launches import noted

KERNELS = [pytest.param(f, k, id=name) for f in FORMATS for name, k in f.kernels_on("cuda")]
UNEVEN = ("power_law", "empty_rows_and_columns")
LINES_MAX = 150

Calls = list[tuple[Any, ...]]


@functools.cache
def unzipped(name: str) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(archive(name))) as zipped:
        return {entry: zipped.read(entry).decode() for entry in zipped.namelist()}


def plain(argument: Any) -> Any:
    """What a launch was given, so that it can be compared."""
    if isinstance(argument, np.ndarray):
        return argument.dtype.str, argument.shape, argument.tobytes()
    return argument if isinstance(argument, str) else (type(argument).__name__, repr(argument))


def recorder(calls: Calls, name: str) -> Callable[..., None]:
    def launch(*arguments: Any, **named: Any) -> None:
        flat = [part for each in arguments for part in (each if isinstance(each, tuple) else (each,))]
        calls.append((name, *map(plain, flat), *map(plain, named.values())))

    return launch


class Vector(str):
    """In place of x and y, which only a GPU would read; to zero it is a call too."""

    calls: Calls
    nbytes = 8

    @property
    def data(self) -> Any:
        return SimpleNamespace(memset_async=lambda *_: self.calls.append(("zeroed", str(self))))


def launched(launch: Callable[[Any, Any], None], calls: Calls) -> Calls:
    x, y = Vector("x"), Vector("y")
    x.calls = y.calls = calls
    launch(x, y)
    return calls


def loaded(folder: Path, calls: Calls) -> dict[str, Any]:
    """The loader, with a compiler that notes what is launched, and a CuPy whose arrays are NumPy's."""
    namespace = runpy.run_path(str(folder / "kernel.py"))

    class Noted:
        def __init__(self, **_: Any) -> None: ...

        def get_function(self, name: str) -> Callable[..., None]:
            return recorder(calls, name)

    # What a run module returns is a copy of what its functions see.
    seen: dict[str, Any] = namespace["Operator"].__init__.__globals__
    seen["cupy"] = SimpleNamespace(RawModule=Noted)
    seen["csr_matrix"] = lambda matrix, dtype: matrix
    return namespace


def as_cupy_has_it(matrix: CsrMatrix) -> Any:
    arrays = {"indptr": matrix.indptr, "indices": matrix.indices, "data": matrix.values}
    return SimpleNamespace(shape=matrix.shape, has_canonical_format=True, **arrays)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """What the engine launches."""
    calls: Calls = []

    def note(name: str, blocks: int, threads: int, arguments: tuple[Any, ...], shared_mem: int) -> None:
        recorder(calls, name)((blocks,), (threads,), arguments, shared_mem=shared_mem)

    monkeypatch.setattr(CudaSource, "bound", noted(note))
    return calls


@pytest.mark.parametrize(("chosen", "kernel"), KERNELS)
@pytest.mark.parametrize("matrix", UNEVEN)
def test_a_loader_launches_what_the_engine_launches(
    chosen: Format, kernel: Kernel, matrix: str, engine: Calls, tmp_path: Path
) -> None:
    host, calls = suited(chosen, BATTERY[matrix]()), Calls()
    assert kernel.cuda is not None
    launched(kernel.cuda(chosen.from_csr(host)), engine)
    for entry, text in unzipped(chosen.name_of(kernel)).items():
        (tmp_path / entry.rpartition("/")[2]).write_text(text, encoding="utf-8")
    launched(loaded(tmp_path, calls)["Operator"](as_cupy_has_it(host)).launch, calls)
    assert calls == engine
    assert calls


def test_an_archive_holds_the_sources_and_a_test_and_is_the_same_again() -> None:
    files = unzipped("hyb/segmented")
    folder = "hyb-segmented"
    assert list(files) == [f"{folder}/{file}" for file in ("ell.cu", "coo.cu", "kernel.py", "test_kernel.py")]
    assert files[f"{folder}/coo.cu"] == coo.SOURCE.text
    assert "#include" not in files[f"{folder}/ell.cu"]
    compile(files[f"{folder}/test_kernel.py"], "test_kernel.py", "exec")
    assert archive("hyb/segmented") == archive("hyb/segmented")


def test_loaders_are_short() -> None:
    lines = {name: lines_of(name) for name in kernel_names("cuda")}
    long = {name for name, count in lines.items() if count >= LINES_MAX}
    # Two parts, and a code of values: to read one of these takes longer.
    of_parts = {"hyb", "hyb-mean", "packed", "sellp-packed", "cache-blocked", "propagation-blocked", "symmetric"}
    assert {name.partition("/")[0] for name in long} <= of_parts, lines


def lines_of(name: str) -> int:
    text = unzipped(name)[f"{folder_of(name)}/kernel.py"]
    return sum(bool(line.strip()) for line in text.splitlines())


def test_what_no_gpu_has_is_refused() -> None:
    with pytest.raises(ParameterError, match="There is no kernel 'csr/none'"):
        archive("csr/none")
