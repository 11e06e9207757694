"""The page of the `formats` study: kernels compared."""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from gpu_engine.findings.data import StudyData, op_of
from gpu_engine.findings.formats import conclusions, contests, findings, reproducibility, transpose
from gpu_engine.findings.formats.groups import BASELINES, OF_TRANSPOSE
from gpu_engine.findings.formats.paper import SERIES
from gpu_engine.records import CACHES, TRANSPOSED
from gpu_engine.studies.formats import FormatsStudy
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from web.figures.base import Figure
from web.figures.formats import (
    bars,
    conversion,
    heatmap,
    iterations,
    predicted,
    products,
    profile,
    rate,
    ratio,
    regret,
    roofline,
    share,
    systems,
)
from web.figures.formats.groups import by_place, formats_of
from web.figures.formats.ratio import PAIR
from web.figures.formats.side_by_side import FIGURES as FIGURES_OF_PAPER
from web.figures.formats.side_by_side import SERIES_PARAMETER
from web.parts import Choice, Field, TitledTable
from web.results import Results
from web.selection import REPRODUCIBLE, PageParameter, one_of
from web.sorting import KEYS
from web.studies.base import Features, Form, Section, Select, StudyPage, Switch, by_sigma, conclusions_section, features


def _figure(name: str, title: str, module: ModuleType, matrices_min: int = 2, **fields: Any) -> Figure[Any]:
    """The figure that a module draws."""
    own = {"table": getattr(module, "table", None), "info": module.info, "matrices_min": matrices_min}
    return Figure(name, title, module.draw, module.summary, **(own | fields))


FIGURES = (
    _figure("side-by-side", "All kernels side by side", heatmap),
    _figure("performance-profile", "How far from the fastest", profile),
    _figure("share", "How often the best", share),
    _figure("formats", "GFLOP/s by kernel beside the floors", bars, matrices_min=1),
    _figure("roofline", "How near the roof", roofline),
    _figure("conversion", "What a format costs", conversion, matrices_min=1),
    _figure("products", "Which kernel for n products", products, matrices_min=1),
    _figure("predicted", "Predicted beside measured", predicted, matrices_min=1),
    _figure("regret", "What the advisor’s first choice costs", regret),
    _figure("ratio", "One format against another", ratio),
    _figure("imbalance", "One format against another by imbalance", ratio, info=ratio.imbalance),
    _figure("iterations", "PELLR’s equation (1) on trial", iterations),
    _figure("systems", "Device beside device", systems, devices_min=systems.DEVICES_MIN),
    _figure("rate", "Rate by size", rate),
)
"""What a solver writer asks first comes first."""

BOTH = "both"
"""Cache states, or A and its transpose."""

NAMES_OF_OPS = {"A": "A", TRANSPOSED: OF_TRANSPOSE}
"""What multiplies x → what it is called."""


def _of_paper(kernel: str) -> bool:
    return any(kernel in known or kernel.partition("/")[0] in known for known in SERIES.values())


def _structure(results: Results) -> Table:
    """What is known of the matrices, and what one thread a row makes of their row lengths."""
    table, names = features(results), ("n_iter_ellr", "n_iter_pellr", "n_p")
    heads = Head("n_iter", "ELLR"), Head("n_iter", "PELLR"), Head("n_p")
    known = (results.features[matrix_id].stored for matrix_id in by_sigma(results))
    more = (tuple(units.count(stored.get(name)) for name in names) for stored in known)
    return Table((*table.heads, *heads), tuple((*row, *own) for row, own in zip(table.rows, more, strict=True)))


SERIES_OF = ("all", *FIGURES_OF_PAPER)
"""The formats that stand side by side."""

SERIES_NAMES = {name: name.replace("figure-", "Figure ") for name in SERIES_OF}
"""The formats of the paper's figures → the link that leads to them."""


def _series(results: Results) -> Sequence[str]:
    return tuple(SERIES_NAMES.values()) if len({m.matrix_id for m in results.measurements}) > 1 else ()


SORTED_BY = {
    text + arrow: (sort,) for key, text in KEYS.items() for arrow, sort in (("", key), (" ↑", f"-{key}"), (" ↓", key))
}
"""Link → the order that it leads to: what the matrices are sorted by has an arrow, and leads to the other direction."""


def _orders(results: Results) -> Sequence[str]:
    """A link a key, that of the order shown with its arrow."""
    (sort,) = results.selection.sort or (heatmap.DEFAULT,)
    shown = _current_order(results)
    is_heatmap = _series(results) and results.data.choice(SERIES_PARAMETER, SERIES_OF[0]) == SERIES_OF[0]
    return (
        [shown[0] if shown and key == sort.removeprefix("-") else text for key, text in KEYS.items()]
        if is_heatmap
        else ()
    )


def _current_order(results: Results) -> tuple[str, ...]:
    (sort,) = results.selection.sort or (heatmap.DEFAULT,)
    text = KEYS.get(sort.removeprefix("-"))
    return (f"{text} {'↓' if sort.startswith('-') else '↑'}",) if text else ()


