"""The filter of verdicts on the pages of papers: its links, its address, and what it leaves."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from fastapi.testclient import TestClient

from tests.web.conftest import get
from tests.web.paper_samples import every_paper
from tests.web.paper_samples import measured as measured
from web.papers.base import Paper
from web.papers.statements import NOT_CHECKED, VERDICTS
from web.views.paper_choice import VALUES, PaperChoice, verdict_links


def test_every_verdict_has_a_value_without_spaces() -> None:
    assert tuple(VALUES.values()) == VERDICTS
    assert all(re.fullmatch(r"[a-z-]+", value) for value in VALUES)


def test_the_address_keeps_the_device_and_a_count_of_zero_is_no_link() -> None:
    choice = PaperChoice("/papers/x", device="cuda:0", verdict="mostly")
    links = verdict_links(choice, (("agrees", 2), ("mostly", 1), ("seldom", 0)))
    assert [link.current for link in links] == [False, False, True, False]
    assert [parse_qs(urlsplit(link.href).query) for link in links] == [
        {"device": ["cuda:0"]},
        {"device": ["cuda:0"], "verdict": ["agrees"]},
        {"device": ["cuda:0"], "verdict": ["mostly"]},
        {},
    ]
    assert parse_qs(urlsplit(choice.on("cpu")).query)["verdict"] == ["mostly"]


@every_paper
def test_a_count_leads_to_as_many_statements(client: TestClient, measured: object, paper: Paper) -> None:
    context = get(client, paper.href).context
    board, linked = context["scoreboard"], 0
    for row, links in zip(board.rows, context["board_links"], strict=True):
        assert [link.text for link in links] == [str(count) for count in row.counts]
        for word, count, link in zip(board.verdicts, row.counts, links, strict=True):
            if not link.href:
                continue
            linked += 1
            page = get(client, link.href)
            shown = (*page.context["summary"].checked, *page.context["summary"].unchecked)
            assert len(shown) == count, link.href
            assert {each.verdict for each in shown} == {word}
            assert page.context["summary"].place == row.place
            current = re.findall(r'<a id="board-[^>]*aria-current="true"', page.text)
            assert len(current) == 1
    assert bool(linked) == any(count for row in board.rows for count in row.counts)


@every_paper
def test_a_filtered_page_keeps_the_sentence_and_names_the_filter(
    client: TestClient, measured: object, paper: Paper
) -> None:
    whole = get(client, paper.href).context
    for value, word in VALUES.items():
        page = get(client, f"{paper.href}?verdict={value}")
        assert page.context["summary"].sentence == whole["summary"].sentence
        assert page.context["verdict"] == word
        for link in page.context["devices"]:
            assert f"verdict={value}" in link.href
        if whole["summary"].is_checked:
            assert 'id="by-all"' in page.text
        assert ('id="unchecked"' in page.text) is False
        assert {row.verdict for row in page.context["summary"].unchecked} <= ({NOT_CHECKED} & {word})


@pytest.mark.parametrize("query", ["verdict=maybe", "cache=lukewarm"])
def test_an_unknown_value_is_refused(client: TestClient, query: str) -> None:
    response = client.get(f"/papers/pellr?{query}", headers={"accept": "text/html"})
    assert response.status_code == 422 or response.status_code == 400
    assert query.partition("=")[2] in response.text
