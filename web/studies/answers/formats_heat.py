"""Heat table of the page Formats: strips of kernels over the matrices, and the table of the matrices."""

import math
from collections import Counter
from collections.abc import Sequence

from gpu_engine.findings.data import TRANSPOSE
from gpu_engine.findings.formats.choices import Choice, Choices
from gpu_engine.findings.formats.paper import SERIES
from gpu_engine.records import Measurement
from gpu_engine.text import units
from web import sorting
from web.components import Link
from web.palette import FAMILY_NAMES, mark_of
from web.plots.heat import (
    FAILED,
    NOT_TRIED,
    Heat,
    HeatColumn,
    HeatRow,
    MatrixRow,
    MatrixTable,
    step_of,
)
from web.results import Results
from web.selection import study_url
from web.studies.answers.formats_settings import (
    NOISY,
    OF_ADVISOR,
    VERDICT_PARAMETER,
    VERDICTS,
    Setting,
    numbers_text,
    opened,
)

ROWS_MAX = 8
"""Number of kernels that are not folded."""

CELLS_MAX = 3
"""Number of kernels with a column of slowdowns in the table of the matrices."""

MATRICES_MAX = 10
"""Number of matrices that are not folded."""

ADVISED = "The advisor’s choice"
SPARSIGHT, FASTEST = "Best Sparsight kernel", "Best kernel of each matrix"
LIBRARIES = "of-library"


def of_paper(kernel: str) -> bool:
    """Return whether the PELLR paper has a kernel."""
    return any(kernel in known or kernel.partition("/")[0] in known for known in SERIES.values())


def heat(results: Results, setting: Setting, name: str) -> Heat:
    """Return the heat table of a setting: the choices, then single kernels; name: the setting, if there are several."""
    choices = setting.choices
    ordered, groups = _columns(choices)
    rows = [_row(each, choices, ordered) for each in choices.kernels]
    baseline = _baseline_row(setting, ordered)
    visible = _visible(choices, results)
    singles = [row for row in rows if row.name in visible]
    place = sum(choices.kernels[n].mean > 1 for n, row in enumerate(rows) if row.name in visible and not row.note)
    picks = [(SPARSIGHT if choices.sparsight else FASTEST, choices.best)] + (
        [(ADVISED, choices.advised)] if choices.advised else []
    )
    return Heat(
        heading="Kernels",
        baseline=setting.short_rival,
        columns=tuple(_column(results, setting, i) for i in ordered),
        groups=groups,
        rows=(
            *(_row(choice, choices, ordered, text) for text, choice in picks),
            *singles[:place],
            baseline,
            *singles[place:],
        ),
        folded=tuple(row for row in rows if row.name not in visible),
        setting=name,
    )


def matrix_table(results: Results, setting: Setting, name: str) -> MatrixTable:
    """Return the matrices of a setting with the verdict of the address, the largest speedup first.

    name  of the setting, if there are several; else empty
    """
    choices, verdict = setting.choices, results.data.choice(VERDICT_PARAMETER.name)
    columns = [choice for choice in choices.kernels if len(choice.verdicts) == len(choices.groups)][:CELLS_MAX]
    (sort,) = results.selection.sort or ("-best",)
    heads = (*(["advisor"] if choices.advised else []), *(each.kernel for each in columns), setting.short_rival)
    rows = [
        _noisy(results, i, len(heads)) if verdict == NOISY else _matrix(results, setting, i, columns)
        for i in sorting.arranged(with_verdict(choices, verdict), sort, lambda i, key: _value(results, choices, i, key))
    ]
    unfolded = len(rows) if verdict else MATRICES_MAX
    number = f"{len(rows)} of {len(choices.groups) + len(choices.busy)}" if verdict else str(len(rows))
    where, what = f" on {name}" if name else "", "too noisy to rank" if verdict == NOISY else _order(sort)
    return MatrixTable(
        f"{number} matrices{where}, {what}",
        setting.short_rival,
        "best Sparsight" if choices.sparsight else "fastest",
        f"for {numbers_text(setting.n)}",
        heads,
        tuple(rows[:unfolded]),
        tuple(rows[unfolded:]),
        _sorts(results, sort),
        tuple((link.text, link.href, link.current) for link in verdict_links(results, choices)),
    )


