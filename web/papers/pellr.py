"""Paper on PELLR, a permutated ELLPACK-R format, Journal of Computer and Communications 2020."""

from gpu_engine.findings.formats import conclusions as formats
from web.papers.base import Exhibit, Paper, Place, Trial, drawing

MATRICES = 20
"""Number of matrices in Table 1."""


def _against(rival: str) -> tuple[Place, ...]:
    return (Place("formats", "ratio", {"pair": ("pellr", rival)}),)


PELLR = Paper(
    name="pellr",
    link="PELLR",
    title="PELLR: A Permutated ELLPACK-R Format for SpMV on GPUs",
    authors=("Zhiqi Wang", "Tongxiang Gu"),
    venue="Journal of Computer and Communications 8(4)",
    year=2020,
    entry="article",
    fields={
        "journal": "Journal of Computer and Communications",
        "volume": "8",
        "number": "4",
        "doi": "10.4236/jcc.2020.84004",
    },
    address="https://doi.org/10.4236/jcc.2020.84004",
    machine="one NVIDIA Quadro P600, CUDA 10.0",
    lead="ELLPACK-R with all rows sorted by length, so that the rows of a warp are nearly equal.",
    errata=(
        "The rows of Figure 5 do not match: those of ELLR have 78 nonzeros, those of PELLR 77. Eq. (1) gives 18 for "
        "the printed ELLR rows, 15 for these rows sorted, and 14 for the printed PELLR rows.",
        "Eq. (2) counts −1 also for empty or absent rows; Sparsight computes it as printed.",
        "The paper used HYB of cuSPARSE, which CUDA 11 removed; Sparsight has its own with the rule of a third.",
    ),
    judges={"formats": formats.conclusions},
    exhibits=(
        drawing("Figure 1", "A small sparse matrix.", absent="The example that explains the formats."),
        drawing(
            "Figures 2 to 4",
            "That matrix in ELLR, the waiting of its warps, and four rows of another matrix in BiELL.",
            absent="Drawings of layouts; docs/formats.md describes them.",
        ),
        Exhibit(
            "Figure 5",
            "A matrix in ELLR and in PELLR, and the iterations of its four warps by eq. (1).",
            "18 iterations in ELLR, 14 in PELLR.",
            (Place("formats", "iterations"), Place("formats", "structure")),
            unsaid="The two printed lists of rows belong to different matrices. The table of matrices has n_iter of "
            "real matrices, and a figure compares it with measured times.",
        ),
        Exhibit(
            "Table 1",
            "Twenty matrices: rows, nonzeros, and mean, σ, and max − min of the row lengths.",
            places=(Place("formats", "structure"),),
            unsaid="The available copy of the paper has the rows only as an image. The table of matrices has the "
            "matrices that the text names, or their synthetic stand-ins.",
        ),
        Exhibit(
            "Figure 6",
            "Speedup of PELLR over ELLR for each matrix, by ascending σ.",
            "Above 1 for all, about 1.5 if σ > 10, no obvious advantage if σ < 3; memplus 1.1, lnsp3937 4.5.",
            _against("ellr"),
            why="A Quadro P600 runs few warps at once, so fewer iterations save time. A large GPU runs all warps of a "
            "small matrix at once, so the longest row determines the time, sorted or not.",
        ),
        Exhibit(
            "Figure 7",
            "Positions of the nonzeros of memplus.",
            places=(Place("formats", "structure"),),
            unsaid="A picture of a file. It appears after you upload memplus.",
        ),
        Exhibit(
            "Figure 8",
            "Speedup of PELLR over HYB, by ascending σ.",
            "About 4 if σ < 10, about 1.6 if σ > 10; msc23052 and bcsstk36 1.2, memplus 0.7.",
            _against("hyb"),
            why="The COO part of cuSPARSE's HYB was slow; Sparsight uses another kernel.",
        ),
        Exhibit(
            "Figure 9",
            "Speedup of PELLR over BiELL, by ascending σ.",
            "Faster in 17 of 20, clearly on lnsp3937 and mhd4800b; memplus 0.8172.",
            _against("biell"),
        ),
        Exhibit(
            "Figure 10",
            "Speedup of PELLR over BiJAD, by ascending σ.",
            "Faster in 15 of 20, speedup at most 1.3.",
            _against("bijad"),
        ),
        Exhibit(
            "Figure 11",
            "GFLOP/s of PELLR, HYB, BiELL, and BiJAD.",
            "HYB is best only for memplus, and slower than the other three in most cases.",
            (Place("formats", "side-by-side", {"series": ("figure-11",)}, most=MATRICES),),
        ),
        Exhibit(
            "Figure 12",
            "GFLOP/s of CSRV, JAD, ELL, ELLR, PELLR, HYB, and cuSPARSE's CSR.",
            "PELLR is best in most cases, then JAD and ELLR; CSRV is slow below 16 nonzeros per row; HYB is good on "
            "bcsstk36 and msc23052.",
            (Place("formats", "side-by-side", {"series": ("figure-12",)}, most=MATRICES),),
            why="cuSPARSE was rewritten since then, and caches of tens of megabytes absorb the scattered accesses of "
            "sorted rows.",
        ),
    ),
    trial=Trial(
        study="formats",
        params={"caches": ["warm"]},
        names=(
            *("memplus", "lnsp3937", "bcsstk24", "cavity25", "e40r5000", "dw2048", "qh1484", "s3dkt3m2"),
            *("msc23052", "bcsstk36", "mhd4800b", "boneS01"),
        ),
        generate=("bcsstk24", "memplus", "lnsp3937", "dw2048"),
        note="All kernels of all formats, including those of the paper, with a warm cache as in a solver.",
    ),
)
