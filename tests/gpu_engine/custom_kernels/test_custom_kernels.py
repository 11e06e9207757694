"""Custom kernels in the rounds beside what the archive shows: floors, large matrices, orders, launches."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpu_engine.cuda.load import CudaSource, digest
from gpu_engine.custom_kernels import CustomCudaKernel, CustomKernel
from gpu_engine.custom_kernels.adapters import State
from gpu_engine.custom_kernels.timing_checks import PAUSES_S, TimingChecks
from gpu_engine.errors import KernelError, plain
from gpu_engine.host.device import find_device
from gpu_engine.measure import Bench, cpu, open_bench
from gpu_engine.records import BandwidthPoint, Cache, DeviceProfile
from gpu_engine.text import units
from tests.battery import BATTERY, coo
from tests.gpu_engine.custom_kernels.rounds import measured
from tests.gpu_engine.formats.test_launch import Vector
from tests.gpu_engine.launches import noted
from tests.samples.studies import FAST

SLOW = DeviceProfile("cpu", "test", 2**20, (BandwidthPoint(2**28, 1e6, 1e6),), "")
"""So slow that every real time is under a floor."""

SCIPY = "lambda state, x, y: y.__setitem__(slice(None), state @ x)"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setattr(cpu, "SAMPLE_S", 4e-4)
    with open_bench(dataclasses.replace(find_device("cpu"), cache_bytes=2**18), FAST) as opened:
        yield opened


def written(folder: Path, *lines: str) -> str:
    """A reference to KERNEL in a file of these lines."""
    head = "import numpy as np\nfrom gpu_engine.custom_kernels import CustomKernel\n"
    (folder / "own.py").write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
    return f"{folder}/own.py:KERNEL"


def test_a_time_under_the_floor_of_an_entry_s_bytes_is_refused(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = written(tmp_path, f"KERNEL = CustomKernel(lambda m: m.to_scipy(), {SCIPY})")
    with open_bench(bench.device, SLOW) as slow:
        monkeypatch.setattr(slow.stopwatch, "bandwidth", lambda _: (1e6, 1e6))
        m = measured(slow, BATTERY["band"](), [own])["custom:own/kernel", "warm"]
    nnz, n_rows = BATTERY["band"]().nnz, 1000
    assert m.state == "failed"
    assert f"memory bandwidth allows ({plain(units.seconds(0.9 * (12 * nnz + 8 * n_rows) / 1e6))})" in m.note


def test_one_row_of_a_million_is_found(bench: Bench, tmp_path: Path) -> None:
    own = written(
        tmp_path,
        "def multiply(state, x, y):",
        "    y[:] = state @ x",
        "    y[777_777] *= 1 + 1e-12",
        "KERNEL = CustomKernel(lambda m: m.to_scipy(), multiply)",
    )
    places = np.arange(10**6)
    matrix = coo(10**6, 10**6, places, places, np.ones(10**6))
    m = measured(bench, matrix, [own], ("csr/scalar",))["custom:own/kernel", "cold"]
    assert m.note.startswith("Wrong result: row 777777 is ")
    assert "1 of 1000000 rows are off" in m.note


def test_what_a_layout_needs_is_asked_before_it_is_made(bench: Bench, tmp_path: Path) -> None:
    own = written(
        tmp_path,
        f"KERNEL = CustomKernel(lambda m: exit(3), {SCIPY}, bytes_needed=lambda m: 10**15)",
    )
    m = measured(bench, BATTERY["band"](), [own])["custom:own/kernel", "cold"]
    assert (m.state, m.note.split(" of memory")[0]) == ("skipped", "needs 1,000,000 GB")


def test_a_file_that_cannot_be_imported_says_where(bench: Bench, tmp_path: Path) -> None:
    m = measured(bench, BATTERY["band"](), [written(tmp_path, "", "nothing")])["custom:own/kernel", "cold"]
    assert m.note == "It failed while it was imported, line 4: NameError: name 'nothing' is not defined"


def test_a_record_says_what_was_measured(bench: Bench, tmp_path: Path) -> None:
    own = written(tmp_path, f"KERNEL = CustomKernel(lambda m: m.to_scipy(), {SCIPY})")
    m = measured(bench, BATTERY["band"](), [own])["custom:own/kernel", "warm"]
    assert (m.state, m.format, m.environment["custom_kernel"]) == ("ok", "custom:own", "own.py:KERNEL")
    assert len(m.environment["source"]) == 16
    assert m.stored_bytes == BATTERY["band"]().stored_bytes
    assert m.max_error is not None
    assert m.details.convert_s is not None


def evidence(claimed: float, watched: float, changed: float) -> TimingChecks:
    found = TimingChecks("cpu")
    found.claimed["warm"] += [claimed, claimed, 9 * claimed]
    found.watched["warm"] += [watched] * 3 + [9 * watched]
    found.changed["warm"] += [changed] * 3 + [9 * changed]
    return found


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds slept, of which no time passes."""
    slept = list[float]()
    monkeypatch.setattr("gpu_engine.custom_kernels.timing_checks.time.sleep", slept.append)
    return slept


