"""Answer of reduced-precision SpMV: do fewer bits speed up one SpMV, and fewer bits of what."""

from collections.abc import Iterator, Mapping

from gpu_engine.findings.pagerank.adaptive import Pair, Tally
from gpu_engine.findings.pagerank.runs import triangles
from gpu_engine.findings.reduced_spmv.answer import pair, product, tallies, tally
from gpu_engine.findings.reduced_spmv.groups import ProductGroup, Setting, counting, product_groups
from gpu_engine.pagerank.products import OPERANDS, Operands
from gpu_engine.text import units
from gpu_engine.text.words import amount
from gpu_engine.verdicts.verdict import verdict_text
from web.components import Link
from web.explore import Drawer, ExploreAnswer
from web.plots.axis import Axis, log_axis
from web.plots.dots import Dot, DotRow, Dots, DotValue, Series
from web.results import Results
from web.studies.answers.wording import YES, alone, is_open, measured_on, opened, wins

HALF, QUARTER = 2, 4
"""Segments of a value whose first one has half, or a quarter, of its bits."""

BITS = {HALF: "32 of 64 bits", QUARTER: "16 of 64 bits"}

SERIES: Mapping[Operands, Series] = {
    "both": Series("both", "circle", "of-none", "Matrix values and ranks in fewer bits."),
    "A": Series("values only", "diamond", "of-none", "Matrix values in fewer bits, ranks in fp64."),
    "p": Series("ranks only", "triangle", "of-none", "Ranks in fewer bits, matrix values in fp64."),
}
"""Operands in fewer bits → their entry in the legend: the form of their marks, whose hue is the verdict."""


def explore(results: Results) -> ExploreAnswer | None:
    """Return the answer over all graphs of the first device and layout; None without SpMVs to compare."""
    answers = [each for setting in _settings(results) for each in _with_tallies(setting)]
    if not answers:
        return None
    setting, layout, by_operands = answers[0]
    return ExploreAnswer(
        eyebrow=_eyebrow(setting, layout),
        sentence=_sentence(by_operands),
        under=_under(setting, layout, by_operands),
        pictures=(_picture(setting, layout, by_operands, results),),
        notes=(
            "Speedup over fp64 in the same layout, with blocks of the paper if measured.",
            *(_other(*each) for each in answers[1:]),
        ),
    )


def _settings(results: Results) -> list[Setting]:
    """Return the devices, complete graphs first."""
    return sorted(counting(product_groups(results.data)), key=lambda setting: setting.triangle != "full")


def _with_tallies(setting: Setting) -> Iterator[tuple[Setting, str, dict[Operands, Tally]]]:
    for layout in setting.layouts:
        if by_operands := tallies(setting, layout, HALF):
            yield setting, layout, by_operands


def _eyebrow(setting: Setting, layout: str) -> str:
    graphs = amount(len(setting.groups), "lower triangle" if setting.triangle != "full" else "graph")
    return f"One PageRank SpMV · {layout}, {BITS[HALF]} · {measured_on(setting.device)} · {graphs}"


def _sentence(by_operands: Mapping[Operands, Tally]) -> str:
    (operands, first), *others = by_operands.items()
    of = "" if operands == "both" else f" of {SERIES[operands].name}"
    rest = ", ".join(f"{SERIES[each].name} {units.ratio(one.mean)}" for each, one in others)
    begin = f"Does reading {BITS[HALF]}{of} speed up one SpMV? {YES[first.pays]}: {units.ratio(first.mean)}"
    return f"{begin} ({rest})." if rest else f"{begin}."


def _under(setting: Setting, layout: str, by_operands: Mapping[Operands, Tally]) -> tuple[str, ...]:
    first = next(iter(by_operands.values()))
    under = [f"It is {wins(first.verdicts, 'graphs')}."]
    quarter = tally(setting, layout, product(setting, QUARTER))
    if quarter:
        under.append(f"A quarter of the bits: {units.ratio(quarter.mean)}, {wins(quarter.verdicts, 'graphs')}.")
    return tuple(under)


def _picture(setting: Setting, layout: str, by_operands: Mapping[Operands, Tally], results: Results) -> Dots:
    axis = log_axis(each.speedup for one in by_operands.values() for each in one.pairs)
    known = [(group, pairs) for group in setting.groups if (pairs := _pairs(setting, group, layout))]
    known.sort(key=lambda each: -next(iter(each[1].values())).speedup)
    rows = [_row(group, pairs, by_operands, axis, results) for group, pairs in known]
    means = [_mean(operands, by_operands, axis) for operands in by_operands] if len(rows) > 1 else []
    return Dots(
        heading=f"Speedup of {BITS[HALF]} over fp64",
        series=tuple(SERIES[operands] for operands in by_operands),
        ticks=axis.ticks(),
        one=axis.at(1.0),
        heads=("fp64", *(SERIES[operands].name for operands in by_operands)),
        rows=(*rows, *means),
        what="graph",
        wide=("fp64",),
        note="bar: 95 % CI",
        verdicts=True,
    )


