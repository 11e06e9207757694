"""Page of the `batched` study: batches of small matrices."""

import math
from collections.abc import Sequence
from itertools import pairwise

from gpu_engine.findings.batched import conclusions, contests, finding
from gpu_engine.findings.batched.groups import BATCH, OPERATION, PAPER, batch_groups, largest, operation_of, operations
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import Finding
from gpu_engine.records import CACHES
from gpu_engine.studies.batched import BatchedStudy
from gpu_engine.text import units
from web.figures.base import Figure
from web.figures.batched import conversion, density, energy, growth, mixed, winners
from web.palette import batch_style
from web.results import Results
from web.selection import VALUES_MAX, PageParameter, whole_number
from web.studies.answers import batched as answer
from web.studies.base import StudyPage, Switch, conclusions_section, on_cpu

CPU_CAVEAT = (
    "These timings are from a CPU, without kernel launches. Speedups and fastest kernels are different on a GPU."
)

LARGEST, ALL_ROWS = "the largest", "all"
ROW_LIMITS = (128, 512)
"""Numbers of rows between which matrices can be chosen."""

FIGURES = tuple(
    Figure(name, title, figure.draw, figure.summary, figure.table, info=figure.info)
    for name, title, figure in (
        ("batched-growth", "Throughput by batch size", growth),
        ("batched-winners", "Fastest kernel by matrix", winners),
        ("batched-density", "Throughput by row length", density),
        ("batched-mixed", "Mixed batches", mixed),
        ("batched-energy", "Energy by kernel", energy),
        ("batched-conversion", "Conversion cost of the layouts", conversion),
    )
)


def _findings(data: StudyData) -> tuple[Finding, ...]:
    """Return a finding per matrix and mixture for the chosen batch size, or for the largest one with timings."""
    return tuple(finding(group, data) for group in largest(batch_groups(data), data.number(BATCH)))


def _sizes(results: Results) -> dict[str, tuple[str, ...]]:
    """Return the batch sizes as text → value of the address."""
    chosen = results.data.number(BATCH)
    sizes = {m.details.batch_size for m in results.measurements if m.details.batch_size} | {chosen} - {0}
    return {LARGEST: (), **{units.count(size): (str(size),) for size in sorted(filter(None, sizes))}} if sizes else {}


def _current_size(results: Results) -> Sequence[str]:
    chosen = results.data.number(BATCH)
    return (units.count(chosen) if chosen else LARGEST,)


def _by_rows(results: Results) -> dict[str, tuple[str, ...]]:
    """Return the matrices by their number of rows: `up to 128` → ids; none if they are all in one range."""
    ranges: dict[str, tuple[str, ...]] = {}
    for low, high in pairwise((0, *ROW_LIMITS, math.inf)):
        ids = tuple(m for m in results.matrices if low < results.features[m].n_rows <= high)[:VALUES_MAX]
        text = f"over {units.count(low)}" if high == math.inf else f"{units.count(low + 1)} to {units.count(high)}"
        ranges |= {text if low else f"up to {units.count(high)}": ids} if ids else {}
    return {ALL_ROWS: (), **ranges} if len(ranges) > 1 else {}


def _current_rows(results: Results) -> Sequence[str]:
    chosen = set(results.requested.matrix)
    return [text for text, ids in _by_rows(results).items() if set(ids) == chosen]


def _operations(results: Results) -> Sequence[str]:
    measured = operations(results.data)
    return measured if len(measured) > 1 else ()


BATCHED = StudyPage(
    study=BatchedStudy(),
    link="Batches",
    title="Batched SpMV",
    lead="Many small matrices in one launch. Which kernel is fastest, and how much is gained over one call per matrix?",
    invitation="Open a small matrix, choose Batches, and press Measure. For mixed batches select more matrices there.",
    findings=_findings,
    explore=answer.explore,
    drawer=answer.drawer,
    figures=FIGURES,
    contests=contests,
    what="batches",
    of_paper=lambda kernel: kernel in PAPER,
    caveat=lambda data: CPU_CAVEAT if on_cpu(data) else "",
    switches=(
        Switch("cache", "Cache", lambda _: CACHES, lambda results: results.selection.cache),
        Switch(BATCH, "Batch size", lambda results: [*_sizes(results)], _current_size, values=_sizes),
        Switch("matrix", "Rows", lambda results: [*_by_rows(results)], _current_rows, values=_by_rows),
        Switch(OPERATION, "Operation", _operations, lambda results: (operation_of(results.data),)),
    ),
    parameters=(whole_number(BATCH, 9_999_999, "matrices"), PageParameter(OPERATION)),
    conclusions=conclusions_section(
        "Statements of the paper on this device",
        conclusions.table,
        "A statement holds for a batch if its kernel is fastest or tied among the kernels that it names. The ratio is "
        "its speedup over the best of the others. A printed number holds if the measured one rounds to it. "
        "Mostly: holds for more than half of the batches. Seldom: for half or fewer.",
    ),
    swatch=lambda m: batch_style(m.kernel).color,
)
