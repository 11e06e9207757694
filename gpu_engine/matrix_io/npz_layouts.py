"""Finds the arrays of a sparse matrix in a .npz file, and builds the matrix.

SciPy names the layout in `format`; pydata/sparse has `fill_value`; data sets of graph neural networks have `adj_data`,
`adj_indices`, `adj_indptr` and `adj_shape`, which their loaders hand to csr_matrix.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import INDEX_LIMIT
from gpu_engine.errors import MatrixFileError, TooLargeError, quote
from gpu_engine.matrix_io import compressed
from gpu_engine.matrix_io.assemble import Chunk
from gpu_engine.matrix_io.base import ReadLimits, ReadResult, check_shape
from gpu_engine.matrix_io.compressed import Compressed, build_entries, check_pointers, checked_indices, whole
from gpu_engine.text import units

ROLES = {
    "csr": ("indptr", "indices"),
    "csc": ("indptr", "indices"),
    "coo": ("row", "col"),
    "coords": ("coords",),
    "bsr": ("indptr", "indices"),
    "dia": ("offsets",),
}
"""Layout → arrays in addition to `data` and `shape`."""

AXES = {"coords": {"coords": 2}, "bsr": {"data": 3}, "dia": {"data": 2}}
"""(Layout, array) → number of axes, if it is not one."""

KINDS = {"data": "iufb", "shape": "iu", "fill_value": "iufb"}
"""Array → allowed kinds of numbers; indices may be integral decimals."""

MARKS = {"format", "_is_array", "fill_value", "compressed_axes"}
"""Arrays that describe the others."""

GRAPHS = ("adj_", "adj_matrix.", "adj_matrix_")
"""Prefixes of the arrays of an adjacency matrix in data sets whose loaders read it as CSR."""

SAVE_ONE = "save one alone with scipy.sparse.save_npz"


@dataclass(frozen=True, slots=True)
class Layout:
    """Layout of a matrix in a file: `members` are its arrays by role; an empty name: decide by the sizes."""

    name: str
    members: dict[str, str]
    note: str = ""

    @property
    def names(self) -> set[str]:
        """Names of the members to read."""
        return set(self.members.values())


def choose(names: Collection[str], array: Callable[[str], Any]) -> Layout | None:
    """Return the layout of the arrays of a file, or None if they are not a matrix; raises MatrixFileError.

    array  function that reads a member
    """
    if "format" in names:
        return _by_scipy(names, array("format"))
    if {"data", "coords", "shape"} <= set(names):
        return _layout("coords", names, extra=("fill_value",))
    if {"data", "row", "col", "shape"} <= set(names):
        return _layout("coo", names)
    prefixes = [name.removesuffix("indptr") for name in names if name.endswith("indptr")]
    groups = [start for start in prefixes if {start + role for role in ("data", "indices", "shape")} <= set(names)]
    graphs = [start for start in groups if start in GRAPHS]
    if not groups:
        return None
    if len(groups) > 1 and len(graphs) != 1:
        names_text = " and ".join(quote(f"{start}data") for start in sorted(groups)[:2])
        raise MatrixFileError(f"The .npz file holds {len(groups)} matrices ({names_text} …); {SAVE_ONE}.")
    start = (graphs or groups)[0]
    if graphs:
        note = f"Read from the arrays {start}… as CSR, as loaders of such data sets do."
        return _layout("csr", names, start, note)
    return _layout("", names, start, extra=("fill_value", "compressed_axes"))


def _layout(name: str, names: Collection[str], start: str = "", note: str = "", extra: tuple[str, ...] = ()) -> Layout:
    """Return the layout of arrays with a prefix; the arrays in `extra` may be missing."""
    roles = (*ROLES.get(name, ROLES["csr"]), "shape", "data", *(role for role in extra if start + role in names))
    return Layout(name, {role: start + role for role in roles}, note)


def _by_scipy(names: Collection[str], named: Any) -> Layout:
    """Return the layout that the array `format` names; raises MatrixFileError if arrays are missing."""
    name = named.item() if named.size == 1 and named.dtype.kind in "SU" else ""
    name = name.decode("ascii", "backslashreplace") if isinstance(name, bytes) else name
    if name not in ROLES or name == "coords":
        raise MatrixFileError(f"The matrix is saved as {quote(name)}; call .tocsr() on it before save_npz.")
    if name == "coo" and "coords" in names:
        name = "coords"
    if missing := ", ".join(sorted({"shape", "data", *ROLES[name]} - set(names))):
        raise MatrixFileError(f"The file lacks {missing}, which a {name} matrix has; save it with save_npz again.")
    return _layout(name, names)


def build(layout: Layout, arrays: Mapping[str, Any], limits: ReadLimits, *notes: str) -> ReadResult:
    """Return the matrix of the arrays by role; raises MatrixFileError or TooLargeError."""
    _check_arrays(layout.name, arrays)
    shape = [int(size) for size in arrays["shape"][:4]]
    if len(shape) == 1:
        raise MatrixFileError(
            "The array has one dimension; a matrix has two. Save A.reshape(1, -1), or the matrix itself."
        )
    if len(shape) != 2 or min(shape) < 0:
        raise MatrixFileError(f"The shape of the matrix is {quote(shape)}; expected rows and columns.")
    if (fill := arrays.get("fill_value")) is not None and fill != 0:
        raise MatrixFileError(f"The entries that are not stored are {fill}; a sparse matrix has zeros there.")
    indices = {role: whole(arrays[role], role) for role in arrays if role not in KINDS}
    name = layout.name or _compressed_axis(shape, indices)
    parts = {**arrays, **indices}
    notes = (*notes, layout.note) if layout.note else notes
    n_rows, n_cols = shape
    check_shape(n_rows, n_cols, arrays["data"].size, limits)
    if name in ("csr", "csc"):
        pointers, minor, values = _without_room(parts)
        return compressed.build(Compressed(n_rows, n_cols, pointers, minor, values, name == "csc"), limits, *notes)
    if arrays["data"].size > limits.nnz_max:
        raise TooLargeError(
            f"The file has {units.count(arrays['data'].size)} values; at most {units.count(limits.nnz_max)} are read."
        )
    entries = {"coo": _coo, "coords": _coords, "bsr": _bsr, "dia": _dia}[name](n_rows, n_cols, parts)
    return build_entries(n_rows, n_cols, entries, limits, *notes)


def _check_arrays(layout: str, arrays: Mapping[str, Any]) -> None:
    for role, array in arrays.items():
        axes = AXES.get(layout, {}).get(role, 0 if role == "fill_value" else 1)
        if array.ndim != axes or array.dtype.kind not in KINDS.get(role, "iuf"):
            expected = f"{axes} axes" if axes != 1 else "one axis"
            raise MatrixFileError(
                f"The array {role} is {array.dtype} with {array.ndim} axes; expected {expected} of numbers."
            )


def _compressed_axis(shape: list[int], indices: Mapping[str, Any]) -> str:
    """Return csr or csc, as in the file or by the sizes; raises MatrixFileError if both fit."""
    if "compressed_axes" in indices:
        axes = indices["compressed_axes"].tolist()
        if axes not in ([0], [1]):
            raise MatrixFileError(
                f"The compressed axes are {quote(axes)}; expected [0] or [1]. Call .tocoo() and save it."
            )
        return "csr" if axes == [0] else "csc"
    if shape[0] == shape[1]:
        raise MatrixFileError(
            "The arrays data, indices and indptr do not say whether rows or columns are compressed. "
            "Save the matrix with scipy.sparse.save_npz."
        )
    return "csc" if indices["indptr"].size == shape[1] + 1 else "csr"


def _without_room(parts: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Return (pointers, indices, values) without the spare room that SciPy may store after the last entry."""
    pointers, indices, values = parts["indptr"], parts["indices"], parts["data"]
    if pointers.size and 0 <= int(pointers[-1]) < indices.size == values.shape[0]:
        indices, values = indices[: int(pointers[-1])], values[: int(pointers[-1])]
    return pointers, indices, values


