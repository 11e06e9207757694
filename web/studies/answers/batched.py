"""Answer of batches: does one flexible kernel do."""

from collections.abc import Sequence

from gpu_engine.findings.batched import contests
from gpu_engine.findings.batched.flexible import Batch, Flexible, flexible, of_smaller_sizes
from gpu_engine.findings.batched.groups import BatchGroup, matrices_of, name_of, operation_of
from gpu_engine.findings.batched.outlook import FLEXIBLE
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import INTERVAL
from gpu_engine.findings.overall_ranking import KernelSummary, answers
from gpu_engine.text import units
from gpu_engine.text.words import amount
from gpu_engine.verdicts.verdict import compare, interval_of_ratio, verdict_text
from web.components import Link
from web.explore import Drawer, ExploreAnswer
from web.palette import mark_of
from web.plots.axis import Axis, log_axis
from web.plots.dots import DotRow, Dots, DotValue, Series
from web.results import Results
from web.studies.answers.batched_growth import growth
from web.studies.answers.wording import alone, is_open, measured_on, opened, wins

KERNELS_MAX, BATCHES_MAX = 9, 10
"""Maximum number of kernels, and of batches, in a picture."""

NOTES = {FLEXIBLE: "a choice per batch"}
"""Kernel → note after its name."""

LIBRARY = "the best library kernel"
ROWS, BATCH_SIZE = "rows", "matrices"


def explore(results: Results) -> ExploreAnswer | None:
    """Return the answer over all batches of the first device; None without the flexible kernel."""
    known = flexible(results.data)
    if not known:
        return None
    first, *others = known
    pictures = _slowdowns(first, results.data), _speedups(first, results), growth(first, results.data)
    return ExploreAnswer(
        eyebrow=_eyebrow(first, results.data),
        sentence=_sentence(first),
        under=_under(first, results.data),
        pictures=tuple(filter(None, pictures)),
        notes=(*_notes(first), *(_other(each) for each in others)),
    )


def _eyebrow(first: Flexible, data: StudyData) -> str:
    batches = amount(len(first.batches), "batch", "batches")
    operation = operation_of(data).replace("=", " = ").replace("+", " + ")
    where = f"{measured_on(first.device)}, {first.cache}"
    return f"Batches · {operation}, {_sizes(first)} matrices per launch · {where} · {batches}"


def _sizes(first: Flexible) -> str:
    """Return the sizes of the batches: `1,000 to 10,000`."""
    sizes = [batch.group.batch_size for batch in first.batches]
    return " to ".join(units.count(size) for size in sorted({min(sizes), max(sizes)}))


def _sentence(first: Flexible) -> str:
    yes = "Yes" if first.does else "No"
    slower = first.slowdown - 1
    mean = " on average" if len(first.batches) > 1 else ""
    near = f"{units.percent(slower)} behind the fastest" if slower >= 0.0005 else "as fast as the fastest"
    parts = (f"{units.ratio(first.speedup)} over {LIBRARY}{mean}", near) if first.speedup else (f"{near}{mean}",)
    return f"Does one flexible kernel do for {_sizes(first)} matrices? {yes}: {', '.join(parts)}."


def _under(first: Flexible, data: StudyData) -> tuple[str, ...]:
    """Return how often it is the fastest, how often it is faster than the library, and the same for small batches."""
    number = len(first.batches)
    fastest = f"{FLEXIBLE} is fastest or tied on {first.wins} of {amount(number, 'batch', 'batches')}."
    if not first.verdicts:
        return (fastest,)
    small = (_smaller(size, each) for size, each in of_smaller_sizes(data, first).items())
    return (f"Against {LIBRARY} it is {wins(first.verdicts, 'batches')}. {fastest}", *filter(None, [" ".join(small)]))


def _smaller(size: int, each: Flexible) -> str:
    """Return the speedup over the library in batches of a smaller size, and how often it is faster."""
    mean = f"{units.ratio(each.speedup)}, " if each.speedup else ""
    return f"In batches of {units.count(size)} matrices it reaches {mean}{wins(each.verdicts, 'batches')}."


