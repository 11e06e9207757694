"""The tables of what calls and solves take."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from gpu_engine.gpu_bench.call_records import CallsRecording, CallTimes, SolveTimes
from gpu_engine.gpu_bench.calls import OURS
from gpu_engine.gpu_bench.markdown import Section, lowest, ms, number, render, section, us
from gpu_engine.gpu_bench.solves import OWN
from gpu_engine.records import CACHES
from gpu_engine.text.units import MISSING

AUTO, PREDICT, MEASURE = f"{OURS}auto", f"{OURS}predict", f"{OURS}measure"
CUSPARSE = "cusparse/"
KERNELS = {"auto": "kernel by default", "predict": "predicted kernel", "measure": "measured kernel"}
"""What a table calls the kernel that `choose` chose."""

Named = Mapping[str, CallTimes]
"""What was found of one matrix, by name."""


def products(recording: CallsRecording) -> Iterator[Section]:
    """Operators beside the fastest library, on the device alone."""
    operators = [name for name in _names(recording) if name.startswith(OURS)]
    for cache in CACHES:
        rows, ratios = [], {name: list[float | None]() for name in operators}
        time_of = partial(_seconds, field=f"{cache}_s")
        for matrix in recording.matrices:
            named = _named(recording.calls, matrix.id)
            rival = min(
                (t for n, t in named.items() if not n.startswith(OURS) and time_of(t)), key=time_of, default=None
            )
            cells = [matrix.name, str(matrix.nnz), rival.name if rival else MISSING, us(time_of(rival))]
            for name in operators:
                own = named.get(name)
                ratio = _ratio(time_of(rival), time_of(own))
                ratios[name].append(ratio)
                cells += [own.kernel if own else MISSING, us(time_of(own)), number(ratio)]
            rows.append(cells)
        heads = "matrix | nonzeros | fastest library | µs"
        heads += "".join(f" | {KERNELS[name.removeprefix(OURS)]} | µs | ×" for name in operators)
        notes = (
            _said(f"The fastest library over operator(A, {name.removeprefix(OURS)!r})", ratios[name], "matrices")
            for name in operators
        )
        yield from section(f"One product on the device, {cache}", heads, rows, *notes)


def algorithms(recording: CallsRecording) -> Iterator[Section]:
    """All of cuSPARSE, on the device alone."""
    names = [name for name in _names(recording) if name.startswith(CUSPARSE)]
    for cache in CACHES if names else ():
        heads = f"matrix | nonzeros | {' | '.join(name.removeprefix(CUSPARSE) for name in names)}"
        yield from section(
            f"cuSPARSE, one product on the device, {cache}, µs", heads, _rows(recording, names, f"{cache}_s")
        )


def costs(recording: CallsRecording) -> Iterator[Section]:
    """What a call costs that users write: the host's part, and all of it."""
    names = [name for name in _names(recording) if not name.startswith(CUSPARSE)]
    # What operator(A) was when it was recorded: predicted, before there was `auto`.
    default = AUTO if AUTO in names else PREDICT
    titles = {
        "host_s": "Time of the host for a call, of many in a row, µs",
        "whole_s": "One call until its answer is there, µs",
    }
    for field, title in titles.items():
        time_of = partial(_seconds, field=field)
        found = {matrix.id: _named(recording.calls, matrix.id) for matrix in recording.matrices}
        notes = [
            _said(
                f"{name} over operator(A)",
                [_ratio(time_of(named.get(name)), time_of(named.get(default))) for named in found.values()],
                "matrices",
            )
            for name in names
            if not name.startswith(OURS)
        ]
        ours = [seconds for named in found.values() if (seconds := time_of(named.get(default)))]
        notes.append(
            f"A call of operator(A): at most {us(max(ours))} µs of the host." if ours and field == "host_s" else ""
        )
        yield from section(title, f"matrix | nonzeros | {' | '.join(names)}", _rows(recording, names, field), *notes)


