"""Measuring process: a Ray task that runs one study and streams its records. It does not access the database."""

import faulthandler
import importlib
import os
import pickle
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpu_engine.csr_matrix import CsrMatrix
    from gpu_engine.records import Case, DeviceInfo, DeviceProfile, Record
    from gpu_engine.studies.base import Study
    from server.store import Store


WARM = ("gpu_engine.measure", "gpu_engine.studies", "server.store")
"""Modules that a process imports before it gets its task."""


@dataclass(frozen=True)
class StudyTask:
    """Task of a process, pickled by the dispatcher.

    todo          the missing cases
    layout_bytes  maximum memory of one layout; 0: half of the device's memory
    cluster_groups  as in Settings
    crash_file    file in which the process writes the signal that killed it, if it can
    stop_file     exists after the job was asked to stop after its round
    """

    study: "Study"
    params: Any
    todo: "tuple[Case, ...]"
    matrix_ids: tuple[str, ...]
    store: str
    device: "DeviceInfo"
    profile: "DeviceProfile | None"
    layout_bytes: int
    crash_file: Path
    stop_file: Path
    cluster_groups: int = 0


@dataclass(frozen=True)
class Hello:
    """First value of a process."""

    pid: int


@dataclass(frozen=True)
class Failure:
    """Last value of a process whose study raised an error.

    lost   its device context is broken
    hosts  hosts that a cluster has lost
    """

    code: str
    detail: str
    lost: bool = False
    trace: str = ""
    hosts: tuple[str, ...] = ()


class StoredMatrices(Mapping[str, "CsrMatrix"]):
    """Matrices of the job, memory-mapped when first used."""

    def __init__(self, store: "Store", ids: tuple[str, ...]) -> None:
        self._store = store
        self._ids = ids
        self._loaded: dict[str, CsrMatrix] = {}

    def __getitem__(self, matrix_id: str) -> "CsrMatrix":
        if matrix_id not in self._ids:
            raise KeyError(matrix_id)
        if matrix_id not in self._loaded:
            self._loaded[matrix_id] = self._store.load(matrix_id)
        return self._loaded[matrix_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)


def warm_up() -> int:
    """Import what every study needs except CuPy, for the next study of this process, and return the process id."""
    for module in WARM:
        importlib.import_module(module)
    return os.getpid()


def run_study(gpu_uuid: str, pickled: bytes) -> "Iterator[Hello | Record | Failure]":
    """Run the pickled StudyTask on the GPU with this UUID (empty: no GPU), and yield its records."""
    yield Hello(os.getpid())
    # Before CuPy can be imported: unpickling the task may import it.
    os.environ["CUDA_VISIBLE_DEVICES"] = gpu_uuid
    task: StudyTask = pickle.loads(pickled)
    task.crash_file.parent.mkdir(parents=True, exist_ok=True)
    with task.crash_file.open("w") as crash:
        faulthandler.enable(crash, all_threads=False)
        yield from _measure(task)
        faulthandler.disable()


def _measure(task: StudyTask) -> "Iterator[Record | Failure]":
    from gpu_engine.errors import DeviceLostError, HostLostError, SparsightError
    from gpu_engine.measure import open_bench
    from server.jobs.cluster import join_cluster
    from server.store import Store

    store = Store(task.store)
    matrices = StoredMatrices(store, task.matrix_ids)
    try:
        cluster = join_cluster(task.device, store, task.cluster_groups) if task.device.hosts else None
        with open_bench(task.device, task.profile, task.layout_bytes, cluster, task.stop_file.exists) as bench:
            try:
                yield from task.study.run(task.params, task.todo, matrices, bench)
            except DeviceLostError as error:
                yield Failure(error.code, error.message, lost=True)
                # Closing a broken context can hang, and the process ends anyway.
                os._exit(1)
    except DeviceLostError as error:
        yield Failure(error.code, error.message, lost=True)
    except HostLostError as error:
        yield Failure(error.code, error.message, hosts=error.hosts)
    except SparsightError as error:
        yield Failure(error.code, error.message)
    except Exception as error:
        yield Failure("internal", f"{type(error).__name__} in the study: {error}"[:500], trace=traceback.format_exc())
