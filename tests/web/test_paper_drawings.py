"""Drawings of the papers: their numbers are those of the print, and of the conversions of the kernels."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from fastapi.testclient import TestClient

from gpu_engine.cpms.convert import to_cpms
from gpu_engine.cpms.layout import allocate, group_size, padded, write
from tests.web.conftest import get
from web.papers import PAPERS
from web.papers.base import Exhibit, Paper
from web.papers.drawings import cpms_pagerank, flexible_batched_spmv, msrep, pellr
from web.papers.drawings.example import DENSE

DRAWN = [exhibit for paper in PAPERS for exhibit in paper.exhibits if exhibit.drawing]

WITH_DRAWING = {
    "cpms-pagerank": {"Figure 1", "Figure 2"},
    "flexible-batched-spmv": {"Figure 1", "Figure 2"},
    "pellr": {"Figure 1", "Figures 2 to 4", "Figure 5"},
    "msrep": {"Figures 1 to 4", "Figure 5", "Figure 7", "Figures 8 to 10", "Figures 13 to 15"},
}
"""Paper → exhibits that must have a drawing."""


class Nesting(HTMLParser):
    """Checks that all elements are closed in order, and counts them."""

    EMPTY = ("rect", "line", "circle", "path")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "svg":
            known = dict(attrs)
            assert known["role"] == "img"
            assert known["aria-label"]
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in self.EMPTY
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def table(html: str, caption: str) -> list[list[str]]:
    """Return the rows of the first table whose caption begins so, without the head."""
    body = next(
        each for each in re.findall(r"<table.*?</table>", html, re.S) if f"<caption>{caption}" in each
    ).partition("<tbody>")[2]
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in body.split("</tr>") if "<t" in row]


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_every_explaining_figure_is_drawn(paper: Paper) -> None:
    assert {exhibit.label for exhibit in paper.exhibits if exhibit.drawing} >= WITH_DRAWING[paper.name]


@pytest.mark.parametrize("exhibit", DRAWN, ids=lambda exhibit: exhibit.label)
def test_drawings_are_well_formed_and_have_captions(exhibit: Exhibit) -> None:
    assert exhibit.drawing is not None
    html = exhibit.drawing()
    tags = Nesting(html).tags
    assert {"table", "svg"} & {*tags}
    assert tags.count("table") == tags.count("caption")


def test_pages_have_their_drawings(client: TestClient) -> None:
    for paper in PAPERS:
        text = get(client, paper.href).text
        assert text.count('<div class="drawing">') == sum(exhibit.drawing is not None for exhibit in paper.exhibits)


def test_the_matrix_is_that_of_the_print_in_all_formats() -> None:
    html = msrep.figures_1_to_4()
    values = [int(cell.replace("−", "-")) for row in table(html, "CSR: values")[:1] for cell in row[1:]]
    columns = [int(cell) for cell in table(html, "CSR: values")[1][1:]]
    pointers = [int(cell) for cell in table(html, "CSR: first")[0][1:]]
    dense = np.zeros_like(DENSE)
    for row in range(6):
        span = slice(pointers[row], pointers[row + 1])
        dense[row, columns[span]] = values[span]
    assert (dense == DENSE).all()
    assert table(html, "COO")[1][1:6] == ["0", "0", "1", "1", "1"]
    assert table(html, "CSC: values")[0][1:8] == ["10", "3", "3", "9", "7", "8", "4"]
    assert table(html, "CSC: first")[0][1:] == ["0", "3", "7", "9", "12", "16", "19"]


def test_ellpack_has_padding_where_rows_are_short() -> None:
    for html in (cpms_pagerank.figure_1(), flexible_batched_spmv.figure_1()):
        rows = table(html, "ELL: columns")
        assert rows[0] == ["0", "0", "4", "−1", "−1"]
        assert rows[3] == ["3", "0", "2", "3", "4"]
        assert html.count('class="pad"') == 2 * (4 * 6 - 19)


def test_the_two_segments_lie_where_the_conversion_puts_them() -> None:
    values = cpms_pagerank.group()
    assert values.size == group_size(2)
    units = values.view(np.uint32)
    assert len({*units.tolist()}) == units.size
    segmented = to_cpms(padded(values, 2), values.size, 2)
    written = allocate(values.size, 2)
    write(written, values, 2)
    assert (segmented.units == written.units).all()
    moves = cpms_pagerank.unit_moves(values, segmented)
    assert sorted(before for before, _, _ in moves) == sorted(after for _, after, _ in moves) == list(range(64))
    assert all(segmented.units[after] == units[before] for before, after, _ in moves)
    rows = table(cpms_pagerank.figure_2(), "Segments")
    assert [row[2] for row in rows] == ["0", "4", "8", "124"]
    assert [row[4] for row in rows] == ["128", "132", "136", "252"]
    assert all(float(row[5]) <= float(np.sqrt(int(row[0][1:]))) for row in rows)


def test_the_iterations_of_figure_5_are_those_of_the_print() -> None:
    numbers = [tuple(map(int, pair)) for pair in re.findall(r"(\d+) iterations, (\d+) nonzeros", pellr.figure_5())]
    assert numbers == [(18, 78), (15, 78), (14, 77)]
    order = [int(cell) for cell in table(pellr.figure_5(), "Array perm")[0][1:]]
    assert sorted(order) == list(range(26))
    assert order[0] == 18


def test_a_strip_of_biell_has_fewer_slots_than_ellpack() -> None:
    html = pellr.figures_2_to_4()
    assert re.search(r"(\d+) nonzeros in (\d+) slots; ELL has (\d+)", html).groups() == ("78", "107", "182")  # type: ignore[union-attr]
    strip = html[html.index("A strip of BiELL") :]
    assert len(re.findall(r'<rect class="group-', strip)) == 78
    assert len(re.findall(r"<rect ", strip)) == 107
    assert table(html, "ELLR: row lengths")[0][1:] == ["2", "3", "3", "4", "4", "3"]


def test_the_partitions_are_those_of_the_algorithms() -> None:
    html = msrep.figures_8_to_10()
    csr = {row[0]: row[1:] for row in table(html, "pCSR")}
    assert csr["start_idx"] == ["0", "4", "9", "14"]
    assert csr["end_idx"] == ["3", "8", "13", "18"]
    assert csr["start_row"] == ["0", "1", "3", "4"]
    assert csr["end_row"] == ["1", "3", "4", "5"]
    assert csr["start_flag"] == ["no", "yes", "yes", "yes"]
    assert csr["row_ptr, local"] == ["0 2 4", "0 1 4 5", "0 3 5", "0 2 5"]
    csc = {row[0]: row[1:] for row in table(html, "pCSC")}
    assert (csc["start_col"], csc["start_flag"]) == (["0", "1", "3", "4"], ["no", "yes", "no", "yes"])
    coo = {row[0]: row[1:] for row in table(html, "pCOO")}
    assert coo["row_idx, local"] == ["0 0 1 1", "0 1 1 1 2", "0 0 0 1 1", "0 0 1 1 1"]


def test_equal_rows_differ_in_nonzeros_and_equal_nonzeros_do_not() -> None:
    rows = [int(cell) for cell in table(msrep.figure_5(), "Equal rows")[1][1:]]
    nonzeros = [int(cell) for cell in table(msrep.figure_7(), "Equal nonzeros")[1][1:]]
    assert sum(rows) == sum(nonzeros) == 19
    assert max(nonzeros) - min(nonzeros) == 1
    assert max(rows) - min(rows) > 1


@pytest.mark.parametrize("name", ["pCSR", "pCSC"])
def test_the_merge_adds_up_to_the_product(name: str) -> None:
    rows = table(msrep.figures_13_to_15(), f"Merge of {name}")
    numbers = [[float(cell.replace("−", "-") or 0) for cell in row[1:]] for row in rows]
    assert [sum(row[:-1]) for row in numbers] == [row[-1] for row in numbers] == DENSE.sum(axis=1).tolist()
    two_levels = table(msrep.figures_13_to_15(), "Two levels")
    assert two_levels[0][1:] == ["0 to 8", "0 to 8", "9 to 18", "9 to 18"]
    assert two_levels[1][1:] == ["0 to 3", "4 to 8", "9 to 13", "14 to 18"]


def test_warps_of_csri_share_the_nonzeros() -> None:
    rows = table(flexible_batched_spmv.figure_2(), "CSR-I")
    assert [row[1] for row in rows] == ["0 to 3", "4 to 8", "9 to 13", "14 to 18"]
    assert [row[2] for row in rows] == ["0", "1", "3", "4"]
