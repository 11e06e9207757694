"""Answer of scaling: do more devices pay."""

from collections.abc import Mapping, Sequence

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.ranking import NAMED, join
from gpu_engine.findings.scaling.answer import Machine, Scaled, machines
from gpu_engine.findings.scaling.cases import (
    COLD,
    ITERATE,
    ONCE,
    PAGERANK,
    RESIDENT,
    SOLVE,
    WORKS,
    SpeedUp,
    phases_of,
)
from gpu_engine.findings.scaling.groups import devices_in_words
from gpu_engine.findings.scaling.superlinear import is_superlinear, superlinear_text
from gpu_engine.text import units
from gpu_engine.text.words import amount, capital
from gpu_engine.verdicts.verdict import verdict_text
from web.components import Link
from web.device_labels import is_several, place_of, short
from web.explore import Drawer, ExploreAnswer
from web.plots.axis import Axis, log_axis
from web.plots.dots import Dot, DotRow, Dots, DotValue, Series
from web.results import Results
from web.selection import study_url
from web.studies.answers.scaling_text import matrices_of_works, ranges, sentence, under
from web.studies.answers.wording import alone, is_open, measured_on, opened

ROWS_MAX = 16
"""Maximum number of matrices in the picture."""

EQUAL_ROWS = "equal rows"
SERIES: Mapping[str, Series] = {
    COLD: Series(WORKS[COLD], "circle", "of-tiles", "SpMV from host memory: partition, copy, multiply, and merge."),
    EQUAL_ROWS: Series("from the host, equal rows", "ring", "of-library", "The same with equal rows per device."),
    RESIDENT: Series(WORKS[RESIDENT], "diamond", "of-csr", "SpMV with the matrix on the devices."),
    ITERATE: Series(WORKS[ITERATE], "triangle", "of-ell", "SpMV and exchange of x, with the matrix on the devices."),
    PAGERANK: Series(WORKS[PAGERANK], "cross", "of-sliced", "A PageRank iteration, with the matrix on the devices."),
    SOLVE: Series(WORKS[SOLVE], "circle", "of-hyb", "A CG iteration, with the matrix on the devices."),
}
"""Workload, or EQUAL_ROWS → its entry in the legend."""


def explore(results: Results) -> ExploreAnswer | None:
    """Return the answer over all matrices of the first machine; None without runs on one and several devices."""
    known = machines(results.data)
    if not known:
        return None
    first, *others = known
    elsewhere = _elsewhere(results)
    names = join([name for name, _ in elsewhere], NAMED)
    return ExploreAnswer(
        eyebrow=_eyebrow(first),
        sentence=sentence(first),
        under=(*under(first, results.data), *([f"Other numbers and models of devices: {names}."] if elsewhere else [])),
        pictures=(_picture(first, results),),
        notes=(
            *_notes(first, results.data),
            *_superlinear(first, results),
            *(f"{measured_on(each.device)}: {ranges(each)}." for each in others),
            *(note for each in others for note in _superlinear(each, results)),
        ),
        links=elsewhere,
    )


def _elsewhere(results: Results) -> tuple[tuple[str, str], ...]:
    """Return the names and addresses of other groups of devices with results, in the order of all pages."""
    others = (device for device in results.devices if device not in results.selection.device)
    named = {device: name for device in others if is_several(name := results.names.get(device, device))}
    ordered = sorted(named.items(), key=lambda item: place_of(item[1]))[:NAMED]
    return tuple(
        (short(name), study_url(results.study, results.requested.with_(device=device, open=())))
        for device, name in ordered
    )


def _eyebrow(first: Machine) -> str:
    number = amount(len(_by_matrix(first)), "matrix", "matrices")
    devices = devices_in_words(first.devices, first.virtual)
    return f"Scaling · one matrix on {devices} · {measured_on(first.device)} · {number}"


def _by_matrix(first: Machine) -> dict[str, dict[str, Scaled]]:
    """Return the workloads by matrix id; matrices with the most workloads first, then those with the rarest one."""
    by_matrix: dict[str, dict[str, Scaled]] = {}
    for each in first.scaled:
        by_matrix.setdefault(each.group.matrix_id, {})[each.group.work] = each

    def order(item: tuple[str, Mapping[str, Scaled]]) -> tuple[int, int]:
        return -len(item[1]), min(len(first.of(work)) for work in item[1])

    return dict(sorted(by_matrix.items(), key=order))


