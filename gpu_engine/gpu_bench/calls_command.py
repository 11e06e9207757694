"""The command `calls` of the benchmark: measures call overhead and solves, and writes the record."""

from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import InputError
from gpu_engine.gpu_bench import call_records, calls, calls_tables, solves
from gpu_engine.gpu_bench.benchmark_matrices import Subject
from gpu_engine.gpu_bench.call_records import CallsRecording
from gpu_engine.gpu_bench.matrix_cache import MatrixCache
from gpu_engine.host.whole_files import write_whole
from gpu_engine.matrix_io import read_matrix
from gpu_engine.measure import Bench
from gpu_engine.records import MatrixInfo

SUBJECTS = (*calls.SUBJECTS, *solves.SYSTEMS)

Say = Callable[[str], None]


def measure(
    subjects: Sequence[Subject], matrix_cache: MatrixCache, bench: Bench, arguments: Namespace, say: Say
) -> CallsRecording:
    """Measure the calls and solves of the given files, or else of the benchmark matrices with enough nonzeros.

    The results are written after each matrix, so that an interruption loses little.
    """
    now = datetime.now(UTC).isoformat(timespec="seconds")
    recording = CallsRecording(now, bench.device, bench.environment, (), (), (), ())
    if not arguments.files and not subjects:
        raise InputError("No matrix to measure: --only and --without exclude all of them.")
    for name, matrix in _matrices(subjects, matrix_cache, arguments):
        say(f"calls of {name}")
        times = tuple(calls.measure(name, matrix, bench, arguments.rounds))
        recording = replace(
            recording, matrices=(*recording.matrices, _info(name, matrix)), calls=(*recording.calls, *times)
        )
        _write(recording, arguments)
    for subject in (subject for subject in subjects if subject.group in solves.SOLVERS and not arguments.files):
        say(f"solves of {subject.name}")
        system = solves.system(matrix_cache.matrix(subject), subject.group)
        solved = tuple(solves.measure(subject.name, subject.group, system, bench))
        recording = replace(
            recording, systems=(*recording.systems, _info(subject.name, system)), solves=(*recording.solves, *solved)
        )
        _write(recording, arguments)
    return recording


def _matrices(
    subjects: Sequence[Subject], matrix_cache: MatrixCache, arguments: Namespace
) -> Iterator[tuple[str, CsrMatrix]]:
    for path in arguments.files:
        yield path.name.partition(".")[0], read_matrix(path).matrix
    for subject in () if arguments.files else subjects:
        if subject.group not in solves.SOLVERS and matrix_cache.record(subject).nnz >= calls.NNZ_MIN:
            yield subject.name, matrix_cache.matrix(subject)


def _info(name: str, matrix: CsrMatrix) -> MatrixInfo:
    return MatrixInfo(name, name, matrix.n_rows, matrix.n_cols, matrix.nnz)


def _write(recording: CallsRecording, arguments: Namespace) -> None:
    call_records.write(arguments.folder / call_records.FILE, recording)
    write_whole(arguments.folder / f"{call_records.NAME}.md", calls_tables.report(recording))
