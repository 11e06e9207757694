"""Comparison of SpMV with A and with Aᵀ: the fastest kernel for each."""

from collections.abc import Sequence

from gpu_engine.findings.data import TRANSPOSE, StudyData
from gpu_engine.findings.finding import gain
from gpu_engine.findings.formats.groups import OF_TRANSPOSE, group_by_facet
from gpu_engine.findings.ranking import rank
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table

HEADS = (
    *(Head(text, numeric=False) for text in ("matrix", "device", "cache", "fastest for A")),
    Head("time", "A"),
    Head(f"fastest for {OF_TRANSPOSE}", numeric=False),
    Head("time", OF_TRANSPOSE),
    Head("slowdown", f"{OF_TRANSPOSE} / A"),
)


def table(data: StudyData) -> Table:
    """Return a table with one row per matrix, device, and cache state with usable timings of both."""
    facets = group_by_facet(data.measurements)
    pairs = (
        (facet, _fastest(group), _fastest(facets.get((f"{facet[0]}{TRANSPOSE}", *facet[1:]), ())))
        for facet, group in facets.items()
    )
    rows = (
        (
            data.matrix(matrix_id).name,
            device,
            cache,
            *_side(plain),
            *_side(transposed),
            units.ratio(gain(transposed, plain)),
        )
        for (matrix_id, device, cache), plain, transposed in pairs
        if plain and transposed
    )
    return Table(HEADS, tuple(rows))


def _fastest(group: Sequence[Measurement]) -> Measurement | None:
    """Return the fastest kernel; None without a ranking."""
    return next(iter(rank(group).leaders), None)


def _side(m: Measurement) -> tuple[str, str]:
    return m.kernel, units.seconds(m.median_s)
