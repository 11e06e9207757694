"""Command line of the engine: `python -m gpu_engine STUDY FILE… [--device cuda:0] [--json out.json]`.

Runs a study without a server; `python -m gpu_engine ab` and `python -m gpu_engine kernel` have parsers of their own.
"""

import argparse
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from gpu_engine.ab.command import main as ab
from gpu_engine.csr_matrix import fingerprint
from gpu_engine.custom_kernels.sources import check_reference, parse_references
from gpu_engine.errors import ParameterError, SparsightError
from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.former_names import PRESENT
from gpu_engine.host.device import DEVICE_HELP, find_device
from gpu_engine.host.graceful_interrupt import catch_first_interrupt
from gpu_engine.host.whole_files import write_whole
from gpu_engine.matrix_io.options import DIRECTIONS, ReadOptions, parse_options
from gpu_engine.matrix_io.options import chosen as chosen_options
from gpu_engine.measure import Bench, open_bench
from gpu_engine.parameters import assignments, parse_params
from gpu_engine.recordings import files as recordings
from gpu_engine.recordings.files import Recording
from gpu_engine.recordings.named_matrices import NamedMatrices, source_of
from gpu_engine.records import MatrixInfo, Measurement, Progress, Record, Trace, dumps
from gpu_engine.standalone.command import main as kernel
from gpu_engine.studies import STUDIES, study
from gpu_engine.studies.base import Study, check_device
from gpu_engine.studies.results import findings_of, results_document
from gpu_engine.text import units
from gpu_engine.text.tables import Table

COMMANDS: Mapping[str, Callable[[Sequence[str]], int]] = {"ab": ab, "kernel": kernel}
"""Subcommands other than studies: name → function from arguments to an exit code."""

OTHER_COMMANDS = """\
other commands (each has its own --help):
  ab      compare the kernels of two checkouts in the same rounds (CI gate)
  kernel  export a kernel as a zip archive"""

HINTS: dict[str | None, str] = {
    "choose_direction": "Give --directed true if a line is the edge u → v, --directed false if it is both directions.",
    "choose_duplicates": "Give --duplicates sum or --duplicates last.",
    "choose_field": "Give --field real or --field pattern.",
    "choose_header": "Give --header sizes or --header edge.",
    "choose_ids": "Give --ids shared for a square matrix, --ids apart if rows and columns have separate ids.",
    "choose_weights": "Give --weights values if they are weights, --weights ignore if they are times.",
}
"""Advice for errors with a hint, in terms of the options of a study."""

