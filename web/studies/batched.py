"""The page of the `batched` study: batches of small matrices."""

from collections.abc import Sequence

from gpu_engine.findings.batched import conclusions, contests, finding
from gpu_engine.findings.batched.groups import BATCH, OPERATION, PAPER, batch_groups, largest, operation_of, operations
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import Finding
from gpu_engine.records import CACHES
from gpu_engine.studies.batched import BatchedStudy
from gpu_engine.text import units
from web.figures.base import Figure
from web.figures.batched import conversion, density, growth, mixed, winners
from web.palette import batch_style
from web.parts import Choice
from web.results import Results
from web.selection import PageParameter, whole_number
from web.studies.base import Select, StudyPage, Switch, conclusions_section, on_cpu

CPU_CAVEAT = (
    "These times are of a CPU, where the blocks of a kernel become parts of the batch and nothing is launched: what a "
    "batch gains over one product after the other, and which kernel is best, says little about a GPU."
)

FIGURES = tuple(
    Figure(name, title, figure.draw, figure.summary, figure.table, info=figure.info)
    for name, title, figure in (
        ("batched-growth", "How rates grow with the batch", growth),
        ("batched-winners", "Who is fastest where", winners),
        ("batched-density", "Rate by row length", density),
        ("batched-mixed", "Mixed batches", mixed),
        ("batched-conversion", "What another layout costs", conversion),
    )
)


def _findings(data: StudyData) -> tuple[Finding, ...]:
    """Of each matrix and mixture the batch of the chosen size, else the largest with a time."""
    return tuple(finding(group, data) for group in largest(batch_groups(data), data.number(BATCH)))


def _sizes(results: Results) -> Sequence[Choice]:
    chosen = results.data.number(BATCH)
    sizes = {m.details.problems for m in results.measurements if m.details.problems} | ({chosen} if chosen else set())
    choices = (Choice(str(size), units.count(size), size == chosen) for size in sorted(sizes))
    return (Choice("", "the largest", not chosen), *choices) if sizes else ()


def _operations(results: Results) -> Sequence[str]:
    measured = operations(results.data)
    return measured if len(measured) > 1 else ()


BATCHED = StudyPage(
    study=BatchedStudy(),
    link="Batches",
    title="Batches of small matrices",
    lead="Many small matrices, each with its own size, pattern and values, multiplied at once: which kernel is "
    "fastest, and what it gains over one product after the other.",
    invitation="Open a small matrix, choose the study batched and press Measure, or choose another device, cache "
    "state, batch size or matrix. For mixed batches choose other matrices beside it there.",
    recorded_as="see batches",
    findings=_findings,
    figures=FIGURES,
    job_figures=("batched-winners",),
    contests=contests,
    what="batches",
    of_paper=lambda kernel: kernel in PAPER,
    caveat=lambda data: CPU_CAVEAT if on_cpu(data) else "",
    switches=(
        Switch("cache", "Cache", lambda _: CACHES, lambda results: results.selection.cache),
        Switch(OPERATION, "Operation", _operations, lambda results: (operation_of(results.data),)),
    ),
    parameters=(whole_number(BATCH, 9_999_999, "problems"), PageParameter(OPERATION)),
    selects=(Select("batch", BATCH, "Problems of a batch", _sizes),),
    conclusions=conclusions_section(
        "The paper’s conclusions, and this device",
        conclusions.table,
        "A statement holds for a batch where the kernel is the fastest of those that the statement is about, or "
        "the same as the fastest; the ratio is to the best of the others. Mostly: for more than half; seldom: for "
        "fewer.",
    ),
    swatch=lambda m: batch_style(m.kernel).color,
)
