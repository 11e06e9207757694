"""PageRankDetails: what a record of the `pagerank` study holds of its run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from gpu_engine.records import Details, described


@dataclass(frozen=True, slots=True)
class PageRankDetails(Details):
    """What a measurement of the `pagerank` study says beside what all say; its times are those of a whole run."""

    study: ClassVar[str] = "pagerank"

    links: int | None = described("Of the transition matrix: all of the matrix, or its strict lower triangle.", None)
    dangling_pages: int | None = described("Pages of the transition matrix without a link.", None)
    link_counts: tuple[int, ...] = described(
        "Pages of the transition matrix with 0, 1, 2 to 3, 4 to 7 … links to them: the rows that an iteration walks.",
        (),
    )
    iterations: int | None = described(
        "Until γ < ε, or the most allowed; of a library those after which it says that it has converged.", None
    )
    iterations_timed: int | None = described(
        "Those of the timed run: on a GPU it ends by itself, a look at γ costs as much as a short iteration, and in "
        "fp64 or fp32 it may make a few more; refinements and unfused kernels are replayed.",
        None,
    )
    tolerance: float | None = described("At what change a library was told to stop; null for our kernels.", None)
    iterations_by_segments: tuple[int, ...] = described(
        "How many of them wrote 1, 2 … segments, or of a refinement passed over the links in 32 and in 64 bits; empty "
        "for all others.",
        (),
    )
    phases_s: Mapping[str, float] = described("Seconds of the run by phase: those of its trace, added up.", {})
    residual: float | None = described("‖G(p) − p‖₁ of the ranks p, G one more iteration in extended precision.", None)
    mass_error: float | None = described("|‖p‖₁ − 1| of the ranks.", None)
    distance: float | None = described("‖p − p_fp64‖₁ of the ranks.", None)
    top_k_agreement: float | None = described(
        "Share, 0 to 1, of the pages with the highest ranks in fp64 that have the highest ranks here; ranks within "
        "top_k_slack are equal.",
        None,
    )
    top_k_slack: float | None = described(
        "What two ranks may differ by for all that the residuals say; null in records that counted equal ranks as "
        "different.",
        None,
    )
    top_pages: tuple[int, ...] = described("Pages of the highest ranks, descending; the first page is 0.", ())
    top_ranks: tuple[float, ...] = described("The ranks of these pages.", ())
