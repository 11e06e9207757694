"""`python -m gpu_engine.gpu_bench`: makes the matrices, measures them, prints the tables, writes the records."""

import argparse
import dataclasses
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from gpu_engine import recordings
from gpu_engine.device import DEVICE_HELP, find_device
from gpu_engine.errors import InputError, SparsightError
from gpu_engine.gpu_bench import (
    batched,
    batched_tables,
    formats,
    pagerank,
    pagerank_tables,
    scaling,
    scaling_tables,
    tables,
)
from gpu_engine.gpu_bench.resources import resources_table
from gpu_engine.gpu_bench.shelf import Shelf
from gpu_engine.gpu_bench.subjects import (
    BATCH_SUBJECTS,
    GRAPH_SUBJECTS,
    SHARED_SUBJECTS,
    SUBJECTS,
    Subject,
    shared_subjects,
)
from gpu_engine.measure import Bench, open_bench
from gpu_engine.recordings import RECORDED, Recording
from gpu_engine.records import Measurement, Record, Trace, as_json, dumps
from gpu_engine.studies import study as find_study

RESOURCES = "kernels.md"


Measure = Callable[[Sequence[Subject], Shelf, Bench, int, Callable[[str], None]], Iterator[Record]]


@dataclass(frozen=True, slots=True)
class Part:
    """The benchmark of one study: its matrices, how they are measured, the tables, and what is recorded of it.

    sized      the same matrices with about so many nonzeros; None: they have a size
    together   what is measured of all matrices at once, before each by itself; None: nothing
    resources  a table of what the compiler made of the kernels, written beside the records; None: not asked for
    """

    subjects: Sequence[Subject]
    measure: Measure
    report: Callable[[Sequence[Subject], Recording], str]
    recorded: Callable[[Recording], Recording]
    resources: Callable[[], str] | None = None
    together: Measure | None = None
    sized: Callable[[int], Sequence[Subject]] | None = None


def in_given_order(recording: Recording) -> Recording:
    """Without the kernels in a new order: a page compares products of the matrix as it is."""
    kept = tuple(m for m in recording.measurements if "+" not in m.kernel)
    return dataclasses.replace(recording, measurements=kept)


PARTS = {
    "formats": Part(SUBJECTS, formats.measure, tables.report, in_given_order, resources_table),
    "pagerank": Part(GRAPH_SUBJECTS, pagerank.measure, pagerank_tables.report, lambda recording: recording),
    "batched": Part(
        BATCH_SUBJECTS,
        batched.measure,
        batched_tables.report,
        lambda recording: recording,
        together=batched.measure_mixed,
    ),
    "scaling": Part(
        SHARED_SUBJECTS,
        scaling.measure,
        scaling_tables.report,
        lambda recording: recording,
        sized=shared_subjects,
    ),
}


def main(argv: Sequence[str] | None = None, subjects: Sequence[Subject] | None = None) -> int:
    """Runs the command line; returns the exit code: 0 all cases have a time or a reason, 1 one failed, 2 bad input."""
    arguments = _parser().parse_args(argv)
    part = PARTS[arguments.study]
    try:
        subjects = _subjects(part, arguments) if subjects is None else subjects
        if arguments.measured:
            file = arguments.folder / f"{arguments.study}.json"
            recording = recordings.parse(json.loads(file.read_text(encoding="utf-8")))
        else:
            chosen, shelf = _chosen(subjects, arguments)
            shelf.fill(chosen, _say)
            if arguments.make:
                return 0
            recording = _measure(chosen, shelf, arguments)
        sys.stdout.write(part.report(subjects, recording))
        if arguments.record:
            path = RECORDED / arguments.record / f"{arguments.study}.json.gz"
            _say(f"recorded {path}: {recordings.write(path, part.recorded(recording))} bytes")
    except (SparsightError, OSError) as error:
        _say(f"error: {error}")
        return 2
    return int(any(m.state == "failed" for m in recording.measurements))


