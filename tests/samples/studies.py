"""Records of any study by its name: something of everything that its page shows."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from gpu_engine.host.device import find_device
from gpu_engine.measure import Bench, open_bench
from gpu_engine.records import Backend, BandwidthPoint, DeviceProfile, MatrixInfo, Measurement, Trace
from gpu_engine.studies import study
from tests.battery import BATTERY
from tests.samples.batched import copies, mixed
from tests.samples.formats import study_of
from tests.samples.pagerank import luxembourg, ran
from tests.samples.reduced_spmv import every
from tests.samples.scaling import shared
from tests.samples.seeded import every as every_seeded
from tests.samples.solvers import every as every_solve
from tests.samples.solvers import traced
from tests.samples.spmm import every as every_spmm

FAST = DeviceProfile("cpu", "test", 2**20, (BandwidthPoint(2**28, 1e13, 1e13),), "")
"""A profile so fast that no real time can be under a floor."""


def opened(profile: DeviceProfile = FAST, layout_bytes: int = 0) -> AbstractContextManager[Bench]:
    """This CPU, open for measuring, with a cache so small that a cold turn takes no time."""
    return open_bench(dataclasses.replace(find_device("cpu"), cache_bytes=2**20), profile, layout_bytes)


Records = tuple[list[Measurement], list[Trace]]


def records_of(name: str, matrices: Sequence[str], device: str = "cpu") -> Records:
    """Made-up records of the study of these matrices; of a study without such samples measured ones."""
    return SAMPLES[name](matrices, device) if name in SAMPLES else _measured(name, tuple(matrices), device)


@functools.cache
def _measured(name: str, matrices: Sequence[str], device: str) -> Records:
    """What the study finds with its defaults on this CPU, under the name of that device."""
    host, chosen = BATTERY["band"](), study(name)
    infos = [MatrixInfo(matrix, matrix, host.n_rows, host.n_cols, host.nnz) for matrix in matrices]
    params = chosen.Params()
    with opened() as bench:
        cases = tuple(chosen.cases(params, infos, bench.device))
        found = list(chosen.run(params, cases, dict.fromkeys(matrices, host), bench))
    backend: Backend = "cuda" if device.startswith("cuda") else "cpu"
    measured = [m for m in found if isinstance(m, Measurement)]
    own = [dataclasses.replace(m, device=device, backend=backend, samples_s=()) for m in measured]
    return own, [trace for trace in found if isinstance(trace, Trace)]


def _products(matrices: Sequence[str], device: str) -> Records:
    return [m for matrix in matrices for m in study_of(matrix, device)], []


def _runs(matrices: Sequence[str], device: str) -> Records:
    """With the paper's kernels beside one of the fused ones."""
    unfused = [
        ran("csr/thread+unfused-fp64", 113, 0.2, matrix, device, link_counts=(400, 300, 200)) for matrix in matrices
    ]
    found = [run for matrix in matrices for run in luxembourg(device, matrix)] + unfused
    measurements = [run if isinstance(run, Measurement) else run[0] for run in found]
    return measurements, [run[1] for run in found if isinstance(run, tuple)]


def _batches(matrices: Sequence[str], device: str) -> Records:
    """Copies of each matrix in two sizes, and all mixed."""
    alone = [m for matrix in matrices for size in (10, 1000) for m in copies(matrix, device, size)]
    return [*alone, *mixed(*matrices, device=device)], []


def _works(matrices: Sequence[str], device: str) -> Records:
    return [m for matrix in matrices for m in shared(matrix, device)], []


def _in_segments(matrices: Sequence[str], device: str) -> Records:
    return [m for matrix in matrices for m in every(matrix, device)], []


def _solves(matrices: Sequence[str], device: str) -> Records:
    """With the residuals of those that have some."""
    found = [m for matrix in matrices for m in every_solve(matrix, device)]
    return found, [traced(m) for m in found if m.details.tolerance is None]


def _columns(matrices: Sequence[str], device: str) -> Records:
    return [m for matrix in matrices for m in every_spmm(matrix, device)], []


def _of_seeds(matrices: Sequence[str], device: str) -> Records:
    return [m for matrix in matrices for m in every_seeded(matrix, device)], []


SAMPLES: dict[str, Callable[[Sequence[str], str], Records]] = {
    "formats": _products,
    "pagerank": _runs,
    "batched": _batches,
    "scaling": _works,
    "reduced_spmv": _in_segments,
    "spmm": _columns,
    "solvers": _solves,
    "seeded": _of_seeds,
}
