"""Paper on MSREP, a framework for sparse matrices on several GPUs, arXiv 2022."""

from gpu_engine.findings.scaling import conclusions as scaling
from web.papers.base import Exhibit, Paper, Place, Trial, drawing

COLD = Place("scaling", "scaling-cold")
PHASES = Place("scaling", "scaling-phases")
BALANCE = Place("scaling", "scaling-balance")

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
        "§5.5 refers to Figure 22 for the merges, but its caption says speedup; Figure 19 shows them.",
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
            absent="Drawings; tests build the partitions of this matrix.",
        ),
        drawing(
            "Figure 5",
            "Balance by rows gives the GPUs different numbers of nonzeros.",
            (BALANCE,),
        ),
        Exhibit(
            "Figure 6",
            "GFLOP/s by the ratio of nonzeros between two halves of eight GPUs.",
            "559 of 1,028 GFLOP/s if half of the GPUs have a tenth of the nonzeros of the others.",
            (BALANCE, Place("scaling", "scaling-staying")),
            why="The ratio is (1 + 1/r)/2 if the time of a partition is proportional to its nonzeros. Small "
            "partitions, and partitions with more rows, take longer.",
        ),
        drawing("Figure 7", "Equal nonzeros per GPU, with cut rows.", (BALANCE,)),
        drawing(
            "Figures 8 to 10",
            "The matrix of Figure 1 in four partitions as pCSR, pCSC, and pCOO.",
            absent="Examples; tests check all of their numbers.",
        ),
        drawing(
            "Figures 11 and 12",
            "Topology of a Summit node and of a DGX-1.",
            absent="Drawings of two machines. The environment of each record has the links of its own machine.",
        ),
        drawing(
            "Figures 13 to 15",
            "Two-level partitioning, and the merge by rows and by columns.",
            absent="Drawings of the method; the figure of the phases shows the cost of the merge.",
        ),
        Exhibit(
            "Table 2",
            "Six matrices of the SuiteSparse collection: rows, nonzeros, exponent of the power law.",
            "45 thousand to 9 million rows, 28 to 283 million nonzeros, R from 1.03 to 3.09.",
            (Place("scaling", "structure"),),
            unsaid="Properties of files that are not part of Sparsight; the reference matrices are larger.",
        ),
        Exhibit(
            "Figure 16",
            "Share of the time in partitioning, by format, strategy, and number of GPUs.",
            "Baseline, CSR and CSC: 3.8 to 9 % on Summit, 0.5 to 2.3 % on DGX-1. Baseline, COO: 72 to 85 % and 38 to "
            "62 %. p*-opt: below 2 % for most.",
            (PHASES,),
            why="It depends on the memory and links of the host, which are different on the machines of the paper.",
            sources=("Figure 16", "§5.4"),
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
            sources=("Figure 19", "§5.5"),
        ),
        Exhibit(
            "Figure 20",
            "Speedup with and without NUMA placement.",
            "Summit: no scaling beyond three GPUs without it. DGX-1: no consistent effect.",
            (Place("scaling", "conclusions"),),
            why="It needs a host with GPUs on several NUMA nodes.",
            sources=("Figure 20", "§5.6"),
        ),
        Exhibit(
            "Figure 21",
            "Speedup of baseline, p*, and p*-opt by the number of GPUs.",
            "Baseline is slowest, p* faster, p*-opt nearly linear: 5.5 on six GPUs, 6.2 on eight.",
            (COLD,),
            why="Every SpMV begins with the matrix on the host. When the links together are as fast as the memory of "
            "the host, more GPUs do not help. Another figure shows workloads with the matrix on the devices.",
            sources=("Figure 21", "§5.7"),
        ),
        Exhibit(
            "Figures 22 and 23",
            "Speedup of each matrix on the two machines, with all optimizations.",
            places=(COLD, Place("scaling", "scaling-staying")),
            unsaid="The text has no numbers beyond those of Figure 21, and the matrices are different.",
        ),
    ),
    trial=Trial(
        study="scaling",
        params={"partitionings": ["pCSR", "pCSC", "pCOO"], "merge": ["paper"]},
        names=("mouse_gene", "wb-edu", "com-LiveJournal", "hollywood-2009", "com-Orkut", "HV15R"),
        generate=("rmat20",),
        note="SpMV from host memory with baseline, p*, and p*-opt on 1, 2, 4 … devices. Repeated and iterated SpMV "
        "with the matrix on the devices. On a CPU, the devices are simulated.",
    ),
)
