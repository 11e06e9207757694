"""Formats in the figures of the PELLR paper, and the formats and kernels that represent them here."""

from collections.abc import Iterable, Mapping

from gpu_engine.records import Measurement

SERIES: Mapping[str, tuple[str, ...]] = {
    "CSRV": ("csr/vector16",),
    "JAD": ("jad",),
    "ELL": ("ell",),
    "ELLR": ("ellr",),
    "PELLR": ("pellr",),
    "HYB": ("hyb",),
    "BiELL": ("biell",),
    "BiJAD": ("bijad",),
    "cuCSR": ("cusparse/csr_alg1", "cusparse/csr_alg2"),
}
"""Name in the paper → formats or kernels; if there are several, the fastest counts.

CSRV uses half a warp per row. HYB follows the 1/3 rule; the paper used the one of cuSPARSE, removed in CUDA 11.
"""

FIGURE_11 = ("PELLR", "HYB", "BiELL", "BiJAD")
FIGURE_12 = ("CSRV", "JAD", "ELL", "ELLR", "PELLR", "HYB", "cuCSR")

PAPER_RATIOS: Mapping[str, float] = {"lnsp3937": 4.5, "memplus": 1.1, "bcsstk24": 1.5}
"""Matrix → speedup of PELLR over ELLR on a Quadro P600 (Figure 6), where the text of the paper gives a number."""


def name_of(m: Measurement) -> str:
    """Return the paper's name of a kernel; empty if it is not in the paper, such as a kernel with reordering."""
    if "+" in m.kernel:
        return ""
    return next((name for name, known in SERIES.items() if m.kernel in known or m.format in known), "")


def fastest_by_name(measurements: Iterable[Measurement]) -> dict[str, Measurement]:
    """Return the fastest timed kernel of each format of the paper, in the order of SERIES."""
    timed = sorted((m for m in measurements if m.state == "ok" and m.median_s), key=lambda m: m.median_s or 0.0)
    fastest: dict[str, Measurement] = {}
    for m in timed:
        fastest.setdefault(name_of(m), m)
    return {name: fastest[name] for name in SERIES if name in fastest}