def solves(recording: CallsRecording) -> Iterator[Section]:
    """Whole solves with an operator and with the solver's own matrix."""
    rows, ratios = [], dict[str, list[float | None]]({PREDICT: [], MEASURE: []})
    for matrix_id in dict.fromkeys(t.matrix_id for t in recording.solves):
        named = {t.name: t for t in recording.solves if t.matrix_id == matrix_id}
        matrix = next(m for m in recording.systems if m.id == matrix_id)
        own = named[OWN]
        cells = [matrix_id, str(matrix.n_rows), str(matrix.nnz), own.solver, _count(own), ms(own.solve_s)]
        for name in (PREDICT, MEASURE):
            ratio = _ratio(own.solve_s, named[name].solve_s)
            ratios[name].append(ratio)
            cells += [named[name].kernel or MISSING, _count(named[name]), ms(named[name].solve_s), number(ratio)]
        worst = max((t.residual for t in named.values() if t.residual is not None), default=None)
        rows.append([*cells, MISSING if worst is None else f"{worst:.1e}"])
    heads = "matrix | rows | nonzeros | solver | products | own matrix ms"
    heads += " | predicted kernel | products | ms | × | measured kernel | products | ms | × | residual"
    notes = (_faster(choose, ratios[f"{OURS}{choose}"]) for choose in ("predict", "measure"))
    yield from section("Whole solves with the solver's own matrix and with operators", heads, rows, *notes)


def absent(recording: CallsRecording) -> Iterator[Section]:
    """What has no times, and why."""
    counted: dict[tuple[str, str], int] = {}
    every: tuple[CallTimes | SolveTimes, ...] = (*recording.calls, *recording.solves)
    for times in every:
        if times.note:
            name = times.name if isinstance(times, CallTimes) else f"{times.solver} with {times.name}"
            counted[name, times.note] = counted.get((name, times.note), 0) + 1
    rows = ((name, str(count), note) for (name, note), count in counted.items())
    yield from section("What has no times", "call | matrices | reason", rows)


def versions(recording: CallsRecording) -> Iterator[Section]:
    """The libraries that were called."""
    found = {(library, version) for times in recording.calls for library, version in times.versions.items()} | set(
        recording.environment.items()
    )
    yield from section("What was called", "what | version", sorted(found))


TABLES: Mapping[str, Callable[[CallsRecording], Iterable[Section]]] = {
    table.__name__: table for table in (products, algorithms, costs, solves, absent, versions)
}
"""By name."""


def report(recording: CallsRecording) -> str:
    """All tables."""
    sections = (section for table in TABLES.values() for section in table(recording))
    return f"# calls, {recording.device.name}, {recording.created_at}\n\n{render(sections)}"


def _names(recording: CallsRecording) -> list[str]:
    return list(dict.fromkeys(times.name for times in recording.calls))


def _rows(recording: CallsRecording, names: Sequence[str], field: str) -> Iterator[Sequence[str]]:
    """A field of each of these by matrix, in µs."""
    for matrix in recording.matrices:
        named = _named(recording.calls, matrix.id)
        yield matrix.name, str(matrix.nnz), *(us(_seconds(named.get(name), field)) for name in names)


def _named(calls: Iterable[CallTimes], matrix_id: str) -> Named:
    return {times.name: times for times in calls if times.matrix_id == matrix_id}


def _seconds(times: Any, field: str) -> Any:
    return None if times is None else getattr(times, field)


def _ratio(theirs: float | None, ours: float | None) -> float | None:
    return theirs / ours if theirs and ours else None


def _count(times: SolveTimes) -> str:
    return MISSING if times.products is None else str(times.products)


def _said(what: str, ratios: Iterable[float | None], of: str) -> str:
    found = lowest(ratios, of)
    return f"{what}: {found}." if found else ""


def _faster(choose: str, ratios: list[float | None]) -> str:
    found = [ratio for ratio in ratios if ratio]
    said = _said(f"The own matrix over operator(A, {choose!r})", found, "systems")
    return f"{said} Faster on {sum(ratio > 1 for ratio in found)}." if said else ""
