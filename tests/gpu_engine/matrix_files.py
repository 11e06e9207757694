"""Files of one matrix in every format, byte by byte, so that tests can break each part of them."""

import bz2
import io
import struct
import tarfile
import zipfile
import zlib
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse

Members = list[tuple[str, bytes]]

DENSE = [[1.5, 0.0, -2.0], [0.0, 0.0, 4.0], [1e-30, 0.0, 0.0], [3.0, 7.0, 0.125]]
MARKET = b"%%MatrixMarket matrix coordinate real general\n4 3 7\n" + b"".join(
    b"%d %d %r\n" % (row + 1, col + 1, value)
    for row, values in enumerate(DENSE)
    for col, value in enumerate(values)
    if value
)


def entry(name: str, **fields: Any) -> tarfile.TarInfo:
    """The header of an archive's member."""
    info = tarfile.TarInfo(name)
    for field, value in fields.items():
        setattr(info, field, value)
    return info


def tar(*members: tuple[tarfile.TarInfo, bytes], mode: str = "w:gz") -> bytes:
    """An archive; sizes are set from the contents."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode, format=tarfile.GNU_FORMAT) as archive:  # type: ignore[call-overload]
        for info, content in members:
            info.size = info.size or len(content)
            archive.addfile(info, io.BytesIO(content.ljust(info.size)) if content else None)
    return file.getvalue()


def suitesparse(*others: tuple[tarfile.TarInfo, bytes], content: bytes = MARKET, mode: str = "w:gz") -> bytes:
    """An archive as the collection packs them, with other members before the matrix."""
    return tar((entry("m", type=tarfile.DIRTYPE), b""), *others, (entry("m/m.mtx"), content), mode=mode)


def npy(values: Any, header: str | None = None, version: bytes = b"\1\0") -> bytes:
    """A .npy member, whose header may say something else than its content."""
    array = np.asarray(values)
    text = header or f"{{'descr': '{array.dtype.str}', 'fortran_order': False, 'shape': {array.shape}, }}"
    return b"\x93NUMPY" + version + struct.pack("<H", len(text) + 1) + text.encode() + b"\n" + array.tobytes()


def zipped(members: Members, packing: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", packing) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return file.getvalue()


def csr_members(**changed: Any) -> Members:
    """The arrays of DENSE in a .npz file; `changed` replaces some by other values or bytes."""
    matrix = scipy.sparse.csr_array(DENSE)
    arrays = {
        "indices": matrix.indices,
        "indptr": matrix.indptr,
        "format": b"csr",
        "shape": (4, 3),
        "data": matrix.data,
    }
    members = {**arrays, **changed}
    return [
        (f"{name}.npy", given if isinstance(given, bytes) and given[:1] == b"\x93" else npy(given))
        for name, given in members.items()
        if given is not None
    ]


def npz(**changed: Any) -> bytes:
    return zipped(csr_members(**changed))


def element(kind: int, content: bytes, size: int | None = None) -> bytes:
    """A data element of a .mat file, padded to 8 bytes."""
    head = struct.pack("<II", kind, len(content) if size is None else size)
    return head + content + b"\0" * (-len(content) % 8)


SPARSE_FLAGS = 5
MAT_HEADER = b"MATLAB 5.0 MAT-file".ljust(124) + b"\0\1IM"


def sparse_element(**changed: bytes) -> bytes:
    """The variable A = DENSE; `changed` replaces the elements flags, shape, name, rows, pointers or values."""
    matrix = scipy.sparse.csc_array(DENSE)
    parts = {
        "flags": element(6, struct.pack("<II", SPARSE_FLAGS, 7)),
        "shape": element(5, struct.pack("<ii", 4, 3)),
        "name": element(1, b"A"),
        "rows": element(5, matrix.indices.astype("<i4").tobytes()),
        "pointers": element(5, matrix.indptr.astype("<i4").tobytes()),
        "values": element(9, matrix.data.tobytes()),
        **changed,
    }
    return element(14, b"".join(parts.values()))


def opaque(name: bytes = b"when") -> bytes:
    """A variable of a class such as datetime, string or table, which has no shape."""
    flags, content = element(6, struct.pack("<II", 17, 0)), element(14, element(6, struct.pack("<II", 13, 0)))
    return element(14, flags + element(1, name) + element(1, b"MCOS") + element(1, b"datetime") + content)


def mat(*elements: bytes, header: bytes = MAT_HEADER) -> bytes:
    return header + b"".join(elements or (sparse_element(),))


def packed_mat(content: bytes | None = None) -> bytes:
    """A .mat file with one compressed element."""
    packed = zlib.compress(sparse_element() if content is None else content)
    return MAT_HEADER + struct.pack("<II", 15, len(packed)) + packed


MAT4_TYPES = {"f8": 0, "f4": 1, "i4": 2, "i2": 3, "u2": 4, "u1": 5}


def mat4(
    table: Any,
    dtype: str = "f8",
    order: str = "<",
    name: bytes = b"A\0",
    kind: int = 2,
    imaginary: int = 0,
    **changed: int,
) -> bytes:
    """A variable of that kind (0 full, 1 text, 2 sparse); `changed` replaces mopt, rows, cols or name_bytes."""
    array = np.asarray(table, float)
    mopt = 1000 * (order == ">") + 10 * MAT4_TYPES[dtype] + kind
    head = {"mopt": mopt, "rows": array.shape[0], "cols": array.shape[1], "imaginary": imaginary}
    head |= {"name_bytes": len(name)} | changed
    return struct.pack(f"{order}5i", *head.values()) + name + array.astype(order + dtype).tobytes(order="F")


PETSC_MATRIX = 1211216
PETSC_VALUES = np.array([2.0, 1, 3, 4, 5])


def petsc(integer: str = "i4", scalar: str = "f8", tail: bytes = b"", **changed: Any) -> bytes:
    """The 3 × 3 matrix with PETSC_VALUES; `changed` replaces kind, shape, nnz, lengths, columns or values."""
    parts: dict[str, Any] = {
        "kind": PETSC_MATRIX,
        "shape": (3, 3),
        "nnz": 5,
        "lengths": [2, 1, 2],
        "columns": [0, 2, 1, 0, 2],
        "values": PETSC_VALUES,
        **changed,
    }
    values = np.asarray(parts.pop("values")).astype(f">{scalar}").tobytes()
    return b"".join(np.atleast_1d(part).astype(f">{integer}").tobytes() for part in parts.values()) + values + tail


HB_HEADER = (
    "A title".ljust(72) + "KEY     \n"
    "             5             1             1             3             0\n"
    "RUA                        4             3             7             0\n"
    "(4I3)           (7I3)           (3E25.16)           \n"
)
HB_POINTERS = "  1  4  5  8\n"
HB_ROWS = "  1  3  4  4  1  2  4\n"
HB_VALUES = "".join(
    "".join(f"{value:25.16E}" for value in line) + "\n" for line in ([1.5, 1e-30, 3.0], [7.0, -2.0, 4.0], [0.125])
)


def harwell_boeing(
    header: str = HB_HEADER, pointers: str = HB_POINTERS, rows: str = HB_ROWS, values: str = HB_VALUES
) -> bytes:
    return (header + pointers + rows + values).encode()


def saved(save: Any, *matrix: Any, **options: Any) -> bytes:
    """What one of SciPy's or NumPy's writers makes of a matrix."""
    file = io.BytesIO()
    save(file, *matrix, **options)
    return file.getvalue()


def written_harwell_boeing(matrix: Any) -> bytes:
    """A matrix by columns, one number a line; SciPy's hb_write knows neither empty matrices nor exponents of 1e-100."""
    columns = scipy.sparse.csc_array(matrix)
    counts = f"{'1':>14}" * 4 + f"{'0':>14}"
    sizes = "".join(f"{size:14}" for size in (*columns.shape, columns.nnz, 0))
    head = f"{'A title':72}KEY     \n{counts}\nRUA{'':11}{sizes}\n{'(I14)':16}{'(I14)':16}{'(E26.16)':20}\n"
    whole = "".join(f"{number + 1:14}\n" for number in [*columns.indptr.tolist(), *columns.indices.tolist()])
    return (head + whole + "".join(f"{value:26.16E}\n" for value in columns.data.tolist())).encode()


def saved_harwell_boeing(matrix: Any) -> bytes:
    file = io.StringIO()
    scipy.io.hb_write(file, matrix)
    return file.getvalue().encode()


WHOLE = {
    "bz2": bz2.compress(MARKET),
    "tar.gz": suitesparse(),
    "tar.bz2": suitesparse(mode="w:bz2"),
    "tar": suitesparse(mode="w"),
    "npz": npz(),
    "npz, stored": zipped(csr_members(), zipfile.ZIP_STORED),
    "mat": mat(),
    "mat, compressed": packed_mat(),
    "mat v4": mat4(
        [[row + 1, col + 1, value] for row, line in enumerate(DENSE) for col, value in enumerate(line) if value]
        + [[4, 3, 0]]
    ),
    "PETSc": petsc(
        shape=(4, 3),
        nnz=7,
        lengths=np.diff(scipy.sparse.csr_array(DENSE).indptr),
        columns=scipy.sparse.csr_array(DENSE).indices,
        values=scipy.sparse.csr_array(DENSE).data,
    ),
    "Harwell-Boeing": harwell_boeing(),
}
"""DENSE in each format."""
