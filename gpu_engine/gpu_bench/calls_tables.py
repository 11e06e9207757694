"""The tables of what calls and solves take."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from gpu_engine.findings.comparisons import Comparison
from gpu_engine.gpu_bench.call_records import CallsRecording, CallTimes, SolveTimes
from gpu_engine.gpu_bench.calls import OURS
from gpu_engine.gpu_bench.markdown import Section, compared, render
from gpu_engine.gpu_bench.solves import OWN
from gpu_engine.records import Case, Details, Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table

AUTO = f"{OURS}auto"
CUSPARSE = "cusparse/"
LIBRARY = "fastest library"

CLOCKS = {
    "cold_s": "One product on the device, cold",
    "warm_s": "One product on the device, warm",
    "host_s": "The host's time for a call, of many in a row",
    "whole_s": "One call until its answer is there",
}
"""A field of CallTimes → what it is the time of."""

MATRIX = (Head("matrix", numeric=False), Head("nonzeros"))
SYSTEM = (
    *MATRIX[:1],
    Head("rows"),
    Head("nonzeros"),
    Head("solver", numeric=False),
    Head("products"),
    Head("products", "own matrix"),
    Head("residual"),
)


def calls(recording: CallsRecording) -> Iterator[Section]:
    """By every clock the default operator beside all others, and each operator beside the fastest library."""
    cases = [
        case for clock in CLOCKS for operator in _operators(recording) for case in _calls(recording, clock, operator)
    ]
    yield from compared("Calls of operators over others", cases, MATRIX, "matrices")


def solves(recording: CallsRecording) -> Iterator[Section]:
    """Whole solves with operators over those with the solver's own matrix."""
    own = {times.matrix_id: times for times in recording.solves if times.name == OWN}
    cases = [
        Comparison(
            f"Whole solves with {_operator(name)}",
            _system(recording, times, own[times.matrix_id]),
            _timed(times.matrix_id, times.kernel, times.solve_s),
            {OWN: _timed(times.matrix_id, OWN, own[times.matrix_id].solve_s)},
        )
        for name in _operators(recording)
        for times in recording.solves
        if times.name == name and times.solve_s
    ]
    yield from compared("Solves with operators over those with the solver's own matrix", cases, SYSTEM, "systems")


def absent(recording: CallsRecording) -> Iterator[Section]:
    """What has no times, and why."""
    counts = Counter((times.name, times.note) for times in recording.calls if times.note)
    counts.update((f"{times.solver} with {times.name}", times.note) for times in recording.solves if times.note)
    heads = (Head("call", numeric=False), Head("matrices"), Head("reason", numeric=False))
    rows = ((name, str(count), note) for (name, note), count in counts.items())
    yield Section("What has no times", Table(heads, tuple(rows)))


def versions(recording: CallsRecording) -> Iterator[Section]:
    """The libraries that were called."""
    every = {pair for times in recording.calls for pair in times.versions.items()} | {*recording.environment.items()}
    heads = (Head("what", numeric=False), Head("version", numeric=False))
    yield Section("What was called", Table(heads, tuple(sorted(every))))


TABLES: Mapping[str, Callable[[CallsRecording], Iterable[Section]]] = {
    table.__name__: table for table in (calls, solves, absent, versions)
}
"""By name."""


def report(recording: CallsRecording, names: Sequence[str] = tuple(TABLES)) -> str:
    """Return the tables with these names in Markdown."""
    sections = (section for name in names for section in TABLES[name](recording))
    return f"# calls, {recording.device.name}, {recording.created_at}\n\n{render(sections)}"


def _operators(recording: CallsRecording) -> list[str]:
    """The ways to choose a kernel, the default first: what it was when it was recorded, before there was AUTO."""
    return list(dict.fromkeys(times.name for times in recording.calls if times.name.startswith(OURS)))


def _operator(name: str) -> str:
    """What its user writes: `operator(A)`, `operator(A, 'measure')`."""
    return "operator(A)" if name == AUTO else f"operator(A, {name.removeprefix(OURS)!r})"


def _calls(recording: CallsRecording, clock: str, operator: str) -> Iterator[Comparison]:
    """On the device every operator beside the fastest library, the default beside all; else it beside other calls."""
    is_default, on_device = operator == _operators(recording)[0], clock in ("cold_s", "warm_s")
    for matrix in recording.matrices:
        every = {times.name: times for times in recording.calls if times.matrix_id == matrix.id}
        timed = {name: _timed(matrix.id, _kernel(times), getattr(times, clock)) for name, times in every.items()}
        own = timed.pop(operator, None)
        libraries = [m for name, m in timed.items() if m.median_s and not name.startswith(OURS)]
        rivals = {LIBRARY: min(libraries, key=lambda m: m.median_s or 0.0, default=None)} if on_device else {}
        # What a competitor's kernel costs the host is not that of a call: it is bound before.
        rivals |= {name: m for name, m in timed.items() if is_default and (on_device or not name.startswith(CUSPARSE))}
        if own and own.median_s and rivals:
            names = matrix.name, units.count(matrix.nnz)
            yield Comparison(f"{CLOCKS[clock]}, {_operator(operator)}", names, own, rivals)


def _system(recording: CallsRecording, times: SolveTimes, own: SolveTimes) -> tuple[str, ...]:
    """The cells under SYSTEM, with the worse of both residuals."""
    shape = next((system.n_rows, system.nnz) for system in recording.systems if system.id == times.matrix_id)
    counts = map(units.count, (times.products, own.products))
    worst = max((each.residual for each in (times, own) if each.residual is not None), default=None)
    residual = units.MISSING if worst is None else units.scientific(worst)
    return times.matrix_id, *map(units.count, shape), times.solver, *counts, residual


def _kernel(times: CallTimes) -> str:
    """The kernel that an operator chose, else the call."""
    return times.kernel or times.name


def _timed(matrix_id: str, kernel: str, seconds: float | None) -> Measurement:
    """The median of a call or solve as findings take it; its rounds were not kept."""
    case = Case(matrix_id, kernel, "warm")
    return Measurement.of(case, "", Details, median_s=seconds, state="ok" if seconds else "skipped")
