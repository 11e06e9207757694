"""PageRank with reduced precision by mantissa segmentation, IA³ 2018."""

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
    lead="PageRank whose matrix and ranks lie in segments of fp64, of which an iteration reads as many as it needs.",
    errata=(
        "Line 6 of Algorithm 1 prints (s/n)·e without δ, which does not keep the norm of the ranks at 1; here it is "
        "δ·(s/n)·e, and the printed form is the parameter dangling.",
        "When the precision is raised is printed only as γ “close to the current working precision”; the rule here is "
        "γ ≤ raise_at · 2^(−mantissa bits read), or γ > stall_ratio · γ of the iteration before.",
        "In Table II the printed totals of Eur, USA and edu in two segments are not the sums of their rows.",
    ),
    judges={"pagerank": pagerank.conclusions, "reduced_spmv": reduced_spmv.conclusions},
    exhibits=(
        drawing(
            "Figure 1",
            "The arrays of a small matrix in CSR and in ELL.",
            absent="A drawing of two formats of the literature; docs/formats.md describes them.",
        ),
        drawing(
            "Figure 2",
            "An array of fp64 becomes two segments in alternating blocks of 128 bytes, in place, and back.",
            (Place("reduced_spmv", "reduced_spmv-blocks"),),
            why="The layout is the same here; blocks of other sizes are measured beside it.",
        ),
        Exhibit(
            "Section IV",
            "How many threads share a row in CSR.",
            "One: several decrease the performance slightly, perhaps because rows have few nonzeros.",
            (Place("pagerank", "pagerank-total"),),
            why="Where rows are long or unlike, several threads read neighbouring addresses and share the wait.",
        ),
        Exhibit(
            "Table I",
            "Ten matrices of the SuiteSparse collection: rows, nonzeros, empty rows.",
            "0.3 to 50.9 million rows, 2.3 to 132.6 million nonzeros.",
            (Place("pagerank", "structure"), Place("pagerank", "pagerank-schedule-table")),
            unsaid="These are properties of files. The files are not part of this product, and graphs of their kind "
            "and size are generated in their place.",
        ),
        Exhibit(
            "Figure 3",
            "How many rows have how many nonzeros, graph by graph.",
            places=(Place("pagerank", "pagerank-links"), Place("pagerank", "structure")),
            unsaid="It is a picture of the matrices. It is drawn of what runs multiplied by, the transpose or that of "
            "the lower triangle, and of the matrices as stored, where they are here with their values.",
        ),
        Exhibit(
            "Table II",
            "Iterations until γ < ε in fp64, in two and in four segments, by the bits that they wrote.",
            "26 to 119 iterations in fp64, at most one more in segments; of four segments 1 in 16 bits, 11 to 50 in "
            "32.",
            (Place("pagerank", "pagerank-schedule"), Place("pagerank", "pagerank-gamma")),
            why="Iterations depend on the graph and the rule, not on the GPU. The paper does not print its rule.",
        ),
        Exhibit(
            "Figure 4",
            "Speed-up of the product over fp64 by the segments read: CSR left, ELL right.",
            "About 1.5 with 32 of two segments' bits, about 2 with 16 of four, about 30 % less with 32 of four, "
            "below 1 from 48 bits on.",
            (
                Place("pagerank", "pagerank-graphs"),
                Place("reduced_spmv", "reduced_spmv-gains"),
                Place("pagerank", "pagerank-pull"),
            ),
            why="On a present GPU many of these graphs' ranks lie in the last-level cache, and gathering them takes "
            "whole sectors however few bits are read: less of the time is in the bytes that segments save. Reading k "
            "segments of one rank touches k cache lines.",
        ),
        Exhibit(
            "Figure 5",
            "Where the time of a run goes, by precision and for changing it, each normalised to fp64.",
            places=(Place("pagerank", "pagerank-time"), Place("pagerank", "pagerank-fusion")),
            unsaid="The paper prints bars without numbers. The same shares are drawn here.",
            why="Fused kernels here read γ, scale and convert while they multiply, so that a change of precision is "
            "hardly seen; the paper's own kernels are measured beside them.",
        ),
        Exhibit(
            "Figure 6",
            "Speed-up of whole runs over fp64 with two and with four segments: CSR left, ELL right.",
            "1.1 to 1.2 with two segments, almost 1.3 for Rgg, about 1 for Brk, never slower; four segments gain less.",
            (Place("pagerank", "pagerank-graphs"), Place("pagerank", "pagerank-total")),
            why="A run gains what its products gain, less what changing the precision costs: see Figure 4.",
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
        note="PageRank with δ = 0.85 to ε = 10⁻¹⁰ by every kernel of the device. Among them are the paper's: fp64, two "
        "and four segments, one thread per page in CSR and ELL.",
    ),
)