ELSEWHERE = "This command has no such option. Convert the file to Matrix Market, whose header has this information."
NOTHING = 8
"""Exit code if no case was timed; `sparsight` uses the same."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gpu_engine",
        description="Run a study without a server.",
        epilog=OTHER_COMMANDS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("study", type=PRESENT.study, choices=[s.name for s in STUDIES], help="study to run")
    parser.add_argument(
        "matrices",
        nargs="+",
        metavar="MATRIX",
        help="matrix file, each:FOLDER, each:ARCHIVE, or generator:name=value,…",
    )
    parser.add_argument("--device", default="auto", help=DEVICE_HELP)
    parser.add_argument("--json", metavar="FILE", help="write the records to FILE (- for standard output)")
    parser.add_argument(
        "--recording", type=Path, metavar="FILE", help="write reference results to FILE, which a server can import"
    )
    parser.add_argument("--samples", action="store_true", help="include the samples of all rounds in the JSON")
    parser.add_argument(
        "--set",
        default="",
        metavar="NAME=VALUE,…",
        help="parameters of the study, such as rounds=9,kernels=csr/scalar,csr/vector",
    )
    parser.add_argument(
        "--custom-kernel",
        "--contestant",
        action="append",
        default=[],
        metavar="FILE.py:NAME",
        help="measure your own kernel next to the built-in ones (formats; see docs/custom-kernels.md); may be repeated",
    )
    _add_read_options(parser)
    return parser


def _add_read_options(parser: argparse.ArgumentParser) -> None:
    """Add one option per field of ReadOptions; its default is None."""
    group = parser.add_argument_group("options for edge lists and incomplete Matrix Market headers")
    hints = get_type_hints(ReadOptions)
    for option in fields(ReadOptions):
        hint = hints[option.name]
        choices = get_args(hint) if get_origin(hint) is Literal else [name for name in DIRECTIONS if name]
        group.add_argument(f"--{option.name}", choices=choices, help=option.metadata["description"])


def _run(arguments: argparse.Namespace) -> StudyData:
    chosen = study(arguments.study)
    device = find_device(arguments.device, chosen.several, chosen.backends)
    check_device(chosen, device)
    params = parse_params(chosen.Params, _values(chosen, arguments))
    given = {option.name: getattr(arguments, option.name) or "" for option in fields(ReadOptions)}
    matrices = NamedMatrices(arguments.matrices, chosen_options(parse_options(given)))
    infos = []
    known = {}
    for name, matrix in matrices.items():
        infos.append(MatrixInfo(name, Path(name).name, matrix.n_rows, matrix.n_cols, matrix.nnz))
        known[name] = MatrixFeatures(infos[-1].name, matrix.n_rows, matrix.n_cols, matrix.nnz)
        _print(
            f"{name}: {matrix.n_rows} × {matrix.n_cols}, {matrix.nnz} nonzeros, fingerprint {fingerprint(matrix)[:16]}"
        )
    if matrices.unused:
        raise ParameterError(f"These options do not apply to the given files: remove --{' --'.join(matrices.unused)}.")
    cases = tuple(chosen.cases(params, infos, device))
    _print(f"{len(cases)} cases on {device.id}, {units.about(chosen.estimate_s(params, infos, device))}.")
    measurements: list[Measurement] = []
    traces: dict[tuple[str, str], Trace] = {}
    lines = _Lines()
    with (
        catch_first_interrupt(_print_stopping) as stop_requested,
        open_bench(device, stop_requested=stop_requested) as bench,
    ):
        for record in chosen.run(params, cases, matrices, bench):
            lines.print_record(record)
            if isinstance(record, Measurement):
                measurements.append(record)
            elif isinstance(record, Trace):
                traces[device.id, record.case] = record
        data = StudyData(measurements, known, traces=traces)
        if arguments.recording:
            _record(arguments.recording, chosen.name, bench, matrices, data)
    lines.print_findings(data)
    return data


def _record(path: Path, study_name: str, bench: Bench, matrices: NamedMatrices, data: StudyData) -> None:
    described = tuple(
        recordings.describe(name, data.matrix(name).name, matrix, source_of(name)) for name, matrix in matrices.items()
    )
    now = datetime.now(UTC).isoformat(timespec="seconds")
    recording = Recording(
        study_name, now, bench.device, bench.profile, described, tuple(data.measurements), tuple(data.traces.values())
    )
    write_whole(path, recordings.dump(recording, f"The recording {path.name}"))


def _values(chosen: Study, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the given parameters; raises an error for an invalid custom kernel before anything is measured."""
    values = assignments(chosen.Params, arguments.set)
    if arguments.custom_kernel:
        values["custom_kernels"] = [*values.get("custom_kernels", ()), *arguments.custom_kernel]
    for reference in parse_references(values.get("custom_kernels", ())):
        check_reference(reference)
    return values


