"""MATLAB .mat files that are refused: name → (file, words of the message)."""

import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse

from tests.gpu_engine import matrix_files as files
from tests.gpu_engine.matrix_files import element, mat, opaque, packed_mat, sparse_element

MIB = 2**20


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

BAD = {
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
    "rows that are no whole numbers": (_variable(rows=element(9, _numbers("d", 0.5, *range(6)))), "not integers"),
    "rows that are not finite": (_variable(rows=element(9, _numbers("d", np.nan, *range(6)))), "not integers"),
    "rows as text": (_variable(rows=element(16, b"1234567")), "not numbers"),
    "pointers decrease": (_pointers(0, 5, 3, 7), "decrease"),
    "pointers start at 1": (_pointers(1, 3, 4, 7), "run from 1"),
    "pointers end past the entries": (_pointers(0, 3, 4, 8), "for 8 entries"),
    "pointers end at -1": (_pointers(0, 3, 4, -1), "for -1 entries"),
    "pointers too short": (_pointers(0, 7), "need 4"),
    "pointers too long": (_pointers(0, 3, 4, 7, 7), "need 4"),
    "pointers missing": (_pointers(), "pointers|for 0 entries"),
    "pointers that are no whole numbers": (
        _variable(pointers=element(9, _numbers("d", 0, 3.5, 4, 7))),
        "not integers",
    ),
    "pointers of 10^300": (_variable(pointers=element(9, _numbers("d", 0, 3, 4, 1e300))), "not integers"),
    "no name": (_variable(name=element(1, b"")), "no name"),
    "a name of zeros": (_variable(name=element(1, bytes(8))), "no name"),
    "a name of decimals": (_variable(name=element(9, bytes(8))), "name of a variable as 8 bytes of type 9"),
    "a shape of decimals": (_variable(shape=element(9, _numbers("d", 4, 3))), "damaged"),
    "three dimensions": (_shape(4, 3, 1), "3 dimensions"),
    "values missing": (_values(), "0 values"),
    "NaN": (_values(*[float("nan")] * 7), "not finite"),
    "infinity": (_values(1, 2, 3, 4, 5, 6, float("-inf")), "not finite"),
    "values of 10^19": (_variable(values=element(13, _numbers("Q", *[2**64 - 1] * 7))), r"beyond 2\^53"),
    "values of unknown type 99": (_variable(values=element(99, bytes(56))), "type 99"),
    "values of type 2^16 - 1": (_variable(values=element(0xFFFF, bytes(56))), "type 65535"),
    "values of the reserved type 8": (_variable(values=element(8, bytes(56))), "type 8"),
    "values that are a variable": (_variable(values=sparse_element()), "type 14"),
    "values of 55 bytes": (_variable(values=element(9, bytes(56), 55)), "not numbers"),
    "values of 4 GB": (_variable(values=element(9, bytes(56), 2**32 - 8)), "past its end"),
    "values of 2^31 - 8": (_variable(values=element(9, bytes(56), 2**31 - 8)), "past its end"),
    "a small element of 5 bytes": (_variable(values=struct.pack("<HHi", 9, 5, 0)), "past its end"),
    "a small element of 60 kB": (_variable(values=struct.pack("<HHi", 9, 60_000, 0)), "past its end"),
    "the values are left out": (_variable(values=b""), "too early|past its end"),
    "the flags are left out": (_variable(flags=b""), "flags"),
    "the name is left out": (_variable(name=b""), "name of a variable as 28 bytes of type 5"),
    "the shape is left out": (_variable(shape=b""), "damaged|rows|values|past its end|entries|numbers"),
    "flags of 16 bytes": (_variable(flags=element(6, bytes(16))), "flags"),
    "flags as decimals": (_variable(flags=element(9, bytes(8))), "damaged flags"),
    "an unknown class": (_flags(77), "no sparse matrix"),
    "an opaque variable alone": (mat(opaque()), "no sparse matrix but 'when'"),
    "an opaque variable without a name": (mat(element(14, opaque()[8:24])), "too early|past its end"),
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

LARGE: dict[str, Callable[[], bytes]] = {
    "a .mat of a dense variable of 200 MB": lambda: packed_mat(
        sparse_element(flags=element(6, _numbers("I", 6, 0)), values=element(9, bytes(200 * MIB)))
    ),
    "a .mat of values that expand": lambda: packed_mat(sparse_element(values=element(9, bytes(200 * MIB)))),
    "a .mat of 1001 variables": lambda: mat(*[element(14, b"")] * 1001),
    "a .mat of 2·10^9 rows": lambda: _shape(2_000_000_000, 3),
    "a .mat of 1001 entries": lambda: _saved_mat(A=scipy.sparse.csc_array(np.ones((7, 150)))),
}
