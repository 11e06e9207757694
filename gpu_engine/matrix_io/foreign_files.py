"""Recognizes unsupported binary and XML files by documented bytes, and tells what to export instead."""

import re
import struct
from collections.abc import Callable
from itertools import pairwise

from gpu_engine.errors import quote

MARKET = "Export the matrix as Matrix Market text."
SAVE_NPZ = "Save the matrix with scipy.sparse.save_npz."
PLAIN = "Unpack it, and upload the matrix plain, as .gz or as .bz2."
EDGES = "Export the edges as text, one line 'source target' or 'source target weight' per edge."
HEAD_BYTES = 4096

MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"PK\5\6", "This is an empty zip archive. Upload the matrix file itself."),
    (b"PK\7\10", "This is a split zip archive. Unpack it, and upload the matrix file."),
    (b"\x1f\x8b", "The file is compressed twice; unpack it once."),
    (b"\x1f\x9d", f"This is a file of Unix compress (.Z). {PLAIN}"),
    (b"\x1f\xa0", f"This is a file of Unix compress (.Z). {PLAIN}"),
    (b"\xfd7zXZ\0", f"This is an xz file. {PLAIN}"),
    (b"\x28\xb5\x2f\xfd", f"This is a zstd file. {PLAIN}"),
    (b"\x04\x22\x4d\x18", f"This is an lz4 file. {PLAIN}"),
    (b"\xff\x06\0\0sNaPpY", f"This is a Snappy file. {PLAIN}"),
    (b"7z\xbc\xaf\x27\x1c", f"This is a 7-Zip archive. {PLAIN}"),
    (b"Rar!\x1a\7", f"This is a RAR archive. {PLAIN}"),
    (b"MSCF\0\0\0\0", f"This is a Windows cabinet. {PLAIN}"),
    (
        b"\x89HDF\r\n\x1a\n",
        "This is an HDF5 file (.h5, .h5ad, .jld2, .mat of MATLAB v7.3). Save the matrix with scipy.sparse.save_npz, or "
        "in MATLAB with save(file, variable, '-v7').",
    ),
    (b"HDF5-based Julia Data Format", f"This is a Julia JLD2 file. {MARKET}"),
    (b"\x0e\x03\x13\x01", f"This is an HDF4 file. {MARKET}"),
    (b"CDF\1", f"This is a NetCDF file. {MARKET}"),
    (b"CDF\2", f"This is a NetCDF file. {MARKET}"),
    (b"CDF\5", f"This is a NetCDF file. {MARKET}"),
    (
        b"\x93NUMPY",
        "This is one NumPy array. Save a sparse matrix with scipy.sparse.save_npz(file, scipy.sparse.csr_array(A)), or "
        "a list of edges with numpy.savetxt(file, edges, fmt='%d').",
    ),
    (b"ARROW1\0\0", f"This is an Arrow (Feather) file. {EDGES}"),
    (b"\xff\xff\xff\xff\x10\0\0\0", f"This is an Arrow stream. {EDGES}"),
    (b"Obj\1", f"This is an Avro file. {EDGES}"),
    (b"SQLite format 3\0", f"This is an SQLite database. {EDGES}"),
    (b"RDX2\n", f"This is an R workspace. In R, save the matrix with Matrix::writeMM(A, file). {MARKET}"),
    (b"RDX3\n", f"This is an R workspace. In R, save the matrix with Matrix::writeMM(A, file). {MARKET}"),
    (b"X\n\0\0\0\2", "This is an R object (.rds). In R, save the matrix with Matrix::writeMM(A, file)."),
    (b"X\n\0\0\0\3", "This is an R object (.rds). In R, save the matrix with Matrix::writeMM(A, file)."),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", f"This is an Office file (.xls, .doc). {EDGES}"),
    (b"%PDF-", "This is a PDF document, not a matrix. Upload the matrix file."),
    (b"%!PS", "This is a PostScript document, not a matrix. Upload the matrix file."),
    (b"{\\rtf", "This is an RTF document. Save it as plain text."),
    (b"\x89PNG\r\n", "This is a PNG image, not a matrix. Upload the matrix file."),
    (b"\xff\xd8\xff", "This is a JPEG image, not a matrix. Upload the matrix file."),
    (b"II*\0", "This is a TIFF image, not a matrix. Upload the matrix file."),
    (b"MM\0*", "This is a TIFF image, not a matrix. Upload the matrix file."),
    (b"\x7fELF", "This is a program (ELF), not a matrix. Upload the matrix file."),
    (b"MZ\x90\0", "This is a Windows program, not a matrix. Upload the matrix file."),
    (b"\xcf\xfa\xed\xfe", "This is a macOS program, not a matrix. Upload the matrix file."),
    (b"\xca\xfe\xba\xbe", "This is a Java class or a macOS program, not a matrix. Upload the matrix file."),
    (b"SuiteSparse:GraphBLAS", f"This is a binary matrix of LAGraph (.grb). Write it with LAGraph_MMWrite. {MARKET}"),
    (b"SIMPLE  =", f"This is a FITS file. {MARKET}"),
    (b"$FL2@(#)", f"This is an SPSS file. {EDGES}"),
)
"""First bytes, which no text begins with → kind of the file, and what to do."""

LETTERS: tuple[tuple[bytes, str], ...] = (
    (b"7JL", f"This is a Julia object. {MARKET}"),
    (b"FEA1", f"This is a Feather file. {EDGES}"),
    (b"GIF8", "This is a GIF image, not a matrix. Upload the matrix file."),
    (b"LZIP", f"This is an lzip file. {PLAIN}"),
    (b"ORC", f"This is an ORC file. {EDGES}"),
    (b"PAR1", f"This is a Parquet file. {EDGES}"),
    (b"RIFF", "This is a RIFF file (an image, sound or film), not a matrix. Upload the matrix file."),
)
"""First bytes that may also begin a text, such as PAR1, a gene; they count only if a zero byte follows."""


