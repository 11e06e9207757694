"""Page of the `spmm` study: one SpMM against k SpMVs."""

from collections.abc import Sequence

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.spmm import contests, findings, overview
from gpu_engine.findings.spmm.groups import spmm_groups
from gpu_engine.findings.spmm.names import K
from gpu_engine.findings.spmm.tables import by_columns, crossovers
from gpu_engine.records import CACHES
from gpu_engine.studies.spmm import K_MAX, SpmmStudy
from gpu_engine.text import units
from web.components import TitledTable
from web.figures.base import Figure
from web.figures.spmm import columns
from web.palette import spmm_style
from web.results import Results
from web.selection import whole_number
from web.studies.answers import spmm as answer
from web.studies.base import Section, StudyPage, Switch, on_cpu

CPU_CAVEAT = "These timings are from a CPU. Speedups and fastest kernels are different on a GPU."

ALL = "all"
"""Option of all numbers of columns: the answer is then about the middle one."""

FIGURES = (
    Figure(
        "spmm-columns",
        "Time per column",
        columns.draw,
        columns.summary,
        columns.table,
        info=columns.info,
    ),
)


def _columns(results: Results) -> dict[str, tuple[str, ...]]:
    """Return the numbers of columns as text → value of the address."""
    chosen = results.data.number(K)
    known = {group.k for group in spmm_groups(results.data, every=True)} | ({chosen} if chosen else set())
    return {ALL: (), **{units.count(k): (str(k),) for k in sorted(known)}} if known else {}


def _current_columns(results: Results) -> Sequence[str]:
    chosen = results.data.number(K)
    return (units.count(chosen) if chosen else ALL,)


def _tables(data: StudyData) -> tuple[TitledTable, ...]:
    return (
        TitledTable("Fastest kernels by the number of columns", by_columns(data)),
        TitledTable("Columns from which one SpMM is faster than k SpMVs", crossovers(data)),
    )


SPMM = StudyPage(
    study=SpmmStudy(),
    link="Many vectors",
    title="Many vectors",
    lead="One SpMM Y = A·X multiplies a dense X of k columns. How much faster is it than k SpMVs, and which kernel is "
    "fastest for your k?",
    invitation="Open a matrix, choose Many vectors, and press Measure.",
    findings=findings,
    explore=answer.explore,
    drawer=answer.drawer,
    figures=FIGURES,
    contests=contests,
    what="SpMMs",
    overview=overview,
    caveat=lambda data: CPU_CAVEAT if on_cpu(data) else "",
    switches=(
        Switch("cache", "Cache", lambda _: CACHES, lambda results: results.selection.cache),
        Switch(K, "Columns", lambda results: [*_columns(results)], _current_columns, values=_columns),
    ),
    parameters=(whole_number(K, K_MAX, "columns"),),
    sections=(
        Section(
            "columns",
            "By the number of columns",
            _tables,
            (
                "Fastest SpMM: the fastest kernel of Sparsight that multiplies all columns at once.",
                "A matrix pays from the smallest number of columns from which all larger ones are faster.",
            ),
        ),
    ),
    swatch=lambda m: spmm_style(m.kernel).color,
)
