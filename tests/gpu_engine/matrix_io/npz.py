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

LAYOUT = "a layout that only SciPy has (bsr, dia); the message says .tocsr()"
COMPLEX = "complex values; only real matrices are measured"
PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
MEMBERS = ("format", "shape", "data", "indptr", "indices", "row", "col")
INDICES = ("indptr", "indices", "row", "col")


def read(content: bytes) -> Meaning:
    """The matrix of a file; raises UnreadableError."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with np.load(io.BytesIO(content), allow_pickle=False) as loaded:
                arrays = {name: loaded[name] for name in INDICES if name in loaded}
                infos = [info for info in loaded.zip.infolist() if info.filename.removesuffix(".npy") in MEMBERS]
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
    need(matrix.ndim == 2 and matrix.dtype.kind in "biufc", "no numbers")
    refusable = LAYOUT if matrix.format in ("bsr", "dia") else COMPLEX if matrix.dtype.kind == "c" else ""
    if refusable:
        return Meaning(matrix.shape[0], matrix.shape[1], {}, refusable)
    entries = _entries(matrix)
    if matrix.dtype.kind in "iu" and any(int(float(number)) != int(number) for *_, number in entries):
        refusable = INEXACT
    if max(matrix.shape) > max(LIMITS.dimension_free, LIMITS.dimension_per_entry * len(entries)):
        refusable = TOO_WIDE
    return summed(matrix.shape, [(row, col, float(number)) for row, col, number in entries], refusable)


def _loaded(loaded: Any, content: bytes) -> Any:
    """By load_npz; a coo array refuses values of half precision and of the other byte order, which csr takes."""
    if loaded["format"].item() not in ("coo", b"coo") or loaded["data"].dtype.kind not in "iuf":
        return scipy.sparse.load_npz(io.BytesIO(content))
    data = loaded["data"]
    native = data.astype(float if data.dtype.kind == "f" else data.dtype.newbyteorder("="))
    return scipy.sparse.coo_array((native, (loaded["row"], loaded["col"])), shape=tuple(loaded["shape"]))


def _entries(matrix: Any) -> list[tuple[int, int, Any]]:
    """The entries in the order of the file; SciPy's own conversions would add whole numbers up before they are fp64."""
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
    items = [
        f"'descr': {array.dtype.str!r}",
        f"'fortran_order': {rng.choice([True, False])}",
        f"'shape': {array.shape}",
    ]
    rng.shuffle(items)
    text = "{" + rng.choice([", ", ","]).join(items) + rng.choice(["}", ", }", "} "])
    text = (text.replace("'", '"') if rng.random() < 0.2 else text) + "\n"
    return bytes(b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text.encode() + array.tobytes())


def arrays_of(rng: random.Random) -> tuple[str, dict[str, Any]]:
    """(layout, arrays) of a random matrix."""
    layout: Any = rng.choice(["csr", "csr", "csc", "coo"])
    shape = rng.randint(1, 6), rng.randint(1, 6)
    given = scipy.sparse.random_array(shape, density=0.4, rng=rng.getrandbits(32), format=layout)
    matrix: Any = given
    kind = rng.choice(["f8", "f8", "f4", "f2", ">f8", "i1", "i8", "u8", ">i8", "?", "u2"])
    data = (matrix.data * 100 + 1).astype(kind)
    if kind.endswith(("i8", "u8")) and data.size:
        high = 2 ** rng.choice([53, 60, 62]) + rng.choice([0, 1, 2, 1024])
        data[rng.randrange(data.size)] = high if kind != "u8" else high + rng.choice([0, 2**63])
    arrays: dict[str, Any] = {"format": layout.encode(), "shape": np.array(shape), "data": data}
    width = rng.choice(["i4", "i8", "u4", "u8", "f8"])
    for name in ("row", "col") if layout == "coo" else ("indptr", "indices"):
        arrays[name] = getattr(matrix, name).astype(width)
    return layout, arrays


def _break(rng: random.Random, arrays: dict[str, Any]) -> str:
    """Changes one array; what was done."""
    name = rng.choice([*arrays, "data", "data"])
    if name in INDICES or name == "data":
        array = arrays[name]
        what = rng.choice(["shorter", "longer", "one", "none", "other", "two axes", "nan"])
        if what == "other" and array.size:
            array[rng.randrange(array.size)] = np.array(rng.choice([0, 1, 5, 99, 250])).astype(array.dtype)
        elif what == "nan" and array.dtype.kind == "f" and array.size:
            array[0] = rng.choice([np.nan, np.inf, 0.5])
        arrays[name] = {
            "shorter": array[:-1],
            "longer": np.append(array, array[-1:]),
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
    for square in (scipy.sparse.bsr_array(np.eye(4)), scipy.sparse.dia_array(np.eye(4))):
        yield _judged(square.format, saved(scipy.sparse.save_npz, square))
    while True:
        layout, arrays = arrays_of(rng)
        name = f"{layout} of {arrays['data'].dtype}"
        if rng.random() < 0.1:
            arrays["more"] = np.arange(3)
        if layout in ("csr", "csc") and rng.random() < 0.15:
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
