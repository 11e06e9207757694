"""Paper on PELLR, a permutated ELLPACK-R format, Journal of Computer and Communications 2020."""

from collections.abc import Mapping
from dataclasses import replace

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.formats import conclusions as formats
from gpu_engine.findings.formats import printed_tables
from gpu_engine.findings.formats.outlook import sliced_text
from gpu_engine.findings.formats.paper import MATRICES, NAMES, TABLE_1, original
from gpu_engine.findings.ranking import join
from gpu_engine.records import CACHES
from gpu_engine.text import units
from web.components import Link
from web.figures.formats import regret
from web.papers.base import Exhibit, Outlook, Paper, Place, Trial, drawing, study_table
from web.papers.drawings import memplus
from web.papers.drawings import pellr as drawings

EQUATION = Place("formats", "iterations")
STRUCTURE = Place("formats", "structure")

_NONZEROS, _N_ITER, _, _N_P = list(zip(*printed_tables.worked_example().rows, strict=True))[1:]
"""Counts of the example of Figure 5: rows of ELLR as printed, these rows sorted, rows of PELLR as printed."""


def _over(rival: str, **further: tuple[str, ...]) -> tuple[Place, ...]:
    """Return the speedup of PELLR on the matrices of the paper, and on all matrices; further: choices of the page."""
    choice = {"pair": ("pellr", rival), **further}
    return Place("formats", "paper-speedups", choice), Place("formats", "ratio", choice)


def _side_by_side(figure: str) -> tuple[Place, ...]:
    return (Place("formats", "side-by-side", {"series": (figure,)}),)


def _stored(data: Mapping[str, StudyData]) -> str:
    return sliced_text(data["formats"])


