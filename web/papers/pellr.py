"""PELLR: a permutated ELLPACK-R format, Journal of Computer and Communications 2020."""

from gpu_engine.findings.formats import conclusions as formats
from web.papers.base import Exhibit, Paper, Place, Trial, drawing

MATRICES = 20
"""Of Table 1."""


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
        "The rows of Figure 5 do not fit each other: as printed those of ELLR have 78 entries, those of PELLR 77. From "
        "the printed ELLR rows eq. (1) gives 18, from these rows sorted 15, from the printed PELLR rows 14.",
        "Eq. (2) counts −1 for a row that is empty or absent too; it is computed as printed.",
        "HYB was cuSPARSE's, gone since CUDA 11; here it is our own by the rule of a third.",
    ),
    judges={"formats": formats.conclusions},
    exhibits=(
        drawing("Figure 1", "A small sparse matrix.", absent="The example on which the formats are explained."),
        drawing(
            "Figures 2 to 4",
            "That matrix in ELLR, what its warps wait for, and four rows of another in BiELL.",
            absent="Drawings of layouts; docs/formats.md describes them.",
        ),
        Exhibit(
            "Figure 5",
            "A matrix in ELLR and in PELLR, and the iterations of its four warps by eq. (1).",
            "18 iterations in ELLR, 14 in PELLR.",
            (Place("formats", "iterations"), Place("formats", "structure")),
            unsaid="The two printed lists of rows are not of one matrix. Of real matrices n_iter is in the table of "
            "the matrices, and beside measured times in a figure.",
        ),
        Exhibit(
            "Table 1",
            "Twenty matrices: rows, nonzeros, their mean, σ and max − min by row.",
            places=(Place("formats", "structure"),),
            unsaid="Its rows are an image in the print that we have. Of the matrices that the text names, those that "
            "are here or generated in their kind are in the table of the matrices.",
        ),
        Exhibit(
            "Figure 6",
            "PELLR over ELLR, matrix by matrix, by ascending σ.",
            "Above 1 for all, about 1.5 where σ > 10, no obvious advantage where σ < 3; memplus 1.1, lnsp3937 4.5.",
            _against("ellr"),
            why="A Quadro P600 holds few warps at once, so that saved iterations are saved time. A large GPU runs "
            "all warps of a small matrix at once: then the longest row decides, sorted or not.",
        ),
        Exhibit(
            "Figure 7",
            "Where the entries of memplus are.",
            places=(Place("formats", "structure"),),
            unsaid="It is a picture of a file; it is drawn where memplus has been uploaded.",
        ),
        Exhibit(
            "Figure 8",
            "PELLR over HYB, by ascending σ.",
            "About 4 where σ < 10, about 1.6 where σ > 10; msc23052 and bcsstk36 1.2, memplus 0.7.",
            _against("hyb"),
            why="The COO part of cuSPARSE's HYB was what cost; ours is another kernel.",
        ),
        Exhibit(
            "Figure 9",
            "PELLR over BiELL, by ascending σ.",
            "Faster in 17 of 20, clearly on lnsp3937 and mhd4800b; memplus 0.8172.",
            _against("biell"),
        ),
        Exhibit(
            "Figure 10",
            "PELLR over BiJAD, by ascending σ.",
            "Faster in 15 of 20, by 1.3 at most.",
            _against("bijad"),
        ),
        Exhibit(
            "Figure 11",
            "GFLOP/s of PELLR, HYB, BiELL and BiJAD side by side.",
            "HYB is the best for memplus alone, and behind the other three in most cases.",
            (Place("formats", "side-by-side", {"series": ("figure-11",)}, most=MATRICES),),
        ),
        Exhibit(
            "Figure 12",
            "GFLOP/s of CSRV, JAD, ELL, ELLR, PELLR, HYB and cuSPARSE's CSR side by side.",
            "PELLR is the best in most cases, then JAD and ELLR; CSRV is poor below 16 entries a row; HYB is good on "
            "bcsstk36 and msc23052.",
            (Place("formats", "side-by-side", {"series": ("figure-12",)}, most=MATRICES),),
            why="cuSPARSE has been rewritten since, and caches of tens of megabytes forgive the accesses that sorted "
            "rows scatter.",
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
        note="Every kernel of every format, warm, as a solver runs them; the paper's formats are among them.",
    ),
)
