"""Paper on PageRank with reduced precision by mantissa segmentation, IA³ 2018."""

from collections.abc import Mapping

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank import conclusions as pagerank
from gpu_engine.findings.pagerank.layouts import layout_gains
from gpu_engine.findings.pagerank.paper import NAMES
from gpu_engine.findings.pagerank.realizations import SCHEDULE
from gpu_engine.findings.reduced_spmv import conclusions as reduced_spmv
from gpu_engine.text import units
from gpu_engine.text.units import THIN
from web.components import Link
from web.figures.pagerank.paper import table_one, table_two
from web.papers.base import Exhibit, Outlook, Paper, Place, Trial, drawing, study_table
from web.papers.drawings import cpms_pagerank as drawings


def _other_layouts(results: Mapping[str, StudyData]) -> str:
    """Return the speedup of the layouts for irregular graphs on each device: `1.90 × on DEVICE (graphs: 12)`."""
    gains = layout_gains(results.get("pagerank", StudyData()))
    each = "; ".join(f"{units.ratio(gain.speedup)} on {gain.device} (graphs: {gain.graphs})" for gain in gains)
    return f"Speedup over the faster of CSR and ELL, fp64, geometric mean: {each}." if each else ""


CPMS_PAGERANK = Paper(
    name="cpms-pagerank",
    link="CPMS PageRank",
    title="High-Performance GPU Implementation of PageRank with Reduced Precision Based on Mantissa Segmentation",
    authors=("Thomas Grützmacher", "Hartwig Anzt", "Florian Scheidegger", "Enrique S. Quintana-Ortí"),
    venue="IEEE/ACM 8th Workshop on Irregular Applications: Architectures and Algorithms (IA³)",
    year=2018,
    entry="inproceedings",
    fields={
        "booktitle": "IEEE/ACM 8th Workshop on Irregular Applications: Architectures and Algorithms (IA3)",
        "url": "https://ieeexplore.ieee.org/document/8638359",
    },
    address="https://ieeexplore.ieee.org/document/8638359",
    machine="one NVIDIA V100, CUDA 9.2",
    lead="PageRank with matrix and ranks stored as segments of fp64. Each iteration reads only the segments it needs.",
    errata=(
        "Line 6 of Algorithm 1 has (s/n)·e without δ, which does not keep the norm of the ranks at 1. Sparsight uses "
        "δ·(s/n)·e; the parameter dangling selects the printed form.",
        "The paper raises the precision when γ is “close to the current working precision”. Sparsight raises it if "
        f"γ ≤ {SCHEDULE['raise_at']} · 2^(−m), with m mantissa bits read, or if γ exceeds {SCHEDULE['stall_ratio']} "
        "times the previous one. The parameters raise_at and stall_ratio set both numbers. The γ of an iteration that "
        "raises the precision is compared with no other γ, because it contains the repair of the truncation.",
        "In Table II, the totals of Eur, USA, and edu in two segments are not the sums of their rows. The single "
        "iteration of Brk in 48 bits fits no rule on γ alone.",
        "The paper calls ε relative, but Algorithm 1 compares γ with ε itself. Both are equal if the norm is 1.",
        "The matrix Stanford is Kamvar/Stanford in the SuiteSparse collection. Its entry (i, j) is a link from j to i, "
        "so a row is a target. Algorithm 1 and Sparsight read a row as a source. The paper does not say whether it "
        "transposed the file.",
        "The paper draws Figures 4 to 6 without numbers and names some in its text. Statements with a number hold if "
        "the measured one rounds to it; for a mean it is the geometric mean over the graphs. The others are judged by "
        "whether a difference exceeds the noise.",
    ),
    judges={"pagerank": pagerank.conclusions, "reduced_spmv": reduced_spmv.conclusions},
    exhibits=(
        drawing(
            "Figure 1",
            "The arrays of a small matrix in CSR and in ELL.",
            drawing=drawings.figure_1,
        ),
        drawing(
            "Figure 2",
            "In-place conversion of an fp64 array to two segments in alternating blocks of 128 bytes, and back.",
            (Place("reduced_spmv", "reduced_spmv-blocks"),),
            drawing=drawings.figure_2,
        ),
        Exhibit(
            "Section IV",
            "Number of threads per row in CSR, and iterations after the conversion to fp64.",
            "One thread per row: several decrease the performance slightly. After the conversion, an iteration takes "
            "as long as in fp64.",
            (Place("pagerank", "pagerank-total"),),
            why="The kernels with several threads are fused, so fused ones with one thread are their baseline. With "
            "long or irregular rows, several threads read neighboring addresses and share the latency. The time of an "
            "iteration is that of its SpMV and norms.",
        ),
        Exhibit(
            "Table I",
            "Ten matrices of the SuiteSparse collection: rows, nonzeros, empty rows.",
            "0.3 to 50.9 million rows, 2.3 to 132.6 million nonzeros.",
            (Place("pagerank", "structure"), Place("pagerank", "pagerank-schedule-table")),
            unsaid="Properties of files that are not part of Sparsight. Synthetic stand-ins replace them; the table "
            "compares both.",
            table=study_table("pagerank", table_one),
        ),
        Exhibit(
            "Figure 3",
            "Histogram of the row lengths of each graph.",
            "In ELL, edu, Brk, and Ggl exceed the 16 GB of the V100.",
            (Place("pagerank", "pagerank-links", most=len(NAMES)), Place("pagerank", "structure")),
            why="The figure shows the transition matrices of the runs. If ELL did not fit, the note of "
            "the run has its memory.",
        ),
        Exhibit(
            "Table II",
            "Iterations until γ < ε in fp64, two segments, and four segments, by the bits that they wrote.",
            "26 to 119 iterations in fp64, at most one more in segments; of four segments 1 in 16 bits, 11 to 50 in "
            "32.",
            (
                Place("pagerank", "pagerank-schedule", most=len(NAMES)),
                Place("pagerank", "pagerank-gamma", most=len(NAMES)),
            ),
            table=study_table("pagerank", table_two),
            why="The number of iterations depends on the graph and the rule, not on the GPU, layout, or fusion. Each "
            "graph counts once. The paper does not give its rule.",
        ),
        Exhibit(
            "Figure 4",
            "Speedup of the SpMV over fp64 by the segments read: CSR left, ELL right.",
            f"Means: two segments about 1.5 with 32 bits; four segments about 2 with 16, and about 30{THIN}% less with "
            "32. Below 1 from 48 bits on, and with all 64 of two.",
            (
                Place("reduced_spmv", "reduced_spmv-graphs", most=len(NAMES)),
                Place("reduced_spmv", "reduced_spmv-gains"),
                Place("pagerank", "pagerank-pull"),
            ),
            why="The study reduced_spmv judges these statements: it measures the SpMV alone. The pulls of complete "
            "runs are drawn, but not judged. On present GPUs, the ranks of many of these graphs fit in the last-level "
            "cache. A gather moves whole sectors regardless of the bits read, so segments save less of the time. "
            "Reading k segments of a rank touches k cache lines.",
        ),
        Exhibit(
            "Figure 5",
            "Time of a run by precision and for changes of precision, normalized to fp64.",
            "Bars without numbers, with a small part for changes of precision. The ratio of the times per precision is "
            "the same in CSR and ELL.",
            (
                Place("pagerank", "pagerank-shares", most=len(NAMES)),
                Place("pagerank", "pagerank-time"),
                Place("pagerank", "pagerank-fusion"),
            ),
            why="Figure and statements show the unfused kernels of the paper. The fused kernels of Sparsight compute "
            "γ, scale, and convert during the SpMV.",
        ),
        Exhibit(
            "Figure 6",
            "Speedup of complete runs over fp64 with two and four segments: CSR left, ELL right.",
            "Two segments: 1.1 to 1.2, almost 1.3 for Rgg, about 1 for Brk, never slower. Four segments: less, in some "
            "cases below 1, better in ELL.",
            (Place("pagerank", "pagerank-graphs", most=len(NAMES)), Place("pagerank", "pagerank-total")),
            why="Only the unfused kernels of the paper are judged. The speedup of a run is that of its SpMVs minus the "
            "cost of changing the precision: see Figure 4.",
        ),
    ),
    trial=Trial(
        study="pagerank",
        params={
            "damping": 0.85,
            "epsilon": 1e-10,
            "final_storage": ["fp64"],
            "triangle": "lower",
            "sampling": "fixed",
        },
        names=NAMES,
        generate=("Stanford", "web-Google"),
        note="PageRank with δ = 0.85 to ε = 10⁻¹⁰ on lower triangles of symmetric matrices, with all kernels of the "
        "device in all rounds. A GPU has those of the paper: fp64, two segments, and four segments, one thread per "
        "page in CSR and ELL.",
    ),
    outlook=(
        Outlook(
            "Other sparse matrix layouts for irregular data",
            "Section VI",
            "realized",
            (Place("pagerank", "pagerank-total"), Link("SELL-C-σ and tiles", "/docs/pagerank#kernels-and-precisions")),
            _other_layouts,
        ),
        Outlook(
            "Segments in other memory-bound algorithms",
            "Section VI",
            "not yet",
            number="Only PageRank uses them.",
        ),
    ),
)
