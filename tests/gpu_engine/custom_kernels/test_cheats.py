"""The archive: every cheat is refused with the right reason, and nobody else in its rounds is harmed."""

import re
import sys
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.custom_kernels import timing_checks
from gpu_engine.host.device import find_device
from gpu_engine.measure import Bench, cpu, open_bench
from gpu_engine.sampling import reproducibility
from tests.battery import with_row_lengths
from tests.gpu_engine.custom_kernels.rounds import ARCHIVE, measured, names_in
from tests.samples.studies import FAST

TOGETHER = 20
"""As many custom kernels as a job takes."""

STALE = r"y was the result for an earlier x"
UNWRITTEN = r"\d+ of 3000 rows of y were not written"
CHANGED = r"Wrong result: .* with a new x before each call"
SAVED = r"an SpMV takes .* with a new x before each call, but .* with the same x"
WRONG = r"Wrong result: row \d+ is .*, SciPy gives .*; {} of 3000 rows are off"
LATE = "it wrote y after it had returned"
GOES_ON = "its threads continue to run"
KEEPS = r"8 calls keep \d+ bytes"
X, MATRIX = "it changed x", "it changed the matrix"

REASONS = {
    "cached": {
        **dict.fromkeys(("FOREVER", "BY_ADDRESS", "BY_OBJECT", "WARMED_UP"), STALE),
        "WARMED_UP_LONG": f"{STALE}|{CHANGED}",
        # Whoever looks at a part of x has luck with which part changes, and then saves the product.
        **dict.fromkeys(("BY_FIRST", "BY_ENDS", "BY_SAMPLE", "ONE_BEHIND", "UPDATING"), f"{CHANGED}|{STALE}|{SAVED}"),
        **dict.fromkeys(("BY_SUM", "BY_HASH", "BY_BYTES", "LEAVES_BY_SUM", "LEAVES_BY_BYTES"), SAVED),
        **dict.fromkeys(("LEAVES_BY_ADDRESS", "EVERY_SECOND", "EVERY_TENTH", "NOTHING"), UNWRITTEN),
        "LEAVES_BY_FIRST": f"{UNWRITTEN}|{CHANGED}|{SAVED}",
        "TABLES": KEEPS,
        "IN_ADVANCE": WRONG.format(r"\d+"),
    },
    "wrong": {
        **dict.fromkeys(
            ("ONE_ROW", "FIRST_ROW", "LAST_ROW", "A_FEW_ULPS", "A_SIGN", "ONE_ROW_TWICE", "SELDOM", "SELDOMER"),
            WRONG.format("1"),
        ),
        "TWO_ROWS_SWAPPED": WRONG.format("2"),
        "ONE_ENTRY_DROPPED": WRONG.format("1"),
        **dict.fromkeys(("ROUNDED", "SINGLE_VALUES", "ABSOLUTE", "SINGLE_X", "ZEROS"), WRONG.format(r"\d{4}")),
        **dict.fromkeys(("RETURNED", "ADDED"), UNWRITTEN),
        "LAST_ROWS_MISSING": "2 of 3000 rows of y were not written",
        "EMPTY_ROWS_MISSING": r"\d\d of 3000 rows of y were not written",
    },
    "late": {
        # Which of its works is seen first, what it writes, what it holds or that it runs, is chance; where others have
        # the cores, its thread may write nothing as long as anybody looks.
        **dict.fromkeys(("THREAD", "POOLED", "NEWEST_ONLY", "DELAYED"), f"{LATE}|{KEEPS}|{GOES_ON}|{UNWRITTEN}"),
        "AFTER_ITSELF": f"{LATE}|{KEEPS}|{GOES_ON}",
        "POLLING": f"{LATE}|{GOES_ON}",
    },
    # Whose threads go on leaves nothing to be told apart for those after it: it comes alone.
    "burning": {"BURNING": GOES_ON},
    "patched": {
        **dict.fromkeys(("CLOCK", "CLOCK_LATER", "CLOCK_SLOW"), "replaced time.perf_counter_ns"),
        **dict.fromkeys(("CLOCK_OF_THE_STOPWATCH", "CLOCK_HIDDEN"), "replaced gpu_engine.measure.cpu.time"),
        "CLOCK_CODE": "replaced the code of gpu_engine.measure.stopwatch.now",
        "WARM": "replaced gpu_engine.measure.cpu.CpuStopwatch._warm",
        "WARM_OF_ONE": "replaced a CpuStopwatch._warm",
        "SAMPLES": "replaced gpu_engine.measure.cpu.SAMPLES",
        "MEDIAN": "replaced statistics.median",
        "MINIMUM": "replaced gpu_engine.measure.bench.FLOOR_SLACK",
        "LEAST": "replaced gpu_engine.measure.bench.Bench.least_s",
        "CHECK": "replaced gpu_engine.custom_kernels.examiner.check",
        "EXAMINER": "replaced gpu_engine.custom_kernels.examiner.Examiner.examine",
        "JUDGE": "replaced gpu_engine.custom_kernels.timing_checks.TimingChecks.judge",
        "SETTLE": "replaced gpu_engine.studies.formats.custom_kernel.CustomKernelCandidate._check_output",
        "ISNAN": "replaced numpy.isnan",
        "ENTROPY": "replaced os.urandom",
        "GENERATOR": "replaced numpy.random.default_rng",
        "SCIPY": "replaced csr_array.__matmul__",
        "HIDDEN_BUILTIN": "replaced gpu_engine.custom_kernels.examiner.int",
        "HIDDEN_METHOD": "replaced gpu_engine.studies.formats.custom_kernel.CustomKernelCandidate.fail",
        "SYSTEM_RANDOM": "replaced random.SystemRandom",
        "OTHERS": "replaced gpu_engine.formats.csr.vector._cpu",
        "THREADS": "replaced Numba's number of threads",
        "SWITCHES": "replaced the switch interval of threads",
        "ERRORS": "replaced NumPy's handling of floating-point errors",
        "COLLECTION": "replaced garbage collection",
        "PROFILER": "replaced the profile function",
    },
    "patient": {"CLOCK": r"an SpMV takes .* by an independent clock, but .* by the clock of the rounds"},
    "tampering": {
        **dict.fromkeys(("X_ZEROED", "X_OF_ONE", "X_SORTED"), X),
        **dict.fromkeys(("MATRIX_ZEROED", "MATRIX_ZEROED_AT_ONCE", "MATRIX_REORDERED"), MATRIX),
        **dict.fromkeys(("KEEPS_X", "KEEPS_Y"), KEEPS),
        "LOOKS": WRONG.format(r"\d+"),
        "RAISES": r"It failed in its first SpMV, line \d+: RuntimeError: no",
        "EXITS": r"It failed in its first SpMV, line \d+: SystemExit: 0",
        "LEAVES": r"It failed in its first SpMV, line \d+: SystemExit: done",
        "RAISES_LATER": r"It failed .*, line \d+: ValueError: enough",
    },
}
"""File → custom kernel → what its record says."""

