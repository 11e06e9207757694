"""SciPy's .npz files: SciPy's load_npz says what they mean, and its full check of a matrix whether they mean anything.

Where it is too kind, this module says so: it cuts fractional indices and takes a matrix that is not finite.
"""

import io
import random
import warnings
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse

from tests.gpu_engine.matrix_files import saved, zipped
from tests.gpu_engine.matrix_io.case import INEXACT, LIMITS, TOO_WIDE, Case, Meaning, UnreadableError, summed
from tests.gpu_engine.matrix_io.market import need

COMPLEX = "complex values; only real matrices are measured"
PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
INDICES = ("indptr", "indices", "row", "col", "coords", "offsets", "compressed_axes")
MEMBERS = ("format", "shape", "data", "fill_value", *INDICES)
STARTS = ("", "adj_", "adj_matrix.", "adj_matrix_")


def read(content: bytes) -> Meaning:
    """The matrix of a file; raises UnreadableError."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with np.load(io.BytesIO(content), allow_pickle=False) as loaded:
                names = {start + name for start in STARTS for name in MEMBERS}
                arrays = {name: loaded[name] for name in names if name in loaded and name.endswith(INDICES)}
                infos = [info for info in loaded.zip.infolist() if info.filename.removesuffix(".npy") in names]
                # NumPy reads no further than an array needs: neither to its checksum nor to the size that was said.
                need(all(len(loaded.zip.read(info)) == info.file_size for info in infos), "damaged")
                matrix = _loaded(loaded, content)
            need(all(np.all(np.trunc(array) == array) for array in arrays.values()), "fractional indices")
            if matrix.format in ("csr", "csc", "bsr"):
                matrix.check_format(full_check=True)
                # Which looks no further where the last pointer is 0.
                need(np.all(matrix.indptr[1:] >= matrix.indptr[:-1]), "pointers decrease")
    except UnreadableError:
        raise
    except Exception as error:
        raise UnreadableError(str(error)) from error
    need(matrix.ndim == 2 and matrix.dtype.kind in "biufc", "not numbers")
    refusable = COMPLEX if matrix.dtype.kind == "c" else ""
    if refusable:
        return Meaning(matrix.shape[0], matrix.shape[1], {}, refusable)
    entries = _entries(matrix)
    if matrix.dtype.kind in "iu" and any(int(float(number)) != int(number) for *_, number in entries):
        refusable = INEXACT
    if max(matrix.shape) > max(LIMITS.dimension_free, LIMITS.dimension_per_entry * len(entries)):
        refusable = TOO_WIDE
    return summed(matrix.shape, [(row, col, float(number)) for row, col, number in entries], refusable)


def _loaded(loaded: Any, content: bytes) -> Any:
    """By load_npz, or of the arrays; only csr takes values of half precision and of the other byte order."""
    if "format" not in loaded:
        return _named(loaded)
    layout, data = loaded["format"].item(), loaded["data"]
    layout = layout.decode() if isinstance(layout, bytes) else layout
    if layout not in ("coo", "bsr", "dia") or data.dtype.kind not in "iuf":
        return scipy.sparse.load_npz(io.BytesIO(content))
    shape = tuple(loaded["shape"])
    if layout == "coo":
        places = loaded["coords"] if "coords" in loaded else (loaded["row"], loaded["col"])
        return scipy.sparse.coo_array((_native(data), tuple(places)), shape=shape)
    if layout == "dia":
        return scipy.sparse.dia_array((_native(data), loaded["offsets"]), shape=shape)
    need(data.ndim == 3, "blocks")
    return scipy.sparse.bsr_array((_native(data), loaded["indices"], loaded["indptr"]), shape=shape)


def _native(data: Any) -> Any:
    need(data.dtype.kind in "biufc", "not numbers")
    return data.astype(float if data.dtype.kind == "f" else data.dtype.newbyteorder("="))


def _named(loaded: Any) -> Any:
    """The matrix of arrays that name no layout: of pydata/sparse, of data sets of graphs, of people."""
    need("fill_value" not in loaded or (loaded["fill_value"].ndim == 0 and loaded["fill_value"] == 0), "fill value")
    if {"data", "coords", "shape"} <= set(loaded):
        need(loaded["coords"].shape[:1] == (2,), "coordinates")
        return scipy.sparse.coo_array((_native(loaded["data"]), tuple(loaded["coords"])), shape=tuple(loaded["shape"]))
    if {"data", "row", "col", "shape"} <= set(loaded):
        places = (loaded["row"], loaded["col"])
        return scipy.sparse.coo_array((_native(loaded["data"]), places), shape=tuple(loaded["shape"]))
    starts = [
        start for start in STARTS if {start + name for name in ("data", "indices", "indptr", "shape")} <= set(loaded)
    ]
    need(len(starts) == 1, "no matrix, or several")
    data, indices, indptr, shape = (loaded[starts[0] + name] for name in ("data", "indices", "indptr", "shape"))
    need(data.ndim == 1 and len(shape) == 2, "axes")
    axes = loaded["compressed_axes"].tolist() if "compressed_axes" in loaded and not starts[0] else None
    need(axes in (None, [0], [1]) and (axes or starts[0] or shape[0] != shape[1]), "which axis")
    by_row = axes == [0] or bool(starts[0]) or (axes is None and indptr.size == shape[0] + 1)
    kind = scipy.sparse.csr_array if by_row else scipy.sparse.csc_array
    return kind((_native(data), indices, indptr), shape=tuple(shape))


def _entries(matrix: Any) -> list[tuple[int, int, Any]]:
    """The entries in the order of the file; SciPy's own conversions would add whole numbers up before they are fp64."""
    if matrix.format in ("bsr", "dia"):
        matrix = matrix.tocoo()
    if matrix.format == "coo":
        return list(zip(matrix.row.tolist(), matrix.col.tolist(), matrix.data.tolist(), strict=True))
    entries = []
    for major in range(matrix.indptr.size - 1):
        for place in range(matrix.indptr[major], matrix.indptr[major + 1]):
            minor = int(matrix.indices[place])
            entries.append((*((major, minor) if matrix.format == "csr" else (minor, major)), matrix.data[place].item()))
    return entries


