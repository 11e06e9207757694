"""What archives, .npz, .mat and Harwell-Boeing files do by mistake or on purpose: each is refused with a sentence."""

import gzip
import io
import os
import pickle
import random
import struct
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest

from gpu_engine.csr_matrix import check_csr
from gpu_engine.errors import QUOTE_LIMIT, MatrixFileError, TooLargeError
from gpu_engine.matrix_io import ReadLimits, ReadResult, read_matrix
from tests.gpu_engine import matrix_files as files
from tests.gpu_engine.hostile import BAD, LARGE, graph_xml
from tests.gpu_engine.hostile.npz import Marked
from tests.gpu_engine.matrix_files import packed_mat, sparse_element

MIB = 2**20
SMALL = ReadLimits(dimension_free=10_000, nnz_max=1000, decompressed_bytes=4 * MIB, ratio_after_bytes=MIB)
"""What the matrices here need; hostile files are to be refused long before a large limit is reached."""

MUTATIONS = int(os.environ.get("MUTATIONS", "200"))
"""Mutated files of each format; more with `MUTATIONS=20000 pytest -k mutated`."""


def read(path: Path, content: bytes) -> ReadResult:
    path.write_bytes(content)
    return read_matrix(path, SMALL)


@pytest.mark.parametrize("name", BAD)
def test_bad_files(tmp_path: Path, name: str) -> None:
    content, words = BAD[name]
    with pytest.raises(MatrixFileError, match=words) as caught:
        read(tmp_path / "file", content)
    assert caught.value.message.endswith((".", ")"))
    assert 20 < len(caught.value.message) < 4 * QUOTE_LIMIT
    assert caught.value.message.isprintable()


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


GRAPHS = {
    "GraphML": graph_xml.weighted("2.5"),
    "GEXF": graph_xml.gexf('<edge source="a" target="b" weight="2.5" type="mutual"/>'),
}
MUTATED = files.WHOLE | GRAPHS


@pytest.mark.parametrize("name", MUTATED)
def test_mutated_files_raise_input_errors_alone(tmp_path: Path, name: str) -> None:
    rng = random.Random(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(MUTATIONS):
            try:
                matrix = read(tmp_path / "file", _mutate(rng, MUTATED[name])).matrix
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
