"""Flexible batched sparse matrix-vector product on GPUs, ScalA 2017."""

from gpu_engine.findings.batched import conclusions as batched
from gpu_engine.gpu_bench.batch_subjects import PAPER as PAPER_MATRICES
from web.papers.base import Exhibit, Paper, Place, Trial, drawing

FLEXIBLE_BATCHED_SPMV = Paper(
    name="flexible-batched-spmv",
    link="Batched SpMV",
    title="Flexible Batched Sparse Matrix-Vector Product on GPUs",
    authors=("Hartwig Anzt", "Gary Collins", "Jack Dongarra", "Goran Flegar", "Enrique S. Quintana-Ortí"),
    venue="ScalA17: 8th Workshop on Latest Advances in Scalable Algorithms for Large-Scale Systems, Denver",
    year=2017,
    entry="inproceedings",
    fields={
        "booktitle": "Proceedings of the 8th Workshop on Latest Advances in Scalable Algorithms for Large-Scale "
        "Systems (ScalA17)",
        "publisher": "ACM",
        "doi": "10.1145/3148226.3148230",
    },
    address="https://doi.org/10.1145/3148226.3148230",
    machine="one NVIDIA P100 of Piz Daint, CUDA 8.0",
    lead="Many small matrices, each of its own size and pattern, multiplied in one launch by six kernels.",
    errata=(
        "§4.1 says at most 38,352 nonzeros and 66 a row; its own list has MBEACXC with 49,920 and 100.6.",
        "How many warps CSR-I gives a problem is said in words alone (§3.5); docs/batched.md has the rule that is "
        "meant here.",
        "“Nonzeros accumulated in few rows” (Figure 4, right) is read as full rows and empty ones.",
    ),
    judges={"batched": batched.conclusions},
    exhibits=(
        drawing(
            "Figure 1",
            "The arrays of a small matrix in COO, CSR and ELL.",
            absent="A drawing of three formats of the literature; docs/formats.md describes them.",
        ),
        drawing(
            "Figure 2",
            "The loops of the product in COO, CSR, CSR-I and ELL, sequential, in C.",
            absent="A listing: the kernels here are what becomes of it, and each is checked against SciPy before it is "
            "timed.",
        ),
        Exhibit(
            "Figure 3",
            "GFLOP/s over the number of problems, batched kernels beside standard ones in a loop, for twelve matrices.",
            "Standard kernels never exceed 5 GFLOP/s, every batched one is at least 10 times as fast, ELL passes 70.",
            (Place("batched", "batched-growth"),),
            why="A launch costs less than on a P100, and a loop can be captured in a CUDA graph; on the other side a "
            "present GPU needs more problems before it is full.",
        ),
        Exhibit(
            "Figure 4",
            "GFLOP/s of the CSR kernels over nonzeros a row, 1,000 matrices of order 1,024: equal rows left, few dense "
            "rows right.",
            "CSR-scalar is best up to about 4 nonzeros a row, CSR-smart has 35 to 60, CSR-I is best where few rows are "
            "dense.",
            (Place("batched", "batched-density"),),
        ),
        Exhibit(
            "Figure 5",
            "GFLOP/s of the six kernels for 10,000 copies of each of 32 matrices, by nonzeros a row.",
            "COO is the overall winner; ELL is faster for balanced matrices alone, up to 80 GFLOP/s.",
            (Place("batched", "batched-winners"),),
            why="Of the 32 matrices those whose files are not there are generated in their kind, and called stand-ins.",
        ),
        Exhibit(
            "Figure 6",
            "GFLOP/s and sustained bandwidth of a mixed batch of matrices of 800 to 1,024 rows.",
            "COO 55, CSR-I 50, CSR-smart 45, ELL 40 GFLOP/s; ELL over 500, COO about 450, CSR-smart and CSR-I about "
            "300 GB/s of 732.",
            (Place("batched", "batched-mixed"),),
            unsaid="Rates of a P100 are no statement on another GPU. The order of the kernels in mixed batches is "
            "judged at Figure 7.",
            why="A present GPU moves several times as many bytes a second.",
        ),
        Exhibit(
            "Figure 7",
            "The same of a mixed batch of all 32 matrices.",
            "ELL falls from 40 to 30 GFLOP/s at about 500 GB/s; CSR-smart, CSR-I and COO pass 45, 50 and 55.",
            (Place("batched", "batched-mixed"),),
        ),
        Exhibit(
            "Section 5",
            "The summary: COO and CSR kernels sustain about 50 GFLOP/s on very different matrices.",
            "A speed-up of 25 over a sequence of standard products.",
            (Place("batched", "batched-growth"), Place("batched", "conclusions")),
            unsaid="It is over calls that a host launches on a P100. What a loop costs here is drawn, and judged at "
            "Figure 3.",
        ),
    ),
    trial=Trial(
        study="batched",
        params={"batches": [10, 100, 1000, 10_000], "compose": ["uniform", "mixed"], "operation": "y = Ax + y"},
        names=tuple(name.partition("/")[2] for name, _, _ in PAPER_MATRICES),
        generate=("gr_30_30", "west0989", "nos3"),
        rows_max=1024,
        note="y = A·x + y of batches of 10 to 10,000 problems: copies of each matrix, and all of them mixed.",
    ),
)