def _picture(first: Machine, results: Results) -> Dots:
    by_matrix = _by_matrix(first)
    visible = dict(list(by_matrix.items())[:ROWS_MAX])
    works = [work for work in SERIES if any(_speedup(work, of_works) for of_works in visible.values())]
    known = [gain for of_works in visible.values() for work in works if (gain := _speedup(work, of_works))]
    axis = log_axis([*(gain.value for gain in known), float(first.devices)])
    hidden = len(by_matrix) - len(visible)
    between = sorted({number for each in first.scaled for number in _numbers(each)} - {1, first.devices})
    small = f"small: {', '.join(units.count(number) for number in between)} devices" if between else ""
    more = f"{amount(hidden, 'more matrix', 'more matrices')} under Verdicts" if hidden else ""
    return Dots(
        heading=f"Speedup of {devices_in_words(first.devices, first.virtual)} over one",
        series=tuple(SERIES[work] for work in works),
        ticks=axis.ticks(),
        one=axis.at(1.0),
        heads=tuple(SERIES[work].name for work in works),
        rows=tuple(_row(m, of_works, works, between, axis, results) for m, of_works in visible.items()),
        what="matrix",
        wide=tuple(SERIES[work].name for work in works if work in (EQUAL_ROWS, PAGERANK, SOLVE)),
        note=" · ".join(filter(None, (small, more))),
        verdicts=True,
    )


def _speedup(work: str, of_works: Mapping[str, Scaled]) -> SpeedUp | None:
    if work == EQUAL_ROWS:
        return of_works[COLD].of_rows if COLD in of_works else None
    return of_works[work].speedup if work in of_works else None


def _row(
    matrix_id: str,
    of_works: Mapping[str, Scaled],
    works: Sequence[str],
    between: Sequence[int],
    axis: Axis,
    results: Results,
) -> DotRow:
    dots: list[Dot] = []
    for work in works:
        series, gain = SERIES[work], _speedup(work, of_works)
        if gain:
            dots.append(axis.dot(gain.value, series.form, series.color, low=gain.low, high=gain.high))
        if work in of_works:
            others = (of_works[work].on(number) for number in between)
            dots += [axis.dot(each.value, series.form, series.color, is_small=True) for each in others if each]
    known = results.data.matrix(matrix_id)
    values = tuple(_value(work, of_works) for work in works)
    above = any(is_superlinear(each.on(number), number) for each in of_works.values() for number in _numbers(each))
    size = f"{units.number(known.nnz / 1e6)} M nonzeros" if known.nnz else ""
    note = ", ".join(filter(None, (size, "above linear: see the notes" if above else "")))
    return DotRow(
        known.name, opened(results, matrix_id), tuple(dots), values, note=note, is_open=is_open(results, matrix_id)
    )


def _value(work: str, of_works: Mapping[str, Scaled]) -> DotValue:
    gain = _speedup(work, of_works)
    if gain is None:
        return DotValue(units.MISSING)
    scaled = of_works[COLD if work == EQUAL_ROWS else work]
    m = scaled.equal_rows if work == EQUAL_ROWS else scaled.fastest[1]
    return DotValue(units.ratio_beside_verdict(gain.value), gain.kind, units.seconds(m.median_s) if m else "")


def _notes(first: Machine, data: StudyData) -> tuple[str, ...]:
    return (
        *matrices_of_works(first, data),
        "Each matrix has the partitioning that is fastest on one device.",
        "Workloads have separate rounds and are never compared.",
        *(
            ("Partitions, exchanges, and merges of simulated devices are the same as on GPUs.",)
            if first.virtual
            else ()
        ),
    )


def _superlinear(machine: Machine, results: Results) -> list[str]:
    """Return a note on each speedup above the number of devices."""
    known = ((scaled, _why_superlinear(scaled, results)) for scaled in machine.scaled)
    where = short(machine.device)
    return [
        f"{capital(WORKS[scaled.group.work])}, {results.data.matrix(scaled.group.matrix_id).name}, on {where}: {text}"
        for scaled, text in known
        if text
    ]