def _subjects(part: Part, arguments: argparse.Namespace) -> Sequence[Subject]:
    """The matrices of a part, in the size asked for."""
    if arguments.nnz is None:
        return part.subjects
    if part.sized is None:
        raise InputError(f"The matrices of {arguments.study} have their sizes; --nnz is for scaling. Leave it out.")
    return part.sized(arguments.nnz)


def _chosen(subjects: Sequence[Subject], arguments: argparse.Namespace) -> tuple[list[Subject], Shelf]:
    """The subjects asked for whose matrices are here or can be made, and where these are."""
    shelf = Shelf(arguments.folder / "matrices", arguments.collection)
    chosen = [s for s in subjects if arguments.only in s.name and s.group not in arguments.without]
    for subject in chosen:
        if not shelf.has_source(subject):
            _say(f"left out: {subject.name}, whose file is not there")
    return [subject for subject in chosen if shelf.has_source(subject)], shelf


def _measure(subjects: Sequence[Subject], shelf: Shelf, arguments: argparse.Namespace) -> Recording:
    """Measures the subjects; what there is so far is written after each, so that an interruption costs little."""
    if not subjects:
        raise InputError("No matrix is left to measure: --only and --without exclude all of them.")
    part, found = PARTS[arguments.study], list[Record]()
    with open_bench(find_device(arguments.device, find_study(arguments.study).several)) as bench:
        if bench.device.backend == "cuda" and part.resources is not None:
            (arguments.folder / RESOURCES).write_text(part.resources(), encoding="utf-8")
        if part.together is not None:
            found += part.together(subjects, shelf, bench, arguments.rounds, _say)
        for subject in subjects:
            found += part.measure([subject], shelf, bench, arguments.rounds, _say)
            recording = _written(subjects, shelf, bench, found, arguments)
    return recording


def _written(
    subjects: Sequence[Subject],
    shelf: Shelf,
    bench: Bench,
    found: Sequence[Record],
    arguments: argparse.Namespace,
) -> Recording:
    """The recording of what was found of the subjects, once it and its tables are written."""
    study = arguments.study
    recording = _recording(study, subjects, shelf, bench, found)
    written = {"json": dumps(as_json(recording)), "md": PARTS[study].report(subjects, recording)}
    for ending, text in written.items():
        (arguments.folder / f"{study}.{ending}").write_text(text, encoding="utf-8")
    return recording


def _recording(
    study: str, subjects: Sequence[Subject], shelf: Shelf, bench: Bench, found: Sequence[Record]
) -> Recording:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    measurements = tuple(record for record in found if isinstance(record, Measurement))
    named = {m.matrix_id for m in measurements}
    matrices = tuple(shelf.record(subject) for subject in subjects if subject.name in named)
    traces = tuple(record for record in found if isinstance(record, Trace))
    return Recording(study, now, bench.device, bench.profile, matrices, measurements, traces)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m gpu_engine.gpu_bench", description=__doc__)
    parser.add_argument("--study", choices=PARTS, default="formats", help="what to measure")
    parser.add_argument("--folder", type=Path, default=Path("gpu-bench"), help="matrices, records and tables go here")
    parser.add_argument("--collection", type=Path, help="folder with files of the SuiteSparse Matrix Collection")
    parser.add_argument("--device", default="auto", help=DEVICE_HELP)
    parser.add_argument("--rounds", type=int, default=15, help="interleaved rounds a matrix, at least 9")
    parser.add_argument("--nnz", type=int, help="about how many nonzeros the matrices of scaling have")
    parser.add_argument("--only", default="", help="only the matrices with this in their name")
    parser.add_argument("--without", nargs="*", default=(), help="groups to leave out")
    parser.add_argument("--make", action="store_true", help="make the matrices and end")
    parser.add_argument("--measured", action="store_true", help="take the records of the last run in the folder")
    parser.add_argument("--record", metavar="DEVICE", help="write the recording that comes with the product: h200")
    return parser


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