def _order_by_kernel(data: StudyData) -> Sequence[Field]:
    """One field: the kernel whose times over the fastest sort the matrices, and from which end."""
    kernels = sorted(
        {m.kernel for groups in by_place(data.measurements).values() for own in groups.values() for m in own}
    )
    if len({m.matrix_id for m in data.measurements}) < 2 or data.choice(SERIES_PARAMETER, SERIES_OF[0]) != SERIES_OF[0]:
        return ()
    ends = (("", "nearest"), ("-", "farthest"))
    orders = [
        Choice(f"{sign}{k}", f"{k}: {end} first", data.sort == f"{sign}{k}") for k in kernels for sign, end in ends
    ]
    choices = (Choice("", "no kernel", not any(each.chosen for each in orders)), *orders)
    return (Field("sort", "choice", "", "or by the column of", "", "", "", choices),)


def _caches(results: Results) -> Sequence[str]:
    cache = results.selection.cache
    return (BOTH,) if len(cache) > 1 else cache


def _ops(results: Results) -> Sequence[str]:
    """What has been multiplied by, where that is more than A."""
    found = {op_of(m) for m in results.every}
    return (*NAMES_OF_OPS.values(), BOTH) if TRANSPOSED in found else ()


def _current_op(results: Results) -> Sequence[str]:
    return tuple(NAMES_OF_OPS[op] for op in results.selection.op) or (BOTH,)


def _reproducible(results: Results) -> Sequence[Choice]:
    """Whether all kernels are shown, where there is something to choose."""
    chosen = bool(results.selection.reproducible)
    if not chosen and all(m.details.is_reproducible is None for m in results.every):
        return ()
    return Choice("", "all kernels", not chosen), Choice(REPRODUCIBLE, "bitwise reproducible only", chosen)


def _baselines(results: Results) -> Sequence[Choice]:
    current = next((finding.baseline for finding in findings(results.data)), "")
    timed = {m.kernel for m in results.measurements if m.median_s}
    ordered = [name for name in BASELINES if name in timed] + sorted(timed.difference(BASELINES))
    return [Choice(kernel, kernel, kernel == current) for kernel in ordered]


def _pair(place: int, unset: str) -> Select:
    """A field for one of the two formats of a pair; hidden for a lone matrix."""

    def choices(results: Results) -> Sequence[Choice]:
        pair = results.data.chosen.get(PAIR, ())
        places = [groups for groups in by_place(results.measurements).values() if len(groups) > 1]
        known = tuple(dict.fromkeys((*pair, *(name for groups in places for name in formats_of(groups)))))
        if len(known) < 2:
            return ()
        chosen = (*pair, "", "")[place]
        return (Choice("", unset), *(Choice(name, name, name == chosen) for name in known))

    return Select(("pair-first", "pair-second")[place], PAIR, ("Ratio of", "over")[place], choices)


FORMATS = StudyPage(
    study=FormatsStudy(),
    link="Formats",
    title="Storage formats compared",
    lead="The fastest format and kernel of each matrix, how near it comes to the floor, and what converting to it "
    "costs.",
    invitation="Open a matrix and press Measure, or choose another device, cache state or matrix.",
    recorded_as="compare the formats",
    findings=findings,
    figures=FIGURES,
    job_figures=("formats",),
    contests=contests,
    of_paper=_of_paper,
    alone=("roofline", "predicted"),
    named=("side-by-side", "performance-profile", "rate"),
    switches=(
        Switch("cache", "Cache", lambda _: (*CACHES, BOTH), _caches, values={BOTH: CACHES}),
        Switch(
            "op",
            "Product",
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
    parameters=(PageParameter(PAIR, many=True), one_of(SERIES_PARAMETER, SERIES_OF)),
    forms=(Form("side-by-side", ("sort",), _order_by_kernel, "Sort"),),
    selects=(
        Select("baseline", "baseline", "Baseline", _baselines),
        _pair(0, "default pairs"),
        _pair(1, "every other"),
        Select("reproducible", "reproducible", "Reproducible", _reproducible),
    ),
    conclusions=conclusions_section(
        "The PELLR paper’s conclusions, and this device",
        conclusions.table,
        "Of the matrices shown, the fastest kernel of each format of the paper; CSRV is csr/vector16, cuCSR the "
        "faster of cuSPARSE’s algorithms for CSR. HYB is ours by the rule of a third: the paper’s was cuSPARSE’s, "
        "gone since CUDA 11. Mostly: for more than half of the matrices; seldom: for fewer; where the paper speaks "
        "of most or of an average, more than half is enough to agree.",
    ),
    overview=reproducibility.overview,
    sections=(
        Section(
            "transpose",
            "The transpose",
            lambda data: (TitledTable("The fastest kernel for A and for Aᵀ", transpose.table(data)),),
            (
                "A kernel for Aᵀ multiplies with a layout of Aᵀ. The rounds of A and of Aᵀ are not interleaved: a "
                "ratio near 1 decides nothing.",
            ),
        ),
    ),
    features=Features(
        "Structure",
        "n_iter and n_p are equations (1) and (2) of the PELLR paper: the iterations of all warps with one thread a "
        "row, the rows as they are (ELLR) or sorted by length (PELLR), and their computations, whatever the order. "
        "Figure 7 of the paper is the picture of memplus, drawn where its file has been uploaded.",
        _structure,
        "spy",
    ),
    home_findings=4,
)