def _slowdowns(first: Flexible, data: StudyData) -> Dots | None:
    """Return a row per kernel that ran in all batches: its slowdown in each, and the mean."""
    ranking = next(
        (
            each
            for each in answers(contests(data), "batches")
            if (each.device, each.cache) == (first.device, first.cache)
        ),
        None,
    )
    everywhere = [each for each in ranking.standings if not each.absent and not each.failed] if ranking else []
    if not everywhere:
        return None
    visible = everywhere[:KERNELS_MAX]
    if all(each.label != FLEXIBLE for each in visible):
        visible[-1:] = [each for each in everywhere if each.label == FLEXIBLE]
    axis = log_axis((ratio for each in visible for _, ratio in each.ratios), least=1.0)
    beyond = sum(not axis.holds(ratio) for each in visible for _, ratio in each.ratios)
    with_ci = any(each.low and each.high for each in visible)
    note = f"dot: a batch · bar: mean{' with 95 % CI' if with_ci else ''}"
    return Dots(
        heading="Time over that of the fastest kernel of each batch",
        series=(),
        ticks=axis.ticks(),
        one=axis.at(1.0),
        heads=("mean", *([INTERVAL] if with_ci else []), "fastest or tied"),
        rows=tuple(_kernel_row(each, axis, with_ci) for each in visible),
        what="kernel",
        wide=(INTERVAL,),
        note=f"{note} · {units.count(beyond)} dots beyond the axis" if beyond else note,
    )


def _kernel_row(each: KernelSummary, axis: Axis, with_ci: bool) -> DotRow:
    color, form = mark_of(each.label)
    inside = sorted(ratio for _, ratio in each.ratios if axis.holds(ratio))
    dots = [axis.dot(ratio, form, color, is_small=True) for ratio in dict.fromkeys(round(r, 3) for r in inside)]
    ends = (each.low, each.high) if each.low and each.high else None
    mean = axis.dot(each.mean, "stem", "of-none", low=each.low, high=each.high)
    share = each.wins / len(each.ratios)
    between = [DotValue(units.ratio_interval(ends) or units.MISSING)] if with_ci else []
    values = (DotValue(units.ratio(each.mean)), *between, DotValue(units.percent(share)))
    return DotRow(each.label, "", (*dots, mean), values, color=color, form=form, note=NOTES.get(each.label, ""))


def _speedups(first: Flexible, results: Results) -> Dots | None:
    """Return a row per mixed batch, then the smallest and the largest speedups over the library."""
    compared = [batch for batch in first.batches if batch.over_library]
    visible = _notable(compared)
    if not visible:
        return None
    axis = log_axis(verdict.ratio for batch in visible if (verdict := batch.over_library) and verdict.ratio)
    what = "Mixed batches, and the smallest and largest speedups" if len(visible) < len(compared) else "All batches"
    return Dots(
        heading=f"{FLEXIBLE} over {LIBRARY}",
        series=(Series(FLEXIBLE, "circle", "of-none"),),
        ticks=axis.ticks(),
        one=axis.at(1.0),
        heads=(ROWS, BATCH_SIZE, FLEXIBLE, "library", "speedup"),
        rows=tuple(_batch_row(batch, axis, results) for batch in visible),
        what="batch",
        wide=(BATCH_SIZE, "library"),
        note=what,
        verdicts=True,
    )


