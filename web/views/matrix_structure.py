"""Structure of a matrix: facts about its nonzeros, its picture, and its row lengths."""

from collections.abc import Callable
from typing import Any

from gpu_engine.recordings.files import kind_of
from gpu_engine.text import units
from server.models import MatrixRow
from server.store import Store
from web.matrix_contexts import MatrixStructure
from web.pictures import bin_label, picture

SPY_SIDE = 256
"""Largest side of the picture in pixels."""

FACTS: tuple[tuple[str, Callable[[MatrixRow], str]], ...] = (
    ("rows × columns", lambda row: f"{units.count(row.n_rows)} × {units.count(row.n_cols)}"),
    ("nnz", lambda row: units.count(row.nnz)),
    ("mean row length (ave)", lambda row: units.number(row.features.get("ave"))),
    ("standard deviation (σ)", lambda row: units.number(row.features.get("sigma"))),
    ("shortest … longest row", lambda row: _span(row)),
    ("empty rows, columns", lambda row: _pair(row, "empty_rows", "empty_cols")),
    ("bandwidth", lambda row: units.count(row.features.get("bandwidth"))),
    ("explicit zeros", lambda row: units.count(row.features.get("explicit_zeros"))),
    ("distinct values", lambda row: units.count(row.features.get("distinct_values"))),
    ("warp iterations (n_iter), ELLR, PELLR", lambda row: _pair(row, "n_iter_ellr", "n_iter_pellr")),
    ("computations (n_p)", lambda row: units.count(row.features.get("n_p"))),
    (
        "power-law exponent (rows, columns)",
        lambda row: ", ".join(
            units.number(row.features.get(name)) for name in ("power_law_exponent", "power_law_exponent_cols")
        ),
    ),
    ("pattern symmetry", lambda row: {True: "symmetric", False: "not symmetric"}.get(_symmetric(row), units.MISSING)),
    ("CSR size", lambda row: units.size(12 * row.nnz + 4 * (row.n_rows + 1))),
)


def structure_of(store: Store, row: MatrixRow) -> MatrixStructure:
    """Return the facts about the nonzeros, and the picture if the values are on this server."""
    structure = picture(store, row) if row.features else None
    facts = ((name, fact(row)) for name, fact in FACTS) if row.features else ()
    return MatrixStructure(
        (*facts, ("source", f"{_source(row.source)}, added {units.moment(row.created_at)} UTC")),
        (*_fetched(row.source), *(structure.notes if structure else ())),
        f"/matrices/{row.id}/spy.png?side={SPY_SIDE}" if structure else "",
        _histogram(structure.row_lengths) if structure else (),
    )


def _histogram(row_lengths: tuple[tuple[int, int, int], ...]) -> tuple[tuple[str, str, float], ...]:
    """Return the bars of the histogram of row lengths."""
    most = max((rows for _, _, rows in row_lengths), default=1) or 1
    return tuple((bin_label(low, high), units.count(rows), rows / most) for low, high, rows in row_lengths)


def _fetched(source: dict[str, Any]) -> tuple[str, ...]:
    """Return a sentence with the origin of a downloaded file."""
    if "fetched_at" not in source:
        return ()
    day, size = source["fetched_at"][:10], units.size(source["bytes"])
    return (f"Fetched from {source['address']} on {day}: {size}, sha256 {source['sha256']}.",)


def _source(source: dict[str, Any]) -> str:
    if kind_of(source) == "generated":
        given = ", ".join(f"{name} {value}" for name, value in source.get("params", {}).items())
        return f"generated: {source.get('generator')} ({given})" if given else f"generated: {source.get('generator')}"
    if kind_of(source) == "collection":
        return f"SuiteSparse Matrix Collection: {source.get('name')}"
    if "bytes" not in source:
        return f"file {source.get('filename')} on another machine"
    return f"uploaded, {units.size(source['bytes'])}"


def _span(row: MatrixRow) -> str:
    return f"{units.count(row.features.get('min'))} … {units.count(row.features.get('max'))}"


def _pair(row: MatrixRow, first: str, second: str) -> str:
    return f"{units.count(row.features.get(first))}, {units.count(row.features.get(second))}"


def _symmetric(row: MatrixRow) -> Any:
    return row.features.get("symmetric_pattern")
