"""MATLAB .mat files of version 5, built element by element, so that it is known what each means.

SciPy's loadmat is asked for the valid ones alone: a type that it does not know ends the process (scipy#25829).
"""

import io
import random
import struct
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import scipy.io
import scipy.sparse

from tests.gpu_engine.matrix_files import MAT_HEADER, element, mat, packed_mat, saved
from tests.gpu_engine.matrix_io.case import INEXACT, Case, Meaning, summed

TYPES = {"i1": 1, "u1": 2, "i2": 3, "u2": 4, "i4": 5, "u4": 6, "f4": 7, "f8": 9, "i8": 12, "u8": 13}
SIZES = {kind: int(name[1]) for name, kind in TYPES.items() if name[1] != "1"}
BIG_HEADER = MAT_HEADER[:124] + b"\1\0MI"


def numbers(array: Any) -> bytes:
    """A data element with the numbers of an array, in its own type."""
    return element(TYPES[array.dtype.str[1:]], array.tobytes())


def parts_of(rng: random.Random) -> tuple[dict[str, bytes], Meaning | None]:
    """The elements of a sparse variable and what they mean."""
    shape = rng.randint(1, 6), rng.randint(1, 6)
    matrix: Any = scipy.sparse.random_array(shape, density=0.4, rng=rng.getrandbits(32), format="csc")
    kind = rng.choice(["f8", "f8", "f4", "i1", "u2", "i4", "i8", "u8"])
    data = (matrix.data * 100 + 1).astype(kind)
    if kind in ("i8", "u8") and data.size:
        data[0] = 2 ** rng.choice([53, 62]) + rng.choice([0, 1, 2, 1024])
    room = rng.choice([0, 0, 2])
    rows = np.append(matrix.indices, [0] * room).astype(rng.choice(["i4", "i4", "f8", "u2", "i8"]))
    values = np.append(data, np.ones(room, kind)).astype(kind)
    pointers = matrix.indptr.astype(rng.choice(["i4", "i4", "f8", "u4"]))
    parts = {
        "flags": element(6, struct.pack("<II", 5, max(values.size, 1))),
        "shape": element(5, struct.pack("<ii", *shape)),
        "name": rng.choice(
            [
                element(1, b"A"),
                element(1, b"a_long_name"),
                struct.pack("<HH", 1, 1) + b"A\0\0\0",
            ]
        ),
        "rows": numbers(rows),
        "pointers": numbers(pointers),
        "values": numbers(values),
    }
    entries = [
        (int(matrix.indices[k]), col, data[k].item())
        for col in range(shape[1])
        for k in range(matrix.indptr[col], matrix.indptr[col + 1])
    ]
    inexact = (
        INEXACT if any(int(float(number)) != int(number) for *_, number in entries if kind in ("i8", "u8")) else ""
    )
    return parts, summed(shape, [(row, col, float(number)) for row, col, number in entries], inexact)


def big_endian(content: bytes) -> bytes:
    """Elements in the other byte order: their tags, and their numbers by the size of their type."""
    swapped = b""
    while content:
        kind, size = struct.unpack("<II", content[:8])
        if kind >> 16:
            small = content[4 : 4 + (kind >> 16)]
            swapped += struct.pack(">HH", kind >> 16, kind & 0xFFFF) + small.ljust(4, b"\0")
            content = content[8:]
            continue
        padded = size + -size % 8
        body = content[8 : 8 + padded]
        if kind == 14:
            body = big_endian(body)
        elif kind in SIZES:
            body = b"".join(body[k : k + SIZES[kind]][::-1] for k in range(0, size, SIZES[kind])).ljust(padded, b"\0")
        swapped += struct.pack(">II", kind, size) + body
        content = content[8 + padded :]
    return swapped


def f8(*given: float) -> bytes:
    return element(9, struct.pack(f"<{len(given)}d", *given))


def i4(*given: int) -> bytes:
    return element(5, struct.pack(f"<{len(given)}i", *given))


