"""Names of the study `seeded`: its axes and its kernels."""

SEEDS, START = "seeds", "start"
"""Axes of a case: number of seed sets, or their text; and share of the links that changed before a warm start."""

TOGETHER, ONE_BY_ONE = "seeds/together", "seeds/one-by-one"
"""Kernels: one run of all seed sets at once, and one run per set."""

COLD, WARM, EXTRAPOLATED = "start/cold", "start/warm", "start/extrapolated"
"""Kernels after links have changed: from the teleport vectors, from the earlier ranks, and with extrapolation."""

OF_SEEDS, OF_START = (TOGETHER, ONE_BY_ONE), (COLD, WARM, EXTRAPOLATED)
"""Kernels that are compared with each other."""

LABELS = {
    TOGETHER: "all sets at once",
    ONE_BY_ONE: "one set at a time",
    COLD: "cold start",
    WARM: "warm start",
    EXTRAPOLATED: "warm start, extrapolated",
}
"""Names of the kernels on pages."""


def label(kernel: str) -> str:
    """Return the name of a kernel on pages."""
    return LABELS.get(kernel, kernel)


def sets_axis(text: str) -> str:
    """Return the value of the axis SEEDS for given seed sets: `12;5+9:0.5`, because axes contain no comma."""
    return "".join(text.split()).replace(",", "+")


def sets_text(axis: str) -> str:
    """Return the text of given seed sets from the value of the axis SEEDS."""
    return axis.replace("+", ",")