def npy(rng: random.Random, array: Any) -> bytes:
    """A member: by NumPy, or with the keys of its header in another order, as its document allows."""
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asarray(array), version=rng.choice([None, (1, 0), (2, 0)]))
    if rng.random() < 0.5:
        return file.getvalue()
    array = np.asarray(array)
    by_columns = rng.choice([True, False])
    items = [
        f"'descr': {array.dtype.str!r}",
        f"'fortran_order': {by_columns}",
        f"'shape': {array.shape}",
    ]
    rng.shuffle(items)
    text = "{" + rng.choice([", ", ","]).join(items) + rng.choice(["}", ", }", "} "])
    text = (text.replace("'", '"') if rng.random() < 0.2 else text) + "\n"
    return bytes(
        b"\x93NUMPY\1\0"
        + len(text).to_bytes(2, "little")
        + text.encode()
        + array.tobytes(order="F" if by_columns else "C")
    )


def arrays_of(rng: random.Random) -> tuple[str, dict[str, Any]]:
    """(layout, arrays) of a random matrix."""
    layout: Any = rng.choice(["csr", "csr", "csc", "coo", "bsr", "dia"])
    shape = rng.randint(1, 6), rng.randint(1, 6)
    block = rng.randint(1, 2), rng.randint(1, 3)
    if layout == "bsr":
        shape = shape[0] * block[0], shape[1] * block[1]
    given = scipy.sparse.random_array(shape, density=0.4, rng=rng.getrandbits(32), format=layout)
    matrix: Any = given.tocsr().tobsr(blocksize=block) if layout == "bsr" else given
    kind = rng.choice(["f8", "f8", "f4", "f2", ">f8", "i1", "i8", "u8", ">i8", "?", "u2"])
    data = (matrix.data * 100 + 1).astype(kind)
    if kind.endswith(("i8", "u8")) and data.size:
        high = 2 ** rng.choice([53, 60, 62]) + rng.choice([0, 1, 2, 1024])
        data.flat[rng.randrange(data.size)] = high if kind != "u8" else high + rng.choice([0, 2**63])
    arrays: dict[str, Any] = {"format": layout.encode(), "shape": np.array(shape), "data": data}
    width = rng.choice(["i4", "i8", "u4", "u8", "f8"])
    for name in {"coo": ("row", "col"), "dia": ("offsets",)}.get(layout, ("indptr", "indices")):
        array = getattr(matrix, name)
        arrays[name] = array.astype(width if array.size == 0 or array.min() >= 0 else "i8")
    return _renamed(rng, layout, arrays)


