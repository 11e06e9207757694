"""Paper on MSREP, a framework for sparse matrices on several GPUs, arXiv 2022."""

from collections.abc import Mapping

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.scaling import conclusions as scaling
from gpu_engine.findings.scaling.groups import devices_in_words
from gpu_engine.findings.scaling.merges import merge_shares
from gpu_engine.findings.scaling.paper import NAMES, stand_ins
from gpu_engine.records import Measurement
from gpu_engine.text import units
from web.components import Link
from web.figures.scaling.phases import PHASES as IN_PHASES
from web.figures.scaling.phases import SHARES
from web.papers.base import Exhibit, Outlook, Paper, Place, Trial, drawing, study_table
from web.papers.drawings import msrep as drawings

UNEVEN = "two-level-10"
"""Matrix of Figure 6 whose halves differ most in their nonzeros: equal rows are most unequal on it."""

MATRICES = (*NAMES, UNEVEN)
"""Matrices of the paper: those of Table 2, and one of Figure 6."""

COLD = Place("scaling", "scaling-cold")
PHASES = Place("scaling", "scaling-phases", {IN_PHASES: (SHARES,)})
BALANCE = Place("scaling", "scaling-balance", most=len(MATRICES))
RATIO = Place("scaling", "scaling-ratio")
STAYING = Place("scaling", "scaling-staying")
ITERATION = Place("scaling", "scaling-iteration")


def _largest(results: Mapping[str, StudyData]) -> str:
    """Return the most nonzeros of a matrix that several GPUs share, with their number; empty without any."""
    data = results["scaling"]
    shared = [m for m in data.measurements if m.median_s and (m.details.devices or 1) > 1 and m.backend == "cuda"]

    def size(m: Measurement) -> tuple[int, int]:
        return data.matrix(m.matrix_id).nnz, m.details.devices or 1

    if not shared:
        return ""
    nonzeros, devices = size(max(shared, key=size))
    return f"{units.count(nonzeros)} nonzeros on {devices_in_words(devices, virtual=False)}"


