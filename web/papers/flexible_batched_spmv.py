"""Paper on flexible batched SpMV on GPUs, ScalA 2017."""

from collections.abc import Mapping

from gpu_engine.findings.batched import conclusions as batched
from gpu_engine.findings.batched.groups import PADDING
from gpu_engine.findings.batched.outlook import devices_text, energy_text, resources_text
from gpu_engine.findings.batched.paper import NAMES
from gpu_engine.findings.batched.printed_rates import printed_rates
from gpu_engine.findings.data import StudyData
from gpu_engine.text.units import percent
from web.components import Link
from web.papers.base import Exhibit, ExhibitTable, Outlook, Paper, Place, Trial, drawing
from web.papers.drawings import flexible_batched_spmv as drawings


def _rates(figure: str) -> ExhibitTable:
    """Return the function that returns the printed rates of a figure next to the measured ones."""
    return lambda results: printed_rates(results["batched"], figure)


def _devices(results: Mapping[str, StudyData]) -> str:
    """Return the GFLOP/s per watt by device, and what has none; empty without results."""
    text = devices_text(results["batched"])
    return f"{text} Batches also run on CPUs, whose energy is not measured." if text else ""


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
        "§4.2 gives the twelve matrices of Figure 3 800 to 1,024 rows, but also names MSC; MSC00726 has 726. Sparsight "
        "uses the twelve of the 32 that have 800 to 1,024.",
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
            drawing=drawings.figure_1,
        ),
        drawing(
            "Figure 2",
            "Sequential C code of SpMV in COO, CSR, CSR-I, and ELL.",
            drawing=drawings.figure_2,
        ),
        Exhibit(
            "Figure 3",
            "GFLOP/s by batch size for twelve matrices: batched kernels and a loop of standard kernels.",
            "Standard kernels: at most 5 GFLOP/s. Batched kernels: at least 10\u202f× as fast. COO is the fastest in "
            "most cases, and the second-fastest in the others. For dwt_992, gr_30_30, and nos3, ELL passes 70 GFLOP/s. "
            "For west0989, CSR-scalar and COO are the fastest. CSR-I is very good for ex25.",
            (Place("batched", "batched-growth"),),
            why="The counterpart of ELL is a loop in ELL, that of all other kernels a loop in CSR. The loops run up to "
            "1,000 matrices. A launch is cheaper than on a P100, so large matrices exceed 5 GFLOP/s in a loop. A CUDA "
            "graph can capture a loop. A present GPU needs larger batches to be busy.",
        ),
        Exhibit(
            "Figure 4",
            "GFLOP/s of the CSR kernels by nonzeros per row for 1,000 matrices of order 1,024: equal rows left, few "
            "dense rows right.",
            "CSR-scalar drops above 4 nonzeros per row, and CSR-vector grows. CSR-smart reaches 35 to 60 GFLOP/s. "
            "CSR-I competes with it if rows are longer, and is the best with few dense rows. Standard CSR: at most 5.",
            (Place("batched", "batched-density"),),
            why="The 35 to 60 GFLOP/s of CSR-smart are not checked: throughput on a P100 does not predict that of "
            "another GPU.",
        ),
        Exhibit(
            "Figure 5",
            "GFLOP/s of the six kernels for 10,000 copies of each of 32 matrices, by nonzeros per row.",
            "COO is the overall winner; ELL is faster only for balanced matrices, up to 80 GFLOP/s.",
            (Place("batched", "batched-winners"),),
            why="The paper calls dwt_992, gr_30_30, and nos3 balanced, without a definition. Here a matrix is balanced "
            f"if its padding in ELL is less than {percent(PADDING)} of its nonzeros, as for these three. Synthetic "
            "stand-ins replace the matrices whose files are not available. The overall winner has no number; it is "
            "checked against the CSR kernels and against ELL.",
        ),
        Exhibit(
            "Figure 6",
            "GFLOP/s and sustained bandwidth of a mixed batch of matrices of 800 to 1,024 rows.",
            "COO 55, CSR-I 50, CSR-smart 45, ELL 40 GFLOP/s; ELL over 500, COO about 450, CSR-smart and CSR-I about "
            "300 GB/s of 732.",
            (Place("batched", "batched-mixed"),),
            why="Only ratios are checked, because a present GPU has several times the bandwidth. A ratio agrees if two "
            "throughputs that round to the printed ones have it. As in the paper, the statement and the table count "
            "padding as read. The ELL kernel of Sparsight reads only the columns of its padding. The chart counts what "
            "it reads; the table of the chart has both.",
            table=_rates("Figure 6"),
        ),
        Exhibit(
            "Figure 7",
            "GFLOP/s and sustained bandwidth of a mixed batch of all 32 matrices.",
            "ELL falls from 40 to 30 GFLOP/s at about 500 GB/s; CSR-smart, CSR-I and COO pass 45, 50 and 55.",
            (Place("batched", "batched-mixed"),),
            why="The text says that COO exceeds 55 GFLOP/s, so the ratio of ELL to COO is at most 0.55.",
            table=_rates("Figure 7"),
        ),
        Exhibit(
            "Section 4",
            "Conclusion of §4.2: the best kernels for heterogeneous batches, and for unbalanced ones.",
            "COO across all formats, CSR-smart in CSR without preprocessing. With preprocessing, CSR-I is much faster "
            "for unbalanced matrices.",
            (Place("batched", "batched-mixed"), Place("batched", "batched-winners"), Place("batched", "conclusions")),
            sources=("§4.2",),
        ),
        Exhibit(
            "Section 5",
            "Summary: COO and CSR kernels sustain about 50 GFLOP/s on very different matrices.",
            "A speedup of 25 over a sequence of standard SpMVs.",
            (
                Place("batched", "batched-energy"),
                Place("batched", "batched-growth"),
                Place("batched", "conclusions"),
            ),
            why="A speedup of 25 or more agrees. The loop has one Python call per launch, which costs more than one in "
            "C. The mixed batches have 1,000 matrices, because longer loops are not measured.",
            sources=("§5",),
        ),
    ),
    trial=Trial(
        study="batched",
        params={
            "batches": [10, 100, 1000, 10_000],
            "compose": ["uniform", "mixed"],
            "operation": "y = Ax + y",
            "sampling": "fixed",
            "energy": "all",
            "energy_s": 0.5,
        },
        names=NAMES,
        generate=("gr_30_30", "west0989", "nos3"),
        rows_max=1024,
        note="y = A·x + y for batches of 10 to 10,000 matrices: uniform batches of each matrix, and mixed batches of "
        "all. The energy of all kernels is measured too.",
    ),
    outlook=(
        Outlook(
            "Resources of each matrix chosen by its characteristics",
            "§5",
            "realized",
            (Link("auto/flexible", "/docs/batched#kernels"), Place("batched", "batched-winners")),
            lambda results: resources_text(results["batched"]),
        ),
        Outlook(
            "Energy",
            "§5",
            "realized",
            (Place("batched", "batched-energy"), Link("how it is measured", "/docs/measuring#energy")),
            lambda results: energy_text(results["batched"]),
        ),
        Outlook(
            "Resource efficiency on other manycore architectures with larger caches",
            "§5",
            "partly",
            (Place("batched", "batched-energy"), Place("batched", "conclusions")),
            _devices,
        ),
    ),
)
