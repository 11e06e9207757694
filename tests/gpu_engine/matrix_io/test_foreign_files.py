"""Files of other programs: each is refused by its own name, whatever reader could take its first lines for another."""

import bz2
import gzip
import io
import pickle
import sqlite3
import struct
from pathlib import Path

import numpy as np
import pytest

from gpu_engine.errors import MatrixFileError
from gpu_engine.matrix_io import READERS, read_matrix
from gpu_engine.matrix_io.foreign_files import LETTERS, MAGIC, ROOTS
from tests.gpu_engine import matrix_files as files


def _npy() -> bytes:
    file = io.BytesIO()
    np.save(file, np.eye(3))
    return file.getvalue()


def _database(folder: Path) -> bytes:
    connection = sqlite3.connect(folder / "x.db")
    connection.execute("create table edges (source, target)")
    connection.commit()
    connection.close()
    return (folder / "x.db").read_bytes()


GAP = b"\1" + struct.pack("<qq", 3, 2) + struct.pack("<3q", 0, 2, 3) + struct.pack("<3i", 0, 1, 0)
GALOIS = struct.pack("<4q", 1, 4, 2, 3) + struct.pack("<2q", 2, 3) + bytes(24)
PDF = b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog >>\nendobj\n2 0 obj\n"

#: what it is → (the file, the word that names it)
FOREIGN: dict[str, tuple[bytes, str]] = {
    "a PDF whose lines look like edges": (PDF, "PDF"),
    "a PostScript page": (b"%!PS-Adobe-3.0\n1 0 0 1 5 5 cm\n", "PostScript"),
    "a dense array": (_npy(), "NumPy array"),
    **{f"pickle {protocol}": (pickle.dumps({"A": [1, 2]}, protocol), "pickle") for protocol in (2, 3, 4, 5)},
    "a pickle of an array": (pickle.dumps(np.eye(2)), "pickle"),
    "an old PyTorch file": (b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.", "pickle"),
    "safetensors": (struct.pack("<Q", 62) + b'{"A":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}', "safetensors"),
    "GAP": (GAP, "GAP"),
    "weighted GAP": (b"\0" + GAP[1:] + bytes(12), "GAP"),
    "Galois": (GALOIS, "Galois"),
    "Galois of version 2": (struct.pack("<4q", 2, 0, 2, 3) + struct.pack("<2q", 2, 3) + bytes(24), "Galois"),
    "unformatted Fortran": (struct.pack("<i12si", 12, b"\1\0\0\0" * 3, 12) + bytes(20), "Fortran"),
    "unformatted Fortran, big-endian": (struct.pack(">i12si", 12, bytes(12), 12) + bytes(20), "Fortran"),
    "LAGraph": (b"SuiteSparse:GraphBLAS matrix\nv10 (LAGraph DRAFT)\n" + bytes(512), "LAGraph"),
    "R object in gzip": (gzip.compress(b"X\n\0\0\0\3\0\4\1\2"), "R object"),
    "R workspace in bzip2": (bz2.compress(b"RDX3\nX\n\0\0\0\3"), "R workspace"),
    "zstd": (b"\x28\xb5\x2f\xfd\x24\x05", "zstd"),
    "a web page": (b"<!DOCTYPE html>\n<html><body>404</body></html>", "web page"),
    "a web page behind a comment": (b"<!-- x -->\n<HTML><BODY>404</BODY></HTML>", "web page"),
    "an XHTML page": (b"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'/>", "web page"),
    "SVG": (b"<?xml version='1.0'?><svg xmlns='http://www.w3.org/2000/svg'/>", "SVG"),
    "XGMML": (b"<?xml version='1.0'?>\n<graph/>".replace(b"graph", b"xgmml"), "XGMML"),
    "DGML": (b"<DirectedGraph xmlns='x'/>", "DGML"),
    "RDF with a prefix": (b"<rdf:RDF xmlns:rdf='x'/>", "RDF"),
    "XML of an unknown kind": (b"<?xml version='1.0'?><!-- graph --><things/>", "root element 'things'"),
    "a bracket alone": (b"< 1 2\n", "neither XML nor"),
    "Parquet": (b"PAR1\x15\x04\x15\0\0", "Parquet"),
    "an ORC file": (b"ORC\x0a\0\0", "ORC"),
}


def _refusal(folder: Path, content: bytes) -> str:
    path = folder / "file"
    path.write_bytes(content)
    with pytest.raises(MatrixFileError) as caught:
        read_matrix(path)
    return caught.value.message


@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_file_is_called_by_its_name(tmp_path: Path, name: str) -> None:
    content, word = FOREIGN[name]
    assert word in _refusal(tmp_path, content)


def test_a_database_is_called_by_its_name(tmp_path: Path) -> None:
    assert "SQLite" in _refusal(tmp_path, _database(tmp_path))


@pytest.mark.parametrize(("magic", "words"), [*MAGIC, *LETTERS])
def test_every_magic_number_is_refused_with_its_words(tmp_path: Path, magic: bytes, words: str) -> None:
    # What is compressed once is unpacked before anybody looks at it.
    content = magic + b"\0" * 60
    assert words in _refusal(tmp_path, gzip.compress(content))


def test_no_reader_takes_what_a_magic_number_begins() -> None:
    taken = {magic for magic, _ in MAGIC for reader in READERS[:-1] if reader.recognizes(magic + bytes(600))}
    assert taken == set()


def test_names_that_begin_like_a_magic_number_are_names(tmp_path: Path) -> None:
    for letters, _ in LETTERS:
        assert "direction" in _refusal(tmp_path, letters + b" B\nB C\n") or letters[:1].isdigit()


def test_xml_is_named_by_its_root(tmp_path: Path) -> None:
    for root, words in ROOTS.items():
        assert words in _refusal(tmp_path, b"<?xml version='1.0'?>\n<" + root + b" a='1'></" + root + b">")


@pytest.mark.parametrize("name", files.WHOLE)
def test_no_file_that_is_read_is_foreign(tmp_path: Path, name: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(files.WHOLE[name])
    assert read_matrix(path).matrix.nnz == 7