def _coo(n_rows: int, n_cols: int, parts: Mapping[str, Any]) -> Chunk:
    rows, cols, values = parts["row"], parts["col"], parts["data"]
    if not rows.shape == cols.shape == values.shape:
        raise MatrixFileError(f"There are {rows.size} rows, {cols.size} columns and {values.size} values.")
    return Chunk(checked_indices(rows, n_rows, "row"), checked_indices(cols, n_cols, "column"), values)


def _coords(n_rows: int, n_cols: int, parts: Mapping[str, Any]) -> Chunk:
    coords = parts["coords"]
    if coords.shape[0] != 2:
        raise MatrixFileError(
            f"The array coords has {coords.shape[0]} lines for two dimensions; save the matrix again."
        )
    return _coo(n_rows, n_cols, {"row": coords[0], "col": coords[1], "data": parts["data"]})


def _bsr(n_rows: int, n_cols: int, parts: Mapping[str, Any]) -> Chunk:
    """Return all entries of each block, including zeros, as SciPy's tocsr does."""
    pointers, indices, values = _without_room(parts)
    blocks, height, width = values.shape
    if not height or not width or n_rows % height or n_cols % width or indices.size != blocks:
        raise MatrixFileError(
            f"{indices.size} positions of {blocks} blocks of {height} × {width} do not fit {n_rows} × {n_cols}."
        )
    check_pointers(pointers, n_rows // height, blocks)
    block_rows = np.repeat(np.arange(n_rows // height), np.diff(pointers.astype(np.int64)))
    block_cols = checked_indices(indices, n_cols // width, "block column").astype(np.int64)
    rows = (block_rows * height)[:, None, None] + np.arange(height)[:, None] + np.zeros(width, np.int64)
    cols = (block_cols * width)[:, None, None] + np.zeros(height, np.int64)[:, None] + np.arange(width)
    return Chunk(rows.ravel().astype(np.int32), cols.ravel().astype(np.int32), values.reshape(-1))


def _dia(n_rows: int, n_cols: int, parts: Mapping[str, Any]) -> Chunk:
    """Return the nonzero entries of each diagonal within the matrix, as SciPy's tocsr does."""
    offsets, values = parts["offsets"], parts["data"]
    if offsets.size != values.shape[0] or np.unique(offsets).size != offsets.size:
        raise MatrixFileError(
            f"{offsets.size} offsets, some of them equal or missing, for {values.shape[0]} diagonals."
        )
    if offsets.size and (int(offsets.min()) < -INDEX_LIMIT or int(offsets.max()) > INDEX_LIMIT):
        raise MatrixFileError("An offset of a diagonal lies outside the matrix; save it with save_npz again.")
    cols = np.arange(values.shape[1])
    rows = cols - offsets.astype(np.int64)[:, None]
    inside = (rows >= 0) & (rows < n_rows) & (cols < n_cols) & (values != 0)
    places = np.broadcast_to(cols, rows.shape)[inside]
    return Chunk(rows[inside].astype(np.int32), places.astype(np.int32), values[inside])
