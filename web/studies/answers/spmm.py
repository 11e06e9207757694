"""Answer of SpMM: how much faster one SpMM is than k SpMVs, and which kernel is fastest."""

from collections.abc import Sequence

from gpu_engine.findings.spmm.answer import Answer, Speedups, answers
from gpu_engine.findings.spmm.groups import SpmmGroup, columns_text, crossover, order_text, series_of
from gpu_engine.findings.spmm.names import K, label
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.words import amount
from gpu_engine.verdicts.verdict import Verdict, interval_of_ratio, verdict_text
from web.components import Link
from web.explore import Drawer, ExploreAnswer
from web.plots.axis import Axis, log_axis
from web.plots.dots import Dot, DotRow, Dots, DotValue, Series
from web.results import Results
from web.selection import study_url
from web.studies.answers.wording import alone, is_open, measured_on, opened, wins

OVER_SPMVS = Series("over k SpMVs", "circle", "of-none", "The fastest CSR kernel of SpMV, once per column.")
OVER_LIBRARY = Series("over library", "square", "of-none", "The fastest SpMM of a library.")

LIBRARY = "the fastest library kernel"


def explore(results: Results) -> ExploreAnswer | None:
    """Return the answer over all matrices of the first device and order; None without two times to compare."""
    known = answers(results.data)
    if not known:
        return None
    first, *others = known
    pictures = (_by_matrix(first, results), *_by_columns(first, results))
    return ExploreAnswer(
        eyebrow=f"One SpMM with {columns_text(first.k, first.order)} · {_where(first)} · {_matrices(first)}",
        sentence=_sentence(first),
        under=tuple(filter(None, (_over_library(first), _pays(first)))),
        pictures=pictures,
        notes=(
            "k SpMVs multiply vectors of their own, with the fastest CSR kernel of SpMV. They run in the same rounds.",
            *(f"{_where(each)}. {_sentence(each)}" for each in others),
        ),
    )


def _where(answer: Answer) -> str:
    return f"{measured_on(answer.device)}, {answer.cache}{order_text(answer.order)}"


def _matrices(answer: Answer) -> str:
    return amount(len(answer.groups), "matrix", "matrices")


def _sentence(answer: Answer) -> str:
    """Return the speedup of one SpMM, and the kernel that is fastest most often."""
    kernel, count = answer.fastest.most_common(1)[0]
    of = f" on {count} of {_matrices(answer)}" if len(answer.groups) > 1 else ""
    fastest = f"{label(kernel)} is fastest or tied{of}"
    over = answer.over_spmvs
    if over is None:
        return f"With {columns_text(answer.k, answer.order)}, {fastest}."
    return f"One SpMM is {units.ratio(over.mean)} as fast as {amount(answer.k, 'SpMV')}, and {fastest}."


def _over_library(answer: Answer) -> str:
    over = answer.over_library
    return f"Against {LIBRARY}: {units.ratio(over.mean)}, {wins(over.counts, 'matrices')}." if over else ""


def _pays(answer: Answer) -> str:
    """Return from how many columns on one SpMM is faster; empty with one number of columns."""
    series = [groups for groups in series_of(answer.every).values() if len(groups) > 1]
    smallest = [k for groups in series if (k := crossover(groups))]
    if not smallest:
        return ""
    low, high = min(smallest), max(smallest)
    columns = columns_text(low, "row") if low == high else f"{low} to {high} columns"
    total = amount(len(series), "matrix", "matrices")
    matrices = (
        "" if len(series) == 1 else f", on {'all' if len(smallest) == len(series) else f'{len(smallest)} of'} {total}"
    )
    return f"One SpMM pays from {columns} on{matrices}."


def _by_matrix(answer: Answer, results: Results) -> Dots:
    """Return a row per matrix, the largest speedup over k SpMVs first."""
    groups = sorted(answer.groups, key=lambda group: -_ratio(group.over_spmvs or group.over_library))
    axis = _axis(answer.groups)
    return Dots(
        heading=f"Speedup of one SpMM with {columns_text(answer.k, answer.order)}",
        series=_series(answer),
        ticks=axis.ticks(),
        one=axis.at(1.0),
        heads=("fastest SpMM", "per column", *(series.name for series in _series(answer))),
        rows=tuple(_matrix_row(group, answer, axis, results) for group in groups),
        what="matrix",
        wide=("fastest SpMM",),
        note="bar: 95 % CI",
        verdicts=True,
    )


def _matrix_row(group: SpmmGroup, answer: Answer, axis: Axis, results: Results) -> DotRow:
    return DotRow(
        name=results.data.matrix(group.matrix_id).name,
        href=opened(results, group.matrix_id),
        dots=_dots(group, axis),
        values=(*_first_values(group), *_speedups(group, _series(answer))),
        is_open=is_open(results, group.matrix_id),
    )


def _by_columns(answer: Answer, results: Results) -> tuple[Dots, ...]:
    """Return a row per number of columns, which it chooses, with the mean speedups; nothing for one number."""
    every = answer.by_columns
    if len(every) < 2:
        return ()
    series = _series(answer)
    means = [(each, [over for s in series if (over := _of(each, s))]) for each in every]
    axis = _whole_axis([over.mean for _, known in means for over in known])
    return (
        Dots(
            heading="Speedup of one SpMM by the number of columns",
            series=series,
            ticks=axis.ticks(),
            one=axis.at(1.0),
            heads=("matrices", *(s.name for s in series)),
            rows=tuple(_columns_row(each, series, axis, results) for each in every),
            what="columns",
            wide=("matrices",),
            note="geometric means",
        ),
    )


