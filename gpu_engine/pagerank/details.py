"""PageRankDetails: the fields of a record that only the study `pagerank` has."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from gpu_engine.records import Details, described


@dataclass(frozen=True, slots=True)
class PageRankDetails(Details):
    """Fields specific to measurements of the study `pagerank`, whose times are those of a complete run."""

    study: ClassVar[str] = "pagerank"

    links: int | None = described("Links of the transition matrix (full matrix, or strict lower triangle).", None)
    dangling_pages: int | None = described("Pages without outgoing links.", None)
    link_counts: tuple[int, ...] = described(
        "Pages with 0, 1, 2 to 3, 4 to 7 … incoming links.",
        (),
    )
    iterations: int | None = described(
        "Iterations until γ < ε, or iterations_max; for a library, until it reports convergence.", None
    )
    iterations_timed: int | None = described(
        "Iterations of the timed run; a run that ends on the GPU can make a few more.",
        None,
    )
    tolerance: float | None = described("Tolerance passed to the library; null for Sparsight kernels.", None)
    iterations_by_segments: tuple[int, ...] = described(
        "Iterations that wrote 1, 2 … segments; for iterative refinement, passes in 32 and in 64 bits; else empty.",
        (),
    )
    phases_s: Mapping[str, float] = described("Seconds of the run by phase (sum over its trace).", {})
    residual: float | None = described("‖G(p) − p‖₁, with G one more iteration in extended precision.", None)
    mass_error: float | None = described("|‖p‖₁ − 1|.", None)
    distance: float | None = described("‖p − p_fp64‖₁.", None)
    top_k_agreement: float | None = described(
        "Share (0 to 1) of the top-k pages of fp64 that are top-k pages here; ranks within top_k_slack count as equal.",
        None,
    )
    top_k_slack: float | None = described(
        "Largest rank difference that the residuals allow; null in older records, which compared ranks exactly.",
        None,
    )
    top_pages: tuple[int, ...] = described("Pages with the highest ranks, descending; numbered from 0.", ())
    top_ranks: tuple[float, ...] = described("Ranks of these pages.", ())
