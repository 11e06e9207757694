"""One subject through a study, pass after pass: what the benchmarks of all studies share."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from gpu_engine.gpu_bench.shelf import Shelf
from gpu_engine.gpu_bench.subjects import Subject
from gpu_engine.measure import Bench
from gpu_engine.records import MatrixInfo, Measurement, Trace
from gpu_engine.studies.base import Study


def measured(
    study: Study, passes: Iterable[Any], subject: Subject, shelf: Shelf, bench: Bench, say: Callable[[str], None]
) -> Iterator[Measurement | Trace]:
    """The measurements and traces of a subject, for each of the parameters in `passes`; failures are said at once."""
    say(f"measuring {subject.name}")
    matrix = shelf.matrix(subject)
    infos = [MatrixInfo(subject.name, subject.name, matrix.n_rows, matrix.n_cols, matrix.nnz)]
    for params in passes:
        cases = study.cases(params, infos, bench.device)
        for record in study.run(params, cases, {subject.name: matrix}, bench):
            if isinstance(record, Measurement) and record.state == "failed":
                say(f"{record.case} failed: {record.note}")
            if isinstance(record, Measurement | Trace):
                yield record
