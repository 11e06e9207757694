"""Generate the benchmark matrices, measure them, print the tables, and write the records."""

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from gpu_engine.errors import InputError, SparsightError
from gpu_engine.gpu_bench import call_records, calls_command, calls_tables
from gpu_engine.gpu_bench.benchmark_matrices import Subject
from gpu_engine.gpu_bench.benchmarks import BENCHMARKS, Benchmark
from gpu_engine.gpu_bench.markdown import BenchmarkData, report
from gpu_engine.gpu_bench.matrix_cache import MatrixCache
from gpu_engine.gpu_bench.recorded_tables import recorded_tables, reports
from gpu_engine.host.device import DEVICE_HELP, find_device
from gpu_engine.host.whole_files import write_whole
from gpu_engine.measure import Bench, open_bench
from gpu_engine.recordings import files as recordings
from gpu_engine.recordings.files import ENDING, RECORDED, Recording
from gpu_engine.records import Measurement, Record, Trace, as_json, dumps
from gpu_engine.studies import study

RESOURCES = "kernels.md"


def main(argv: Sequence[str] | None = None, subjects: Sequence[Subject] | None = None) -> int:
    """Run the command line; return the exit code: 0 no case failed, 1 a case failed, 2 invalid input."""
    arguments = _parser().parse_intermixed_args(argv)
    benchmark = BENCHMARKS[arguments.study]
    try:
        if arguments.action == "tables":
            _print_tables(arguments.names, arguments.out)
            return 0
        if arguments.names:
            raise InputError(f"Only the command tables takes names. Leave out {' '.join(arguments.names)}.")
        if arguments.action == "calls":
            sys.stdout.write(_calls(calls_command.SUBJECTS if subjects is None else subjects, arguments))
            return 0
        subjects = _subjects(benchmark, arguments) if subjects is None else subjects
        if arguments.measured:
            file = arguments.folder / f"{arguments.study}.json"
            recording = recordings.parse(json.loads(file.read_text(encoding="utf-8")))
        else:
            selection, matrix_cache = _select(subjects, arguments)
            matrix_cache.fill(selection, _print_status)
            if arguments.make:
                return 0
            recording = _measure(selection, matrix_cache, arguments)
        sys.stdout.write(_tables(subjects, recording))
        if arguments.record:
            _record(benchmark.recorded(recording), arguments)
    except (SparsightError, OSError) as error:
        _print_status(f"error: {error}")
        return 2
    return int(any(m.state == "failed" for m in recording.measurements))


def _print_tables(names: Sequence[str], folder: Path | None) -> None:
    """Print the tables of recordings, or write those of each recording into a file of the folder."""
    for name, text in reports(names, recorded_tables(RECORDED)):
        if folder is None:
            sys.stdout.write(f"{text}\n")
            continue
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name.replace('/', '-')}.md"
        write_whole(path, text)
        _print_status(f"wrote {path}")


def _calls(subjects: Sequence[Subject], arguments: argparse.Namespace) -> str:
    """Return the tables of calls and solves, measured now or read from the folder."""
    arguments.folder.mkdir(parents=True, exist_ok=True)
    if arguments.measured:
        recording = call_records.read(arguments.folder / call_records.FILE)
    else:
        selection, matrix_cache = _select(() if arguments.files else subjects, arguments)
        matrix_cache.fill(selection, _print_status)
        if arguments.make:
            return ""
        with open_bench(find_device(arguments.device)) as bench:
            recording = calls_command.measure(selection, matrix_cache, bench, arguments, _print_status)
    if arguments.record:
        path = RECORDED / arguments.record / call_records.FILE
        _print_status(f"recorded {path}: {call_records.write(path, recording)} bytes")
    return calls_tables.report(recording)


def _record(recording: Recording, arguments: argparse.Namespace) -> None:
    """Write the recording of the release; with --add, cases that were not measured again stay in it."""
    path = RECORDED / arguments.record / f"{arguments.study}{ENDING}"
    if arguments.add:
        recording = recordings.joined(recordings.read(path), recording)
    _print_status(f"recorded {path}: {recordings.write(path, recording)} bytes")


def _subjects(benchmark: Benchmark, arguments: argparse.Namespace) -> Sequence[Subject]:
    """Return the matrices of a benchmark, in the requested size."""
    if arguments.nnz is None:
        return benchmark.subjects
    if benchmark.sized is None:
        raise InputError(
            f"--nnz is only for scaling, because the matrices of {arguments.study} have fixed sizes. Leave it out."
        )
    return benchmark.sized(arguments.nnz)


