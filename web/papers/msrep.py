"""MSREP: sparse matrices on several GPUs, arXiv 2022."""

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
    lead="CSR, CSC and COO cut into parts of equal nonzeros, one for each GPU, and multiplied together.",
    errata=(
        "The merges of Algorithms 3 and 7 overwrite a partial sum and scale it twice as printed; here "
        "y = β·y + α·Σ of the parts, each row once, however many parts it spans.",
        "Algorithm 1 scales y by β in its inner loop as printed; here once a row, and β = 0 never reads y.",
        "§5.5 names Figure 22 for the merges, whose caption says speed-up; Figure 19 has them.",
        "§5.4 counts the copies to the GPUs as overhead of partitioning; here they are a phase of their own.",
    ),
    judges={"scaling": scaling.conclusions},
    exhibits=(
        drawing("Table 1", "The symbols m, n, nnz and np.", absent="A list of symbols; the glossary has ours."),
        drawing(
            "Figures 1 to 4",
            "A matrix of six rows, and its arrays in COO, CSR and CSC.",
            absent="Drawings; tests build the parts of this very matrix.",
        ),
        drawing(
            "Figure 5",
            "Equal rows give the GPUs unequal nonzeros.",
            (BALANCE,),
        ),
        Exhibit(
            "Figure 6",
            "GFLOP/s over the ratio of nonzeros between two halves of eight GPUs.",
            "559 of 1,028 GFLOP/s where half of the GPUs have a tenth of the others' nonzeros.",
            (BALANCE, Place("scaling", "scaling-staying")),
            why="The ratio follows from the cut, (1 + 1/r)/2, as long as a part's time is in its nonzeros; small "
            "parts, and parts with more rows, take longer than that says.",
        ),
        drawing("Figure 7", "Equal nonzeros for each GPU, rows cut where need be.", (BALANCE,)),
        drawing(
            "Figures 8 to 10",
            "The matrix of Figure 1 in four parts as pCSR, pCSC and pCOO.",
            absent="Worked examples; tests check each number of them.",
        ),
        drawing(
            "Figures 11 and 12",
            "How the GPUs and processors of a Summit node and of a DGX-1 are connected.",
            absent="Drawings of two machines. The links of the machine here are in the environment of each record.",
        ),
        drawing(
            "Figures 13 to 15",
            "The cut in two levels, and how parts are merged by rows and by columns.",
            absent="Drawings of the method; what merging costs is among the phases.",
        ),
        Exhibit(
            "Table 2",
            "Six matrices of the SuiteSparse collection: rows, nonzeros, exponent of the power law.",
            "45 thousand to 9 million rows, 28 to 283 million nonzeros, R from 1.03 to 3.09.",
            (Place("scaling", "structure"),),
            unsaid="These are properties of files, which are not part of this product; the recorded matrices are "
            "larger.",
        ),
        Exhibit(
            "Figure 16",
            "Share of the time in partitioning, by format, strategy and number of GPUs.",
            "Baseline: 3.8 to 9 % on Summit and 0.5 to 2.3 % on DGX-1 for CSR and CSC, 72 to 85 % and 38 to 62 % for "
            "COO; p*-opt: below 2 % for most.",
            (PHASES,),
            why="The host's memory and links decide it, and both machines of the paper have others.",
            sources=("Figure 16", "§5.4"),
        ),
        Exhibit(
            "Figures 17 and 18",
            "Not known: no sentence of the paper refers to them.",
            absent="Neither their captions nor their contents are in the text that we have.",
            unsaid="Neither their captions nor their contents are in the text that we have.",
        ),
        Exhibit(
            "Figure 19",
            "Share of the time in merging, for HV15R.",
            "With p*-opt below 3.8 % for CSR, 9 % for CSC and 17 % for COO.",
            (PHASES,),
            sources=("Figure 19", "§5.5"),
        ),
        Exhibit(
            "Figure 20",
            "Speed-up with and without placement by NUMA nodes.",
            "On Summit nothing scales beyond three GPUs without it; on DGX-1 there is no consistent effect.",
            (Place("scaling", "conclusions"),),
            why="It takes a host whose GPUs are on several NUMA nodes.",
            sources=("Figure 20", "§5.6"),
        ),
        Exhibit(
            "Figure 21",
            "Speed-up of baseline, p* and p*-opt over the number of GPUs.",
            "Baseline is the worst, p* better, p*-opt nearly linear: 5.5 on six GPUs, 6.2 on eight.",
            (COLD,),
            why="Every product begins with the matrix on the host: once the links together are as fast as the host's "
            "memory, more GPUs bring nothing. Work that stays on the devices is drawn apart.",
            sources=("Figure 21", "§5.7"),
        ),
        Exhibit(
            "Figures 22 and 23",
            "Speed-up of each matrix on the two machines, with all optimisations.",
            places=(COLD, Place("scaling", "scaling-staying")),
            unsaid="The text has no numbers of them beyond those of Figure 21, and the matrices are others.",
        ),
    ),
    trial=Trial(
        study="scaling",
        params={"partitionings": ["pCSR", "pCSC", "pCOO"], "merge": ["paper"]},
        names=("mouse_gene", "wb-edu", "com-LiveJournal", "hollywood-2009", "com-Orkut", "HV15R"),
        generate=("rmat20",),
        note="Products from the host by baseline, p* and p*-opt on 1, 2, 4 … devices, and products that stay there, "
        "repeated and iterated. "
        "On a CPU the devices are virtual.",
    ),
)
