"""The library: its papers with their verdicts, its documents, and the summary of a paper."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from server import former_addresses
from tests.web.conftest import get, words
from tests.web.paper_samples import every_paper
from tests.web.paper_samples import measured as measured
from web import document_groups, documents, places
from web.papers import PAPERS
from web.papers.base import Paper
from web.papers.statements import NOT_CHECKED, VERDICTS

FEW_WORDS = 25


def test_every_paper_and_document_is_in_the_library(client: TestClient) -> None:
    page = get(client, "/library").text
    for paper in PAPERS:
        assert f'href="{paper.href}"' in page
    for name in documents.names():
        assert f'href="{documents.href(name)}"' in page


@every_paper
def test_the_sentence_the_bar_and_the_rows_have_the_counts_of_the_scoreboard(
    client: TestClient, measured: Any, paper: Paper
) -> None:
    context = get(client, paper.href).context
    summary, board = context["summary"], context["scoreboard"]
    rows = summary.checked + summary.unchecked
    assert len(rows) == board.total
    assert len({row.statement for row in rows}) >= board.total - 1
    counts = board.rows[0].counts if summary.checked else (0, 0, 0, 0, board.total)
    assert tuple(number for _, number in summary.counts) == counts
    assert len(summary.unchecked) == counts[-1]
    for word, number in summary.counts:
        assert sum(row.verdict == word for row in rows) == number
    assert {row.verdict for row in summary.unchecked} <= {NOT_CHECKED}
    assert len(summary.sentence.split()) <= FEW_WORDS
    if summary.checked:
        assert str(len(summary.checked)) in summary.sentence


@every_paper
def test_rows_lead_to_their_exhibits_in_the_order_of_the_paper(client: TestClient, measured: Any, paper: Paper) -> None:
    page = get(client, paper.href)
    order = [exhibit.id for exhibit in paper.exhibits]
    for rows in (page.context["summary"].checked, page.context["summary"].unchecked):
        positions = [order.index(row.anchor) for row in rows]
        assert positions == sorted(positions)
        for row in rows:
            assert f'id="{row.anchor}"' in page.text
            assert set(row.others) <= {*VERDICTS, "–"}


@pytest.mark.parametrize("path", ["/library", PAPERS[0].href, "/docs/api", "/glossary", "/reference"])
def test_one_tab_of_the_library_is_current(client: TestClient, path: str) -> None:
    assert sum(tab.current for tab in places.library_tabs(path)) == 1
    assert "Library" in words(get(client, path).text)


@pytest.mark.parametrize(("former", "present"), former_addresses.PAGES.items())
def test_former_addresses_lead_to_the_present_ones_with_their_query(
    client: TestClient, former: str, present: str
) -> None:
    path, _, anchor = present.partition("#")
    response = client.get(f"{former}?x=1", follow_redirects=False)
    assert response.status_code == 308
    assert response.headers["location"] == f"{path}?x=1" + (f"#{anchor}" if anchor else "")
    assert client.get(former, headers={"accept": "text/html"}).status_code == 200


def test_every_document_is_in_one_group() -> None:
    groups = document_groups.grouped((*documents.names(), "h200-new", "new"))
    placed = [name for group in groups.values() for name in group]
    assert sorted(placed) == sorted((*documents.names(), "h200-new", "new"))
    assert {name for group in document_groups.GROUPS.values() for name in group} <= set(documents.names())
    assert ("h200-new" in groups["Results"], groups["Develop"][-1]) == (True, "new")