def with_verdict(choices: Choices, verdict: str) -> list[str]:
    """Return the matrices with a verdict of the address; those that are ranked if it is empty."""
    if verdict == NOISY:
        return list(choices.busy)
    of_advisor = verdict.startswith(OF_ADVISOR)
    choice = choices.advised if of_advisor else choices.best
    verdicts = choice.verdicts if choice else {}
    kinds = VERDICTS.get(verdict.removeprefix(OF_ADVISOR), ())
    return [i for i in choices.groups if not verdict or (i in verdicts and verdicts[i].kind in kinds)]


def verdict_links(results: Results, choices: Choices) -> tuple[Link, ...]:
    """Return the links that show the matrices of one verdict, with their numbers, and all that are ranked.

    Verdicts are those on the best kernel; one on the advisor's choice is there if the address has it.
    """
    chosen = results.data.choice(VERDICT_PARAMETER.name)
    others = (chosen,) if chosen.startswith(OF_ADVISOR) else ()
    return tuple(
        Link(
            f"{verdict.replace('-', ' ') or 'all'} {len(with_verdict(choices, verdict))}",
            f"{study_url(results.study, results.requested.with_(verdict=verdict or ()))}",
            verdict == chosen,
        )
        for verdict in ("", *VERDICTS, NOISY, *others)
        if with_verdict(choices, verdict) or verdict == chosen
    )


def _order(sort: str) -> str:
    if sort.removeprefix("-") == "best":
        return f"{'largest' if sort[0] == '-' else 'smallest'} speedup first"
    return f"sorted by {sorting.in_words(sort)}"


def _sorts(results: Results, current: str) -> tuple[tuple[str, str, bool], ...]:
    keys = ("best", *(key for key in sorting.KEYS if key != "best"))
    links = []
    for key in keys:
        sort = key if current == f"-{key}" else f"-{key}"
        arrow = {f"-{key}": " ↓", key: " ↑"}.get(current, "")
        text = "speedup" if key == "best" else sorting.KEYS[key]
        href = study_url(results.study, results.requested.with_(sort=sort))
        links.append((f"{text}{arrow}", href, bool(arrow)))
    return tuple(links)


def _value(results: Results, choices: Choices, matrix: str, key: str) -> float | None:
    if key == "best":
        verdict = choices.best.verdicts.get(matrix)
        return verdict.ratio if verdict else None
    if "/" in key:
        m = next((m for m in choices.groups.get(matrix, ()) if m.kernel == key and m.median_s), None)
        return _slowdown(choices, matrix, m) if m else None
    return sorting.feature(results.data.matrix(matrix), key)


def _columns(choices: Choices) -> tuple[list[str], tuple[tuple[str, str, int], ...]]:
    """Return the matrices by the family of their fastest kernel, then by speedup, and the groups of families."""
    colors = {i: mark_of(m.kernel)[0] for i, m in choices.fastest.measurements.items()}
    numbers = Counter(colors.values())
    families = sorted(numbers, key=lambda color: (color == LIBRARIES, -numbers[color], color))
    ordered = [
        i
        for color in families
        for i in sorted(colors, key=lambda i: -(choices.fastest.verdicts[i].ratio or 0.0))
        if colors[i] == color
    ]
    return ordered, tuple((color, FAMILY_NAMES[color], numbers[color]) for color in families)


def _column(results: Results, setting: Setting, matrix: str) -> HeatColumn:
    choices, name = setting.choices, results.data.matrix(matrix).name
    kernel, ratio = choices.fastest.measurements[matrix].kernel, choices.fastest.verdicts[matrix].ratio
    meaning = f"{name}: {kernel}, {units.speedup(ratio)} vs {setting.short_rival}"
    return HeatColumn(name, opened(results, matrix), matrix in results.selection.open, meaning)


