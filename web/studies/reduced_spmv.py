"""The page of the `reduced_spmv` study: Figure 4 of the CPMS PageRank paper by itself."""

from gpu_engine.findings.reduced_spmv import conclusions, contests, findings, overview
from gpu_engine.studies.reduced_spmv import ReducedSpmvStudy
from web.figures.base import Figure
from web.figures.reduced_spmv import blocks, gains
from web.studies.base import Features, StudyPage, conclusions_section

FIGURES = (
    Figure(
        "reduced_spmv-gains",
        "What fewer segments gain: Figure 4 of the paper",
        gains.draw,
        gains.summary,
        gains.table,
        info=gains.info,
    ),
    Figure(
        "reduced_spmv-blocks",
        "What the size of a block does",
        blocks.draw,
        blocks.summary,
        blocks.table,
        info=blocks.info,
    ),
)

REDUCED_SPMV = StudyPage(
    study=ReducedSpmvStudy(),
    link="Segments",
    title="Products in fewer bits",
    lead="The product of PageRank by itself, y = Aᵀp with one thread a page: the first segments of values, of ranks or "
    "of both, in blocks of several sizes, beside the same in fp64.",
    invitation="Open the matrix of a graph, choose the study products and a GPU and press Measure.",
    recorded_as="see products in segments",
    findings=findings,
    figures=FIGURES,
    job_figures=("reduced_spmv-gains",),
    contests=contests,
    what="graphs",
    of_paper=lambda _: True,
    overview=overview,
    conclusions=conclusions_section(
        "The paper’s Figure 4, and this device",
        conclusions.table,
        "Judged by products with values and ranks in segments, in blocks of 128 bytes where there are such, each "
        "beside the same layout in fp64; about: nine tenths of the number at least. The paper speaks of the mean: "
        "more than half of the graphs are enough to agree.",
    ),
    features=Features("Graphs"),
)
