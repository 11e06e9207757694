"""The page of the PELLR paper: the worked example of Figure 5, the picture of memplus, and the outlook."""

from dataclasses import replace

import numpy as np

from gpu_engine.advisor.gpus import FITTED
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.formats.outlook import PELLR, SLICED, sliced_text
from gpu_engine.records import CACHES
from gpu_engine.text.units import THIN
from tests.samples.formats import sized, timed
from web.papers.base import Place
from web.papers.drawings import memplus
from web.papers.pellr import PELLR as PAPER

EXHIBITS = {exhibit.label: exhibit for exhibit in PAPER.exhibits}
MATRICES = {"m1": sized("memplus (stand-in)"), "m2": sized("dw2048")}
RESULTS = StudyData([timed(kernel, 1e-3, matrix=name) for name in MATRICES for kernel in (PELLR, SLICED)], MATRICES)


def test_the_worked_example_has_the_numbers_of_both_equations() -> None:
    five = EXHIBITS["Figure 5"]
    for number in ("18", "15", "14", "124", "122"):
        assert number in five.why
    assert all(number in PAPER.errata[0] for number in ("78", "77", "18", "15", "14"))


def test_the_outlook_has_numbers_of_results_and_none_without() -> None:
    stored, advised = PAPER.outlook
    assert callable(stored.number)
    assert callable(advised.number)
    assert stored.number({"formats": RESULTS}) == sliced_text(RESULTS)
    assert (stored.number({"formats": StudyData()}), advised.number({"formats": StudyData()})) == ("", "")
    known = {
        **dict.fromkeys(("n_rows", "n_cols", "n_iter_ellr", "n_iter_pellr", "n_iter_sorted"), 1000),
        "nnz": 10_000,
        "ave": 10.0,
        "sigma": 1.0,
        "max": 20,
        "distinct_values": 9,
        "float_values": False,
        **dict.fromkeys(("narrow_runs", "narrow_slices", "sectors_run", "sectors_slice"), 0.5),
    }
    matrices = {name: replace(sized(matrix), stored=known) for name, matrix in (("m1", "memplus"), ("m2", "rough"))}
    measured = [timed("csr/vector", 1e-3, cache, name, FITTED.name) for cache in CACHES for name in matrices]
    number = advised.number({"formats": StudyData(measured, matrices)})
    assert number.replace(THIN, " ").count("1.00 ×") == 1, "warm alone"
    assert "over 1 " in number


def test_figure_6_is_shown_warm_and_cold_on_the_matrices_of_the_paper_first() -> None:
    (first, *_) = EXHIBITS["Figure 6"].places
    assert isinstance(first, Place)
    assert (first.part, first.choice["pair"], first.choice["cache"]) == ("paper-speedups", ("pellr", "ellr"), CACHES)
    for label in ("Figure 8", "Figure 9", "Figure 10"):
        assert EXHIBITS[label].places[0].part == "paper-speedups"


def test_the_form_selects_the_matrices_of_the_paper() -> None:
    assert all(PAPER.trial.has(name) for name in ("memplus (stand-in)", "e40r0100", "e40r5000", "BONES01"))
    assert not PAPER.trial.has("rmat20")


def test_the_picture_of_memplus_counts_nonzeros_per_cell() -> None:
    rows, columns = np.array([0, 0, 0, 1, 3]), np.array([0, 1, 1, 2, 3])
    assert memplus.encode(rows, columns, 4, cells=2) == "21\n.1"
    assert memplus.encode(np.zeros(2**20, int), np.zeros(2**20, int), 1, cells=1) == "f"
    lines = memplus.PATTERN.split()
    assert {len(lines), *map(len, lines)} == {memplus.CELLS}
    assert all(lines[cell][cell] != memplus.EMPTY for cell in range(memplus.CELLS)), "the diagonal"
    assert lines[0].count(memplus.EMPTY) < 15, "the first rows are long"
    cells = sum(digit != memplus.EMPTY for line in lines for digit in line)
    assert memplus.figure_7().count("<rect") == cells == 282
