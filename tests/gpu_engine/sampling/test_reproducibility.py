"""Reproducibility: runs and second builds that give other bits are told from those that do not."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.formats.base import Format, Kernel
from gpu_engine.host.device import find_device
from gpu_engine.measure import Bench, open_bench
from gpu_engine.measure.cpu import CpuStopwatch
from gpu_engine.records import BandwidthPoint, Case, DeviceProfile, Measurement
from gpu_engine.sampling import reproducibility
from gpu_engine.sampling.reproducibility import REPLAYS, REPLAYS_MIN, SECOND_BYTES, SECOND_S, compared
from gpu_engine.sampling.run import measure
from gpu_engine.studies.formats.experiment import ProductDetails, Products, SamplingPlan
from tests.battery import BATTERY


@dataclass
class Built:
    """A layout that knows the number of its build, and how often it was multiplied with."""

    matrix: CsrMatrix
    build: int
    stored_bytes: int = 64
    runs: Any = field(default_factory=itertools.count)


def made(name: str, off: Callable[[Built], bool]) -> Format:
    """A format whose kernel rounds every element up where `off` says so of the layout it multiplies with."""
    builds = itertools.count()

    def multiply(layout: Built, x: Any, y: Any) -> None:
        exact = layout.matrix.to_scipy() @ x
        y[...] = np.nextafter(exact, np.inf) if off(layout) else exact

    kernel = Kernel("plain", "", cpu=multiply)
    return Format(name, name, "", lambda matrix: matrix.stored_bytes, lambda m: Built(m, next(builds)), (kernel,))


FORMATS = (
    made("steady", lambda layout: False),
    made("alternating", lambda layout: next(layout.runs) % 2 == 1),
    made("rebuilt", lambda layout: layout.build % 2 == 1),
)


PROFILE = DeviceProfile("cpu", "test", 2**20, (BandwidthPoint(2**28, 1e13, 1e13),), "")


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    """The CPU, on which no time is impossible."""
    with open_bench(find_device("cpu"), PROFILE) as opened:
        yield opened


@pytest.fixture
def records(bench: Bench) -> dict[str, Measurement[ProductDetails]]:
    """What the study says of the kernels of FORMATS, by format."""
    cases = [Case("m", f"{f.name}/plain", "warm") for f in FORMATS]
    plan = SamplingPlan(("warm",), 9, "steady/plain", 0.0)
    found = measure(bench, [Products(plan, cases, BATTERY["band"](), bench, FORMATS)])
    return {m.format: m for m in found if isinstance(m, Measurement)}


def test_runs_and_builds_that_differ_are_told_apart(records: dict[str, Measurement[ProductDetails]]) -> None:
    said = {
        name: (m.state, m.details.bitwise_reproducible, m.details.reproducible_rebuild) for name, m in records.items()
    }
    assert said == {
        "steady": ("ok", True, True),
        # Whose runs differ has nothing to say of its layout.
        "alternating": ("ok", False, None),
        "rebuilt": ("ok", True, False),
    }
    assert {name: m.details.is_reproducible for name, m in records.items()} == {
        "steady": True,
        "alternating": False,
        "rebuilt": False,
    }
    assert all(REPLAYS_MIN <= (m.details.replays or 0) <= REPLAYS for m in records.values())


class Clock(CpuStopwatch):
    """A stopwatch that says how long a run took."""

    def __init__(self, seconds: float) -> None:
        super().__init__(find_device("cpu"))
        self.seconds = seconds

    def time_once(self, work: Callable[[], Any]) -> tuple[Any, float]:
        """The result, and the seconds that were made up."""
        return work(), self.seconds


@pytest.mark.parametrize(
    ("seconds", "replays"), [(1e-5, REPLAYS), (reproducibility.REPLAYS_S / 10, 10), (2.0, REPLAYS_MIN)]
)
def test_a_slow_kernel_is_run_less_often(seconds: float, replays: int) -> None:
    calls: list[int] = []
    x, y = np.ones(3), np.arange(3.0)

    def launch(x: Any, out: Any) -> None:
        calls.append(1)
        out[...] = y * x

    found = compared(Clock(seconds), x, y, launch, None)
    assert found == {"replays": replays, "bitwise_reproducible": True, "reproducible_rebuild": None}
    assert len(calls) == replays


def test_the_last_run_counts_too_and_so_does_the_sign_of_zero() -> None:
    runs = itertools.count(1)

    def launch(x: Any, out: Any) -> None:
        out[...] = -0.0 if next(runs) == REPLAYS else 0.0

    found = compared(Clock(1e-6), np.ones(2), np.zeros(2), launch, None)
    assert found["bitwise_reproducible"] is False


def test_an_element_that_a_later_run_leaves_out_is_seen() -> None:
    y = np.arange(4.0)

    def launch(x: Any, out: Any) -> None:
        out[:3] = y[:3]

    assert compared(Clock(1e-6), np.ones(4), y, launch, None)["bitwise_reproducible"] is False


@pytest.mark.parametrize(
    ("peak_bytes", "seconds", "is_built"),
    [(SECOND_BYTES, SECOND_S, True), (SECOND_BYTES + 1, 0.0, False), (0, 2 * SECOND_S, False)],
)
def test_a_large_or_slow_layout_is_built_once(peak_bytes: int, seconds: float, is_built: bool) -> None:
    assert reproducibility.is_built_twice({"convert_peak_bytes": peak_bytes, "convert_s": seconds}) == is_built
