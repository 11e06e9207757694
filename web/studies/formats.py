"""Page of the `formats` study: comparison of SpMV kernels."""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from gpu_engine.competitors import BEST
from gpu_engine.findings.data import StudyData, op_of
from gpu_engine.findings.formats import conclusions, contests, findings, reproducibility, transpose
from gpu_engine.findings.formats.csr_kernels import FASTEST_CSR_IN_WORDS, keeps_csr
from gpu_engine.findings.formats.for_n import SPMVS, SPMVS_MAX
from gpu_engine.findings.formats.groups import OF_TRANSPOSE
from gpu_engine.records import CACHES, TRANSPOSED
from gpu_engine.studies.formats import FormatsStudy
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from web.components import Choice, Field, TitledTable
from web.figures.base import Figure
from web.figures.formats import (
    bars,
    devices,
    heatmap,
    iterations,
    paper_speedups,
    predicted,
    profile,
    ratio,
    regret,
    roofline,
    throughput,
    wins,
)
from web.figures.formats.groups import by_place, formats_of
from web.figures.formats.ratio import PAIR
from web.figures.formats.side_by_side import FIGURES as FIGURES_OF_PAPER
from web.figures.formats.side_by_side import SERIES_PARAMETER
from web.results import Results
from web.selection import REPRODUCIBLE, PageParameter, one_of
from web.sorting import KEYS
from web.studies.answers import formats as answers
from web.studies.answers.formats_drawer import drawer
from web.studies.answers.formats_fields import fields_of
from web.studies.answers.formats_heat import of_paper
from web.studies.answers.formats_settings import ITERATIONS_PARAMETER, SPMVS_PARAMETER, VERDICT_PARAMETER
from web.studies.answers.formats_table import answer_tables
from web.studies.base import (
    Features,
    Form,
    Number,
    Section,
    Select,
    StudyPage,
    Switch,
    by_sigma,
    conclusions_section,
    features,
)


def _figure(name: str, title: str, module: ModuleType, matrices_min: int = 2, **fields: Any) -> Figure[Any]:
    """Return the figure of a module."""
    defaults = {"table": getattr(module, "table", None), "info": module.info, "matrices_min": matrices_min}
    return Figure(name, title, module.draw, module.summary, **(defaults | fields))


FIGURES = (
    _figure("side-by-side", "All kernels side by side", heatmap),
    _figure("performance-profile", "Performance profile", profile),
    _figure("share", "Wins per format", wins),
    _figure("formats", "Throughput per kernel and roofline", bars, matrices_min=1, matrices_max=1),
    _figure("roofline", "Roofline", roofline),
    _figure("predicted", "Predicted and measured time", predicted, matrices_min=1),
    _figure("regret", "Regret of the predicted kernel", regret),
    _figure("ratio", "Pairwise speedup", ratio),
    _figure("paper-speedups", "Speedup of PELLR on the paper’s matrices", paper_speedups, matrices_min=1),
    _figure("imbalance", "Pairwise speedup by imbalance", ratio, info=ratio.imbalance),
    _figure("iterations", "Does PELLR’s equation (1) predict the speedup?", iterations),
    _figure("systems", "Compare devices", devices, devices_min=devices.DEVICES_MIN),
    _figure("rate", "Throughput by matrix size", throughput),
)
"""Figures of the page, the most important ones for solver authors first."""

BOTH = "both"
"""Label of both cache states, and of A with its transpose."""

NAMES_OF_OPS = {"A": "A", TRANSPOSED: OF_TRANSPOSE}
"""Operation → its label."""


def _structure(results: Results) -> Table:
    """Return the table of the matrices with the iterations of one thread per row."""
    table, names = features(results), ("n_iter_ellr", "n_iter_pellr", "n_p")
    heads = Head("n_iter", "ELLR"), Head("n_iter", "PELLR"), Head("n_p")
    known = (results.features[matrix_id].stored for matrix_id in by_sigma(results))
    more = (tuple(units.count(stored.get(name)) for name in names) for stored in known)
    return Table((*table.heads, *heads), tuple((*row, *cells) for row, cells in zip(table.rows, more, strict=True)))


