"""Texts of other programs: each is refused by its own name; and no list that is one is taken for them."""

import contextlib
import time
from pathlib import Path

import pytest

from gpu_engine.errors import InputError, MatrixFileError
from gpu_engine.matrix_io import ReadOptions, read_matrix
from gpu_engine.matrix_io.foreign_texts import explain_text

#: what it is → (the file, the word that names it)
FOREIGN: dict[str, tuple[bytes, str]] = {
    "METIS": (b"% a comment\n4 4\n2 3\n1 3\n1 2 4\n3\n", "METIS"),
    "METIS of a cycle": (b"4 4\n2 4\n1 3\n2 4\n1 3\n", "METIS"),
    "METIS with a node without neighbors": (b"4 3\n2 3\n1 3\n1 2\n\n", "METIS"),
    "METIS, long": (b"5000 9\n" + b"2 3\n1 4 5 6\n7\n" * 700, "METIS"),
    "METIS with weights": (b"3 3 001\n2 5 3 6\n1 5 3 7\n1 6 2 7\n", "METIS"),
    "hMETIS": (b"4 7 11\n2 1 2\n3 1 7 5 6\n8 5 6 4\n7 2 3 4\n", "METIS"),
    "Pajek": (b'*Vertices 3\n1 "a"\n2 "b"\n*Arcs\n1 2 1\n', "Pajek"),
    "Pajek in capitals": (b"*NETWORK x\n*VERTICES 3\n", "Pajek"),
    "UCINET": (b"dl n=3 format=edgelist1\nlabels embedded\ndata:\na b 1\n", "UCINET"),
    "UCINET in capitals": (b"DL N = 3\nDATA:\n0 1 1\n", "UCINET"),
    "GML": (b"graph [\n directed 1\n node [ id 0 ]\n]\n", "GML"),
    "GML with a creator": (b'Creator "igraph"\nVersion 1\ngraph\n[\n]\n', "GML"),
    "DOT": (b"digraph G {\n a -> b;\n}\n", "DOT"),
    "DOT, strict": (b"// made\nstrict graph {\n a -- b\n}\n", "DOT"),
    "LGL": (b"# 0\n1\n2\n# 1\n2\n", "LGL"),
    "LGL with weights": (b"# 0\n1 0.5\n2 1.5\n# 1\n2 3\n", "LGL"),
    "LGL with names": (b"# a\nb 0.5\nc 1\n# b\nc 3\n", "LGL"),
    "NetworkX": (b"0 1 {}\n1 2 {}\n", "data=False"),
    "NetworkX with weights": (b"# x\n0 1 {'weight': 3}\n", "write_weighted_edgelist"),
    "NetworkX with names": (b"alice bob {}\n", "data=False"),
    "multiline adjacency list": (b"#x.py\n# GMT now\n#\n0 2\n1 {}\n2 {}\n1 0\n", "multiline"),
    "adjacency list": (b"#x.py\n# GMT now\n#\n0 1 2 3\n1 2\n2 3\n3\n", "adjacency list"),
    "Ligra": (b"AdjacencyGraph\n3\n3\n0\n1\n2\n1\n2\n0\n", "Ligra"),
    "Ligra with weights": (b"WeightedAdjacencyGraph\n3\n3\n0\n", "Ligra"),
    "PBBS": (b"EdgeArray\n0 1\n1 2\n", "PBBS"),
    "hypre": (b"0 2 0 2\n0 0 2.0e+00\n0 2 1.0e+00\n2 2 1\n", "hypre"),
    "hypre, second part": (b"3 5 3 5\n3 0 2.0e+00\n4 2 1.0e+00\n5 5 1\n", "hypre"),
    "PETSc": (b"Mat Object: 1 MPI process\n  type: seqaij\nrow 0: (0, 1.) \n", "PETSc"),
    "PETSc, rows alone": (b"row 0: (0, 2.)  (1, 1.) \n", "PETSc"),
    "Trilinos": (b"Epetra::CrsMatrix\nNumber of Global Rows = 3\n", "Trilinos"),
    "SciPy": (b"<Compressed Sparse Row sparse matrix of dtype 'float64'\n  (0, 1)\t1.0\n", "SciPy"),
    "SciPy, entries alone": (b"  (0, 1)\t1.0\n  (1, 0)\t2.0\n", "SciPy"),
    "MATLAB": (b"   (1,1)        2\n   (2,1)        3\n", "MATLAB"),
    "LIBSVM": (b"+1 1:0.5 3:1\n-1 2:1\n", "LIBSVM"),
    "dense by savetxt": (b"1.000000000000000000e+00 0.000000000000000000e+00\n0.0 2.5\n", "dense"),
    "dense, five columns of whole numbers": (b"0,1,0,0,1\n1,0,0,0,0\n", "dense"),
    "Octave": (b"# Created by Octave 8.4\n# name: A\n# type: sparse matrix\n# nnz: 1\n# rows: 1\n1 1 2\n", "Octave"),
    "Octave, headless": (b"# name: A\n# type: sparse matrix\n# nnz: 1\n# rows: 2\n# columns: 2\n1 1 2\n", "Octave"),
    "TSPLIB": (b"NAME: x\nTYPE: TSP\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\n", "TSPLIB"),
    "MPS": (b"NAME          AFIRO\nROWS\n E  R09\n", "MPS"),
    "LP": (b"\\ made\nMaximize\n obj: x + y\nSubject To\n c1: x <= 4\nEnd\n", "LP"),
    "JSON": (b'{"nodes": [], "links": []}\n', "JSON"),
    "JSON, a list": (b"[[0, 1], [1, 2]]\n", "JSON"),
    "DIMACS of SAT": (b"c x\np cnf 3 2\n1 -3 0\n2 3 0\n", "DIMACS"),
    "DIMACS of flows": (b"p max 3 2\nn 1 s\nn 3 t\na 1 2 4\n", "DIMACS"),
    "Gephi": (b"Source,Target,Type,Weight\n1,2,Directed,3\n", "more than three columns"),
    "Gephi with blanks": (b'"Source","Target","Type","Id","Weight"\n1,2,Directed,0,3\n', "more than three columns"),
    "semicolons": (b"1;2\n2;3\n", "semicolons"),
    "semicolons and names": (b"Source;Target;Weight\na;b;1\n", "semicolons"),
    "two colons": (b"1::1193::5::978300760\n2::661::3::978302109\n", "colons"),
    "Julia": ("3×3 SparseMatrixCSC{Float64, Int64} with 2 stored entries:\n".encode(), "Julia"),
    "Trivial Graph Format": (b"1 a\n2 b\n#\n1 2\n", "Trivial Graph Format"),
    "Trivial Graph Format without labels": (b"1\n2\n3\n#\n1 2\n2 3\n", "Trivial Graph Format"),
    "adjacency list of names": (b"#x.py\n# GMT now\n#\na b c\nb c d e\n", "adjacency list"),
    "adjacency list of a path": (b"#x.py\n# GMT now\n#\n0 1\n1 2\n2\n", "adjacency list"),
    "arrows": (b"0 -> 1\n1 -> 2\n", "arrows"),
    "tuples": (b"(0, 1)\n(1, 2)\n", "tuples"),
    "Git LFS": (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 3\n", "Git LFS"),
    "VTK": (b"# vtk DataFile Version 3.0\nx\nASCII\n1 2 3\n", "mesh"),
    "Gmsh": (b"$MeshFormat\n2.2 0 8\n", "mesh"),
    "GDF": (b"nodedef>name VARCHAR\na\n", "GDF"),
    "graph6": (b">>graph6<<DQc\n", "graph6"),
    "WebGraph": (b"#BVGraph properties\nnodes=3\n", "WebGraph"),
}

#: lists that have something of the others
LISTS: dict[str, bytes] = {
    "comments of one word between edges": b"# begin\n1 2\n# more\n2 3\n",
    "an empty comment between edges": b"1 2\n#\n2 3\n",
    "a comment that tells of a matrix": b"# the adjacency matrix in coordinate form\n1 2\n2 3\n",
    "a comment that tells of a graph": b"# graph [directed]\n1 2\n2 3\n",
    "names like keywords": b"graph dl\ndl p\n",
    "a network of letters": b"c p\np a\na c\n",
    "weights with points": b"1 2 0.5\n2 1 1.5\n",
    "a star": b"1 2\n1 3\n1 4\n1 5\n",
    "min and max": b"min max\nmax st\n",
    "a name": b"NAME ROWS\nROWS END\n",
    "two edges that could be a dense matrix": b"1 0\n0 1\n",
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_text_of_another_program_is_called_by_its_name(tmp_path: Path, name: str) -> None:
    content, word = FOREIGN[name]
    path = tmp_path / "file"
    for text in (content, content.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + content):
        path.write_bytes(text)
        with pytest.raises(MatrixFileError) as caught:
            read_matrix(path)
        assert word in caught.value.message
        assert caught.value.hint is None


@pytest.mark.parametrize("name", LISTS)
def test_a_list_is_no_other_text(tmp_path: Path, name: str) -> None:
    assert explain_text(LISTS[name]) == ""
    (tmp_path / "file").write_bytes(LISTS[name])
    assert read_matrix(tmp_path / "file", options=ReadOptions(directed=True, ids="shared")).matrix.nnz > 0


MEGABYTE = 2**20
SLOW = {
    "blanks": b" " * MEGABYTE + b"x\n",
    "marks": b"%" * MEGABYTE + b"x\n1 2\n",
    "marks and blanks": b"%" + b" " * MEGABYTE + b"x\n1 2\n",
    "words of a banner": b"% " + b"matrix " * (MEGABYTE // 8) + b"\n1 2\n",
    "words of counts": b"# " + b"nodes " * (MEGABYTE // 8) + b"\n1 2\n",
    "sections of a program": b"NAME\n" + b" M\n" * (MEGABYTE // 4),
    "comments of DIMACS": b"c\n" * (MEGABYTE // 2) + b"x\n",
    "digits": b"1 2 " + b"1" * MEGABYTE + b"x\n",
    "braces": b"1 2" + b" {" * (MEGABYTE // 2) + b"\n",
    "a program without constraints": b"max x\n" + b"\n" * MEGABYTE,
    "nodes without edges": b"1\n" * (MEGABYTE // 2),
    "heads": b"# a\n" * (MEGABYTE // 4),
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", SLOW)
def test_no_text_holds_a_reader_up(tmp_path: Path, name: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(SLOW[name])
    begin = time.process_time()
    with contextlib.suppress(InputError):
        read_matrix(path, options=ReadOptions(directed=True))
    assert time.process_time() - begin < 10