def _advised(data: Mapping[str, StudyData]) -> str:
    """Return the regret of the advisor on the warm matrices of the paper, per device; empty without predictions."""
    whole = data["formats"]
    warm = [m for m in whole.measurements if m.cache == "warm" and original(whole.matrix(m.matrix_id).name)]
    panels = regret.info(replace(whole, measurements=warm)).panels
    if not panels:
        return ""
    regrets = [f"{units.ratio(p.evaluation.geometric_mean_regret)} on {p.place[0]}" for p in panels]
    matrices = max(len(p.evaluation.outcomes) for p in panels)
    return (
        f"Slowdown of the predicted kernel against the fastest, warm: {join(regrets)}. Geometric mean over {matrices} "
        "matrices of the paper."
    )


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
        f"The rows of Figure 5 do not match: those of ELLR have {_NONZEROS[0]} nonzeros, those of PELLR "
        f"{_NONZEROS[2]}. Eq. (1) gives {_N_ITER[0]} for the printed ELLR rows, {_N_ITER[1]} for these rows sorted, "
        f"and {_N_ITER[2]} for the printed PELLR rows.",
        "Eq. (2) counts −1 also for empty or absent rows; Sparsight computes it as printed.",
        "The paper used HYB of cuSPARSE, which CUDA 11 removed; Sparsight has its own with the rule of a third.",
        f"The available copy has Table 1 as an image. The text names {len(MATRICES)} of its {TABLE_1} matrices. The "
        "SuiteSparse collection has e40r0100 for e40r5000.",
    ),
    judges={"formats": formats.conclusions},
    exhibits=(
        drawing("Figure 1", "A small sparse matrix.", drawing=drawings.figure_1),
        drawing(
            "Figures 2 to 4",
            "A matrix in ELLR, the waiting threads of its warps, and an example of BiELL with four threads per warp.",
            drawing=drawings.figures_2_to_4,
        ),
        Exhibit(
            "Figure 5",
            "A matrix in ELLR and in PELLR, and the iterations of its four warps by eq. (1).",
            "18 iterations in ELLR, 14 in PELLR; N_p is equal.",
            (EQUATION, STRUCTURE),
            unsaid="The numbers are computed from the printed rows, not measured.",
            why=f"Eq. (1) gives {_N_ITER[0]} for the printed ELLR rows, but {_N_ITER[1]} for these rows sorted. It "
            f"gives {_N_ITER[2]} for the printed PELLR rows. Eq. (2) gives N_p = {_N_P[0]} for the first list and "
            f"{_N_P[2]} for the second, so the lists belong to different matrices.",
            drawing=drawings.figure_5,
            table=lambda _: printed_tables.worked_example(),
        ),
        Exhibit(
            "Table 1",
            "Twenty matrices: rows, nonzeros, and mean, σ, and max − min of the row lengths.",
            "The available copy has the table as an image; the text prints some of its values.",
            (STRUCTURE,),
            unsaid="The table has the printed values next to those of the files or their stand-ins.",
            why="A synthetic stand-in is a mesh, or has random columns and rows of similar length in random order.",
            table=study_table("formats", printed_tables.matrices),
        ),
        Exhibit(
            "Figure 6",
            "Speedup of PELLR over ELLR for each matrix, by ascending σ.",
            "Above 1 for all, about 1.5 if σ > 10, no obvious advantage if σ < 3; memplus 1.1, lnsp3937 4.5.",
            (*_over("ellr", cache=CACHES), EQUATION),
            why="A possible reason: the multiprocessors of a GPU share the iterations of eq. (1). A Quadro P600 has "
            "three, an H200 has 132. With few warps per multiprocessor, the longest row determines the time, sorted "
            "or not. The figure on eq. (1) compares both predictions with measured times (docs/formats.md). A stand-in "
            "has another order of rows than the matrix of the paper, and n_iter of ELLR depends on it.",
        ),
        Exhibit(
            "Figure 7",
            "Positions of the nonzeros of memplus.",
            places=(STRUCTURE,),
            unsaid="The picture has no values; Table 1 has the row lengths of memplus.",
            drawing=memplus.figure_7,
        ),
        Exhibit(
            "Figure 8",
            "Speedup of PELLR over HYB, by ascending σ.",
            "About 4 if σ < 10, about 1.6 if σ > 10, so less with larger σ; msc23052 and bcsstk36 1.2, memplus 0.7.",
            _over("hyb"),
            why="The paper blames the COO part of cuSPARSE's HYB. Sparsight uses another kernel for it, so a speedup "
            "over HYB compares different programs (docs/formats.md). On memplus, one thread of PELLR adds a whole long "
            "row; in HYB, the threads of the COO part share it.",
        ),
        Exhibit(
            "Figure 9",
            "Speedup of PELLR over BiELL, by ascending σ.",
            "Faster in 17 of 20, clearly on lnsp3937 and mhd4800b; memplus 0.8172.",
            _over("biell"),
        ),
        Exhibit(
            "Figure 10",
            "Speedup of PELLR over BiJAD, by ascending σ.",
            "Faster in 15 of 20, speedup at most 1.3; the nearest format.",
            _over("bijad"),
        ),
        Exhibit(
            "Figure 11",
            "GFLOP/s of PELLR, HYB, BiELL, and BiJAD.",
            "HYB is best only for memplus, and slower than the other three in most cases.",
            _side_by_side("figure-11"),
        ),
        Exhibit(
            "Figure 12",
            "GFLOP/s of CSRV, JAD, ELL, ELLR, PELLR, HYB, and cuSPARSE's CSR.",
            "PELLR is best in most cases, then JAD and ELLR; CSRV is relatively poor, and slow below 16 nonzeros per "
            "row; HYB is good on bcsstk36 and msc23052.",
            _side_by_side("figure-12"),
            why="The caption counts how often each format is the fastest. A possible reason for the rank of CSRV: 16 "
            "threads per row start 16 times as many warps as one thread per row. A cache of tens of megabytes holds "
            "these matrices. cuSPARSE was rewritten since then.",
        ),
    ),
    trial=Trial(
        study="formats",
        params={"caches": ["warm"], "sampling": "fixed"},
        names=NAMES,
        generate=("bcsstk24", "memplus", "lnsp3937", "dw2048"),
        note="All kernels of all formats, including those of the paper, with a warm cache as in a solver. All kernels "
        "run in all rounds, so that slow formats can be compared too.",
    ),
    outlook=(
        Outlook(
            "PELLR in less memory",
            "§5",
            "realized",
            (Link("pellr-sliced", "/docs/formats#pellr-sliced"), Place("formats", "cases")),
            _stored,
        ),
        Outlook(
            "Choice of the format by the parameters of the matrix and eq. (1)",
            "§5",
            "realized",
            (Link("the advisor", "/docs/formats#which-format-the-advisor"), Place("formats", "regret"), EQUATION),
            _advised,
        ),
    ),
)