SERIES_OF = ("all", *FIGURES_OF_PAPER)
"""Series of the comparison of all kernels: all formats, or those of a figure of the paper."""

SERIES_NAMES = {name: name.replace("figure-", "Figure ") for name in SERIES_OF}
"""Series → text of its link."""


def _series(results: Results) -> Sequence[str]:
    return tuple(SERIES_NAMES.values()) if len({m.matrix_id for m in results.measurements}) > 1 else ()


SORTED_BY = {
    text + arrow: (sort,) for key, text in KEYS.items() for arrow, sort in (("", key), (" ↑", f"-{key}"), (" ↓", key))
}
"""Text of a link → its sort key; the current key has an arrow, and its link reverses the order."""


def _orders(results: Results) -> Sequence[str]:
    """Return a link text per sort key; the current one has an arrow."""
    (sort,) = results.selection.sort or (heatmap.DEFAULT,)
    current = _current_order(results)
    is_heatmap = _series(results) and results.data.choice(SERIES_PARAMETER, SERIES_OF[0]) == SERIES_OF[0]
    return (
        [current[0] if current and key == sort.removeprefix("-") else text for key, text in KEYS.items()]
        if is_heatmap
        else ()
    )


def _current_order(results: Results) -> tuple[str, ...]:
    (sort,) = results.selection.sort or (heatmap.DEFAULT,)
    text = KEYS.get(sort.removeprefix("-"))
    return (f"{text} {'↓' if sort.startswith('-') else '↑'}",) if text else ()


def _order_by_kernel(data: StudyData) -> Sequence[Field]:
    """Return a field for sorting the matrices by the slowdown of a kernel."""
    kernels = sorted(
        {m.kernel for groups in by_place(data.measurements).values() for group in groups.values() for m in group}
    )
    if len({m.matrix_id for m in data.measurements}) < 2 or data.choice(SERIES_PARAMETER, SERIES_OF[0]) != SERIES_OF[0]:
        return ()
    ends = (("", "smallest slowdown"), ("-", "largest slowdown"))
    orders = [
        Choice(f"{sign}{k}", f"{k}: {end} first", data.sort == f"{sign}{k}") for k in kernels for sign, end in ends
    ]
    choices = (Choice("", "no kernel", not any(each.chosen for each in orders)), *orders)
    return (Field("sort", "choice", "", "or by slowdown of", "", "", "", choices),)


def _caches(results: Results) -> Sequence[str]:
    cache = results.selection.cache
    return (BOTH,) if len(cache) > 1 else cache


def _ops(results: Results) -> Sequence[str]:
    """Return the operations, if there are results for more than A."""
    ops = {op_of(m) for m in results.all_measurements}
    return (*NAMES_OF_OPS.values(), BOTH) if TRANSPOSED in ops else ()


def _current_op(results: Results) -> Sequence[str]:
    return tuple(NAMES_OF_OPS[op] for op in results.selection.op) or (BOTH,)


def _reproducible(results: Results) -> Sequence[Choice]:
    """Return the options of reproducibility, if some kernels have a result for it."""
    chosen = bool(results.selection.reproducible)
    if not chosen and all(m.details.is_reproducible is None for m in results.all_measurements):
        return ()
    return Choice("", "all kernels", not chosen), Choice(REPRODUCIBLE, "bitwise reproducible only", chosen)


def _baselines(results: Results) -> Sequence[Choice]:
    """Return the best kernel of the library, or the fastest one of CSR as the default, then all other kernels."""
    timed = {m.kernel for m in results.measurements if m.median_s}
    default = BEST if BEST in timed else FASTEST_CSR_IN_WORDS if any(map(keeps_csr, timed)) else ""
    chosen = results.data.baseline
    first = [Choice("", default, chosen in ("", default))] if default else []
    return [*first, *(Choice(kernel, kernel, kernel == chosen) for kernel in sorted(timed - {default}))]


