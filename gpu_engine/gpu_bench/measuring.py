"""Measurement of benchmark matrices by a study, pass after pass; used by the benchmarks of all studies."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from gpu_engine.gpu_bench.benchmark_matrices import Subject
from gpu_engine.gpu_bench.matrix_cache import MatrixCache
from gpu_engine.measure import Bench
from gpu_engine.records import MatrixInfo, Measurement, Record, Trace
from gpu_engine.studies.base import Study, check_device


def measure_passes(
    study: Study,
    passes: Iterable[Any],
    subjects: Sequence[Subject],
    matrix_cache: MatrixCache,
    bench: Bench,
    say: Callable[[str], None],
) -> Iterator[Measurement | Trace]:
    """Yield the measurements and traces of matrices of one job, for each of the parameters in `passes`.

    Raise ParameterError if the study does not support the device.
    """
    check_device(study, bench.device)
    say(f"measuring {', '.join(subject.name for subject in subjects)}")
    matrices: dict[str, Any] = {subject.name: matrix_cache.measured(subject) for subject in subjects}
    infos = [MatrixInfo(name, name, matrix.n_rows, matrix.n_cols, matrix.nnz) for name, matrix in matrices.items()]
    for params in passes:
        cases = tuple(study.cases(params, infos, bench.device))
        yield from recorded(study.run(params, cases, matrices, bench), say)


def recorded(records: Iterable[Record], say: Callable[[str], None]) -> Iterator[Measurement | Trace]:
    """Yield the measurements and traces; print failures at once."""
    for record in records:
        if isinstance(record, Measurement) and record.state == "failed":
            say(f"{record.case} failed: {record.note}")
        if isinstance(record, Measurement | Trace):
            yield record