JOBS = [
    (file, tuple(names)[first : first + TOGETHER])
    for file, names in REASONS.items()
    for first in range(0, len(names), TOGETHER)
]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setattr(cpu, "SAMPLE_S", 4e-4)
    # A cheat is as slow after a pause.
    monkeypatch.setattr(timing_checks, "PAUSES_S", (0.0,) * len(timing_checks.PAUSES_S))
    with open_bench(replace(find_device("cpu"), cache_bytes=2**18), FAST) as opened:
        yield opened


@pytest.fixture(autouse=True)
def threads_end() -> Iterator[None]:
    yield
    for name, module in sys.modules.items():
        if name.startswith("sparsight_custom_kernel_") and hasattr(module, "END"):
            module.END.set()


def matrix() -> CsrMatrix:
    """Three thousand rows, some of them empty."""
    return with_row_lengths(np.random.default_rng(0).integers(0, 60, 3000), 3000, 1)


def test_the_archive_is_listed_and_large() -> None:
    assert {file: sorted(names) for file, names in REASONS.items()} == {
        path.stem: sorted(names_in(path)) for path in ARCHIVE.glob("[a-z]*.py")
    }
    assert sum(map(len, REASONS.values())) >= 40


@pytest.mark.parametrize(("file", "names"), JOBS, ids=lambda value: value if isinstance(value, str) else "")
def test_cheats_are_refused_with_the_right_reason_and_others_are_measured_on(
    bench: Bench, file: str, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    if file == "patient":
        # Its first calls of a turn are honest: there have to be many more, and fewer where runs are compared.
        monkeypatch.setattr(cpu, "SAMPLE_S", 1e-2)
        monkeypatch.setattr(reproducibility, "REPLAYS", reproducibility.REPLAYS_MIN)
    found = measured(bench, matrix(), [f"{ARCHIVE / file}.py:{name}" for name in names])
    assert found["csr/vector", "warm"].state == found["csr/vector", "cold"].state == "ok"
    for name in names:
        for cache in ("cold", "warm"):
            m = found[f"custom:{file}/{name.lower()}", cache]
            assert (m.state, m.median_s) == ("failed", None), name
            assert re.search(REASONS[file][name], m.note), f"{name}: {m.note}"