MSREP = Paper(
    name="msrep",
    link="MSREP",
    title="MSREP: A Fast yet Light Sparse Matrix Framework for Multi-GPU Systems",
    authors=(
        *("Jieyang Chen", "Chenhao Xie", "Jesun S. Firoz", "Jiajia Li"),
        *("Shuaiwen Leon Song", "Kevin Barker", "Mark Raugas", "Ang Li"),
    ),
    venue="arXiv:2209.07552",
    year=2022,
    entry="article",
    fields={"journal": "arXiv preprint arXiv:2209.07552", "doi": "10.48550/arXiv.2209.07552"},
    address="https://doi.org/10.48550/arXiv.2209.07552",
    machine="six NVIDIA V100 of a Summit node, eight of a DGX-1, CUDA 10.1",
    lead="Multi-GPU SpMV with CSR, CSC, and COO, partitioned into equal numbers of nonzeros per GPU.",
    errata=(
        "As printed, the merges of Algorithms 3 and 7 overwrite a partial sum and scale it twice. Sparsight computes "
        "y = β·y + α·Σ over the partitions, once per row, for any number of partitions.",
        "As printed, Algorithm 1 scales y by β in its inner loop. Sparsight does it once per row; β = 0 never reads y.",
        "Algorithms 2, 4, and 6 count partitions from 1, which leaves out the first nnz/np nonzeros. Sparsight counts "
        "from 0.",
        "Algorithm 6 searches the row pointers, which COO does not have. Sparsight reads the rows of the first and the "
        "last nonzero of a partition.",
        "§5.5 refers to Figure 22 for the merges, but §5.7 says that it shows speedups; Figure 19 shows the merges.",
        "§5.4 counts the copies to the GPUs as partitioning; Sparsight reports them as a separate phase.",
    ),
    judges={"scaling": scaling.conclusions},
    exhibits=(
        drawing(
            "Table 1", "The symbols m, n, nnz and np.", absent="A list of symbols; the glossary has those of Sparsight."
        ),
        drawing(
            "Figures 1 to 4",
            "A matrix of six rows, and its arrays in COO, CSR, and CSC.",
            drawing=drawings.figures_1_to_4,
        ),
        drawing(
            "Figure 5",
            "Balance by rows gives the GPUs different numbers of nonzeros.",
            (BALANCE,),
            drawing=drawings.figure_5,
        ),
        Exhibit(
            "Figure 6",
            "GFLOP/s by the ratio of nonzeros between two halves of eight GPUs.",
            "559 of 1,028 GFLOP/s if half of the GPUs have a tenth of the nonzeros of the others.",
            (RATIO,),
            why="The time of a partition is proportional to its nonzeros if nothing else counts. Then equal rows reach "
            "(1 + 1/r)/2 of the performance. Launches and vectors take time that does not depend on r.",
        ),
        drawing("Figure 7", "Equal nonzeros per GPU, with cut rows.", (BALANCE,), drawing=drawings.figure_7),
        drawing(
            "Figures 8 to 10",
            "The matrix of Figure 1 in four partitions as pCSR, pCSC, and pCOO.",
            drawing=drawings.figures_8_to_10,
        ),
        drawing(
            "Figures 11 and 12",
            "Topology of a Summit node and of a DGX-1.",
            absent="Drawings of two machines. The environment of each record has the links of its own machine.",
        ),
        drawing(
            "Figures 13 to 15",
            "Two-level partitioning, and the merge by rows and by columns.",
            drawing=drawings.figures_13_to_15,
        ),
        Exhibit(
            "Table 2",
            "Six matrices of the SuiteSparse collection: rows, nonzeros, exponent of the power law.",
            "45 thousand to 9 million rows, 28 to 283 million nonzeros, R from 1.03 to 3.09.",
            (Place("scaling", "structure"),),
            unsaid="Properties of files that are not part of Sparsight. Stand-ins have their mean row lengths and R, "
            "and a share of the rows that keeps at least 28 million nonzeros. Their rows are in random order.",
            table=study_table("scaling", stand_ins),
        ),
        Exhibit(
            "Figure 16",
            "Share of the time in partitioning, by format, strategy, and number of GPUs.",
            "p*-opt: below 2 % for most. COO is the most expensive. p* costs no more than baseline.",
            (PHASES,),
            why="The paper counts the copies to the GPUs as partitioning. Sparsight judges the partitioning alone, on "
            "every number of GPUs. With p*-opt it takes about as long on all stand-ins, whatever their rows, and their "
            "SpMV lasts only milliseconds.",
            sources=("Figure 16", "§5.4"),
        ),
        Exhibit(
            "Section 5",
            "Share of the time in partitioning with baseline, on two machines.",
            "CSR and CSC: 3.8 to 9 % on Summit, 0.5 to 2.3 % on DGX-1. COO: 72 to 85 % and 38 to 62 %.",
            (PHASES,),
            unsaid="The two ranges of a format exclude each other, so no machine can agree with both. The shares "
            "depend on the memory and the links of the host.",
        ),
        Exhibit(
            "Figures 17 and 18",
            "Unknown: the text of the paper does not refer to them.",
            absent="The available text has neither their captions nor their contents.",
            unsaid="The available text has neither their captions nor their contents.",
        ),
        Exhibit(
            "Figure 19",
            "Share of the time in merging, for HV15R.",
            "p*-opt: below 3.8 % for CSR, 9 % for CSC, and 17 % for COO.",
            (PHASES,),
            why="The paper merges columns on one GPU (gather). Sparsight can also merge them on every GPU; such cases "
            "are not judged. On stand-ins with few rows, merging takes about as long whatever the rows, and "
            "much longer than the lower bound of its copies.",
            sources=("Figure 19", "§5.5"),
            table=study_table("scaling", merge_shares),
        ),
        Exhibit(
            "Figure 20",
            "Speedup with and without NUMA placement.",
            "Summit: no scaling beyond three GPUs without it. DGX-1: no consistent effect.",
            (Place("scaling", "conclusions"),),
            why="It needs a host with GPUs on several NUMA nodes. The two machines of the paper differ, so only a "
            "slowdown would contradict both.",
            sources=("Figure 20", "§5.6"),
        ),
        Exhibit(
            "Figure 21",
            "Speedup of baseline, p*, and p*-opt by the number of GPUs.",
            "Baseline is slowest, p* faster, p*-opt nearly linear: 5.5 on six GPUs, 6.2 on eight.",
            (COLD,),
            why="The rows of the stand-ins are in random order, so equal rows have nearly equal nonzeros. On them, p* "
            "gains by its host threads, not by its balance. More GPUs shorten the copies, up to the rate of the host "
            "memory; the other phases take about as long. Another figure shows workloads with the matrix on the "
            "devices.",
            sources=("Figure 21", "§5.7"),
        ),
        Exhibit(
            "Figures 22 and 23",
            "Speedup of each matrix on the two machines, with all optimizations.",
            places=(COLD, STAYING),
            unsaid="The text has no numbers beyond those of Figure 21.",
        ),
    ),
    trial=Trial(
        study="scaling",
        params={"partitionings": ["pCSR", "pCSC", "pCOO"], "merge": ["paper"], "sampling": "fixed"},
        names=MATRICES,
        generate=NAMES,
        note="SpMV from host memory with baseline, p*, and p*-opt on 1, 2, 4 … devices. Repeated and iterated SpMV "
        "with the matrix on the devices. On a CPU, the devices are simulated.",
    ),
    outlook=(
        Outlook("Other kernels based on CSR, CSC, and COO, such as SpMM", "§1", "not yet"),
        Outlook(
            "Distributed GPU systems",
            "§6",
            "partly",
            (Link("several hosts", "/docs/scaling#several-hosts"),),
            "no reference results on GPUs of several hosts",
        ),
        Outlook(
            "Matrices that are too large for one GPU",
            "§1",
            "partly",
            (STAYING, Link("partitions that the devices generate", "/docs/scaling#the-benchmark")),
            _largest,
        ),
        Outlook("Graph algorithms on several GPUs", "§6", "partly", (ITERATION,), "PageRank"),
    ),
)
