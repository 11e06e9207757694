"""Paper on flexible batched SpMV on GPUs, ScalA 2017."""

from gpu_engine.findings.batched import conclusions as batched
from gpu_engine.gpu_bench.batch_matrices import PAPER as PAPER_MATRICES
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
    lead="Six kernels that multiply many small matrices of different sizes and patterns in one launch.",
    errata=(
        "§4.1 gives maxima of 38,352 nonzeros and 66 per row, but lists MBEACXC with 49,920 and 100.6.",
        "The paper describes the number of warps per matrix of CSR-I only in words (§3.5); docs/batched.md has the "
        "rule used here.",
        "“Nonzeros accumulated in few rows” (Figure 4, right) is interpreted as full rows and empty rows.",
    ),
    judges={"batched": batched.conclusions},
    exhibits=(
        drawing(
            "Figure 1",
            "The arrays of a small matrix in COO, CSR and ELL.",
            absent="A drawing of three known formats; docs/formats.md describes them.",
        ),
        drawing(
            "Figure 2",
            "Sequential C code of SpMV in COO, CSR, CSR-I, and ELL.",
            absent="A listing. The kernels implement it; each one is verified against SciPy before it is timed.",
        ),
        Exhibit(
            "Figure 3",
            "GFLOP/s by batch size for twelve matrices: batched kernels and a loop of standard kernels.",
            "Standard kernels: at most 5 GFLOP/s. Batched kernels: at least 10× as fast, ELL above 70.",
            (Place("batched", "batched-growth"),),
            why="A launch is cheaper than on a P100, and a CUDA graph can capture a loop. A present GPU needs larger "
            "batches to be busy.",
        ),
        Exhibit(
            "Figure 4",
            "GFLOP/s of the CSR kernels by nonzeros per row for 1,000 matrices of order 1,024: equal rows left, few "
            "dense rows right.",
            "CSR-scalar is best up to about 4 nonzeros per row, CSR-smart reaches 35 to 60, CSR-I is best with few "
            "dense rows.",
            (Place("batched", "batched-density"),),
        ),
        Exhibit(
            "Figure 5",
            "GFLOP/s of the six kernels for 10,000 copies of each of 32 matrices, by nonzeros per row.",
            "COO is the overall winner; ELL is faster only for balanced matrices, up to 80 GFLOP/s.",
            (Place("batched", "batched-winners"),),
            why="Synthetic stand-ins replace those of the 32 matrices whose files are not available.",
        ),
        Exhibit(
            "Figure 6",
            "GFLOP/s and sustained bandwidth of a mixed batch of matrices of 800 to 1,024 rows.",
            "COO 55, CSR-I 50, CSR-smart 45, ELL 40 GFLOP/s; ELL over 500, COO about 450, CSR-smart and CSR-I about "
            "300 GB/s of 732.",
            (Place("batched", "batched-mixed"),),
            unsaid="Throughput on a P100 does not predict that of another GPU. Figure 7 checks the order of the "
            "kernels in mixed batches.",
            why="A present GPU has several times the bandwidth.",
        ),
        Exhibit(
            "Figure 7",
            "GFLOP/s and sustained bandwidth of a mixed batch of all 32 matrices.",
            "ELL falls from 40 to 30 GFLOP/s at about 500 GB/s; CSR-smart, CSR-I and COO pass 45, 50 and 55.",
            (Place("batched", "batched-mixed"),),
        ),
        Exhibit(
            "Section 5",
            "Summary: COO and CSR kernels sustain about 50 GFLOP/s on very different matrices.",
            "A speedup of 25 over a sequence of standard SpMVs.",
            (Place("batched", "batched-growth"), Place("batched", "conclusions")),
            unsaid="The number is relative to launches from a host on a P100. Figure 3 checks the cost of a loop.",
        ),
    ),
    trial=Trial(
        study="batched",
        params={"batches": [10, 100, 1000, 10_000], "compose": ["uniform", "mixed"], "operation": "y = Ax + y"},
        names=tuple(name.partition("/")[2] for name, _, _ in PAPER_MATRICES),
        generate=("gr_30_30", "west0989", "nos3"),
        rows_max=1024,
        note="y = A·x + y for batches of 10 to 10,000 matrices: uniform batches of each matrix, and mixed batches of "
        "all.",
    ),
)