def _notable(compared: Sequence[Batch]) -> list[Batch]:
    """Return at most BATCHES_MAX batches by descending speedup: mixed ones, the smallest, and the largest."""
    ordered = sorted(compared, key=lambda batch: -_ratio(batch))
    mixed = [batch for batch in ordered if batch.group.compose == "mixed"][: BATCHES_MAX - 2]
    others = [batch for batch in ordered if batch not in mixed]
    room = BATCHES_MAX - len(mixed)
    if len(others) <= room:
        return ordered
    ends = others[: room // 2] + others[len(others) - (room - room // 2) :]
    return [batch for batch in ordered if batch in mixed or batch in ends]


def _ratio(batch: Batch) -> float:
    verdict = batch.over_library
    return (verdict.ratio if verdict else None) or 0.0


def _batch_row(batch: Batch, axis: Axis, results: Results) -> DotRow:
    verdict, library = batch.over_library, batch.library
    kind = verdict.kind if verdict else "inconclusive"
    low, high = batch.interval or (None, None)
    values = (
        DotValue(_rows(batch.group, results.data)),
        DotValue(units.count(batch.group.batch_size)),
        DotValue(units.seconds(batch.flexible.median_s)),
        DotValue(units.seconds(library.median_s) if library else units.MISSING),
        DotValue(units.ratio_beside_verdict(_ratio(batch)), kind),
    )
    dot = axis.dot(_ratio(batch), "circle", kind, low=low, high=high)
    key = batch.group.key
    name, href = _short_name(batch, results.data), opened(results, key)
    return DotRow(name, href, (dot,), values, is_open=is_open(results, key))


def _rows(group: BatchGroup, data: StudyData) -> str:
    """Return the rows of a matrix of a batch: `1,000`, or the least and the most of a mixed one, `11–1,024`."""
    rows = [data.matrix(matrix_id).n_rows for matrix_id in matrices_of(group, data)]
    return units.RANGE.join(units.count(number) for number in sorted({min(rows), max(rows)})) if rows else units.MISSING


def _short_name(batch: Batch, data: StudyData) -> str:
    """Return the name of a batch without the names of the matrices of a mixture."""
    return (
        name_of(batch.group, data).partition(" (")[0] if batch.group.compose == "mixed" else name_of(batch.group, data)
    )


def _notes(first: Flexible) -> tuple[str, ...]:
    noisy = f"Timings of {amount(first.noisy, 'more batch', 'more batches')} are too noisy to compare."
    return (
        *((noisy,) if first.noisy else ()),
        f"{FLEXIBLE} chooses a layout per batch.",
        "Each matrix has its largest batch, unless you choose a batch size.",
        "Kernels that did not run in all batches are left out.",
    )


def _other(each: Flexible) -> str:
    over = f"{units.ratio(each.speedup)} over {LIBRARY}, {wins(each.verdicts, 'batches')}" if each.speedup else ""
    return f"{measured_on(each.device)}, {each.cache}: {over or units.ratio(each.slowdown)}."


def drawer(results: Results, key: str) -> Drawer | None:
    """Return the drawer of the batch with this key; None without a time."""
    batches = (batch for each in flexible(results.data) for batch in each.batches)
    batch = next((batch for batch in batches if batch.group.key == key), None)
    if batch is None:
        return None
    group = batch.group
    fastest = group.timed[0]
    return Drawer(
        title=_short_name(batch, results.data),
        eyebrow=f"{units.count(group.batch_size)} matrices per launch · {measured_on(group.device)}, {group.cache}",
        sentence=_batch_sentence(batch),
        pictures=(_kernels(batch),),
        facts=(
            ("Batch", name_of(group, results.data)),
            ("Rows per matrix", _rows(group, results.data)),
            ("Fastest kernel", f"{fastest.kernel}, {units.gflops(fastest.gflops)}"),
            *((("Flexible kernel", units.gflops(batch.flexible.gflops)),) if batch.flexible is not fastest else ()),
        ),
        links=_links(group, results),
    )


def _links(group: BatchGroup, results: Results) -> tuple[Link, ...]:
    """Return links to all results of the matrices of a batch, and to the page of the matrix of a uniform one."""
    if group.compose == "mixed":
        return (
            alone(results, group.device, matrices_of(group, results.data), "All batches of these matrices", "cases"),
        )
    return (
        alone(results, group.device, group.matrix_id, "All results of this matrix", "cases"),
        Link("Matrix", f"/matrices/{group.matrix_id}"),
    )


def _batch_sentence(batch: Batch) -> str:
    verdict, time = batch.over_library, units.seconds(batch.flexible.median_s)
    if verdict is None:
        return f"{FLEXIBLE} takes {time}, {units.ratio(batch.slowdown)} the time of the fastest kernel."
    library = units.seconds(batch.library.median_s) if batch.library else units.MISSING
    word = verdict_text(verdict.kind)
    return f"{FLEXIBLE} takes {time}, {LIBRARY} {library}: {word}, {units.judged_ratio(verdict.ratio)}."


def _kernels(batch: Batch) -> Dots:
    """Return a row per kernel, the fastest first: its speedup over the library, else over the slowest kernel."""
    timed = batch.group.timed
    base = batch.library or timed[-1]
    axis = log_axis((base.median_s or 0.0) / (m.median_s or 1.0) for m in timed)
    rows = []
    for m in timed[:KERNELS_MAX]:
        verdict, (color, form) = compare(base, m), mark_of(m.kernel)
        low, high = interval_of_ratio(base, m) or (None, None)
        dot = axis.dot(verdict.ratio or 1.0, form, color, low=low, high=high)
        kind = "" if m is base else verdict.kind
        values = DotValue(units.seconds(m.median_s)), DotValue(units.ratio_beside_verdict(verdict.ratio or 1.0), kind)
        rows.append(DotRow(m.kernel, "", (dot,), values, color=color, form=form))
    heading = f"Speedup over {base.kernel}"
    return Dots(heading, (), axis.ticks(), axis.at(1.0), ("time", "speedup"), tuple(rows), what="kernel")
