"""Calls of other libraries on a GPU: by value, where the library is installed; and what is measured of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpu_engine.competitors.library_calls import LIBRARY_CALLS, LibraryCall
from gpu_engine.errors import ParameterError
from gpu_engine.generators import generate
from gpu_engine.gpu_bench import calls, solves
from gpu_engine.measure import Bench, open_bench
from gpu_engine.records import DeviceInfo
from gpu_engine.verify import check, reference
from tests.battery import BATTERY

ON_GPU = [library for library in LIBRARY_CALLS if "cuda" in library.backends]


@pytest.fixture
def bench(gpu: DeviceInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setenv("SPARSIGHT_HOME", str(tmp_path))
    with open_bench(gpu) as opened:
        yield opened


@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
@pytest.mark.parametrize("library", ON_GPU, ids=lambda library: library.name)
@pytest.mark.parametrize("name", ["band", "power_law", "wide"])
@pytest.mark.parametrize("columns", [None, 8])
def test_a_library_multiplies(bench: Bench, library: LibraryCall, name: str, columns: int | None) -> None:
    host = BATTERY[name]()
    expected = reference(host, k=columns)
    try:
        call = library.bind(bench.stopwatch.upload(host), bench.xp.asarray(expected.x))
    except ParameterError as error:
        pytest.skip(error.message)
    for _ in range(2):
        y = call()
        # A library may leave a stream of its own current, on which nobody has waited for the product.
        bench.stopwatch.take_back()
        bench.stopwatch.synchronize()
        check(expected, bench.xp.asarray(y).get())
    assert all(library.versions().values())


def test_calls_of_a_matrix_of_blocks_have_times(bench: Bench) -> None:
    host = generate("fem", {"block": 3, "nx": 8, "ny": 8, "nz": 8})
    for times in calls.measure("fem", host, bench, 3):
        of_cusparse = times.name.startswith("cusparse/")
        assert times.host_s or " is not installed (" in times.note or " has no SpMVOp. " in times.note, times
        if times.host_s and (of_cusparse or times.name.startswith(calls.OURS)):
            assert times.cold_s, times
            assert times.warm_s, times
        if times.host_s and of_cusparse:
            assert times.versions["cuSPARSE"]


@pytest.mark.parametrize("group", ["definite", "unsymmetric"])
def test_solves_converge(bench: Bench, group: str) -> None:
    system: Any = solves.system(generate("stencil", {"points": 5, "nx": 60, "ny": 50}), group)
    for times in solves.measure("plane", group, system, bench):
        assert times.note == ""
        assert times.solve_s
        assert (times.residual or 1.0) < 2 * solves.RTOL
