"""Answer of solves: how long until A·x = b is solved, conversion included, and how much faster than by libraries."""

from collections import Counter
from collections.abc import Mapping

from gpu_engine.findings.pagerank.adaptive import Tally
from gpu_engine.findings.solvers.answer import LIBRARY_NAMES, Answer, Compared, answers
from gpu_engine.findings.solvers.consistent import ConversionSpread, conversion_spread
from gpu_engine.findings.solvers.groups import base_text
from gpu_engine.findings.solvers.systems import conditions_text, system_texts
from gpu_engine.solvers.gmres import RESTART
from gpu_engine.text import units
from gpu_engine.text.words import amount
from web.explore import ExploreAnswer
from web.plots.axis import Axis, log_axis
from web.plots.dots import DotRow, Dots, DotValue, Series
from web.results import Results
from web.studies.answers.wording import is_open, measured_on, opened, wins

SERIES: Mapping[str, Series] = {
    "cupy": Series("over CuPy", "circle", "of-none", "cupyx.scipy.sparse.linalg."),
    "warp": Series("over NVIDIA Warp", "diamond", "of-none", "warp.optim.linear in its fastest mode."),
    "scipy": Series("over SciPy", "triangle", "of-none", "scipy.sparse.linalg."),
}
"""Library → its entry in the legend: the form of its marks, whose hue is the verdict."""

KERNEL, TOTAL = "kernel", "one solve"

UNCHANGED = "with the matrix as it is"


def explore(results: Results) -> ExploreAnswer | None:
    """Return the answer over all systems of the first device; None without solves to compare with a library."""
    known = answers(results.data)
    if not known:
        return None
    first, *others = known
    return ExploreAnswer(
        eyebrow=f"Solves of A·x = b {goals(first)} · {measured_on(first.device)} · {_systems(first)}",
        sentence=_sentence(first),
        under=(_counts(first), _conditions(first)),
        pictures=(_picture(first, results),),
        notes=(*_notes(first, results), *(f"{measured_on(a.device)}: {_speedup(a.tally)}." for a in others)),
    )


def goals(answer: Answer) -> str:
    """Return the tolerance of the solves."""
    texts = dict.fromkeys(f"to {units.scientific(each.group.solves[0].rtol)}" for each in answer.compared)
    return next(iter(texts)) if len(texts) == 1 else "to several tolerances"


def _systems(answer: Answer) -> str:
    return amount(len(answer.by_problem), "system")


def _speedup(tally: Tally) -> str:
    return f"one solve is {units.ratio(tally.mean)} as fast"


def _sentence(answer: Answer) -> str:
    """Return the speedup of one solve with conversion, and the share of the SpMVs."""
    text = f"One solve with conversion is {units.ratio(answer.tally.mean)} as fast as by {answer.library}"
    share = answer.spmv_share
    return f"{text}." if share is None else f"{text}, and SpMVs take {units.percent(share)} of the time."


def _counts(answer: Answer) -> str:
    """Return the counts of verdicts for one solve and for many, and of conversions that pay back."""
    many = f"Many solves with one conversion: {units.ratio(answer.many.mean)}, {wins(answer.many.verdicts, 'solves')}."
    text = f"It is {wins(answer.tally.verdicts, 'solves')}. {many}"
    paying, known = answer.paying
    return f"{text} Another format pays back in {paying} of {known}, against {_base(answer)}." if known else text


def _base(answer: Answer) -> str:
    """Return what conversions are compared with: the CSR kernel, or the fastest of several."""
    kernels = answer.csr_kernels
    if len(kernels) > 1:
        return f"the fastest of {amount(len(kernels), 'CSR kernel')}"
    return base_text(kernels[0], answer.is_base_only)


def _conditions(answer: Answer) -> str:
    """Return how the matrices were changed, and b, the first x, and the restart, if all systems share them."""
    axes = [next(iter(methods.values())).group.axes for methods in answer.by_problem.values()]
    counts = Counter(system_texts({k: v for k, v in each.items() if k in ("system", "excess")}) for each in axes)
    parts = ", ".join(f"{count} {texts[0] if texts else UNCHANGED}" for texts, count in counts.most_common())
    changed = f"Systems: {parts}. " if any(counts) else ""
    shared = {conditions_text(each.group.axes, "GMRES" in answer.methods) for each in answer.compared}
    text = next(iter(shared)) if len(shared) == 1 else "several right-hand sides or restarts"
    return f"{changed}{text[0].upper()}{text[1:]}."


