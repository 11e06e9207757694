"""Tables of call overhead and solves."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from gpu_engine.findings.comparisons import Comparison
from gpu_engine.gpu_bench.call_records import CallsRecording, CallTimes, SolveTimes
from gpu_engine.gpu_bench.calls import OURS
from gpu_engine.gpu_bench.markdown import Section, comparison_sections, render
from gpu_engine.gpu_bench.solves import LIBRARY_MATRIX
from gpu_engine.records import Case, Details, Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.words import amount

AUTO = f"{OURS}auto"
CUSPARSE = "cusparse/"
LIBRARY = "fastest library"

CLOCKS = {
    "cold_s": "One SpMV on the device, cold",
    "warm_s": "One SpMV on the device, warm",
    "host_s": "Host time per call, over many in a row",
    "whole_s": "One call until its result is complete",
}
"""Title of each time in CallTimes, by field."""

MATRIX = (Head("matrix", numeric=False), Head("nonzeros"))
SYSTEM = (
    *MATRIX[:1],
    Head("rows"),
    Head("nonzeros"),
    Head("solver", numeric=False),
    Head("SpMVs"),
    Head("SpMVs", "library matrix"),
    Head("residual"),
)


def calls(recording: CallsRecording) -> Iterator[Section]:
    """Yield per clock the default operator against all others, and each operator against the fastest library."""
    cases = [
        case for clock in CLOCKS for operator in _operators(recording) for case in _calls(recording, clock, operator)
    ]
    yield from comparison_sections("Calls: speedup of operators over libraries", cases, MATRIX, "matrices")


def solves(recording: CallsRecording) -> Iterator[Section]:
    """Yield the tables of solves with operators against solves with the matrix of the library."""
    baseline = {times.matrix_id: times for times in recording.solves if times.name == LIBRARY_MATRIX}
    cases = [
        Comparison(
            f"Complete solves with {_operator(name)}",
            _system(recording, times, baseline[times.matrix_id]),
            _timed(times.matrix_id, times.kernel, times.solve_s),
            {LIBRARY_MATRIX: _timed(times.matrix_id, LIBRARY_MATRIX, baseline[times.matrix_id].solve_s)},
        )
        for name in _operators(recording)
        for times in recording.solves
        if times.name == name and times.solve_s
    ]
    yield from comparison_sections("Complete solves: speedup of operators", cases, SYSTEM, "systems")


def absent(recording: CallsRecording) -> Iterator[Section]:
    """Yield the table of calls without times, with the reasons."""
    counts = Counter((f"{t.name}{columns_text(t.columns)}", t.note) for t in recording.calls if t.note)
    counts.update((f"{times.solver} with {times.name}", times.note) for times in recording.solves if times.note)
    heads = (Head("call", numeric=False), Head("matrices"), Head("reason", numeric=False))
    rows = ((name, str(count), note) for (name, note), count in counts.items())
    yield Section("Calls without times", Table(heads, tuple(rows)))


def versions(recording: CallsRecording) -> Iterator[Section]:
    """Yield the table of library versions."""
    every = {pair for times in recording.calls for pair in times.versions.items()} | {*recording.environment.items()}
    heads = (Head("what", numeric=False), Head("version", numeric=False))
    yield Section("Library versions", Table(heads, tuple(sorted(every))))


TABLES: Mapping[str, Callable[[CallsRecording], Iterable[Section]]] = {
    table.__name__: table for table in (calls, solves, absent, versions)
}
"""Tables by name."""


def report(recording: CallsRecording, names: Sequence[str] = tuple(TABLES)) -> str:
    """Return the tables with these names in Markdown."""
    sections = (section for name in names for section in TABLES[name](recording))
    return f"# calls, {recording.device.name}, {recording.created_at}\n\n{render(sections)}"


def _operators(recording: CallsRecording) -> list[str]:
    """Return the operators by choice of the kernel, first the default at the time of the recording."""
    return list(dict.fromkeys(times.name for times in recording.calls if times.name.startswith(OURS)))


def _operator(name: str) -> str:
    """Return an operator as in user code: `operator(A)`, `operator(A, 'measure')`."""
    return "operator(A)" if name == AUTO else f"operator(A, {name.removeprefix(OURS)!r})"


def _calls(recording: CallsRecording, clock: str, operator: str) -> Iterator[Comparison]:
    """Yield comparisons: on the device operator against fastest library and default against all; else against calls."""
    for columns in dict.fromkeys(times.columns for times in recording.calls):
        for matrix in recording.matrices:
            same = [t for t in recording.calls if t.matrix_id == matrix.id and t.columns == columns]
            timed = {times.name: _timed(matrix.id, _kernel(times), getattr(times, clock)) for times in same}
            baseline = timed.pop(operator, None)
            rivals = _rivals(timed, clock, is_default=operator == _operators(recording)[0])
            if baseline and baseline.median_s and rivals:
                names = matrix.name, units.count(matrix.nnz)
                title = f"{CLOCKS[clock]}{columns_text(columns)}, {_operator(operator)}"
                yield Comparison(title, names, baseline, rivals)


def _rivals(timed: Mapping[str, Measurement], clock: str, is_default: bool) -> dict[str, Measurement | None]:
    """Return what an operator is compared with, by name: on the device the fastest library, and for the default all."""
    on_device = clock in ("cold_s", "warm_s")
    libraries = [m for name, m in timed.items() if m.median_s and not name.startswith(OURS)]
    rivals = {LIBRARY: min(libraries, key=lambda m: m.median_s or 0.0, default=None)} if on_device else {}
    # The host time of a library kernel is not that of a call, because the kernel is bound before.
    rivals |= {name: m for name, m in timed.items() if is_default and (on_device or not name.startswith(CUSPARSE))}
    return rivals


def columns_text(columns: int | None) -> str:
    """Return ` (SpMM, 8 columns)`; empty for an SpMV."""
    return "" if columns is None else f" (SpMM, {amount(columns, 'column')})"


def _system(recording: CallsRecording, times: SolveTimes, baseline: SolveTimes) -> tuple[str, ...]:
    """Return the cells under SYSTEM, with the larger of both residuals."""
    shape = next((system.n_rows, system.nnz) for system in recording.systems if system.id == times.matrix_id)
    counts = map(units.count, (times.products, baseline.products))
    worst = max((each.residual for each in (times, baseline) if each.residual is not None), default=None)
    residual = units.MISSING if worst is None else units.scientific(worst)
    return times.matrix_id, *map(units.count, shape), times.solver, *counts, residual


def _kernel(times: CallTimes) -> str:
    """Return the kernel that an operator chose, or else the name of the call."""
    return times.kernel or times.name


def _timed(matrix_id: str, kernel: str, seconds: float | None) -> Measurement:
    """Return the median of a call or solve as a measurement without rounds."""
    case = Case(matrix_id, kernel, "warm")
    return Measurement.of(case, "", Details, median_s=seconds, state="ok" if seconds else "skipped")
