"""SciPy .npz files that are refused: name → (file, words of the message)."""

import bz2
import gzip
import pickle
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from tests.gpu_engine import matrix_files as files
from tests.gpu_engine.matrix_files import MARKET, npz

MIB = 2**20


class Marked:
    """Leaves a trace where it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return pytest.fail, ("a pickle was loaded",)


PICKLED = files.npy(np.zeros(0), "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }") + pickle.dumps([Marked()])
DATA = np.arange(1.0, 8.0)


def _says(header: str, values: Any = DATA) -> bytes:
    return files.npy(values, header)


def _plain(descr: str = "<f8", shape: str = "(7,)") -> str:
    return f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"


def _patched(content: bytes, old: bytes, new: bytes) -> bytes:
    """The content with every occurrence replaced; there must be one."""
    assert old in content
    assert len(old) == len(new)
    return content.replace(old, new)


def _damaged(content: bytes, after: bytes) -> bytes:
    """The content with other bytes behind the first place of some."""
    place = content.index(after) + len(after)
    return content[:place] + bytes(byte ^ 0x5A for byte in content[place : place + 12]) + content[place + 12 :]


COORDS = [[0, 1], [1, 0]]


def _members(**arrays: Any) -> bytes:
    return files.zipped([(f"{name}.npy", files.npy(array)) for name, array in arrays.items()])


def _prefixed(start: str) -> dict[str, Any]:
    """The arrays of DENSE under names that begin so, without a layout."""
    matrix = scipy.sparse.csr_array(files.DENSE)
    arrays = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr, "shape": (4, 3)}
    return {start + name: array for name, array in arrays.items()}


def _arrays(start: str, **changed: Any) -> bytes:
    return _members(**{**_prefixed(start), **changed})


def _blocks(**changed: Any) -> bytes:
    """A bsr matrix of 4 × 3 with blocks of 2 × 1."""
    arrays = {"format": b"bsr", "shape": (4, 3), "data": np.ones((3, 2, 1)), "indices": [0, 1, 2], "indptr": [0, 1, 3]}
    return _members(**{**arrays, **changed})


def _diagonals(**changed: Any) -> bytes:
    return _members(**{"format": b"dia", "shape": (3, 3), "data": np.ones((2, 3)), "offsets": [0, 1], **changed})


STORED = files.WHOLE["npz, stored"]
LENGTHS = struct.pack("<II", len(dict(files.csr_members())["data.npy"]), len(dict(files.csr_members())["data.npy"]))

BAD = {
    "a pickle as data": (npz(data=PICKLED), "plain numbers"),
    "a pickle as indptr": (npz(indptr=PICKLED), "plain numbers"),
    "a pickle as format": (npz(format=PICKLED), "plain numbers"),
    "a pickle as shape": (npz(shape=PICKLED), "plain numbers"),
    "a bare pickle as data.npy": (npz(data=b"\x93" + pickle.dumps(Marked())), "not a NumPy array"),
    "an object array of SciPy's": (
        npz(data=_says("{'descr': 'O', 'fortran_order': False, 'shape': (7,), }")),
        "plain numbers",
    ),
    "records": (npz(data=_says("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (7,), }")), "plain numbers"),
    "a header that is code": (npz(data=_says("__import__('os').abort()")), "plain numbers"),
    "a header of nested brackets": (npz(data=_says("(" * 900)), "plain numbers"),
    "a header of 60 kB": (npz(data=_says(_plain() + " " * 60_000)), "not a NumPy array"),
    "a header longer than the member": (npz(data=b"\x93NUMPY\1\0\xff\3"), "plain numbers"),
    "an empty header": (npz(data=b"\x93NUMPY\1\0\0\0"), "plain numbers"),
    "a member of magic alone": (npz(data=b"\x93NUMPY"), "not a NumPy array"),
    "format version 9": (npz(data=files.npy(DATA, version=b"\x09\0")), "not a NumPy array"),
    "format version 2 with a long header": (npz(data=files.npy(DATA, version=b"\2\0")), "not a NumPy array"),
    "shape of 10^12": (npz(data=_says(_plain(shape="(1000000000000,)"))), "another size"),
    "shape of 10^30": (npz(data=_says(_plain(shape="(1" + "0" * 30 + ",)"))), "another size"),
    "shape too small": (npz(data=_says(_plain(shape="(6,)"))), "another size"),
    "negative shape": (npz(data=_says(_plain(shape="(-7,)"))), "plain numbers"),
    "two axes": (npz(data=[DATA.tolist()]), "2 axes"),
    "forty axes": (npz(data=_says(_plain(shape="(7, " + "1, " * 39 + ")"))), "40 axes"),
    "no axes": (npz(data=1.0), "0 axes"),
    "complex": (npz(data=DATA * 1j), "complex. Only real"),
    "complex of pydata/sparse": (_members(coords=COORDS, data=[1j, 2.0], shape=(2, 2), fill_value=0.0), "complex"),
    "text as data": (npz(data=np.array(["1"] * 7)), "expected one axis of numbers"),
    "fractional indices": (npz(indices=DATA / 4), "indices are .*, not integers"),
    "one value for all": (npz(data=DATA[:1]), "1 values for 7 entries"),
    "boolean indices": (npz(indices=DATA > 1), "indices is bool"),
    "fractional shape": (npz(shape=(4.0, 3.0)), "shape is float64"),
    "long double": (npz(data=DATA.astype(np.longdouble)), "plain numbers|as float64"),
    "a type of no bytes": (npz(data=_says(_plain("<f0", "(7,)"), DATA[:0])), "type|as float64"),
    "an unknown type": (npz(data=_says(_plain("<f3", "(7,)"))), "unknown type"),
    "indptr starts at 1": (npz(indptr=[1, 2, 3, 4, 7]), "run from 1 to 7"),
    "indptr ends at -1": (npz(indptr=[0, 2, 3, 4, -1]), "run from 0 to -1"),
    "indptr ends past the entries": (npz(indptr=[0, 2, 3, 4, 700]), "run from 0 to 700"),
    "indptr ends before the entries, of which one lacks": (npz(indptr=[0, 2, 3, 4, 5], data=DATA[:6]), "to 5"),
    "indptr decreases": (npz(indptr=[0, 5, 3, 4, 7]), "decrease"),
    "indptr leaps to 2^62": (npz(indptr=[0, 2**62, 3, 4, 7]), "decrease"),
    "unsigned indptr leaps to 2^64 - 1": (npz(indptr=np.array([0, 2**64 - 1, 3, 4, 7], np.uint64)), "decrease"),
    "indptr negative": (npz(indptr=[0, -5, 3, 4, 7]), "decrease"),
    "indptr too short": (npz(indptr=[0, 7]), "need 5"),
    "indptr too long": (npz(indptr=[0, 2, 3, 4, 7, 7]), "need 5"),
    "indptr empty": (npz(indptr=np.zeros(0, np.int32)), "need 5"),
    "index -1": (npz(indices=[0, 2, 2, 0, 0, 1, -1]), "column index -1"),
    "index 3 of 3": (npz(indices=[0, 2, 2, 0, 0, 1, 3]), "column index 3 lies outside"),
    "index 2^32": (npz(indices=[0, 2, 2, 0, 0, 1, 2**32]), "column index 4294967296"),
    "unsigned index 2^64 - 1": (npz(indices=np.array([0, 2, 2, 0, 0, 1, 2**64 - 1], np.uint64)), "column index"),
    "fewer indices": (npz(indices=[0, 2]), "run from 0 to 7"),
    "fewer values": (npz(data=DATA[:6]), "6 values for 7 entries"),
    "more values": (npz(data=np.append(DATA, 1)), "8 values for 7 entries"),
    "no values": (npz(data=DATA[:0]), "0 values for 7 entries"),
    "NaN": (npz(data=DATA * np.nan), "not finite"),
    "infinity": (npz(data=np.append(DATA[:6], np.inf)), "not finite"),
    "2^53 + 1": (npz(data=np.full(7, 2**53 + 1)), r"beyond 2\^53"),
    "unsigned 2^64 - 1": (npz(data=np.full(7, 2**64 - 1, np.uint64)), r"beyond 2\^53"),
    "duplicates that overflow": (npz(indices=[0] * 7, data=np.full(7, 1e308)), "overflows fp64"),
    "negative shape of the matrix": (npz(shape=(-4, 3)), "expected rows and columns"),
    "three dimensions": (npz(shape=(4, 3, 2)), "expected rows and columns"),
    "one dimension": (npz(shape=(4,)), "one dimension"),
    "one dimension, by SciPy": (
        files.saved(scipy.sparse.save_npz, scipy.sparse.coo_array(np.array([1.0, 0, 2]))),
        "one dimension",
    ),
    "empty shape": (npz(shape=np.zeros(0, np.int64)), "expected rows and columns"),
    "a shape of two million numbers": (npz(shape=np.zeros(100_000, np.int64)), "expected rows and columns"),
    "bsr of blocks that do not divide": (_blocks(shape=(5, 3)), "do not fit 5 × 3"),
    "bsr of blocks without rows": (_blocks(data=np.zeros((3, 0, 1))), "blocks of 0 × 1"),
    "bsr of two axes": (_blocks(data=np.ones((3, 1))), "expected 3 axes"),
    "bsr with a block outside": (_blocks(indices=[0, 3, 2]), "block column index 3"),
    "bsr with a negative block": (_blocks(indices=[0, -1, 2]), "block column index -1"),
    "bsr whose pointers decrease": (_blocks(indptr=[0, 5, 3]), "decrease"),
    "bsr of fewer blocks": (_blocks(data=np.ones((2, 2, 1))), "3 positions of 2 blocks"),
    "bsr that is not finite": (_blocks(data=np.full((3, 2, 1), np.nan)), "not finite"),
    "dia of fewer diagonals": (_diagonals(data=np.ones((1, 3))), "2 offsets"),
    "dia with a diagonal twice": (_diagonals(offsets=[1, 1]), "2 offsets"),
    "dia with a fractional offset": (_diagonals(offsets=[0.5, 1]), "not integers"),
    "dia with an offset of 2^62": (_diagonals(offsets=[0, 2**62]), "outside the matrix"),
    "dia that is not finite": (_diagonals(data=np.full((2, 3), np.inf)), "not finite"),
    "coordinates of three axes": (_members(coords=np.zeros((2, 1, 1)), data=[1.0], shape=(1, 1)), "expected 2 axes"),
    "coordinates of three lines": (_members(coords=np.zeros((3, 2)), data=[1.0, 2], shape=(2, 2)), "3 lines"),
    "coordinates outside": (_members(coords=[[0, 9], [0, 1]], data=[1.0, 2], shape=(2, 2)), "row index 9"),
    "coordinates of a tensor": (_members(coords=np.zeros((3, 2)), data=[1.0, 2], shape=(2, 2, 2)), "rows and columns"),
    "a fill value of 1": (_members(coords=COORDS, data=[1.0, 2], shape=(2, 2), fill_value=1.0), "not stored are 1.0"),
    "a fill value of NaN": (_members(coords=COORDS, data=[1.0, 2], shape=(2, 2), fill_value=np.nan), "not stored are"),
    "two fill values": (_members(coords=COORDS, data=[1.0, 2], shape=(2, 2), fill_value=[0.0, 1]), "expected 0 axes"),
    "rows or columns compressed": (_arrays("", shape=(4, 4)), "whether rows or columns"),
    "both axes compressed": (_arrays("", compressed_axes=[0, 1]), r"axes are '\[0, 1\]'"),
    "axis 7 compressed": (_arrays("", compressed_axes=[7]), "axes are"),
    "two matrices without layout": (_arrays("a_", **_prefixed("b_")), "2 matrices"),
    "indices of a graph outside": (_arrays("adj_", adj_indices=[0, 2, 2, 0, 0, 1, 9]), "column index 9"),
    "a PyTorch file": (
        files.zipped([("archive/data.pkl", pickle.dumps([Marked()])), ("archive/version", b"3")]),
        "PyTorch",
    ),
    "an Excel workbook": (files.zipped([("[Content_Types].xml", b""), ("xl/workbook.xml", b"")]), "Excel"),
    "a Word document": (files.zipped([("[Content_Types].xml", b""), ("word/document.xml", b"")]), "Office document"),
    "a Java archive": (files.zipped([("META-INF/MANIFEST.MF", b"")]), "Java"),
    "a Zarr store": (files.zipped([(".zgroup", b"{}"), ("data/0", b"")]), "Zarr"),
    "a zip of a text": (files.zipped([("readme.txt", b"hello")]), "holds 'readme.txt' and no sparse matrix"),
    "an empty .npz": (files.zipped([("x.npy", b"")]), "holds 'x' and no sparse"),
    "an unknown layout": (npz(format=b"xyz"), "saved as 'xyz'"),
    "a layout that is a number": (npz(format=7.0), "saved as ''"),
    "two layouts": (npz(format=[b"csr", b"csc"]), "saved as ''"),
    "a layout of 10 kB": (npz(format=b"x" * 10_000), "saved as|as float64"),
    "csr said to be coo": (npz(format=b"coo"), "lacks col, row"),
    "indptr missing": (npz(indptr=None), "lacks indptr"),
    "data missing": (npz(data=None), "lacks data"),
    "shape missing": (npz(shape=None), "lacks shape"),
    "format and shape missing": (npz(format=None, shape=None), "no sparse matrix"),
    "coo with fewer rows": (
        npz(format=b"coo", indptr=None, indices=None, row=[0], col=[0, 1], data=[1.0, 2]),
        "1 rows",
    ),
    "coo with a row outside": (
        npz(format=b"coo", indptr=None, indices=None, row=[4], col=[0], data=[1.0]),
        "row index 4",
    ),
    "coo with a negative column": (
        npz(format=b"coo", indptr=None, indices=None, row=[0], col=[-1], data=[1.0]),
        "column index -1",
    ),
    "a member twice": (
        _patched(files.zipped([*files.csr_members(), ("dat_.npy", b"")]), b"dat_", b"data"),
        "two members",
    ),
    "a zip of an .mtx": (files.zipped([("m.mtx", MARKET)]), "'m.mtx' and no sparse matrix. Unpack"),
    "a zip without members": (b"PK\5\6" + bytes(18), "empty zip"),
    "an .npz of NumPy": (files.saved(np.savez, DATA), "'arr_0' and no sparse matrix. Save"),
    "damaged bzip2 within zip": (
        _damaged(files.zipped(files.csr_members(), zipfile.ZIP_BZIP2), b"BZh91AY"),
        "damaged",
    ),
    "damaged LZMA within zip": (_damaged(files.zipped(files.csr_members(), zipfile.ZIP_LZMA), b"\x5d\0\0"), "damaged"),
    "an unknown packing": (
        _patched(STORED, b"PK\1\2\x14\3\x14\0\0\0\0\0", b"PK\1\2\x14\3\x14\0\0\0\x63\0"),
        "unusual way",
    ),
    "encrypted": (_patched(STORED, b"PK\1\2\x14\3\x14\0\0\0", b"PK\1\2\x14\3\x14\0\1\0"), "encrypted"),
    "a damaged array": (_patched(STORED, struct.pack("<d", 7.0), struct.pack("<d", 7.5)), "damaged"),
    "the directory says 100 kB": (
        _patched(STORED, LENGTHS, struct.pack("<II", 100_000, 100_000)),
        "damaged|another size",
    ),
    "the directory says less": (_patched(STORED, LENGTHS, struct.pack("<II", 10, 10)), "damaged|no NumPy"),
    "a zip in gzip": (gzip.compress(npz()), "twice"),
    "a zip in bzip2": (bz2.compress(npz()), "twice"),
}

LARGE: dict[str, Callable[[], bytes]] = {
    "an .npz of 200 MB of zeros": lambda: npz(data=np.zeros(25 * MIB)),
    "an .npz of 3 MB that expands 900 times": lambda: npz(shape=np.zeros(3 * MIB // 8, np.int64)),
    "an .npz of 70,000 members": lambda: files.zipped([(f"{number}.npy", b"") for number in range(70_000)]),
    "an .npz of 3,000 members": lambda: files.zipped([(f"{number}.npy", b"") for number in range(3000)]),
    "an .npz of 2·10^9 columns": lambda: npz(shape=(4, 2_000_000_000)),
    "an .npz of 10^12 rows": lambda: npz(shape=(10**12, 3)),
    "an .npz of 2^62 rows": lambda: npz(shape=(2**62, 3)),
    "an .npz of 10^9 blocks": lambda: _blocks(shape=(2 * 10**9, 3)),
    "an .npz of 1001 values in blocks": lambda: _blocks(data=np.ones((3, 2, 1001)), shape=(4, 3003)),
    "an .npz of 1002 values on diagonals": lambda: _diagonals(data=np.ones((2, 501))),
    "an .npz of coordinates in 2·10^9 rows": lambda: _members(coords=COORDS, data=[1.0, 2], shape=(2 * 10**9, 2)),
    "an .npz of 1001 entries": lambda: npz(indices=[0] * 1001, indptr=[0, 1001], shape=(1, 1), data=np.ones(1001)),
}
