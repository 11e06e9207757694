"""What archives, .npz, .mat and Harwell-Boeing files do by mistake or on purpose: each is refused with a sentence."""

import bz2
import gzip
import io
import os
import pickle
import random
import struct
import tarfile
import tracemalloc
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from gpu_engine.csr_matrix import check_csr
from gpu_engine.errors import QUOTE_LIMIT, MatrixFileError, TooLargeError
from gpu_engine.matrix_io import ReadLimits, ReadResult, read_matrix
from tests.gpu_engine import matrix_files as files
from tests.gpu_engine.matrix_files import MARKET, element, entry, harwell_boeing, mat, npz, packed_mat, sparse_element

MIB = 2**20
SMALL = ReadLimits(dimension_free=10_000, nnz_max=1000, decompressed_bytes=4 * MIB, ratio_after_bytes=MIB)
"""What the matrices here need; hostile files are to be refused long before a large limit is reached."""

MUTATIONS = int(os.environ.get("MUTATIONS", "200"))
"""Mutated files of each format; more with `MUTATIONS=20000 pytest -k mutated`."""


class Marked:
    """Leaves a trace where it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return pytest.fail, ("a pickle was loaded",)


def read(path: Path, content: bytes) -> ReadResult:
    path.write_bytes(content)
    return read_matrix(path, SMALL)


def _header(name: str = "m/m.mtx", **changed: Any) -> bytes:
    """A gzipped archive whose one header says what tarfile would not write."""
    block = bytearray(entry(name, size=len(MARKET)).tobuf(tarfile.GNU_FORMAT))
    for place, value in changed.values():
        block[place : place + len(value)] = value
    if "checksum" not in changed:
        block[148:156] = b"%06o\0 " % (sum(block[:148]) + sum(block[156:]) + 8 * 32)
    return gzip.compress(bytes(block) + MARKET.ljust(512, b"\0") + bytes(1024))


def _link(kind: bytes, **fields: Any) -> bytes:
    return files.suitesparse((entry("m/link", type=kind, **fields), b""))


def _bad_name(name: str) -> bytes:
    return files.suitesparse((entry(name), b"root"))


ARCHIVES = {
    "a name with ../": (_bad_name("../../etc/passwd"), "points outside"),
    "a name with ../ within": (_bad_name("m/../../m.mtx"), "points outside"),
    "a name that ends with ..": (files.suitesparse((entry("m/..", type=tarfile.DIRTYPE), b"")), "points outside"),
    "an absolute name": (_bad_name("/etc/passwd"), "points outside"),
    "the matrix under an absolute name": (files.tar((entry("/m/m.mtx"), MARKET)), "points outside"),
    "the matrix under ../": (files.tar((entry("../m/m.mtx"), MARKET)), "points outside"),
    "a Windows path": (_bad_name("..\\..\\boot.ini"), "points outside"),
    "a symbolic link": (_link(tarfile.SYMTYPE, linkname="/etc/passwd"), "is a link"),
    "a symbolic link named as the matrix": (
        files.tar((entry("m/m.mtx", type=tarfile.SYMTYPE, linkname="/etc/passwd"), b"")),
        "is a link",
    ),
    "a hard link": (_link(tarfile.LNKTYPE, linkname="/etc/passwd"), "is a link"),
    "a fifo": (_link(tarfile.FIFOTYPE), "a device"),
    "a character device": (_link(tarfile.CHRTYPE), "a device"),
    "a block device": (_link(tarfile.BLKTYPE), "a device"),
    "a sparse file": (_link(tarfile.GNUTYPE_SPARSE), "a device"),
    "a contiguous file": (_link(tarfile.CONTTYPE), "a device"),
    "a long link": (_link(tarfile.GNUTYPE_LONGLINK), "a device"),
    "an unknown type": (_link(b"Q"), "a device"),
    "a link behind the matrix": (
        files.tar((entry("m/m.mtx"), MARKET), (entry("x", type=tarfile.SYMTYPE, linkname="/"), b"")),
        "is a link",
    ),
    "no members": (
        gzip.compress(entry("m", type=tarfile.DIRTYPE).tobuf() + bytes(1024)),
        "has no member",
    ),
    "another name": (files.tar((entry("m/n.mtx"), MARKET)), "has no member"),
    "the matrix without folder": (files.tar((entry("m.mtx"), MARKET)), "has no member"),
    "the matrix too deep": (files.tar((entry("a/m/m.mtx"), MARKET)), "has no member"),
    "a folder named as the matrix": (files.tar((entry("m/m.mtx", type=tarfile.DIRTYPE), b"")), "has no member"),
    "a Rutherford-Boeing archive": (files.tar((entry("m/m.rb"), harwell_boeing())), "has no member"),
    "two matrices": (files.suitesparse((entry("n/n.mtx"), MARKET)), "two matrices"),
    "the same matrix twice": (files.suitesparse((entry("m/m.mtx"), MARKET)), "two matrices"),
    "an empty matrix file": (_header(size=(124, b"%011o\0" % 0)), "first line|'%%MatrixMarket"),
    "a member that is no matrix": (files.suitesparse(content=b"hello\n"), "'hello'"),
    "an archive within": (files.suitesparse(content=files.suitesparse(mode="w")), "NUL"),
    "a gzip within": (files.suitesparse(content=gzip.compress(MARKET)), "NUL|'%%MatrixMarket"),
    "a wrong checksum": (_header(checksum=(148, b"000001\0 ")), "damaged"),
    "a checksum that is no number": (_header(checksum=(148, b"rubbish!")), "damaged"),
    "a size that is no number": (_header(size=(124, b"rubbish....")), "damaged"),
    "a negative size": (_header(size=(124, b"\xff" * 12)), "has a size of"),
    "a size past the end": (_header(size=(124, b"%011o\0" % 2048)), "NUL|too early"),
    "a size of 8 GB": (_header(size=(124, b"%011o\0" % (8**11 - 1))), "NUL|too early"),
    "a size of 10^18": (_header(size=(124, b"\x80\0\0\0" + struct.pack(">Q", 10**18))), "NUL|too early"),
    "a size cut within a line": (_header(size=(124, b"%011o\0" % 60)), "entries"),
    "a folder with content": (_header(kind=(156, b"5")), "has a size of"),
    "a long name of 1 MB": (_header(kind=(156, b"L"), size=(124, b"%011o\0" % MIB)), "extended header"),
    "an extended header of 8 GB": (_header(kind=(156, b"x"), size=(124, b"%011o\0" % (8**11 - 1))), "extended header"),
    "a global header of negative size": (_header(kind=(156, b"g"), size=(124, b"\xff" * 12)), "extended header"),
    "no end marker": (gzip.compress(gzip.decompress(files.suitesparse())[:1536]), "too early"),
    "cut within the folder": (gzip.compress(gzip.decompress(files.suitesparse())[:600]), "too early"),
}

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


STORED = files.WHOLE["npz, stored"]
LENGTHS = struct.pack("<II", len(dict(files.csr_members())["data.npy"]), len(dict(files.csr_members())["data.npy"]))

ARRAYS = {
    "a pickle as data": (npz(data=PICKLED), "plain numbers"),
    "a pickle as indptr": (npz(indptr=PICKLED), "plain numbers"),
    "a pickle as format": (npz(format=PICKLED), "plain numbers"),
    "a pickle as shape": (npz(shape=PICKLED), "plain numbers"),
    "a pickle beside the arrays": (npz(extra=PICKLED), "has others"),
    "a pickle without .npy": (files.zipped([*files.csr_members(), ("x.pkl", pickle.dumps(Marked()))]), "beside"),
    "a bare pickle as data.npy": (npz(data=b"\x93" + pickle.dumps(Marked())), "no NumPy array"),
    "an object array of SciPy's": (
        npz(data=_says("{'descr': 'O', 'fortran_order': False, 'shape': (7,), }")),
        "plain numbers",
    ),
    "records": (npz(data=_says("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (7,), }")), "plain numbers"),
    "a header that is code": (npz(data=_says("__import__('os').abort()")), "plain numbers"),
    "a header of nested brackets": (npz(data=_says("(" * 900)), "plain numbers"),
    "a header of 60 kB": (npz(data=_says(_plain() + " " * 60_000)), "no NumPy array"),
    "a header longer than the member": (npz(data=b"\x93NUMPY\1\0\xff\3"), "plain numbers"),
    "an empty header": (npz(data=b"\x93NUMPY\1\0\0\0"), "plain numbers"),
    "a member of magic alone": (npz(data=b"\x93NUMPY"), "no NumPy array"),
    "format version 9": (npz(data=files.npy(DATA, version=b"\x09\0")), "no NumPy array"),
    "format version 2 with a long header": (npz(data=files.npy(DATA, version=b"\2\0")), "no NumPy array"),
    "shape of 10^12": (npz(data=_says(_plain(shape="(1000000000000,)"))), "another size"),
    "shape of 10^30": (npz(data=_says(_plain(shape="(1" + "0" * 30 + ",)"))), "another size"),
    "shape too small": (npz(data=_says(_plain(shape="(6,)"))), "another size"),
    "negative shape": (npz(data=_says(_plain(shape="(-7,)"))), "plain numbers"),
    "two axes": (npz(data=[DATA.tolist()]), "2 axes"),
    "forty axes": (npz(data=_says(_plain(shape="(7, " + "1, " * 39 + ")"))), "40 axes"),
    "no axes": (npz(data=1.0), "0 axes"),
    "complex": (npz(data=DATA * 1j), "plain numbers"),
    "text as data": (npz(data=np.array(["1"] * 7)), "expected one axis of numbers"),
    "fractional indices": (npz(indices=DATA), "indices is float64"),
    "boolean indices": (npz(indices=DATA > 1), "indices is bool"),
    "fractional shape": (npz(shape=(4.0, 3.0)), "shape is float64"),
    "long double": (npz(data=DATA.astype(np.longdouble)), "plain numbers|as float64"),
    "a type of no bytes": (npz(data=_says(_plain("<f0", "(7,)"), DATA[:0])), "type|as float64"),
    "an unknown type": (npz(data=_says(_plain("<f3", "(7,)"))), "unknown type"),
    "indptr starts at 1": (npz(indptr=[1, 2, 3, 4, 7]), "run from 1 to 7"),
    "indptr ends at -1": (npz(indptr=[0, 2, 3, 4, -1]), "run from 0 to -1"),
    "indptr ends past the entries": (npz(indptr=[0, 2, 3, 4, 700]), "run from 0 to 700"),
    "indptr ends before the entries": (npz(indptr=[0, 2, 3, 4, 6]), "run from 0 to 6"),
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
    "duplicates that overflow": (npz(indices=[0] * 7, data=np.full(7, 1e308)), "add up to more"),
    "negative shape of the matrix": (npz(shape=(-4, 3)), "expected rows and columns"),
    "three dimensions": (npz(shape=(4, 3, 2)), "expected rows and columns"),
    "one dimension": (npz(shape=(4,)), "expected rows and columns"),
    "empty shape": (npz(shape=np.zeros(0, np.int64)), "expected rows and columns"),
    "a shape of two million numbers": (npz(shape=np.zeros(100_000, np.int64)), "expected rows and columns"),
    "bsr": (files.saved(scipy.sparse.save_npz, scipy.sparse.bsr_array(files.DENSE)), "tocsr"),
    "dia": (files.saved(scipy.sparse.save_npz, scipy.sparse.dia_array(files.DENSE)), "tocsr"),
    "an unknown layout": (npz(format=b"xyz"), "saved as 'xyz'"),
    "a layout that is a number": (npz(format=7.0), "saved as ''"),
    "two layouts": (npz(format=[b"csr", b"csc"]), "saved as ''"),
    "a layout of 10 kB": (npz(format=b"x" * 10_000), "saved as|plain numbers"),
    "csr said to be coo": (npz(format=b"coo"), "has the arrays col"),
    "indptr missing": (npz(indptr=None), "has others"),
    "data missing": (npz(data=None), "has others"),
    "shape missing": (npz(shape=None), "has others"),
    "format missing": (npz(format=None), "no sparse matrix of SciPy"),
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
    "ten arrays": (npz(**{f"x{number}": DATA for number in range(10)}), "beside"),
    "a member with ../": (files.zipped([*files.csr_members(), ("../x.npy", files.npy(DATA))]), "has others"),
    "a member twice": (_patched(files.zipped([*files.csr_members(), ("dat_.npy", b"")]), b"dat_", b"data"), "beside"),
    "a zip of an .mtx": (files.zipped([("m.mtx", MARKET)]), "no sparse matrix of SciPy"),
    "a zip without members": (b"PK\5\6" + bytes(18), "empty or split"),
    "an .npz of NumPy": (files.saved(np.savez, DATA), "no sparse matrix of SciPy"),
    "bzip2 within zip": (files.zipped(files.csr_members(), zipfile.ZIP_BZIP2), "unusual way"),
    "LZMA within zip": (files.zipped(files.csr_members(), zipfile.ZIP_LZMA), "unusual way"),
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


def _numbers(code: str, *values: float) -> bytes:
    return struct.pack(f"<{len(values)}{code}", *values)


def _variable(**changed: bytes) -> bytes:
    return mat(sparse_element(**changed))


def _rows(*values: int) -> bytes:
    return _variable(rows=element(5, _numbers("i", *values)))


def _pointers(*values: int) -> bytes:
    return _variable(pointers=element(5, _numbers("i", *values)))


def _values(*values: float) -> bytes:
    return _variable(values=element(9, _numbers("d", *values)))


def _flags(flags: int) -> bytes:
    return _variable(flags=element(6, _numbers("I", flags, 7)))


def _shape(*sizes: int) -> bytes:
    return _variable(shape=element(5, _numbers("i", *sizes)))


def _saved_mat(**variables: Any) -> bytes:
    return files.saved(scipy.io.savemat, variables)


def _tagged(kind: int, size: int) -> bytes:
    """A file whose first element claims to be of that type and size."""
    return files.MAT_HEADER + struct.pack("<II", kind, size) + bytes(64)


def _compressed_tag(packed: bytes, size: int | None = None) -> bytes:
    return files.MAT_HEADER + struct.pack("<II", 15, len(packed) if size is None else size) + packed


PROBLEM = b"".join(
    (
        element(6, _numbers("I", 2, 0)),
        element(5, _numbers("i", 1, 1)),
        element(1, b"Problem"),
        struct.pack("<HHi", 5, 4, 8),
    )
)
SPARSE = scipy.sparse.csc_array(files.DENSE)

MATLAB = {
    "version 7.3": (b"MATLAB 7.3 MAT-file".ljust(124) + b"\0\2IM" + bytes(384) + b"\x89HDF\r\n\x1a\n", "'-v7'"),
    "HDF5 itself": (b"\x89HDF\r\n\x1a\n" + bytes(100), "-v7"),
    "version 9": (mat(header=files.MAT_HEADER[:124] + b"\0\x09IM"), "version 0x900"),
    "no byte order": (mat(header=files.MAT_HEADER[:126] + b"XX"), "damaged header"),
    "the other byte order": (mat(header=files.MAT_HEADER[:124] + b"\1\0MI"), "past its end|element of type|too early"),
    "the header alone": (files.MAT_HEADER, "no variable"),
    "half a header": (files.MAT_HEADER[:60], "too early"),
    "two sparse variables": (_saved_mat(A=SPARSE, B=SPARSE), "2 sparse matrices"),
    "no sparse variable": (_saved_mat(A=files.DENSE, s="text"), "holds no sparse matrix but 'A', 's'"),
    "a struct without A": (_saved_mat(Problem={"B": SPARSE}), "no sparse matrix"),
    "another struct": (_saved_mat(Other={"A": SPARSE}), "no sparse matrix"),
    "a dense Problem.A": (_saved_mat(Problem={"A": files.DENSE}), "no sparse matrix"),
    "a cell array": (_saved_mat(A=np.array([1, "x"], object)), "no sparse matrix"),
    "complex": (_saved_mat(A=SPARSE * 1j), "complex"),
    "rows negative": (_rows(0, -1, 3, 3, 0, 1, 3), "row index -1"),
    "rows outside": (_rows(0, 2, 3, 3, 0, 1, 4), "row index 4"),
    "rows missing": (_rows(0, 2), "2 rows and 7 values"),
    "no rows": (_rows(), "0 rows and 7 values"),
    "rows as decimals": (_variable(rows=element(9, _numbers("d", *range(7)))), "for 7 entries"),
    "rows as text": (_variable(rows=element(16, b"1234567")), "no numbers"),
    "pointers decrease": (_pointers(0, 5, 3, 7), "decrease"),
    "pointers start at 1": (_pointers(1, 3, 4, 7), "run from 1"),
    "pointers end past the entries": (_pointers(0, 3, 4, 8), "for 8 entries"),
    "pointers end at -1": (_pointers(0, 3, 4, -1), "for -1 entries"),
    "pointers too short": (_pointers(0, 7), "need 4"),
    "pointers too long": (_pointers(0, 3, 4, 7, 7), "need 4"),
    "pointers missing": (_pointers(), "pointers|for 0 entries"),
    "pointers as decimals": (_variable(pointers=element(9, _numbers("d", 0, 3, 4, 7))), "for 7 entries"),
    "values missing": (_values(), "0 values"),
    "NaN": (_values(*[float("nan")] * 7), "not finite"),
    "infinity": (_values(1, 2, 3, 4, 5, 6, float("-inf")), "not finite"),
    "values of 10^19": (_variable(values=element(13, _numbers("Q", *[2**64 - 1] * 7))), r"beyond 2\^53"),
    "values of unknown type 99": (_variable(values=element(99, bytes(56))), "type 99"),
    "values of type 2^16 - 1": (_variable(values=element(0xFFFF, bytes(56))), "type 65535"),
    "values of the reserved type 8": (_variable(values=element(8, bytes(56))), "type 8"),
    "values that are a variable": (_variable(values=sparse_element()), "type 14"),
    "values of 55 bytes": (_variable(values=element(9, bytes(56), 55)), "no numbers"),
    "values of 4 GB": (_variable(values=element(9, bytes(56), 2**32 - 8)), "past its end"),
    "values of 2^31 - 8": (_variable(values=element(9, bytes(56), 2**31 - 8)), "past its end"),
    "a small element of 5 bytes": (_variable(values=struct.pack("<HHi", 9, 5, 0)), "past its end"),
    "a small element of 60 kB": (_variable(values=struct.pack("<HHi", 9, 60_000, 0)), "past its end"),
    "the values are left out": (_variable(values=b""), "too early|past its end"),
    "the flags are left out": (_variable(flags=b""), "flags"),
    "the name is left out": (_variable(name=b""), "too early"),
    "the shape is left out": (_variable(shape=b""), "damaged|rows|values|past its end|entries|numbers"),
    "flags of 16 bytes": (_variable(flags=element(6, bytes(16))), "flags"),
    "flags as decimals": (_variable(flags=element(9, bytes(8))), "damaged flags"),
    "an unknown class": (_flags(77), "no sparse matrix"),
    "class 0": (_flags(0), "no sparse matrix"),
    "the complex flag without a second part": (_flags(5 | 1 << 11), "complex"),
    "negative rows": (_shape(-4, 3), "damaged"),
    "one size": (_shape(4), "damaged"),
    "no sizes": (_shape(), "damaged"),
    "a shape of 2000 sizes": (_shape(*range(2000)), "at most"),
    "a shape too narrow": (_shape(3, 3), "row index 3"),
    "more columns than pointers": (_shape(4, 4), "need 5"),
    "a name of 100 kB": (_variable(name=element(1, b"x" * 100_000)), "at most"),
    "a name of control characters": (
        mat(sparse_element(name=element(1, b"\x1b[2J\xff")), sparse_element()),
        "2 sparse matrices",
    ),
    "type 0": (_tagged(0, 8), "type 0"),
    "type 9 where a variable should be": (_tagged(9, 8), "type 9"),
    "type 2^31": (_tagged(2**31, 8), "past its end|type"),
    "a variable of 4 GB": (_tagged(14, 2**32 - 8), "flags|type"),
    "a variable of 8 bytes": (_tagged(14, 8), "flags|past its end|numbers"),
    "compressed and empty": (_compressed_tag(b""), "too early"),
    "compressed rubbish": (_compressed_tag(b"rubbish!"), "damaged"),
    "compressed and cut": (_compressed_tag(zlib.compress(sparse_element())[:-8]), "too early"),
    "compressed without its checksum": (_compressed_tag(zlib.compress(sparse_element())[:-4]), "variable .* too early"),
    "compressed with a wrong checksum": (_compressed_tag(zlib.compress(sparse_element())[:-1] + b"\0"), "damaged"),
    "compressed and larger than the file": (_compressed_tag(zlib.compress(sparse_element()), 10_000), "too early"),
    "compressed twice": (packed_mat(packed_mat()[128:]), "type 15"),
    "compressed nothing": (packed_mat(b""), "too early"),
    "compressed text": (packed_mat(b"no variable, just text"), "type|past its end"),
    "field names of width 0": (
        mat(element(14, PROBLEM[:-8] + struct.pack("<HHi", 5, 4, 0) + element(1, b"A"))),
        "names",
    ),
    "field names of width -1": (
        mat(element(14, PROBLEM[:-8] + struct.pack("<HHi", 5, 4, -1) + element(1, b"A"))),
        "names",
    ),
    "field names that do not divide": (mat(element(14, PROBLEM + element(1, b"A\0\0"))), "names"),
    "a million field names": (mat(element(14, PROBLEM + element(1, b"A" * 1_000_000))), "at most"),
    "field names without fields": (
        mat(element(14, PROBLEM + element(1, b"A".ljust(8, b"\0")))),
        "too early|past its end",
    ),
    "a field past its struct": (
        mat(element(14, PROBLEM + element(1, b"A".ljust(8, b"\0")) + struct.pack("<II", 14, 10_000))),
        "past its end",
    ),
    "a field that is no variable": (
        mat(element(14, PROBLEM + element(1, b"A".ljust(8, b"\0")) + element(9, bytes(8)))),
        "type 9",
    ),
}


def _header_line(number: int, old: str, new: str) -> bytes:
    """A Harwell-Boeing file with a part of that header line replaced."""
    lines = files.HB_HEADER.splitlines(keepends=True)
    assert old in lines[number - 1]
    lines[number - 1] = lines[number - 1].replace(old, new)
    return harwell_boeing("".join(lines))


def _formats(text: str) -> bytes:
    return _header_line(4, "(4I3)           (7I3)           (3E25.16)", text)


def _sizes(rows: object, cols: object, entries: object) -> bytes:
    return harwell_boeing(files.HB_HEADER.replace(f"{4:14}{3:14}{7:14}", f"{rows:>14}{cols:>14}{entries:>14}"))


def _first_value(value: str) -> bytes:
    return harwell_boeing(values=value.rjust(25) + files.HB_VALUES[25:])


BOEING = {
    "complex": (_header_line(3, "RUA", "CUA"), "only real"),
    "hermitian": (_header_line(3, "RUA", "RHA"), "only real"),
    "unassembled": (_header_line(3, "RUA", "RUE"), "unassembled"),
    "auxiliary values": (_header_line(3, "RUA", "QUA"), "only real"),
    "skew pattern": (_header_line(3, "RUA", "PZA"), "only real"),
    "symmetric 4 × 3": (_header_line(3, "RUA", "RSA"), "must be square"),
    "symmetric with both triangles": (
        harwell_boeing(
            files.HB_HEADER.replace("RUA", "RSA").replace(f"{4:14}{3:14}", f"{4:14}{4:14}"), "  1  4  5  7\n  8\n"
        ),
        "both triangles",
    ),
    "skew with diagonal": (
        harwell_boeing(
            files.HB_HEADER.replace("RUA", "RZA").replace(f"{4:14}{3:14}{7:14}", f"{4:14}{4:14}{1:14}"),
            "  1  2  2  2\n  2\n",
            "  1\n",
            " 5.0\n",
        ),
        "diagonal",
    ),
    "a count that is no number": (_header_line(2, "             5", "          five"), "not a count"),
    "rows that are no number": (_sizes("four", 3, 7), "not a count"),
    "negative rows": (_sizes(-4, 3, 7), "not a count"),
    "fractional columns": (_sizes(4, "3.0", 7), "not a count"),
    "Arabic digits": (_sizes(4, "٣", 7), "not a count"),
    "more entries": (_sizes(4, 3, 9), "More than|more than|not a|run from|before the last"),
    "fewer entries": (_sizes(4, 3, 5), "More than|more than|not a|run from"),
    "more columns": (_sizes(4, 9, 7), "more than 4"),
    "fewer columns": (_sizes(4, 1, 7), "more than|run from"),
    "fewer rows": (_sizes(3, 3, 7), "row index 3"),
    "no format": (_formats("(hello)         (7I3)           (3E25.16)"), "not a format"),
    "an empty format": (_formats("()              (7I3)           (3E25.16)"), "not a format"),
    "a format without width": (_formats("(4I)            (7I3)           (3E25.16)"), "not a format"),
    "a repeat of 999 and a width of 99": (_formats("(999I99)        (7I3)           (3E25.16)"), "1 to 4096"),
    "a repeat of 10^12": (_formats("(1000000000000I3)(7I3)          (3E25.16)"), "not a format"),
    "a width of 10^9": (_formats("(4I1000000000)  (7I3)           (3E25.16)"), "not a format"),
    "a repeat of 0": (_formats("(0I3)           (7I3)           (3E25.16)"), "1 to 4096"),
    "a width of 0": (_formats("(4I0)           (7I3)           (3E25.16)"), "1 to 4096"),
    "nested repeats": (_formats("(9(9(9(9I3))))  (7I3)           (3E25.16)"), "not a format"),
    "decimal indices": (_formats("(4I3)           (7E25.16)       (3E25.16)"), "not a format"),
    "text as values": (_formats("(4I3)           (7I3)           (3A25)   "), "not a format"),
    "no format of values": (_formats("(4I3)           (7I3)                    "), "not a format"),
    "pointers that are no numbers": (harwell_boeing(pointers="  1  x  5  8\n"), "'x' among the column pointers"),
    "pointers decrease": (harwell_boeing(pointers="  1  5  4  8\n"), "decrease"),
    "pointers start at 0": (harwell_boeing(pointers="  0  4  5  8\n"), "run from -1"),
    "pointers end at 99": (harwell_boeing(pointers="  1  4  5 99\n"), "to 98"),
    "pointers negative": (harwell_boeing(pointers="  1 -4  5  8\n"), "decrease"),
    "pointers with a blank one": (harwell_boeing(pointers="  1     5  8\n"), "whole number"),
    "pointers of 30 digits": (harwell_boeing(pointers="  1  4  5 " + "9" * 30 + "\n"), "not a whole number"),
    "row 0": (harwell_boeing(rows="  0  3  4  4  1  2  4\n"), "row index -1"),
    "row 5 of 4": (harwell_boeing(rows="  1  3  5  4  1  2  4\n"), "row index 4"),
    "negative row": (harwell_boeing(rows="  1 -3  4  4  1  2  4\n"), "row index -4"),
    "a decimal row": (harwell_boeing(rows="  1 3.  4  4  1  2  4\n"), "whole number"),
    "a row with a sign": (harwell_boeing(rows="  1 +3  4  4  1  2  4\n"), "whole number"),
    "a row with an underscore": (harwell_boeing(rows="  1 3_  4  4  1  2  4\n"), "whole number"),
    "eight rows in a line": (harwell_boeing(rows="  1  3  4  4  1  2  4  4\n"), "more than 7"),
    "NaN": (_first_value("NaN"), "not a decimal"),
    "infinity": (_first_value("Infinity"), "not a decimal"),
    "1e400": (_first_value("1.0E+400"), "overflows"),
    "1e-400": (_first_value("1.0E-400"), "underflows"),
    "hexadecimal": (_first_value("0x1.8p3"), "not a decimal"),
    "decimal comma": (_first_value("1,5"), "not a decimal"),
    "underscores in a value": (_first_value("1_0.5"), "not a decimal"),
    "no point": (_first_value("15"), "with a point"),
    "exponent without letter": (_first_value("1.5-103"), "not a decimal"),
    "two points": (_first_value("1.5.5"), "not a decimal"),
    "a point alone": (_first_value("."), "not a decimal"),
    "a sign alone": (_first_value("-"), "not a decimal"),
    "a blank value": (_first_value(""), "not a decimal"),
    "NUL": (_first_value("1.5\0"), "NUL"),
    "the values are missing": (harwell_boeing(values=""), "ends before the last of the values"),
    "the rows are missing": (harwell_boeing(rows="", values=""), "ends before the last of the row"),
    "the pointers are missing": (harwell_boeing(pointers="", rows="", values=""), "ends before the last of the column"),
    "duplicates that overflow": (
        harwell_boeing(rows="  1  1  4  4  1  2  4\n", values=" 1.0E308 1.0E308 1.0\n 1.0 1.0 1.0\n 1.0\n"),
        "add up to more",
    ),
}

BAD = {
    f"{kind}: {name}": case
    for kind, cases in {"archive": ARCHIVES, "npz": ARRAYS, "mat": MATLAB, "Harwell-Boeing": BOEING}.items()
    for name, case in cases.items()
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files(tmp_path: Path, name: str) -> None:
    content, words = BAD[name]
    with pytest.raises(MatrixFileError, match=words) as caught:
        read(tmp_path / "file", content)
    assert caught.value.message.endswith((".", ")"))
    assert 20 < len(caught.value.message) < 4 * QUOTE_LIMIT
    assert caught.value.message.isprintable()


LARGE: dict[str, Callable[[], bytes]] = {
    "an archive of 300,000 empty members": lambda: gzip.compress(
        b"".join(entry(f"m/{number % 1000}").tobuf(tarfile.GNU_FORMAT) for number in range(1000)) * 300, 1
    ),
    "101 members": lambda: files.suitesparse(*[(entry(f"m/{number}"), b"") for number in range(100)]),
    "a member of 200 MB": lambda: files.tar((entry("m/x"), bytes(200 * MIB))),
    "a matrix of 200 MB of comments": lambda: files.suitesparse(
        content=MARKET.splitlines(keepends=True)[0] + b"% comment\n" * 20 * MIB
    ),
    "200 MB behind the end of an archive": lambda: gzip.compress(
        gzip.decompress(files.suitesparse()) + bytes(200 * MIB)
    ),
    "bzip2 of 200 MB": lambda: bz2.compress(MARKET + b"\n" * 200 * MIB),
    "bzip2 of 100,000 empty streams": lambda: bz2.compress(MARKET) + bz2.compress(b"") * 100_000,
    "an .npz of 200 MB of zeros": lambda: npz(data=np.zeros(25 * MIB)),
    "an .npz of 3 MB that expands 900 times": lambda: npz(shape=np.zeros(3 * MIB // 8, np.int64)),
    "an .npz of 70,000 members": lambda: files.zipped([(f"{number}.npy", b"") for number in range(70_000)]),
    "an .npz of 3,000 members": lambda: files.zipped([(f"{number}.npy", b"") for number in range(3000)]),
    "an .npz of 2·10^9 columns": lambda: npz(shape=(4, 2_000_000_000)),
    "an .npz of 10^12 rows": lambda: npz(shape=(10**12, 3)),
    "an .npz of 2^62 rows": lambda: npz(shape=(2**62, 3)),
    "an .npz of 1001 entries": lambda: npz(indices=[0] * 1001, indptr=[0, 1001], shape=(1, 1), data=np.ones(1001)),
    "a .mat of a dense variable of 200 MB": lambda: packed_mat(
        sparse_element(flags=element(6, _numbers("I", 6, 0)), values=element(9, bytes(200 * MIB)))
    ),
    "a .mat of values that expand": lambda: packed_mat(sparse_element(values=element(9, bytes(200 * MIB)))),
    "a .mat of 1001 variables": lambda: mat(*[element(14, b"")] * 1001),
    "a .mat of 2·10^9 rows": lambda: _shape(2_000_000_000, 3),
    "a .mat of 1001 entries": lambda: _saved_mat(A=scipy.sparse.csc_array(np.ones((7, 150)))),
    "Harwell-Boeing of 2·10^9 columns": lambda: _sizes(4, 2_000_000_000, 7),
    "Harwell-Boeing of 10^13 rows": lambda: _sizes(10**13, 3, 7),
    "Harwell-Boeing of 10^9 entries": lambda: _sizes(4, 3, 10**9),
    "Harwell-Boeing with a line of 1 MB": lambda: harwell_boeing(rows=" " * MIB + "\n"),
}


@pytest.mark.parametrize("name", LARGE)
def test_too_large(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_bytes(LARGE[name]())
    tracemalloc.start()
    try:
        with pytest.raises(TooLargeError) as caught:
            read_matrix(tmp_path / "file", SMALL)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 20 < len(caught.value.message) < 4 * QUOTE_LIMIT
    assert peak < 32 * MIB


CUTS = [f"{name}, {share} %" for name in files.WHOLE for share in (0, 3, 10, 25, 40, 50, 60, 75, 90, 97, 99)]


@pytest.mark.parametrize("cut", CUTS)
def test_truncated_files(tmp_path: Path, cut: str) -> None:
    name, share = cut.removesuffix(" %").rsplit(", ", 1)
    content = files.WHOLE[name]
    if name == "tar":
        # An archive is padded with zeros, which may be cut off.
        content = content.rstrip(b"\0") + bytes(512)
    with pytest.raises(MatrixFileError):
        read(tmp_path / "file", content[: len(content) * int(share) // 100])


def _mutate(rng: random.Random, content: bytes) -> bytes:
    """Up to three bytes or words replaced, cut out or doubled."""
    data = bytearray(content)
    for _ in range(rng.randint(1, 3)):
        place, kind = rng.randrange(len(data) + 1), rng.randrange(5)
        if kind == 0:
            data[place : place + 1] = bytes([rng.randrange(256)])
        elif kind == 1:
            data[place : place + 4] = struct.pack(
                "<i", rng.choice([-1, 0, 1, 2**31 - 1, -(2**31), rng.getrandbits(31)])
            )
        elif kind == 2:
            del data[place : place + rng.randint(1, 16)]
        elif kind == 3:
            data[place:place] = data[place : place + rng.randint(1, 64)]
        else:
            data[place : place + 1] = bytes([data[place] ^ 1 << rng.randrange(8)]) if place < len(data) else b""
    return bytes(data)


@pytest.mark.parametrize("name", files.WHOLE)
def test_mutated_files_raise_input_errors_alone(tmp_path: Path, name: str) -> None:
    rng = random.Random(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(MUTATIONS):
            try:
                matrix = read(tmp_path / "file", _mutate(rng, files.WHOLE[name])).matrix
            except (MatrixFileError, TooLargeError):
                continue
            check_csr(matrix.n_rows, matrix.n_cols, matrix.indptr, matrix.indices, matrix.values)
            assert np.isfinite(matrix.values).all()


def test_mutated_contents_of_archives(tmp_path: Path) -> None:
    """Behind the checksums of gzip, zip and zlib, which stop nearly every mutation of a whole file."""
    rng = random.Random(7)
    archive = files.WHOLE["tar"][:4096]
    for _ in range(MUTATIONS):
        variants = (
            gzip.compress(_mutate(rng, archive), 1),
            files.zipped([(name, _mutate(rng, content)) for name, content in files.csr_members()]),
            packed_mat(_mutate(rng, sparse_element())),
        )
        for content in variants:
            try:
                read(tmp_path / "file", content)
            except (MatrixFileError, TooLargeError):
                continue


def test_the_pickle_of_these_tests_tells_when_it_is_loaded() -> None:
    with pytest.raises(pytest.fail.Exception, match="a pickle was loaded"):
        pickle.load(io.BytesIO(pickle.dumps(Marked())))
