"""`/batched`: batches of small matrices, in words, figures and tables."""

from sqlalchemy.orm import Session

from gpu_engine.records import CACHES
from web import units
from web.batches import batch_groups, largest, operation_of, operations
from web.comparison import overview
from web.contexts import BatchedPage
from web.figures.batched import conclusions, tables
from web.measured import BATCHED_STUDY, Measured, measured
from web.parts import Choice
from web.selection import Selection
from web.shown import Shown
from web.views import study
from web.views.lines import batch_findings

FORM = ("matrix", "batch")
"""What the form chooses; the address keeps the rest."""

CPU_CAVEAT = (
    "These times are of a CPU, where the blocks of a kernel become parts of the batch and nothing is launched: what a "
    "batch gains over one product after the other, and which kernel is best, says little about a GPU."
)


def page(session: Session, asked: Selection) -> BatchedPage:
    """The page of a selection; raises NotFoundError for an unknown job."""
    seen = measured(session, BATCHED_STUDY, asked)
    shown = seen.shown
    groups = [group for group in largest(batch_groups(shown), shown.batch) if group.timed]
    return BatchedPage(
        title="Batches of small matrices",
        topics=study.topics(seen),
        overview=tuple(overview(groups, "batches")),
        findings=batch_findings(seen),
        caveat=CPU_CAVEAT if study.on_cpu(seen) else "",
        figures=study.figures("batches", seen, shown),
        conclusions=conclusions.table(shown),
        kernels=tables.kernels(shown),
        features=study.features(seen),
        devices=study.switch(BATCHED_STUDY, asked, "device", seen.devices, seen.selection.device),
        caches=study.switch(BATCHED_STUDY, asked, "cache", CACHES, seen.selection.cache),
        operations=study.switch(BATCHED_STUDY, asked, "operation", operations(shown), (operation_of(shown),)),
        matrices=study.matrices(seen),
        every=study.every(asked, seen),
        sizes=_sizes(seen, shown),
        kept=study.kept(asked, FORM),
        downloads=study.downloads(BATCHED_STUDY, asked),
        jobs=study.sources(seen),
    )


def _sizes(seen: Measured, shown: Shown) -> tuple[Choice, ...]:
    found = {m.problems for m in seen.measurements if m.problems} | ({shown.batch} if shown.batch else set())
    sizes = (Choice(str(size), units.count(size), size == shown.batch) for size in sorted(found))
    return (Choice("", "the largest", not shown.batch), *sizes) if found else ()