def _notes(answer: Answer, results: Results) -> tuple[str, ...]:
    """Return what the times contain, and where a library does other work."""
    cycles = f"{RESTART} iterations" if not any("restart" in c.group.axes for c in answer.compared) else "one restart"
    gmres = f"CuPy and NVIDIA Warp end GMRES only after whole cycles of {cycles}, so they do more of them."
    minres = "MINRES of CuPy tests another norm, so it gets a smaller tolerance."
    spread = conversion_spread(results.data.measurements)
    return tuple(
        text
        for text, holds in (
            ("Each solution is verified on the host: ‖b − A·x‖ ≤ rtol·‖b‖.", True),
            ("Libraries solve with their own CSR, so they need no conversion.", True),
            (gmres, "GMRES" in answer.methods and "scipy" not in answer.libraries),
            (minres, "MINRES" in answer.methods and "cupy" in answer.libraries),
            (spread_text(spread) if spread else "", spread is not None),
        )
        if holds
    )


def spread_text(spread: ConversionSpread) -> str:
    """Return how much the conversion times differ, which of them count, and how many have no second time."""
    text = (
        f"Conversion times of one matrix and kernel differ by up to {units.ratio(spread.factor)}. The least one counts."
    )
    single = f" Of {amount(spread.total, 'conversion')}, {spread.single} have one time, which may be as far off."
    return f"{text}{single}" if spread.single else text


def _picture(answer: Answer, results: Results) -> Dots:
    axis = log_axis(pair.speedup for each in answer.compared for pair in each.by_library.values())
    by_problem = sorted(answer.by_problem.values(), key=lambda methods: -max(c.pair.speedup for c in methods.values()))
    rows = [_row(each, answer, axis, results) for methods in by_problem for each in methods.values()]
    means = [_mean(method, answer, axis) for method in answer.methods] if len(answer.by_problem) > 1 else []
    return Dots(
        heading="One solve with conversion: speedup over libraries",
        series=tuple(SERIES[name] for name in answer.libraries),
        ticks=axis.ticks(),
        one=axis.at(1.0),
        heads=(KERNEL, TOTAL, *(LIBRARY_NAMES[name].rpartition(" ")[2] for name in answer.libraries)),
        rows=(*rows, *means),
        what="system, method",
        wide=(KERNEL,),
        note="systems by their largest speedup over the faster library · bar: 95 % CI",
        verdicts=True,
    )


def _row(each: Compared, answer: Answer, axis: Axis, results: Results) -> DotRow:
    group = each.group
    alike = [key for key in answer.by_problem if key[0] == group.matrix_id]
    system = system_texts(group.axes) if len(alike) > 1 else ()
    pairs = [each.by_library.get(name) for name in answer.libraries]
    values = (DotValue(units.ratio_beside_verdict(p.speedup if p else None), p.verdict if p else "") for p in pairs)
    dots = (
        axis.dot(p.speedup, SERIES[name].form, p.verdict, low=low, high=high)
        for name, p in zip(answer.libraries, pairs, strict=True)
        if p
        for low, high in [p.interval or (None, None)]
    )
    return DotRow(
        name=results.data.matrix(group.matrix_id).name,
        href=opened(results, group.matrix_id),
        dots=tuple(dots),
        values=(DotValue(each.solve.label), DotValue(units.seconds(each.solve.total_s)), *values),
        note=", ".join((group.method, *system)),
        is_open=is_open(results, group.matrix_id),
    )


def _mean(method: str, answer: Answer, axis: Axis) -> DotRow:
    """Return the row of the means of a method, by library."""
    tallies = [(name, answer.tally_of(name, method)) for name in answer.libraries]
    dots = (
        axis.dot(tally.mean, SERIES[name].form, "of-none", low=low, high=high)
        for name, tally in tallies
        if tally
        for low, high in [tally.interval or (None, None)]
    )
    values = (DotValue(units.ratio_beside_verdict(tally.mean if tally else None)) for _, tally in tallies)
    return DotRow(f"mean, {method}", "", tuple(dots), (DotValue(""), DotValue(""), *values), is_summary=True)
