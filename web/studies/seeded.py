"""Page of the `seeded` study: PageRank of several seed sets at once, and warm starts."""

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.seeded import contests, findings
from gpu_engine.findings.seeded.tables import costs, starts
from gpu_engine.studies.seeded import SeededStudy
from web.components import TitledTable
from web.figures.base import Figure
from web.figures.seeded import cost
from web.studies.answers import seeded as answer
from web.studies.base import Features, Section, StudyPage, on_cpu

CPU_CAVEAT = "These timings are from a CPU. Times and speedups are different on a GPU."

FIGURES = (Figure("seeded-cost", "Cost of many seed sets", cost.draw, cost.summary, cost.table, info=cost.info),)


def _tables(data: StudyData) -> tuple[TitledTable, ...]:
    return (
        TitledTable("Time of many seed sets", costs(data)),
        TitledTable("Iterations after links have changed", starts(data)),
    )


SEEDED = StudyPage(
    study=SeededStudy(),
    link="Seed sets",
    title="PageRank of many seed sets",
    lead="Personalized PageRank ranks the pages once per seed set. All sets share each pass over the links. What do "
    "many sets cost beside one, and what does a warm start save after links have changed?",
    invitation="Open the matrix of a graph, choose Seed sets, and press Measure.",
    findings=findings,
    explore=answer.explore,
    figures=FIGURES,
    contests=contests,
    what="graphs",
    caveat=lambda data: CPU_CAVEAT if on_cpu(data) else "",
    sections=(
        Section(
            "seeds",
            "Seed sets and warm starts",
            _tables,
            (
                "Random seed sets have 10 pages. A set with fewer iterations than the others ends earlier.",
                "A cold start begins with the seeds, a warm start with the ranks before the links changed.",
                "The share and the speedup are those of the warm start with extrapolation, if it was measured.",
            ),
        ),
    ),
    features=Features("Graphs"),
)
