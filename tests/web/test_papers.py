"""The pages of papers: every figure and table of the print once, every link to a place that is there."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Literal

import pytest
from fastapi.testclient import TestClient

from gpu_engine.findings.data import StudyData
from gpu_engine.generators import find_generator
from gpu_engine.parameters import parse_params
from gpu_engine.records import DeviceInfo, MatrixInfo
from tests.conftest import AddMatrix
from tests.web.conftest import add_study, get, sample_matrix, words
from tests.web.paper_samples import every_paper, square
from tests.web.paper_samples import measured as measured
from web.figure_sources import SOURCES
from web.papers import PAPERS, cpms_pagerank, pellr
from web.papers.base import Exhibit, Paper
from web.studies import page_of

PRINTED = {
    "cpms-pagerank": ("Figure 1-6", "Table 1-2"),
    "flexible-batched-spmv": ("Figure 1-7",),
    "pellr": ("Figure 1-12", "Table 1-1"),
    "msrep": ("Figure 1-23", "Table 1-2"),
}
"""Paper → first and last number of what its print numbers."""

ROMAN = {"I": 1, "II": 2, "IV": 4}


def numbered(exhibit: Exhibit) -> list[str]:
    """`Figures 2 to 4` → Figure 2, Figure 3, Figure 4."""
    kind, first, *rest = re.split(r" (?:to |and )?", exhibit.label)
    low, high = (ROMAN.get(n) or int(n) for n in (first, rest[-1] if rest else first))
    return [f"{kind.removesuffix('s')} {n}" for n in range(low, high + 1)]


@every_paper
def test_every_figure_and_table_of_the_print_has_one_row(paper: Paper) -> None:
    spans = [re.match(r"(\w+) (\d+)-(\d+)", span) for span in PRINTED[paper.name]]
    expected = [f"{m[1]} {n}" for m in spans if m for n in range(int(m[2]), int(m[3]) + 1)]
    found = [name for exhibit in paper.exhibits for name in numbered(exhibit) if not name.startswith("Section")]
    assert sorted(found) == sorted(expected)
    assert max(Counter(exhibit.id for exhibit in paper.exhibits).values()) == 1


def test_a_document_that_a_paper_names_is_a_link(client: TestClient) -> None:
    pages = [get(client, address).text for address in ("/library", *(paper.href for paper in PAPERS))]
    named = re.findall(r"(<a [^>]*>)?docs/([a-z]+)[.]md", "".join(pages))
    assert named
    assert [opening for opening, _ in named] == [f'<a href="/docs/{name}">' for _, name in named]


@every_paper
def test_every_row_says_where_it_is_drawn_or_why_not_and_what_may_be_said(paper: Paper) -> None:
    statements = [c for judge in paper.judges.values() for c in judge(StudyData())]
    for exhibit in paper.exhibits:
        assert exhibit.shows, exhibit.label
        assert bool(exhibit.places or exhibit.drawing) != bool(exhibit.absent), exhibit.label
        assert any(exhibit.has(c) for c in statements) != bool(exhibit.unsaid), exhibit.label


@every_paper
def test_every_statement_that_is_judged_stands_in_one_row(paper: Paper) -> None:
    for judge in paper.judges.values():
        for conclusion in judge(StudyData()):
            assert [e.label for e in paper.exhibits if e.has(conclusion)] != [], conclusion.statement
            assert sum(exhibit.has(conclusion) for exhibit in paper.exhibits) == 1, conclusion.statement


@every_paper
def test_every_link_leads_to_an_anchor_and_every_figure_is_there(client: TestClient, paper: Paper) -> None:
    for place in (place for exhibit in paper.exhibits for place in exhibit.places):
        address, _, anchor = place.href().partition("#")
        response = get(client, address)
        assert response.status_code == 200
        assert f'id="{anchor}"' in response.text, place
        assert place.text.startswith(page_of(place.study).link)
        if place.is_figure:
            assert place.part in SOURCES


def test_a_page_has_every_figure_and_table(client: TestClient) -> None:
    for paper in PAPERS:
        page = get(client, paper.href)
        for exhibit in paper.exhibits:
            assert f'id="{exhibit.id}"' in page.text
            assert exhibit.shows in words(page.text).replace("&lt;", "<").replace("&gt;", ">").replace("&#39;", "'")
        headings = re.findall(r"<h(\d)", page.text)
        assert all(int(after) - int(before) <= 1 for before, after in pairwise(headings))


def test_a_figure_is_drawn_once_and_in_the_place_that_it_is_linked_to(
    client: TestClient, database: Any, add_matrix: AddMatrix
) -> None:
    names = [add_matrix(sample_matrix(), "web_graph", "m1"), add_matrix(sample_matrix(), "fem3", "m2")]
    add_study(database, "scaling", "j1", names, "cuda:0")
    parts = get(client, "/papers/msrep").context["exhibits"]
    charts = [part.chart for part in parts if part.chart]
    assert len({chart.id for chart in charts}) == len(charts) > 1
    assert len({chart.url for chart in charts}) == len(charts)
    for chart in charts:
        assert client.get(chart.url).status_code == 200
    first, second = (next(p for p in parts if p.exhibit.label == label) for label in ("Figure 16", "Figure 19"))
    assert (second.chart, second.above) == (None, "Figure 16")
    assert first.chart is not None


@every_paper
def test_the_study_of_a_paper_can_be_queued(client: TestClient, measured: Any, paper: Paper) -> None:
    trial = get(client, paper.href).context["trial"]
    assert [choice.value for choice in trial.devices] == ["cuda:0", "cpu"]
    body = json.loads(trial.body) | {"matrix_ids": ["m1"], "device": trial.devices[0].value}
    answer = client.post("/api/v1/jobs", json=body)
    assert answer.status_code == 202, answer.text
    assert answer.json()["study"] in paper.judges
    for each in trial.generate:
        call = json.loads(each.body)
        generator = find_generator(call.pop("generator"))
        assert call.pop("name") == each.name
        parse_params(generator.Params, call)


@every_paper
@pytest.mark.parametrize("backend", ["cpu", "cuda"])
def test_the_study_of_a_paper_leaves_out_no_kernel(paper: Paper, backend: Literal["cpu", "cuda"]) -> None:
    study = page_of(paper.trial.study).study
    device = DeviceInfo(backend, backend, "A device", 2**34, 2**25)
    infos = [MatrixInfo("m", "m", 900, 900, 4322), MatrixInfo("n", "n", 900, 900, 4322)]

    def kernels(params: Mapping[str, Any]) -> set[str]:
        return {case.kernel for case in study.cases(parse_params(study.Params, params), infos, device)}

    assert kernels(paper.trial.params) == kernels({})


def test_the_page_of_a_paper_says_how_long_its_study_takes_and_names_its_other_studies(
    client: TestClient, measured: Any
) -> None:
    page = get(client, "/papers/cpms-pagerank")
    texts = [choice.text for choice in page.context["trial"].devices]
    assert all(text.endswith(" for the selected matrices") for text in texts)
    assert 'href="/measure?study=reduced_spmv"' in page.text
    assert 'href="/measure?study=' not in get(client, "/papers/pellr").text.partition('id="contents"')[0]


def test_the_papers_own_matrices_are_chosen(client: TestClient, measured: Any, add_matrix: AddMatrix) -> None:
    def chosen(address: str) -> list[str]:
        return [choice.value for choice in get(client, address).context["trial"].matrices if choice.chosen]

    assert chosen("/papers/pellr") == ["m1"]
    assert chosen("/papers/pellr?matrix=m2") == ["m2", "m1"]
    assert len(chosen("/papers/msrep")) == 1
    add_matrix(square(6), "lnsp3937 (stand-in)", "m3")
    assert set(chosen("/papers/pellr")) == {"m1", "m3"}
    assert "lnsp3937 (stand-in)" not in [each.name for each in get(client, "/papers/pellr").context["trial"].generate]


def test_citations_are_whole() -> None:
    assert cpms_pagerank.CPMS_PAGERANK.bibtex.startswith("@inproceedings{cpms-pagerank2018,\n  author = {Thomas")
    assert "  doi = {10.4236/jcc.2020.84004},\n  year = {2020},\n}" in pellr.PELLR.bibtex
    for paper in PAPERS:
        assert paper.bibtex.count("{") == paper.bibtex.count("}")


@pytest.mark.parametrize(
    ("address", "status", "said"),
    [
        ("/papers/none", 404, "paper 'none'"),
        ("/papers/pellr?device=cuda:9", 422, "'cuda:9'"),
        ("/papers?x=1", 422, "This page takes none"),
    ],
)
def test_what_is_not_there_is_an_error(client: TestClient, address: str, status: int, said: str) -> None:
    answer = client.get(address)
    assert answer.status_code == status
    assert said in answer.json()["detail"]