def _why_superlinear(scaled: Scaled, results: Results) -> str:
    """Return the speedups above the number of devices, with the reason of the largest one; empty without one."""
    above = [number for number in _numbers(scaled) if is_superlinear(scaled.on(number), number)]
    if not above:
        return ""
    most = max(above)
    series, m = scaled.group.ranked(most)[0]
    reason = superlinear_text(scaled.group, series, m, scaled.one, results.data.matrix(scaled.group.matrix_id))
    gain = scaled.on(most)
    devices = devices_in_words(most, scaled.group.virtual)
    return f"{units.ratio(gain.value if gain else None)} with {devices}. {reason}"


def drawer(results: Results, matrix_id: str) -> Drawer | None:
    """Return the drawer of a matrix; None without a speedup."""
    for machine in machines(results.data):
        if of_works := _by_matrix(machine).get(matrix_id):
            return _drawer(machine, matrix_id, of_works, results)
    return None


def _drawer(machine: Machine, matrix_id: str, of_works: Mapping[str, Scaled], results: Results) -> Drawer:
    data = results.data
    devices = devices_in_words(machine.devices, machine.virtual)
    return Drawer(
        title=data.matrix(matrix_id).name,
        eyebrow=f"{devices} · {measured_on(machine.device)}",
        sentence=_matrix_sentence(machine, of_works),
        under=tuple(
            f"{capital(WORKS[work])}: {text}"
            for work, scaled in of_works.items()
            if (text := _why_superlinear(scaled, results))
        ),
        pictures=(_by_devices(of_works),),
        facts=tuple(fact for work in WORKS if work in of_works for fact in _facts(of_works[work])),
        links=(
            alone(results, machine.device, matrix_id, "All results of this matrix", "cases"),
            alone(results, machine.device, matrix_id, "Time per phase", "scaling-phases"),
            Link("Matrix", f"/matrices/{matrix_id}"),
        ),
    )


def _matrix_sentence(machine: Machine, of_works: Mapping[str, Scaled]) -> str:
    parts = [
        f"{WORKS[work]} {units.judged_ratio(gain.value)} ({verdict_text(gain.kind)})"
        for work in WORKS
        if (gain := _speedup(work, of_works))
    ]
    return f"{devices_in_words(machine.devices, machine.virtual).capitalize()} over one: {', '.join(parts)}."


def _numbers(scaled: Scaled) -> list[int]:
    """Return the numbers of devices of a workload, ascending."""
    return sorted({m.details.devices for series in scaled.group.series for m in series.ranked if m.details.devices})


def _by_devices(of_works: Mapping[str, Scaled]) -> Dots:
    """Return a row per workload and number of devices."""
    runs = [
        (work, number, gain, scaled.group.ranked(number)[0][1])
        for work, scaled in of_works.items()
        for number in _numbers(scaled)
        if (gain := scaled.on(number))
    ]
    axis = log_axis(gain.value for _, _, gain, _ in runs)
    rows = []
    for work, number, gain, m in runs:
        series = SERIES[work]
        dot = axis.dot(gain.value, series.form, series.color, low=gain.low, high=gain.high)
        speedup = DotValue(units.ratio_beside_verdict(gain.value), gain.kind if number > 1 else "")
        values = DotValue(units.seconds(m.median_s)), speedup
        name = f"{WORKS[work]}, {amount(number, 'device')}"
        rows.append(DotRow(name, "", (dot,), values, color=series.color, form=series.form))
    heads = ("time", "speedup")
    return Dots("Speedup by number of devices", (), axis.ticks(), axis.at(1.0), heads, tuple(rows), what="workload")


def _facts(scaled: Scaled) -> list[tuple[str, str]]:
    """Return the kernel of a workload, and its phases."""
    series, m = scaled.fastest
    phases = [f"{name} {units.seconds(seconds)}" for name, seconds in phases_of(m).items()]
    once = ONCE[scaled.group.work]
    facts = [(f"Fastest {once}", series.label)]
    return [*facts, (f"Phases per {once}", ", ".join(phases))] if phases else facts
