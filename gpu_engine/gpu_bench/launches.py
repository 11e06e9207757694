"""Benchmark the launch parameters of the slot formats: slots in flight and threads per block.

The constants AHEAD and BLOCK of the format modules come from it, so that all formats are tuned in the same way. Run it
as `python -m gpu_engine.gpu_bench.launches`.
"""

import argparse
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np

from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats import FORMATS, biell, ell, ellr, jad, pellr
from gpu_engine.formats.base import Format
from gpu_engine.gpu_bench.benchmark_matrices import SUBJECTS, Subject
from gpu_engine.gpu_bench.matrix_cache import MatrixCache
from gpu_engine.host.device import find_device
from gpu_engine.measure import Bench, open_bench

AHEAD, BLOCK = (1, 2, 4, 8), (64, 128, 256, 512)
"""Values to try."""

MODULES: Mapping[str, ModuleType] = {
    "ell": ell,
    "ellr": ellr,
    "jad": jad,
    "biell": biell,
    "bijad": biell,
    "pellr": pellr,
    "pellr-sliced": pellr,
}
"""Module with the constants of each format."""

MATRICES = ("st27", "fem3", "exponential-16", "lognormal-48", "del20", "rgg20", "cnr-2000")
"""Matrices with equal, similar and very different row lengths."""

ROUNDS = 5
BYTES_MAX = 30e9
"""Most bytes of a layout; a larger one is skipped because the format does not suit the matrix."""

Launch = tuple[int, int]
"""(slots in flight, threads per block)."""


@dataclass(frozen=True, slots=True)
class Trial:
    """Seconds of an SpMV of a matrix in a format, by launch parameters."""

    matrix: str
    format: str
    seconds: Mapping[Launch, float]


@contextmanager
def launched(module: ModuleType, launch: Launch) -> Iterator[None]:
    """Launch the kernels of a module with these parameters inside the with block."""
    before = module.AHEAD, module.BLOCK, module.SOURCE
    ahead, block = launch
    names = tuple(name.replace(f"{module.AHEAD}>", f"{ahead}>") for name in module.SOURCE.instantiations)
    module.SOURCE = CudaSource(module.SOURCE.package, module.SOURCE.file, names)  # type: ignore[attr-defined]
    module.AHEAD, module.BLOCK = ahead, block  # type: ignore[attr-defined]
    try:
        yield
    finally:
        module.AHEAD, module.BLOCK, module.SOURCE = before  # type: ignore[attr-defined]


def trials(subjects: Sequence[Subject], cache: MatrixCache, bench: Bench) -> Iterator[Trial]:
    """Yield the times of every launch of every format on each matrix, warm."""
    formats = [f for f in FORMATS if f.name in MODULES]
    for subject in subjects:
        matrix = cache.matrix(subject).on(bench.xp)
        x, y = bench.xp.full(matrix.n_cols, 0.5), bench.xp.empty(matrix.n_rows, np.float64)
        for each in formats:
            if each.bytes_needed(matrix) <= BYTES_MAX:
                layout = each.from_csr(matrix)
                yield Trial(subject.name, each.name, _seconds(each, bench, layout, x, y))


def _seconds(each: Format, bench: Bench, layout: object, x: object, y: object) -> dict[Launch, float]:
    product = each.kernels[0].product("cuda")
    if product is None:
        raise RuntimeError(f"{each.name} has no kernel for GPUs.")
    call: Callable[[], None] = lambda: product(layout, x, y)  # noqa: E731 (as the stopwatch wants it)
    seconds = {}
    for launch in ((ahead, block) for ahead in AHEAD for block in BLOCK):
        with launched(MODULES[each.name], launch):
            sample = bench.stopwatch.prepare(call, "warm")
            seconds[launch] = statistics.median(statistics.median(sample()) for _ in range(ROUNDS))
    return seconds


def table(trials: Sequence[Trial]) -> str:
    """Return a Markdown table: per format the launches by mean slowdown against the best launch of each matrix."""
    lines = [
        "| format | matrices | current | mean slowdown | launches, best first |",
        "| --- | ---: | --- | ---: | --- |",
    ]
    for name, module in MODULES.items():
        of_format = [trial.seconds for trial in trials if trial.format == name]
        if not of_format:
            continue
        means = {
            launch: statistics.geometric_mean([seconds[launch] / min(seconds.values()) for seconds in of_format])
            for launch in of_format[0]
        }
        now = (module.AHEAD, module.BLOCK)
        order = ", ".join(f"{a}/{b} {means[a, b]:.3f}" for a, b in sorted(means, key=means.__getitem__)[:6])
        lines.append(f"| {name} | {len(of_format)} | {now[0]}/{now[1]} | {means[now]:.3f} | {order} |")
    return "\n".join([*lines, ""])


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m gpu_engine.gpu_bench.launches", description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("gpu-bench"), help="folder for the matrices")
    parser.add_argument("--collection", type=Path, help="folder with files of the SuiteSparse Matrix Collection")
    parser.add_argument("--matrices", nargs="+", default=MATRICES, help="names of matrices of the benchmark of formats")
    arguments = parser.parse_args(argv)
    cache = MatrixCache(arguments.folder / "matrices", arguments.collection)
    subjects = [each for each in SUBJECTS if each.name in arguments.matrices and cache.has_source(each)]
    cache.fill(subjects, _print_status)
    with open_bench(find_device("cuda:0")) as bench:
        sys.stdout.write(table(list(trials(subjects, cache, bench))))
    return 0


def _print_status(text: str) -> None:
    sys.stderr.write(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