BROKEN: dict[str, dict[str, bytes]] = {
    "no name": {"name": element(1, b"")},
    "a name of zeros": {"name": element(1, bytes(8))},
    "a name of numbers": {"name": f8(1.0)},
    "a shape of decimals": {"shape": f8(3, 3)},
    "a negative shape": {"shape": i4(-3, 3)},
    "three dimensions": {"shape": i4(3, 3, 1)},
    "one dimension": {"shape": i4(3)},
    "fractional rows": {"rows": f8(*[0.5] * 50)},
    "negative rows": {"rows": i4(*[-1] * 50), "pointers": i4(0, 1), "shape": i4(3, 1)},
    "rows outside": {"rows": i4(*[9] * 50), "pointers": i4(0, 1), "shape": i4(3, 1)},
    "fractional pointers": {"pointers": f8(0, 0.5), "shape": i4(3, 1)},
    "pointers that are not finite": {"pointers": f8(0, float("nan")), "shape": i4(3, 1)},
    "pointers from 1": {"pointers": i4(1, 1), "shape": i4(3, 1)},
    "pointers that decrease": {"pointers": i4(0, 3, 1), "shape": i4(3, 2), "rows": i4(0, 1, 2), "values": f8(1, 2, 3)},
    "more columns than pointers": {"pointers": i4(0, 0), "shape": i4(3, 2)},
    "values that are not finite": {
        "values": f8(*[float("inf")] * 50),
        "pointers": i4(0, 1),
        "shape": i4(3, 1),
        "rows": i4(0),
    },
    "no values": {"values": f8(), "pointers": i4(0, 1), "shape": i4(3, 1), "rows": i4(0)},
    "values of an unknown type": {"values": element(99, bytes(16))},
    "values of a reserved type": {"values": element(8, bytes(16))},
    "values of 15 bytes": {"values": element(9, bytes(16), 15)},
    "values of 4 GB": {"values": element(9, bytes(16), 2**32 - 8)},
    "flags of another size": {"flags": element(6, bytes(16))},
    "an unknown class": {"flags": element(6, struct.pack("<II", 77, 1))},
    "complex without a second part": {"flags": element(6, struct.pack("<II", 5 | 1 << 11, 1))},
}


def generate(rng: random.Random) -> Iterator[Case]:
    """Variables of all types, plain and compressed; the same broken, cut, and beside others."""
    while True:
        parts, meaning = parts_of(rng)
        body = element(14, b"".join(parts.values()))
        content = rng.choice(
            [
                mat(body),
                packed_mat(body),
                mat(body, header=b"by hand".ljust(124) + MAT_HEADER[124:]),
                mat(big_endian(body), header=BIG_HEADER),
            ]
        )
        yield Case("MATLAB .mat", "a sparse variable", content, meaning)
        what = rng.choice([*BROKEN])
        broken = element(14, b"".join({**parts, **BROKEN[what]}.values()))
        yield Case("MATLAB .mat", what, mat(broken) if rng.random() < 0.5 else packed_mat(broken), None)
        cut = mat(body).rstrip(b"\0")
        yield Case("MATLAB .mat", "cut", cut[: rng.randrange(len(cut) - 8)], None)
        yield Case("MATLAB .mat", "two variables", mat(body, body), None)
        if meaning:
            yield _by_scipy(rng, meaning)


def _by_scipy(rng: random.Random, meaning: Meaning) -> Case:
    """The matrix as savemat writes it, also as Problem.A."""
    dense = np.zeros((meaning.n_rows, meaning.n_cols))
    for (row, col), number in meaning.entries.items():
        dense[row, col] = number
    matrix = scipy.sparse.csc_array(dense)
    variables = rng.choice([{"A": matrix}, {"A": matrix, "x": [1.0, 2.0]}, {"Problem": {"title": "t", "A": matrix}}])
    content = saved(scipy.io.savemat, variables, do_compression=rng.random() < 0.5)
    nonzeros = {place: number for place, number in meaning.entries.items() if number}
    return Case("MATLAB .mat", "written by SciPy", content, Meaning(*matrix.shape, nonzeros))


def agrees_with_scipy(content: bytes, meaning: Meaning) -> bool:
    """Whether loadmat gives the same matrix."""
    variables: Any = scipy.io.loadmat(cast(Any, io.BytesIO(content)), spmatrix=False)
    found = variables["Problem"]["A"][0, 0] if "Problem" in variables else None
    sparse: list[Any] = (
        [found] if found is not None else [item for item in variables.values() if scipy.sparse.issparse(item)]
    )
    dense = np.zeros((meaning.n_rows, meaning.n_cols))
    for (row, col), number in meaning.entries.items():
        dense[row, col] = number
    return len(sparse) == 1 and np.array_equal(sparse[0].toarray().astype(float), dense)