def _visible(choices: Choices, results: Results) -> list[str]:
    """Return the kernels that are not folded: chosen ones, those of a preset, or the best one of each format."""
    names = [each.kernel for each in choices.kernels]
    preset = next(iter(results.selection.kernels), "best")
    if results.selection.kernel or preset == "all":
        return names
    if preset in ("paper", "libraries"):
        return [name for name in names if of_paper(name) == (preset == "paper")]
    firsts = {name.partition("/")[0]: name for name in reversed(names)}
    return [name for name in names if name in firsts.values()][:ROWS_MAX]


def _row(choice: Choice, choices: Choices, ordered: Sequence[str], name: str = "") -> HeatRow:
    total, number = len(choices.groups), len(choice.verdicts)
    color, form = ("of-none", "") if name else mark_of(choice.kernel)
    ends = choice.interval
    return HeatRow(
        name or choice.kernel,
        color,
        form,
        units.speedup(choice.mean),
        units.ratio_interval(ends),
        choice.wins,
        tuple(_cell(choice, choices, i) for i in ordered),
        f"on {number}" if number < total else "",
        bool(name),
    )


def _baseline_row(setting: Setting, ordered: Sequence[str]) -> HeatRow:
    choices = setting.choices
    color, form = mark_of(choices.baseline)
    steps = (step_of(_slowdown(choices, i, choices.baselines[i])) for i in ordered)
    return HeatRow(setting.row_name, color, form, units.speedup(1.0), "", None, tuple(steps))


def _cell(choice: Choice, choices: Choices, matrix: str) -> int:
    m = choice.measurements.get(matrix)
    if m:
        return step_of(_slowdown(choices, matrix, m))
    tried = any(other.kernel == choice.kernel for other in choices.groups[matrix])
    return FAILED if tried and choice.kernel else NOT_TRIED


def _slowdown(choices: Choices, matrix: str, m: Measurement) -> float:
    best_s = choices.fastest.measurements[matrix].median_s
    return m.median_s / best_s if m.median_s and best_s else math.inf


def _matrix(results: Results, setting: Setting, matrix: str, columns: Sequence[Choice]) -> MatrixRow:
    choices, cost = setting.choices, setting.chosen(matrix)
    m, verdict = choices.best.measurements.get(matrix), choices.best.verdicts.get(matrix)
    picks = [choices.advised] if choices.advised else []
    timed = [each.measurements.get(matrix) for each in (*picks, *columns)]
    return MatrixRow(
        results.data.matrix(matrix).name,
        opened(results, matrix),
        matrix in results.selection.open,
        (m.kernel, *mark_of(m.kernel)) if m else None,
        units.seconds(m.median_s if m else None),
        units.speedup(verdict.ratio if verdict else None),
        verdict.kind if verdict else "",
        (cost.kernel, *mark_of(cost.kernel)) if cost else None,
        tuple(_slowdown_cell(choices, matrix, each) for each in (*timed, choices.baselines[matrix])),
    )


def _noisy(results: Results, matrix: str, cells: int) -> MatrixRow:
    """Return the row of a matrix that is not ranked; its name leads to the page that shows only this matrix."""
    href = study_url(results.study, results.requested.with_(matrix=matrix.removesuffix(TRANSPOSE), open=(), verdict=()))
    missing = units.MISSING
    name = results.data.matrix(matrix).name
    return MatrixRow(name, href, False, None, missing, missing, "", None, ((NOT_TRIED, missing),) * cells)


def _slowdown_cell(choices: Choices, matrix: str, m: Measurement | None) -> tuple[int, str]:
    if m is None:
        return NOT_TRIED, units.MISSING
    slowdown = _slowdown(choices, matrix, m)
    return step_of(slowdown), f"{slowdown:.2f}"
