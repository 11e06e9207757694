"""The batched SpMV paper: its matrices, and which batches belong to each of its experiments."""

from collections.abc import Callable, Mapping
from functools import partial

from gpu_engine.findings.batched.groups import BatchGroup
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.printed import Printed

MATRICES = (
    "MathWorks/pivtol",
    "MathWorks/tomography",
    "HB/west0989",
    "Gset/G45",
    "Pajek/GD02_a",
    "PARSEC/Si2",
    "Bai/ck656",
    "FIDAP/ex25",
    "HB/jgl011",
    "HB/lock_700",
    "HB/fs_541_1",
    "HB/mbeacxc",
    "HB/dwt_918",
    "HB/mcfe",
    "HB/dwt_607",
    "Bai/rbsa480",
    "HB/gr_30_30",
    "Boeing/bcsstk34",
    "vanHeukelum/cage8",
    "FIDAP/ex27",
    "HB/can_838",
    "Boeing/bcsstm34",
    "Pajek/USAir97",
    "HB/bp_1600",
    "Morandini/rotor2",
    "Boeing/msc00726",
    "HB/nos3",
    "Gset/G2",
    "HB/dwt_992",
    "FIDAP/ex2",
    "Bai/tols90",
    "HB/bcsstk02",
)
"""The 32 matrices of the paper (§4.1) in its order, by their names in the SuiteSparse Matrix Collection."""

NAMES = tuple(name.partition("/")[2] for name in MATRICES)
"""Names of these matrices without the group."""

SIMILAR = (
    "west0989",
    "G45",
    "ex25",
    "dwt_918",
    "gr_30_30",
    "cage8",
    "ex27",
    "can_838",
    "bp_1600",
    "nos3",
    "G2",
    "dwt_992",
)
"""The twelve matrices with 800 to 1,024 rows, of Figures 3 and 6."""

BALANCED = ("dwt_992", "gr_30_30", "nos3")
"""Matrices that the paper calls balanced (§4.2)."""

ORDER = 1024
"""Rows of the engineered matrices of Figure 4, which have equally long rows, or full rows and empty ones."""

RATES: Mapping[str, Mapping[str, Printed]] = {
    "Figure 6": {
        "coo/segmented": Printed("55"),
        "csri/warp": Printed("50"),
        "csr/smart": Printed("45"),
        "ell/thread": Printed("40"),
    },
    "Figure 7": {
        "coo/segmented": Printed("55"),
        "csri/warp": Printed("50"),
        "csr/smart": Printed("45"),
        "ell/thread": Printed("30"),
    },
}
"""Figure → kernel → its throughput in GFLOP/s on a P100, as the text of §4.2 prints it."""

EXCEEDED: Mapping[str, tuple[str, ...]] = {"Figure 7": ("coo/segmented", "csri/warp", "csr/smart")}
"""Figure → kernels that exceed their throughput in RATES, as the text says, so these are lower bounds."""

BANDWIDTHS: Mapping[str, Mapping[str, str]] = {
    "Figure 6": {
        "coo/segmented": "about 450",
        "csri/warp": "about 300",
        "csr/smart": "about 300",
        "ell/thread": "above 500",
    },
    "Figure 7": {"ell/thread": "about 500"},
}
"""Figure → kernel → its bandwidth in GB/s on a P100, as the text of §4.2 prints it."""

Experiment = Callable[[BatchGroup, StudyData], bool]
"""Function that returns whether a batch belongs to an experiment of the paper."""


def original(name: str) -> str:
    """Return the name of a matrix, or of the one that it stands in for: `ex25 (stand-in)` → `ex25`."""
    return name.partition(" (")[0]


def is_one_of(name: str, names: tuple[str, ...]) -> bool:
    """Return whether a matrix is one of the names or a stand-in for one; the case of letters does not matter."""
    return original(name).lower() in {each.lower() for each in names}


def is_uniform(group: BatchGroup, data: StudyData, names: tuple[str, ...] = NAMES) -> bool:
    """Return whether the batch has copies of a single matrix, one of the names or a stand-in for one."""
    return group.compose == "uniform" and is_one_of(data.matrix(group.matrix_id).name, names)


def is_mixture(group: BatchGroup, data: StudyData, names: tuple[str, ...]) -> bool:
    """Return whether the batch mixes exactly the matrices with these names or stand-ins for them."""
    members = sorted(original(data.matrix(member).name).lower() for member in group.members)
    return group.compose == "mixed" and members == sorted(name.lower() for name in names)


def is_engineered(group: BatchGroup, data: StudyData) -> bool:
    """Return whether the batch has copies of a matrix as in Figure 4: ORDER rows, all equally long, or full and empty.

    A matrix of the same shape counts, whatever its name is.
    """
    known = data.matrix(group.matrix_id)
    return group.compose == "uniform" and known.n_rows == known.n_cols == ORDER and known.max_min in (0, ORDER)


def is_mixed_as_printed(group: BatchGroup, data: StudyData) -> bool:
    """Return whether the batch is the mixture of Figure 6 or that of Figure 7."""
    return is_mixture(group, data, SIMILAR) or is_mixture(group, data, NAMES)


def is_in_conclusion(group: BatchGroup, data: StudyData) -> bool:
    """Return whether the conclusion of §4.2 is about the batch: a mixture, or copies of a matrix of the paper."""
    return is_mixed_as_printed(group, data) or is_uniform(group, data)


EXPERIMENTS: Mapping[str, Experiment] = {
    "Figure 3": partial(is_uniform, names=SIMILAR),
    "Figure 4": is_engineered,
    "Figure 5": is_uniform,
    "Figure 6": partial(is_mixture, names=SIMILAR),
    "Figure 7": partial(is_mixture, names=NAMES),
    "§4.2": is_in_conclusion,
    "§5": is_mixed_as_printed,
}
"""Place in the paper → the batches on which it measured its statements."""