class _Lines:
    """Printer of records and tables: as many whole columns as fit the terminal."""

    def __init__(self) -> None:
        self._matrix = ""
        self._truncated = False

    def print_record(self, record: Record) -> None:
        """Print the line of a record, after the name of its matrix if that is new."""
        if isinstance(record, Progress):
            _print(f"  {record.message}", end="\r" if sys.stderr.isatty() else "\n")
        elif isinstance(record, Measurement):
            if record.matrix_id != self._matrix:
                self._matrix = record.matrix_id
                _print(self._matrix)
            self._fit([piece for piece in _pieces(record) if piece])
            if record.median_s is None:
                _print(f"{record.state}: {record.note}")

    def print_findings(self, data: StudyData) -> None:
        """Print the sentences and the table of each finding."""
        for finding in findings_of(data):
            _print("")
            for sentence in finding.sentences:
                _print(f"{finding.title}: {sentence}")
            self._table(finding.table)
        if self._truncated:
            _print("Some lines are truncated. Widen the terminal or use --json.")

    def _table(self, table: Table) -> None:
        heads = tuple(f"{head.text} {head.unit}".strip() for head in table.heads)
        widths = [max(map(len, column)) for column in zip(heads, *table.rows, strict=True)]
        for row in (heads, *table.rows):
            cells = zip(row, widths, table.heads, strict=True)
            self._fit([f" {text:>{width}}" if head.numeric else f" {text:{width}}" for text, width, head in cells])

    def _fit(self, pieces: Sequence[str]) -> None:
        """Print the first pieces as one line: as many as fit the terminal, at least one."""
        ends = accumulate(len(piece) + 1 for piece in pieces)
        count = max(1, sum(end - 1 <= _width() for end in ends))
        self._truncated |= count < len(pieces)
        sys.stderr.write(f"{' '.join(pieces[:count])}".rstrip() + "\n")


def _pieces(m: Measurement) -> Iterator[str]:
    """Yield the columns of a measurement: its case and, if it was timed, time, throughput, error, and note."""
    yield f"  {m.kernel:18} {m.cache:4} {' '.join(f'{name}={value}' for name, value in m.axes.items())}".rstrip()
    if m.median_s is not None:
        yield f"{m.median_s * 1e6:10.2f} µs"
        yield f"{m.gflops:8.2f} GFLOP/s" if m.gflops is not None else ""
        yield f"error {m.max_error:.2f} ε" if m.max_error is not None else ""
        yield m.note


def _width() -> int:
    """Return the columns of the terminal, or a huge number if the output is not a terminal."""
    return shutil.get_terminal_size().columns if sys.stderr.isatty() else 1 << 30


def _print(text: str, end: str = "\n") -> None:
    """Print a sentence to standard error, wrapped between words on a terminal."""
    # Clear the rest of a progress line.
    clear = "\x1b[K" if sys.stderr.isatty() else ""
    sys.stderr.write(clear + textwrap.fill(text, _width(), break_long_words=False, break_on_hyphens=False) + end)


def _print_stopping() -> None:
    _print("Stopping after this round. Press Ctrl-C again to quit without results.")


def _study(argv: Sequence[str]) -> int:
    """Run a study, write its records as requested, and return the exit code."""
    arguments = _parser().parse_args(argv)
    data = _run(arguments)
    if arguments.json:
        text = dumps(results_document(data, arguments.samples))
        if arguments.json == "-":
            sys.stdout.write(text + "\n")
        else:
            write_whole(Path(arguments.json), text)
    if any(m.state == "failed" for m in data.measurements):
        return 1
    if any(m.median_s is not None for m in data.measurements):
        return 0
    _print("No case was timed.")
    return NOTHING


def main() -> int:
    """Run the command line and return the exit code.

    0: at least one case was timed and none failed; 1: a case failed; 2: invalid input; 8: no case was timed.
    """
    argv = sys.argv[1:]
    command = COMMANDS.get("".join(argv[:1]))
    try:
        return command(argv[1:]) if command else _study(argv)
    except SparsightError as error:
        hint = (ELSEWHERE if command else HINTS[error.hint]) if error.hint in HINTS else ""
        _print(f"error: {error} {hint}".rstrip())
        return 2
    except OSError as error:
        _print(f"error: {error}")
        return 2


if __name__ == "__main__":
    sys.exit(main())