def _columns_row(each: Answer, series: Sequence[Series], axis: Axis, results: Results) -> DotRow:
    known = [(s, _of(each, s)) for s in series]
    dots = (
        axis.dot(over.mean, s.form, "of-none", low=low, high=high)
        for s, over in known
        if over
        for low, high in [over.interval or (None, None)]
    )
    values = (DotValue(_number(over.mean)) if over else _MISSING for _, over in known)
    href = study_url(results.study, results.requested.with_(**{K: str(each.k)}))
    return DotRow(units.count(each.k), href, tuple(dots), (DotValue(str(len(each.groups))), *values))


def _of(answer: Answer, series: Series) -> Speedups | None:
    return answer.over_spmvs if series is OVER_SPMVS else answer.over_library


def _series(answer: Answer) -> tuple[Series, ...]:
    """Return the alternatives with a time."""
    return tuple(series for series in (OVER_SPMVS, OVER_LIBRARY) if _of(answer, series))


def _axis(groups: Sequence[SpmmGroup]) -> Axis:
    return log_axis(_ratios(groups))


def _whole_axis(ratios: Sequence[float]) -> Axis:
    """Return an axis that reaches all ratios, because those of more columns are no outliers."""
    return Axis(min(1.0, *ratios) / 1.1, max(1.0, *ratios) * 1.1)


def _ratios(groups: Sequence[SpmmGroup]) -> list[float]:
    return [_ratio(v) for group in groups for v in (group.over_spmvs, group.over_library) if v]


def _ratio(verdict: Verdict | None) -> float:
    return (verdict.ratio if verdict else None) or 0.0


def _dots(group: SpmmGroup, axis: Axis) -> tuple[Dot, ...]:
    compared = (
        (OVER_SPMVS, group.over_spmvs, group.spmvs),
        (OVER_LIBRARY, group.over_library, group.library),
    )
    return tuple(
        axis.dot(_ratio(verdict), series.form, verdict.kind, low=low, high=high)
        for series, verdict, base in compared
        if verdict
        for low, high in [_interval(base, group.spmm)]
    )


def _interval(base: Measurement | None, m: Measurement | None) -> tuple[float | None, float | None]:
    return (interval_of_ratio(base, m) if base and m else None) or (None, None)


def _first_values(group: SpmmGroup) -> tuple[DotValue, DotValue]:
    """Return the fastest SpMM and its time per column."""
    m = group.spmm
    return (DotValue(m.kernel), DotValue(units.seconds(m.details.vector_s))) if m else (_MISSING, _MISSING)


def _speedups(group: SpmmGroup, series: Sequence[Series]) -> tuple[DotValue, ...]:
    verdicts = (group.over_spmvs if s is OVER_SPMVS else group.over_library for s in series)
    return tuple(DotValue(_number(_ratio(v)), v.kind) if v else _MISSING for v in verdicts)


def _number(ratio: float) -> str:
    """Return a ratio without its sign, in a column of such."""
    return units.ratio_beside_verdict(ratio)


_MISSING = DotValue(units.MISSING)


def drawer(results: Results, matrix_id: str) -> Drawer | None:
    """Return the drawer of a matrix: all numbers of columns on the first device and order; None without two times."""
    for answer in answers(results.data):
        groups = [g for g in answer.every if g.matrix_id == matrix_id and not g.ranking.busy]
        if groups:
            return _drawer(groups, answer, results)
    return None


def _drawer(groups: Sequence[SpmmGroup], answer: Answer, results: Results) -> Drawer:
    group = next((group for group in groups if group.k == answer.k), groups[-1])
    smallest, axis, series = crossover(groups), _whole_axis(_ratios(groups)), _series(answer)
    rows = tuple(
        DotRow(units.count(g.k), "", _dots(g, axis), (*_first_values(g), *_speedups(g, series))) for g in groups
    )
    pays = "never" if smallest is None else f"from {amount(smallest, 'column')} on"
    heads = ("fastest SpMM", "per column", *(s.name for s in series))
    return Drawer(
        title=results.data.matrix(group.matrix_id).name,
        eyebrow=f"One SpMM · {_where(answer)}",
        sentence=_of_group(group),
        pictures=(
            Dots(
                "Speedup of one SpMM by the number of columns",
                series,
                axis.ticks(),
                axis.at(1.0),
                heads,
                rows,
                what="columns",
                wide=heads[:1],
                verdicts=True,
            ),
        ),
        facts=(
            *((("Faster than k SpMVs", pays),) if group.over_spmvs else ()),
            *((("Fastest library kernel", group.library.kernel),) if group.library else ()),
            *((("Fastest k SpMVs", label(group.spmvs.kernel)),) if group.spmvs else ()),
        ),
        links=(
            alone(results, group.device, group.matrix_id, "All kernels on this matrix", "cases"),
            Link("Matrix", f"/matrices/{group.matrix_id}"),
        ),
    )


def _of_group(group: SpmmGroup) -> str:
    """Return the time of one SpMM per column, and its speedup over k SpMVs."""
    m = group.spmm
    if m is None:
        return f"No SpMM was timed with {columns_text(group.k, group.order)}."
    text = f"With {columns_text(group.k, group.order)}, {m.kernel} takes {units.seconds(m.details.vector_s)} per column"
    over = group.over_spmvs
    if over is None:
        return f"{text}."
    return f"{text}, {units.ratio(over.ratio)} as fast as {amount(group.k, 'SpMV')} ({verdict_text(over.kind)})."
