"""The formats of the PELLR paper's figures, by the formats and kernels here that stand for them."""

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
"""A name of the paper → formats, or kernels where a format has others too; of several the fastest counts.

CSRV gives a row half a warp. HYB is that of the 1/3 rule; the paper's was cuSPARSE's, which is gone since CUDA 11.
"""

FIGURE_11 = ("PELLR", "HYB", "BiELL", "BiJAD")
FIGURE_12 = ("CSRV", "JAD", "ELL", "ELLR", "PELLR", "HYB", "cuCSR")

PAPER_RATIOS: Mapping[str, float] = {"lnsp3937": 4.5, "memplus": 1.1, "bcsstk24": 1.5}
"""PELLR over ELLR as Figure 6 shows it on a Quadro P600, of the matrices whose ratio the text says."""


def name_of(m: Measurement) -> str:
    """What the paper calls that kernel; empty where it has none such. A kernel in a new order is none of its."""
    if "+" in m.kernel:
        return ""
    return next((name for name, known in SERIES.items() if m.kernel in known or m.format in known), "")


def fastest_by_name(measurements: Iterable[Measurement]) -> dict[str, Measurement]:
    """The fastest kernel with a time of each of the paper's formats, in the order of SERIES."""
    timed = sorted((m for m in measurements if m.state == "ok" and m.median_s), key=lambda m: m.median_s or 0.0)
    found: dict[str, Measurement] = {}
    for m in timed:
        found.setdefault(name_of(m), m)
    return {name: found[name] for name in SERIES if name in found}
