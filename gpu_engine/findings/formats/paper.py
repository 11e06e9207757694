"""The PELLR paper: its matrices, its printed numbers, and the formats and kernels that represent its formats here."""

from collections.abc import Iterable, Mapping

from gpu_engine.findings.data import TRANSPOSE
from gpu_engine.findings.printed import Printed
from gpu_engine.records import Measurement

MATRICES: Mapping[str, str] = {
    "bcsstk24": "HB/bcsstk24",
    "memplus": "Hamm/memplus",
    "qh1484": "Bai/qh1484",
    "lnsp3937": "HB/lnsp3937",
    "cavity25": "DRIVCAV/cavity25",
    "e40r5000": "Shen/e40r0100",
    "dw2048": "Bai/dw2048",
    "s3dkt3m2": "GHS_psdef/s3dkt3m2",
    "msc23052": "Boeing/msc23052",
    "bcsstk36": "Boeing/bcsstk36",
    "mhd4800b": "Bai/mhd4800b",
    "boneS01": "Oberwolfach/boneS01",
}
"""Matrix of Table 1 that the text names → its name in the SuiteSparse collection, which has e40r0100 for e40r5000."""

TABLE_1 = 20
"""Number of matrices in Table 1; the available copy shows the table as an image."""

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

SPEEDUPS: Mapping[str, Mapping[str, Printed]] = {
    "ELLR": {
        **{name: Printed("1.5") for name in ("bcsstk24", "cavity25", "e40r5000")},
        "lnsp3937": Printed("4.5"),
        "memplus": Printed("1.1"),
    },
    "HYB": {"msc23052": Printed("1.2"), "bcsstk36": Printed("1.2"), "memplus": Printed("0.7")},
    "BiELL": {"memplus": Printed("0.8172")},
}
"""Rival → matrix → speedup of PELLR over it that the text prints: Figures 6, 8, and 9."""

ROW_LENGTHS: Mapping[str, Mapping[str, str]] = {
    "memplus": {"ave": "7.1", "sigma": "22", "max_min": "572"},
    "lnsp3937": {"sigma": "3.1", "max_min": "10"},
    "mhd4800b": {"sigma": "2", "max_min": "9"},
    "msc23052": {"max_min": "166"},
    "bcsstk36": {"max_min": "170"},
    "bcsstk24": {"ave": "> 16", "sigma": "> 10"},
    **{name: {"sigma": "> 10"} for name in ("cavity25", "e40r5000")},
    **{name: {"sigma": "< 3"} for name in ("dw2048", "qh1484", "s3dkt3m2")},
    "boneS01": {"ave": "> 16"},
}
"""Matrix → mean, σ, and max − min of its row lengths, as far as the text prints or bounds them."""

MAX_MIN = 1000
"""Largest max − min of row lengths that statements on a large σ cover; the largest printed one is 572, of memplus."""

FIGURE_5_WARP = 8
"""Threads per warp in the example of Figure 5."""

FIGURE_5: Mapping[str, tuple[int, ...]] = {
    "ELLR": (2, 3, 3, 4, 4, 4, 2, 4, 2, 3, 2, 3, 2, 3, 2, 2, 2, 2, 7, 3, 3, 3, 3, 3, 4, 3),
    "PELLR": (7, 4, 4, 4, 4, 4, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2),
}
"""Row lengths of the example of Figure 5 as printed; the two lists belong to different matrices."""

_COLLECTION = {path.partition("/")[2].lower(): name for name, path in MATRICES.items()}
_ORIGINALS = {name.lower(): name for name in MATRICES} | _COLLECTION

NAMES: tuple[str, ...] = tuple(dict.fromkeys((*MATRICES, *(path.partition("/")[2] for path in MATRICES.values()))))
"""Names under which the matrices of the paper are known, without those of their stand-ins."""


def original(name: str) -> str:
    """Return the paper's name of a matrix or of its stand-in, `memplus (stand-in)`; empty for any other matrix.

    A transpose is another matrix, because the paper describes the rows of A.
    """
    return "" if name.endswith(TRANSPOSE) else _ORIGINALS.get(name.partition(" (")[0].lower(), "")


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
