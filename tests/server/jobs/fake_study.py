"""A study whose cases do what a test asks: block until told, kill their process, raise, carry a trace."""

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import DeviceLostError, KernelError
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import Finding
from gpu_engine.measure import Bench
from gpu_engine.parameters import parameter
from gpu_engine.records import (
    BACKENDS,
    BandwidthPoint,
    Case,
    Details,
    DeviceInfo,
    DeviceProfile,
    MatrixInfo,
    Measurement,
    Progress,
    Record,
    Started,
    Trace,
)

CPU = DeviceInfo("cpu", "cpu", "A CPU of the tests", 2**30, 2**20)


@dataclass(frozen=True, slots=True)
class FakeParams:
    """What the cases do; cases are numbered from 0.

    folder  where a process writes `log` (a line `PID CASE` per case begun), finds `hold-N`, and fills `surroundings`
            if that is there
    """

    folder: str = parameter("", "Folder of the test.")
    n_cases: int = parameter(4, "Cases per matrix.", ge=0)
    killed: int = parameter(-1, "The case that kills its process.")
    segfault: int = parameter(-1, "The case that crashes.")
    lost: int = parameter(-1, "The case that breaks its device.")
    raises: int = parameter(-1, "The case after which the study raises.")
    pause_s: float = parameter(0.0, "Length of a case.", ge=0.0)
    dies_outside: bool = parameter(False, "The process ends before any case.")


@dataclass(frozen=True, slots=True)
class FakeDetails(Details):
    """A fake study says nothing of its own."""

    study: ClassVar[str] = "fake"


class FakeStudy:
    """Measures nothing: every median is the number of the case plus one."""

    name = "fake"
    details = FakeDetails
    question = "Does the queue do what it says?"
    several = False
    backends = BACKENDS
    Params = FakeParams

    def findings(self, data: StudyData) -> tuple[Finding, ...]:
        """Nothing may be said of it."""
        return ()

    def names(self, backend: str) -> Mapping[str, tuple[str, ...]]:
        return {}

    def refusal(self, matrix: MatrixInfo) -> str:
        return ""

    def cases(self, params: FakeParams, matrices: Sequence[MatrixInfo], device: DeviceInfo) -> Iterator[Case]:
        return (Case(matrix.id, f"fake/k{i}", "warm") for matrix in matrices for i in range(params.n_cases))

    def estimate_s(self, params: FakeParams, matrices: Sequence[MatrixInfo], device: DeviceInfo) -> float:
        return 10.0

    def run(
        self, params: FakeParams, todo: Sequence[Case], matrices: Mapping[str, CsrMatrix], bench: Bench
    ) -> Iterator[Record]:
        if (surroundings := Path(params.folder) / "surroundings").exists():
            look(surroundings)
        if params.dies_outside:
            os.kill(os.getpid(), signal.SIGKILL)
        yield DeviceProfile("cpu", CPU.name, 2**20, (BandwidthPoint(2**20, 1e9, 1e9),), "2026-01-01T00:00:00+00:00")
        for done, case in enumerate(todo):
            number = int(case.kernel.removeprefix("fake/k"))
            yield Started(case.key)
            self._act(params, number)
            yield Progress(done + 0.5, f"case {number}")
            yield Trace(case.key, {"residual": (1.0, 0.1)})
            yield Measurement.of(case, "cpu", FakeDetails, median_s=number + 1.0)
            if number == params.raises:
                raise KernelError("the fake study fails after this case")

    def _act(self, params: FakeParams, number: int) -> None:
        folder = Path(params.folder)
        with (folder / "log").open("a") as log:
            log.write(f"{os.getpid()} {number}\n")
        while (folder / f"hold-{number}").exists():
            threading.Event().wait(0.01)
        threading.Event().wait(params.pause_s)
        if number == params.killed:
            os.kill(os.getpid(), signal.SIGKILL)
        if number == params.segfault:
            os.kill(os.getpid(), signal.SIGSEGV)
        if number == params.lost:
            raise DeviceLostError("an illegal access broke the context")


def look(file: Path) -> None:
    """Writes down from where this process imports, where it works and what it lets others do with its files."""
    umask = os.umask(0o777)
    os.umask(umask)
    file.write_text(json.dumps({"path": sys.path, "folder": str(Path.cwd()), "umask": umask}))


FAKE = (FakeStudy(),)
