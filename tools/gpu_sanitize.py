"""`make gpu-sanitize`: run the CUDA sanitizer on every kernel and the hostile matrices, without a memory pool."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KINDS = ("memcheck", "racecheck", "initcheck")
"""Checks: accesses outside an allocation, races on shared memory, reads of uninitialized memory."""

ERRORS_CODE = 99
"""Exit code of the sanitizer if it reports errors."""

SUBJECTS = {
    "formats": ("test_contract.py::test_layout_and_its_products",),
    "batched": ("test_batched.py::test_product",),
    "pagerank": (
        "test_pagerank.py::test_ranks_worked_out_by_hand",
        "test_pagerank.py::test_refined_ranks_are_those_worked_out_by_hand",
        "test_pagerank.py::test_each_norm_is_that_of_the_change",
    ),
    "converging": ("test_converging.py::test_a_run_ends_where_the_host_would_end_it",),
    "cpms": ("test_cpms.py",),
    "reduced_spmv": ("test_products.py",),
    "multigpu": (
        "test_multigpu.py::test_products",
        "test_multigpu.py::test_products_in_chunks",
        "test_multigpu.py::test_packed_products_have_the_same_bits",
        "test_multigpu.py::test_iterated_products",
        "test_multigpu.py::test_pagerank_is_that_of_one_device",
    ),
    "operators": ("test_operator.py::test_matrices_of_cupyx_multiply",),
    "probes": ("test_measure.py::test_probes_end_where_their_arrays_do",),
}
"""Tests that launch every kernel of a part of the engine; kernels of other libraries are excluded."""

SUMMARY = re.compile(r"= (?:ERROR|RACECHECK) SUMMARY: (.*)")

OUTCOME = re.compile(r"(\d+) (passed|failed|error|skipped)")


@dataclass(frozen=True, slots=True)
class Report:
    """Result of one check on one subject.

    tests    outcomes by name, as pytest counts them
    summary  last summary of the sanitizer
    code     exit code of its process; ERRORS_CODE if it reported errors
    """

    subject: str
    kind: str
    tests: str
    summary: str
    seconds: float
    code: int

    @property
    def row(self) -> str:
        """Return a row of the printed table."""
        verdict = {0: "clean", ERRORS_CODE: "ERRORS"}.get(self.code, f"aborted ({self.code})")
        return f"| {self.subject} | {self.kind} | {verdict} | {self.tests} | {self.summary} | {self.seconds:.0f} s |"


def main() -> int:
    """Run the command line; return 0 if every check finished without errors."""
    arguments = _parser().parse_args()
    if arguments.tests:
        return _tests(arguments.tests, *arguments.share)
    if shutil.which(arguments.sanitizer) is None:
        raise SystemExit(f"{arguments.sanitizer} not found. Install the CUDA toolkit, or use --sanitizer PATH.")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    pairs = [(subject, kind) for kind in arguments.kind for subject in arguments.subject]
    _say(
        "| subject | check | verdict | tests | the sanitizer's summary | time |\n| --- | --- | --- | --- | --- | --- |"
    )
    with ThreadPoolExecutor(arguments.jobs) as pool:
        codes = [
            _print_report(report) for report in pool.map(lambda pair: _checked(pair[0], pair[1], arguments), pairs)
        ]
    return int(any(codes))


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _print_report(report: Report) -> int:
    _say(report.row)
    return report.code


def _checked(subject: str, kind: str, arguments: argparse.Namespace) -> Report:
    """Run one check on one subject in its own process, with its output in a file of the folder."""
    log, began = arguments.folder / f"{subject}-{kind}.log", time.monotonic()
    tests_command = (
        sys.executable,
        "-m",
        "tools.gpu_sanitize",
        "--share",
        *map(str, arguments.share),
        "--tests",
        *SUBJECTS[subject],
    )
    command = (
        arguments.sanitizer,
        f"--tool={kind}",
        f"--error-exitcode={ERRORS_CODE}",
        *_options(kind),
        *tests_command,
    )
    with log.open("wb") as file:
        try:
            code = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, timeout=arguments.limit).returncode
        except subprocess.TimeoutExpired:
            code = -1
    text = log.read_text(encoding="utf-8", errors="replace")
    tests = ", ".join(f"{count} {name}" for count, name in OUTCOME.findall(text[-2000:]))
    summary = SUMMARY.findall(text)[-1:] or ["none"]
    return Report(subject, kind, tests, summary[0], time.monotonic() - began, code)


def _options(kind: str) -> Iterator[str]:
    """Yield options that exclude foreign findings: memory that CuPy keeps, its kernels, and the sorts of CUB."""
    if kind == "memcheck":
        yield "--leak-check=no"
    if kind == "racecheck":
        yield "--kernel-name-exclude=kernel_substring=cupy_"
    if kind == "initcheck":
        # A merge sort of keys with values copies the padding of a pair, which is never written.
        yield "--kernel-name-exclude=kernel_substring=DeviceMergeSort"
        # A copy is checked at its launch, when an earlier kernel may still write its source.
        yield "--check-api-memory-access=no"


class Share:
    """A share of the collected tests: one in `count`, from number `first` on."""

    def __init__(self, first: int, count: int) -> None:
        self.first, self.count = first, count

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Reduce the tests to the share."""
        items[:] = items[self.first :: self.count]


def _tests(tests: Sequence[str], first: int, count: int) -> int:
    """Run a share of the tests in this process, without a memory pool, so that each array is an allocation."""
    import cupy
    import pytest

    cupy.cuda.set_allocator(None)
    cupy.cuda.set_pinned_memory_allocator(None)
    paths = [str(Path("tests", "gpu", test)) for test in tests]
    options = ("-q", "-c", os.devnull, "--rootdir", ".", "-p", "no:cacheprovider", "--no-header")
    return pytest.main([*options, *paths], plugins=[Share(first, count)])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.gpu_sanitize", description=__doc__)
    parser.add_argument("--kind", nargs="+", choices=KINDS, default=KINDS, help="checks to run; default all")
    parser.add_argument("--subject", nargs="+", choices=SUBJECTS, default=tuple(SUBJECTS), help="default all")
    parser.add_argument("--jobs", type=int, default=min(8, os.cpu_count() or 1), help="number of parallel processes")
    parser.add_argument("--limit", type=float, help="time limit of one check in seconds; default none")
    parser.add_argument("--sanitizer", default="compute-sanitizer", help="path of the sanitizer, if it is not on PATH")
    parser.add_argument("--folder", type=Path, default=Path("gpu-sanitize"), help="folder of the reports")
    share = "run only the tests FIRST, FIRST + COUNT, …, to split a long check"
    parser.add_argument("--share", nargs=2, type=int, default=(0, 1), metavar=("FIRST", "COUNT"), help=share)
    parser.add_argument("--tests", nargs="+", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
