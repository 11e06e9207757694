"""Page of the `reduced_spmv` study: Figure 4 of the CPMS PageRank paper."""

from gpu_engine.findings.reduced_spmv import conclusions, contests, findings, overview
from gpu_engine.studies.reduced_spmv import ReducedSpmvStudy
from web.figures.base import Figure
from web.figures.reduced_spmv import blocks, gains, graphs
from web.studies.answers import reduced_spmv as answer
from web.studies.base import Features, StudyPage, conclusions_section

FIGURES = (
    Figure(
        "reduced_spmv-gains",
        "Speedup from fewer segments, means over the graphs",
        gains.draw,
        gains.summary,
        gains.table,
        info=gains.info,
    ),
    Figure(
        "reduced_spmv-graphs",
        "All graphs: Figure 4 of the paper",
        graphs.draw,
        graphs.summary,
        graphs.table,
        info=graphs.info,
        matrices_min=2,
    ),
    Figure(
        "reduced_spmv-blocks",
        "Effect of the block size",
        blocks.draw,
        blocks.summary,
        blocks.table,
        info=blocks.info,
    ),
)

REDUCED_SPMV = StudyPage(
    study=ReducedSpmvStudy(),
    link="Reduced SpMV",
    title="Reduced-precision SpMV",
    lead="One PageRank SpMV (y = Aᵀp, one thread per row) that reads only the leading segments of A, p, or both, "
    "compared with fp64.",
    invitation="Open the matrix of a graph, choose Reduced SpMV and a GPU, and press Measure.",
    findings=findings,
    explore=answer.explore,
    drawer=answer.drawer,
    figures=FIGURES,
    contests=contests,
    what="graphs",
    of_paper=lambda _: True,
    overview=overview,
    conclusions=conclusions_section(
        "Figure 4 of the paper on this device",
        conclusions.table,
        "Judged by SpMVs with values and ranks in segments, with blocks of 128 bytes if measured, each against the "
        "same layout in fp64. The paper's matrices: lower triangles of symmetric ones, or of stand-ins. A printed "
        "number is reached if the measured one rounds to it or more. A printed mean is judged by the geometric "
        "mean over the graphs. The other statements must hold on each graph.",
    ),
    features=Features("Graphs"),
)