def _is_pickle(head: bytes) -> bool:
    # Protocols 2 to 5; behind the protocol stands an opcode.
    return len(head) > 2 and head[0] == 0x80 and 2 <= head[1] <= 5 and head[2:3] in b"\x8a\x95}](cNKJMXqG\x8c)"


def _is_safetensors(head: bytes) -> bool:
    return len(head) > 10 and head[8:10] == b'{"' and 0 < int.from_bytes(head[:8], "little") < 2**27


def _is_fortran(head: bytes) -> bool:
    """Return whether the first record of unformatted Fortran ends with its own length, in either byte order."""
    for order in "<>":
        (size,) = struct.unpack(f"{order}i", head[:4]) if len(head) > 8 else (0,)
        if 4 <= size <= len(head) - 8 and head[4 + size : 8 + size] == head[:4]:
            return True
    return False


def _ascend(head: bytes, at: int, count: int, last: int, begin: int | None) -> bool:
    """Return whether 8-byte offsets ascend to at most `last`, starting at `begin` if it is known."""
    count = min(count, (len(head) - at) // 8, 64)
    offsets = struct.unpack_from(f"<{max(count, 0)}q", head, at)
    ascending = all(0 <= low <= high <= last for low, high in pairwise(offsets))
    return count >= 2 and ascending and (begin is None or offsets[0] == begin)


def _is_gap(head: bytes) -> bool:
    """Return whether the file has the header of GAP's .sg: directed byte, edges, nodes, offsets from 0."""
    if len(head) < 33 or head[0] > 1:
        return False
    n_edges, n_nodes = struct.unpack_from("<qq", head, 1)
    return 0 < n_nodes < 2**40 and 0 < n_edges < 2**44 and _ascend(head, 17, n_nodes + 1, n_edges, 0)


def _is_galois(head: bytes) -> bool:
    """Return whether the file has the header of Galois's .gr: version, bytes per edge, nodes, edges, offsets."""
    if len(head) < 48:
        return False
    version, edge_bytes, n_nodes, n_edges = struct.unpack_from("<4q", head)
    plausible = version in (1, 2) and edge_bytes in (0, 4, 8) and 0 < n_nodes < 2**40 and 0 < n_edges < 2**44
    return plausible and _ascend(head, 32, n_nodes, n_edges, None)


SHAPES: tuple[tuple[Callable[[bytes], bool], str], ...] = (
    (_is_pickle, f"This is a pickle of Python (or PyTorch), which is never loaded: it could run code. {SAVE_NPZ}"),
    (_is_safetensors, f"This is a safetensors file. {SAVE_NPZ}"),
    (_is_gap, f"This is a binary graph of GAP (.sg or .wsg). {EDGES}"),
    (_is_galois, f"This is a binary graph of Galois (.gr). {EDGES}"),
    (_is_fortran, f"This is a binary file of Fortran (unformatted). {MARKET}"),
)
"""Function that recognizes a format without magic bytes → kind of the file, and what to do."""

PAGE = re.compile(rb"<!doctype html|<html|<head|<body|<script|<title", re.IGNORECASE)
ROOT = re.compile(rb"<(?![?!])(?:[\w.-]+:)?([\w.-]+)", re.ASCII)
ROOTS = {
    b"svg": "This is an SVG image, not a matrix. Upload the matrix file.",
    b"xgmml": f"This is an XGMML graph. Export it as GraphML. {EDGES}",
    b"gxl": f"This is a GXL graph. Export it as GraphML. {EDGES}",
    b"DirectedGraph": f"This is a DGML graph. {EDGES}",
    b"mxfile": "This is a drawing of draw.io, not a matrix. Upload the matrix file.",
    b"osm": f"This is an OpenStreetMap file. {EDGES}",
    b"kml": f"This is a KML file. {EDGES}",
    b"RDF": f"This is an RDF file. {EDGES}",
    b"VTKFile": f"This is a VTK mesh, not a matrix. {MARKET}",
    b"DynamicNetwork": f"This is an ORA DyNetML file. {EDGES}",
}
"""Root element of an XML file → kind of the file, and what to do."""


def explain_magic(head: bytes) -> str:
    """Return the kind of an unsupported file by its magic bytes, and what to do; "" for other files."""
    table = (*MAGIC, *LETTERS) if b"\0" in head[:HEAD_BYTES] else MAGIC
    return next((words for magic, words in table if head.startswith(magic)), "")


def explain_binary(head: bytes) -> str:
    """Return the kind of an unsupported file by the numbers in its header, and what to do; "" for other files."""
    if b"\0" not in head[:HEAD_BYTES] and head[:1] < b"\x80":
        return ""
    return next((words for is_it, words in SHAPES if is_it(head[:HEAD_BYTES])), "")


def explain_markup(head: bytes) -> str:
    """Return the kind of a text that begins with `<`, and what to do."""
    if PAGE.search(head[:HEAD_BYTES]):
        return "This is a web page, not a matrix: the download has probably failed. Fetch the file itself."
    root = ROOT.search(head[:HEAD_BYTES])
    if root is None:
        return f"The file begins with '<' but is neither XML nor a matrix. {MARKET}"
    name = quote(root[1].decode("ascii", "backslashreplace"))
    return ROOTS.get(root[1], f"This is XML with the root element {name}, which is not supported. {EDGES}")