def _renamed(rng: random.Random, layout: str, arrays: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The arrays as they are, or as other libraries and people name them."""
    if layout in ("bsr", "dia") or rng.random() < 0.6:
        return layout, arrays
    del arrays["format"]
    if layout == "coo":
        if rng.random() < 0.3:
            return "row, col", arrays
        arrays["coords"] = np.stack([arrays.pop("row"), arrays.pop("col")])
        return "coords", arrays | ({"fill_value": np.array(rng.choice([0.0, 0.0, 1.0]))} if rng.random() < 0.8 else {})
    if rng.random() < 0.4:
        return "GCXS", arrays | {"fill_value": np.array(0.0), "compressed_axes": np.array([int(layout == "csc")])}
    start = rng.choice(STARTS)
    arrays = {start + name: array for name, array in arrays.items()}
    return f"arrays {start}", arrays | ({"attr_data": np.ones(2)} if start else {})


def _break(rng: random.Random, arrays: dict[str, Any]) -> str:
    """Changes one array; what was done."""
    name = rng.choice([*arrays, *[name for name in arrays if name.endswith("data")] * 2])
    if name.endswith((*INDICES, "data")):
        array = arrays[name]
        what = rng.choice(["shorter", "longer", "one", "none", "other", "two axes", "nan"])
        if what == "other" and array.size:
            array.flat[rng.randrange(array.size)] = np.array(rng.choice([0, 1, 5, 99, 250])).astype(array.dtype)
        elif what == "nan" and array.dtype.kind == "f" and array.size:
            array.flat[0] = rng.choice([np.nan, np.inf, 0.5])
        arrays[name] = {
            "shorter": array[:-1] if array.ndim else array,
            "longer": np.append(array, array[-1:], axis=0) if array.ndim else array,
            "one": array[:1],
            "none": array[:0],
            "two axes": array[None],
        }.get(what, array)
        return f"{name} {what}"
    what = rng.choice(["missing", "text", "other"])
    arrays[name] = {"text": np.array("abc"), "other": np.array([3, 3, 3])}.get(what)
    if what == "missing":
        del arrays[name]
    return f"{name} {what}"


def generate(rng: random.Random) -> Iterator[Case]:
    """Matrices of all layouts, types and packings; the same with an array or a few bytes changed."""
    flat = scipy.sparse.coo_array(np.array([1.0, 0, 2]))
    yield Case("SciPy .npz", "one dimension", saved(scipy.sparse.save_npz, flat), None)
    for square in (scipy.sparse.bsr_array(np.eye(4)), scipy.sparse.dia_array(np.eye(4))):
        yield _judged(square.format, saved(scipy.sparse.save_npz, square))
    while True:
        layout, arrays = arrays_of(rng)
        name = f"{layout} of {next(arrays[key] for key in arrays if key.endswith('data')).dtype}"
        if rng.random() < 0.1:
            arrays["more"] = np.arange(3)
        if layout in ("csr", "csc", "GCXS") and rng.random() < 0.15:
            arrays["indices"], arrays["data"] = np.append(arrays["indices"], 0), np.append(arrays["data"], 1)
            name += ", room behind the entries"
        packing = rng.choice(PACKINGS)
        content = zipped([(f"{key}.npy", npy(rng, array)) for key, array in arrays.items()], packing)
        yield _judged(f"{name}, packing {packing}", content)
        what = _break(rng, arrays)
        yield _judged(what, zipped([(f"{key}.npy", npy(rng, array)) for key, array in arrays.items()], packing))
        damaged = bytearray(content)
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        yield _judged("a bit changed", bytes(damaged))
        yield _judged("cut", content[: rng.randrange(len(content))])


def _judged(name: str, content: bytes) -> Case:
    try:
        meaning: Meaning | None = read(content)
    except UnreadableError:
        meaning = None
    return Case("SciPy .npz", name, content, meaning)
