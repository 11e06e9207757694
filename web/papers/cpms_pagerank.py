"""Paper on PageRank with reduced precision by mantissa segmentation, IA³ 2018."""

from gpu_engine.findings.pagerank import conclusions as pagerank
from gpu_engine.findings.reduced_spmv import conclusions as reduced_spmv
from web.papers.base import Exhibit, Paper, Place, Trial, drawing

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
        "The paper raises the precision when γ is “close to the current working precision”. Sparsight uses the rule "
        "γ ≤ raise_at · 2^(−mantissa bits read), or γ > stall_ratio · γ of the previous iteration.",
        "In Table II, the totals of Eur, USA, and edu in two segments are not the sums of their rows.",
    ),
    judges={"pagerank": pagerank.conclusions, "reduced_spmv": reduced_spmv.conclusions},
    exhibits=(
        drawing(
            "Figure 1",
            "The arrays of a small matrix in CSR and in ELL.",
            absent="A drawing of two known formats; docs/formats.md describes them.",
        ),
        drawing(
            "Figure 2",
            "In-place conversion of an fp64 array to two segments in alternating blocks of 128 bytes, and back.",
            (Place("reduced_spmv", "reduced_spmv-blocks"),),
            why="Sparsight uses the same layout and also measures other block sizes.",
        ),
        Exhibit(
            "Section IV",
            "Number of threads per row in CSR.",
            "One: several decrease the performance slightly, perhaps because rows have few nonzeros.",
            (Place("pagerank", "pagerank-total"),),
            why="With long or irregular rows, several threads read neighboring addresses and share the latency.",
        ),
        Exhibit(
            "Table I",
            "Ten matrices of the SuiteSparse collection: rows, nonzeros, empty rows.",
            "0.3 to 50.9 million rows, 2.3 to 132.6 million nonzeros.",
            (Place("pagerank", "structure"), Place("pagerank", "pagerank-schedule-table")),
            unsaid="Properties of files that are not part of Sparsight; synthetic stand-ins of similar size replace "
            "them.",
        ),
        Exhibit(
            "Figure 3",
            "Histogram of the row lengths of each graph.",
            places=(Place("pagerank", "pagerank-links"), Place("pagerank", "structure")),
            unsaid="A picture of the matrices. Sparsight draws it for the transition matrices of the runs, and for the "
            "stored matrices whose values are on this server.",
        ),
        Exhibit(
            "Table II",
            "Iterations until γ < ε in fp64, two segments, and four segments, by the bits that they wrote.",
            "26 to 119 iterations in fp64, at most one more in segments; of four segments 1 in 16 bits, 11 to 50 in "
            "32.",
            (Place("pagerank", "pagerank-schedule"), Place("pagerank", "pagerank-gamma")),
            why="The number of iterations depends on the graph and the rule, not on the GPU. The paper does not give "
            "its rule.",
        ),
        Exhibit(
            "Figure 4",
            "Speedup of the SpMV over fp64 by the segments read: CSR left, ELL right.",
            "Two segments, 32 bits: about 1.5. Four segments: about 2 with 16 bits, about 30 % less with 32 bits, "
            "below 1 from 48 bits on.",
            (
                Place("pagerank", "pagerank-graphs"),
                Place("reduced_spmv", "reduced_spmv-gains"),
                Place("pagerank", "pagerank-pull"),
            ),
            why="On present GPUs, the ranks of many of these graphs fit in the last-level cache. A gather moves whole "
            "sectors regardless of the bits read. Segments therefore save less of the time. Reading k segments of a "
            "rank touches k cache lines.",
        ),
        Exhibit(
            "Figure 5",
            "Time of a run by precision and for changes of precision, normalized to fp64.",
            places=(Place("pagerank", "pagerank-time"), Place("pagerank", "pagerank-fusion")),
            unsaid="The paper has bars without numbers. Sparsight draws the same shares.",
            why="The fused kernels of Sparsight compute γ, scale, and convert during the SpMV, so that a change of "
            "precision takes little time. Sparsight also measures the unfused kernels of the paper.",
        ),
        Exhibit(
            "Figure 6",
            "Speedup of complete runs over fp64 with two and four segments: CSR left, ELL right.",
            "Two segments: 1.1 to 1.2, almost 1.3 for Rgg, about 1 for Brk, never slower. Four segments: less.",
            (Place("pagerank", "pagerank-graphs"), Place("pagerank", "pagerank-total")),
            why="The speedup of a run is that of its SpMVs minus the cost of changing the precision: see Figure 4.",
        ),
    ),
    trial=Trial(
        study="pagerank",
        params={
            "damping": 0.85,
            "epsilon": 1e-10,
            "final_storage": ["fp64"],
        },
        names=(
            *("adaptive", "delaunay_n22", "europe_osm", "hugebubbles-00020", "rgg_n_2_24_s0"),
            *("road_usa", "Stanford", "wb-edu", "web-BerkStan", "web-Google"),
        ),
        generate=("Stanford", "web-Google"),
        note="PageRank with δ = 0.85 to ε = 10⁻¹⁰, with all kernels of the device. They include those of the paper: "
        "fp64, two segments, and four segments, one thread per page in CSR and ELL.",
    ),
)