def _select(subjects: Sequence[Subject], arguments: argparse.Namespace) -> tuple[list[Subject], MatrixCache]:
    """Return the requested matrices that exist or can be generated, and their cache."""
    matrix_cache = MatrixCache(arguments.folder / "matrices", arguments.collection)
    selection = []
    for subject in subjects:
        if arguments.only not in subject.name or subject.group in arguments.without:
            continue
        if matrix_cache.has_source(subject):
            selection.append(subject)
        elif subject.substitute is not None:
            _print_status(f"{subject.name}: file not found, using a synthetic stand-in")
            selection.append(subject.substitute)
        else:
            _print_status(f"{subject.name}: file not found, skipped")
    return selection, matrix_cache


def _measure(subjects: Sequence[Subject], matrix_cache: MatrixCache, arguments: argparse.Namespace) -> Recording:
    """Measure the matrices; write the results after each, so that an interruption loses little."""
    if not subjects:
        raise InputError("No matrix to measure: --only and --without exclude all of them.")
    benchmark, records = BENCHMARKS[arguments.study], list[Record]()
    chosen = study(arguments.study)
    with open_bench(find_device(arguments.device, chosen.several, chosen.backends)) as bench:
        if bench.device.backend == "cuda" and benchmark.resources is not None:
            write_whole(arguments.folder / RESOURCES, benchmark.resources())
        if benchmark.measure_all is not None:
            records += benchmark.measure_all(subjects, matrix_cache, bench, arguments.rounds, _print_status)
        for subject in subjects:
            records += benchmark.measure(chosen, subject, matrix_cache, bench, arguments.rounds, _print_status)
            recording = _write(subjects, matrix_cache, bench, records, arguments)
    return recording


def _write(
    subjects: Sequence[Subject],
    matrix_cache: MatrixCache,
    bench: Bench,
    records: Sequence[Record],
    arguments: argparse.Namespace,
) -> Recording:
    """Write the recording of the measured matrices and its tables; return the recording."""
    recording = _recording(arguments.study, subjects, matrix_cache, bench, records)
    written = {"json": dumps(as_json(recording)), "md": _tables(subjects, recording)}
    for ending, text in written.items():
        write_whole(arguments.folder / f"{arguments.study}.{ending}", text)
    return recording


def _tables(subjects: Sequence[Subject], recording: Recording) -> str:
    return report(BenchmarkData(subjects, recording), BENCHMARKS[recording.study].tables)


def _recording(
    name: str, subjects: Sequence[Subject], matrix_cache: MatrixCache, bench: Bench, records: Sequence[Record]
) -> Recording:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    measurements = tuple(record for record in records if isinstance(record, Measurement))
    named = {m.matrix_id for m in measurements}
    matrices = tuple(matrix_cache.record(subject) for subject in subjects if subject.name in named)
    traces = tuple(record for record in records if isinstance(record, Trace))
    return Recording(name, now, bench.device, bench.profile, matrices, measurements, traces)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m gpu_engine.gpu_bench", description=__doc__)
    parser.add_argument(
        "action",
        nargs="?",
        choices=("measure", "calls", "tables"),
        default="measure",
        help="measure a study, measure call overhead, or print the tables of the reference results",
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="for tables: DEVICE, DEVICE/STUDY or DEVICE/STUDY/TABLE, such as h200/formats (default: all)",
    )
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="for tables: folder for one file per recording")
    parser.add_argument("--study", choices=BENCHMARKS, default="formats", help="study to measure")
    parser.add_argument(
        "--folder", type=Path, default=Path("gpu-bench"), help="folder for matrices, records and tables"
    )
    parser.add_argument("--collection", type=Path, help="folder with files of the SuiteSparse Matrix Collection")
    parser.add_argument("--device", default="auto", help=DEVICE_HELP)
    parser.add_argument("--rounds", type=int, default=15, help="interleaved rounds per matrix, at least 9")
    parser.add_argument("--nnz", type=int, help="approximate nonzeros of the matrices of scaling")
    parser.add_argument("--only", default="", help="measure only matrices whose name contains this")
    parser.add_argument("--without", nargs="*", default=(), help="groups of matrices to skip")
    parser.add_argument("--files", nargs="*", type=Path, default=(), help="for calls: matrix files to use instead")
    parser.add_argument("--make", action="store_true", help="generate the matrices and exit")
    parser.add_argument("--measured", action="store_true", help="use the records of the last run in the folder")
    parser.add_argument(
        "--record", metavar="DEVICE", help="write the reference results of the release for this device, such as h200"
    )
    parser.add_argument(
        "--add", action="store_true", help="keep cases of these reference results that were not measured again"
    )
    return parser


def _print_status(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