def test_ten_more_audits_are_made_and_no_more_than_it_takes(pauses: list[float]) -> None:
    """Calls that are a quarter of all and fast enough speak for it."""
    own, made = evidence(1.0, 1.0, 1.6), list[str]()

    def audit(cache: Cache) -> None:
        made.append(cache)
        own.changed[cache].append(1.6 if len(made) < 4 else 1.0)

    own.verify(audit)
    assert made == ["warm"] * 6
    assert pauses == [*PAUSES_S[:6]]
    made.clear()
    with pytest.raises(KernelError, match=r"1.60\ss with a new x before each call, but 1.00\ss with the same x"):
        evidence(1.0, 1.0, 1.6).verify(made.append)
    assert made == ["warm"] * 10
    # Another process that took the cores meanwhile has seconds to go.
    assert 2 < sum(pauses[6:]) < 5


def test_a_clock_that_lies_contradicts_the_referee_s(pauses: list[float]) -> None:
    with pytest.raises(KernelError, match=r"1.00\ss by an independent clock, but 100\sms by the clock of the rounds"):
        evidence(0.1, 1.0, 1.0).verify(lambda cache: None)


@pytest.mark.parametrize("seconds", [(1.0, 1.4, 1.4), (1.0, 0.1, 0.1), (1e-6, 4e-6, 4e-6)])
def test_what_differs_little_or_is_faster_is_no_evidence(seconds: tuple[float, float, float]) -> None:
    evidence(*seconds).verify(lambda cache: pytest.fail("another audit"))


def test_a_kernel_of_cuda_is_launched_with_its_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    launched: list[Any] = []

    def bound(source: CudaSource, name: str, *arguments: Any) -> Any:
        assert (source.text, source.instantiations) == ("source", ("spmv<32>",))
        # Nothing says that it waits for the kernel before it.
        assert arguments[-1] is False
        return noted(lambda _, *launch: launched.append(launch[:3]))(source, name, *arguments)

    monkeypatch.setattr(CudaSource, "bound", bound)
    matrix = BATTERY["band"]()
    own = CustomCudaKernel("source", "spmv<32>", threads=128, threads_per_row=32, clears=True).as_format("custom:a/b")
    layout = own.from_csr(matrix)
    x, y = (Vector(name, launched, matrix.n_rows) for name in "xy")
    own.kernels[0].bound("cuda", layout)(x, y)
    cleared, (blocks, threads, arguments) = launched
    assert cleared == ("memset", "y", 0, 8 * matrix.n_rows)
    assert (blocks, threads) == (250, 128)
    assert arguments == (np.int32(1000), matrix.indptr, matrix.indices, matrix.values, x, y)
    assert layout.stored_bytes == matrix.stored_bytes
    assert own.kernels[0].source_hash("cuda") == digest("source")


def test_arrays_of_a_state_are_counted_once() -> None:
    array = np.zeros(10)
    found = State({"a": array, "b": [array, (np.zeros(5, np.int32),)], "c": CustomKernel(print, print)})
    assert found.stored_bytes == 100