def _pair(place: int, unset: str) -> Select:
    """Return the field for one of the two formats of a pair; hidden for a single matrix."""

    def choices(results: Results) -> Sequence[Choice]:
        pair = results.data.chosen.get(PAIR, ())
        places = [groups for groups in by_place(results.measurements).values() if len(groups) > 1]
        known = tuple(dict.fromkeys((*pair, *(name for groups in places for name in formats_of(groups)))))
        if len(known) < 2:
            return ()
        chosen = (*pair, "", "")[place]
        return (Choice("", unset), *(Choice(name, name, name == chosen) for name in known))

    return Select(("pair-first", "pair-second")[place], PAIR, ("Speedup of", "over")[place], choices)


FORMATS = StudyPage(
    study=FormatsStudy(),
    link="Formats",
    title="SpMV formats",
    lead="Fastest format and kernel for each matrix, its % of roofline, and the conversion cost.",
    invitation="Open a matrix and press Measure.",
    findings=findings,
    figures=FIGURES,
    contests=contests,
    of_paper=of_paper,
    alone=("roofline", "predicted"),
    named=("side-by-side", "performance-profile", "rate"),
    switches=(
        Switch("cache", "Cache", lambda _: (*CACHES, BOTH), _caches, values={BOTH: CACHES}),
        Switch(
            "op",
            "Operation",
            _ops,
            _current_op,
            values={**{name: (op,) for op, name in NAMES_OF_OPS.items()}, BOTH: ()},
        ),
        Switch(
            SERIES_PARAMETER,
            "Formats of the paper",
            _series,
            lambda results: (SERIES_NAMES[results.data.choice(SERIES_PARAMETER, SERIES_OF[0])],),
            figure="side-by-side",
            values={text: (name,) for name, text in SERIES_NAMES.items()},
        ),
        Switch("sort", "Sort", _orders, _current_order, figure="side-by-side", values=SORTED_BY),
    ),
    explore=answers.answer,
    drawer=drawer,
    parameters=(
        SPMVS_PARAMETER,
        VERDICT_PARAMETER,
        ITERATIONS_PARAMETER,
        PageParameter(PAIR, many=True),
        one_of(SERIES_PARAMETER, SERIES_OF),
    ),
    numbers=(
        Number(
            SPMVS_PARAMETER.name,
            "SpMVs",
            SPMVS,
            SPMVS_MAX,
            (1, 100, SPMVS, 10_000, 1_000_000),
            "Number of SpMVs with the same matrix. It decides whether the conversion pays.",
        ),
    ),
    forms=(Form("side-by-side", ("sort",), _order_by_kernel, "Sort"),),
    selects=(
        Select("baseline", "baseline", "Baseline", _baselines),
        _pair(0, "default pairs"),
        _pair(1, "all others"),
        Select("reproducible", "reproducible", "Reproducible", _reproducible),
    ),
    conclusions=conclusions_section(
        "Statements of the PELLR paper on this device",
        conclusions.table,
        "Fastest kernel of each format of the paper, on its matrices or their stand-ins, and on all matrices shown. "
        "CSRV is csr/vector16; cuCSR is the faster of cuSPARSE’s algorithms for CSR. HYB is the kernel of Sparsight "
        "with the rule of a third, because CUDA 11 removed that of cuSPARSE. A printed speedup of a matrix holds if "
        "the measured one rounds to it. About 1.5 also holds for a larger one. Possible reasons follow from features "
        "of the matrix and the size of the GPU; they are not measured. Mostly: holds for more than half of the "
        "matrices. Seldom: for half or fewer. More than half is enough to agree if the paper speaks of most or of an "
        "average.",
    ),
    overview=reproducibility.overview,
    csv_fields=fields_of,
    answer_tables=answer_tables,
    sections=(
        Section(
            "transpose",
            "Transpose",
            lambda data: (TitledTable("Fastest kernel for A and for Aᵀ", transpose.table(data)),),
            (
                "A kernel for Aᵀ uses a layout of Aᵀ. The rounds of A and Aᵀ are not interleaved, so ratios near 1 are "
                "inconclusive.",
            ),
        ),
    ),
    features=Features(
        "Structure",
        "n_iter and n_p are equations (1) and (2) of the PELLR paper. n_iter: iterations of all warps with one thread "
        "per row, rows in their order (ELLR) or sorted by length (PELLR). n_p: their computations, for any order. "
        "A picture shows the nonzeros of a matrix whose file is on this server.",
        _structure,
        "spy",
    ),
)