def _pairs(setting: Setting, group: ProductGroup, layout: str, segments: int = HALF) -> dict[Operands, Pair]:
    made = ((operands, pair(group, layout, product(setting, segments, operands))) for operands in OPERANDS)
    return {operands: each for operands, each in made if each}


def _row(
    group: ProductGroup,
    pairs: Mapping[Operands, Pair],
    by_operands: Mapping[Operands, Tally],
    axis: Axis,
    results: Results,
) -> DotRow:
    full = next(iter(pairs.values())).full.measurement
    return DotRow(
        name=results.data.matrix(group.matrix_id).name,
        href=opened(results, group.matrix_id),
        dots=tuple(_dot(operands, each, axis) for operands, each in pairs.items()),
        values=(DotValue(units.seconds(full.median_s)), *(_value(pairs.get(operands)) for operands in by_operands)),
        is_open=is_open(results, group.matrix_id),
    )


def _dot(operands: Operands, each: Pair, axis: Axis) -> Dot:
    low, high = each.interval or (None, None)
    return axis.dot(each.speedup, SERIES[operands].form, each.verdict, low=low, high=high)


def _value(each: Pair | None) -> DotValue:
    return DotValue(units.ratio_beside_verdict(each.speedup), each.verdict) if each else DotValue(units.MISSING)


def _mean(operands: Operands, by_operands: Mapping[Operands, Tally], axis: Axis) -> DotRow:
    one = by_operands[operands]
    low, high = one.interval or (None, None)
    values = (
        DotValue(f"{one.mean:.2f}", low_high=units.ratio_interval(one.interval)) if each == operands else DotValue("")
        for each in by_operands
    )
    dot = axis.dot(one.mean, SERIES[operands].form, "of-none", low=low, high=high)
    return DotRow(f"mean, {SERIES[operands].name}", "", (dot,), (DotValue(""), *values), is_summary=True)


def _other(setting: Setting, layout: str, by_operands: Mapping[Operands, Tally]) -> str:
    """Return the numbers of another layout, device, or triangle."""
    where = ", ".join(filter(None, (measured_on(setting.device), triangles(setting.triangle), layout)))
    means = ", ".join(f"{SERIES[operands].name} {units.ratio(one.mean)}" for operands, one in by_operands.items())
    return f"{where}: {means}."


def drawer(results: Results, matrix_id: str) -> Drawer | None:
    """Return the drawer of a graph: all its layouts with half and a quarter of the bits; None without two times."""
    for setting in _settings(results):
        for group in setting.groups:
            rows = _all_pairs(setting, group) if group.matrix_id == matrix_id else []
            if rows:
                return _drawer(group, rows, results)
    return None


Named = tuple[str, int, Operands, Pair]
"""Layout, segments, operands in fewer bits, and the SpMVs."""


def _all_pairs(setting: Setting, group: ProductGroup) -> list[Named]:
    return [
        (layout, segments, operands, each)
        for layout in setting.layouts
        for segments in BITS
        for operands, each in _pairs(setting, group, layout, segments).items()
    ]


def _drawer(group: ProductGroup, rows: list[Named], results: Results) -> Drawer:
    layout, _, operands, first = rows[0]
    axis = log_axis(each.speedup for *_, each in rows)
    of, speedup = "" if operands == "both" else f", {SERIES[operands].name}", units.judged_ratio(first.speedup)
    return Drawer(
        title=results.data.matrix(group.matrix_id).name,
        eyebrow=" · ".join(filter(None, (measured_on(group.device), triangles(group.triangle)))),
        sentence=f"{layout} with {BITS[HALF]}{of}: {speedup} over fp64 ({verdict_text(first.verdict)}).",
        pictures=(
            Dots(
                heading="Speedup over fp64",
                series=(),
                ticks=axis.ticks(),
                one=axis.at(1.0),
                heads=("time", "speedup"),
                rows=tuple(_drawer_row(*each, axis) for each in rows),
                what="SpMV",
            ),
        ),
        facts=tuple(
            (f"{name} in fp64", units.seconds(time_s))
            for name, time_s in {layout: each.full.measurement.median_s for layout, _, _, each in rows}.items()
        ),
        links=(
            alone(results, group.device, group.matrix_id, "All SpMVs of this graph", "cases"),
            Link("Matrix", f"/matrices/{group.matrix_id}"),
        ),
    )


def _drawer_row(layout: str, segments: int, operands: Operands, each: Pair, axis: Axis) -> DotRow:
    name = f"{layout}, {BITS[segments].partition(' ')[0]} bits, {SERIES[operands].name}"
    values = DotValue(units.seconds(each.other.measurement.median_s)), _value(each)
    return DotRow(name, "", (_dot(operands, each, axis),), values)
