"""The documents as pages: all of them, each link leading somewhere, and the glossary behind words of the pages."""

import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from gpu_engine.text.units import THIN
from tests.web.conftest import Lab, get
from web import documents, glossary_help

ROOT = Path(__file__).parents[2]
ADDRESSES = [documents.href(name) for name in documents.names()]


def test_every_document_of_the_project_is_a_page(client: TestClient) -> None:
    files = [path.stem.lower() for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"))]
    assert sorted(documents.names()) == sorted(files)
    page = get(client, "/library").text
    assert [address for address in ADDRESSES if f'href="{address}"' not in page] == []


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_link_of_a_document_leads_to_a_page_and_a_place_there(client: TestClient, address: str) -> None:
    text = get(client, address).text
    ids = re.findall(r'\bid="([^"]*)"', text)
    assert len(ids) == len(set(ids))
    for link in re.findall(r'href="((?:/docs/|/glossary|#)[^"]*)"', text):
        path, _, anchor = link.partition("#")
        there = client.get(path).text if path else text
        assert not anchor or f'id="{anchor}"' in there, link


@pytest.mark.parametrize("address", ADDRESSES)
def test_links_to_documents_are_titles(client: TestClient, address: str) -> None:
    texts = re.findall(r'href="(?:/docs/|/glossary)[^"]*">([^<]*)</a>', get(client, address).text)
    assert [text for text in texts if text.endswith(".md")] == []


def test_html_in_a_document_is_text() -> None:
    assert documents.MARKDOWN.render("a <b>c</b>\n") == "<p>a &lt;b&gt;c&lt;/b&gt;</p>\n"


def test_an_unknown_document_is_not_found(client: TestClient) -> None:
    assert "Documents: readme, glossary" in client.get("/docs/none").json()["detail"]


def test_words_that_are_explained_stand_in_the_glossary() -> None:
    assert set(glossary_help.EXPLAINED_IN_NAMES) <= set(documents.terms())
    assert documents.terms()["roofline"].meaning.startswith("Compulsory bytes over the measured copy bandwidth")


def test_a_word_is_explained_where_a_page_says_it_first(client: TestClient, lab: Lab) -> None:
    text = get(client, "/jobs/j1").text
    opened = re.findall(r'popovertarget="meaning-([^"]+)"', text)
    meanings = re.findall(r'class="meaning" id="meaning-([^"]+)"', text)
    assert {"roofline", "warm"} <= set(opened) <= set(meanings)
    assert len(opened) == len(set(opened))
    assert "csr/<button" not in text


def test_ratios_are_written_as_on_all_pages() -> None:
    assert documents.spaced("1.24× of 3×3 and 2 × 2 blocks, 12×.") == f"1.24{THIN}× of 3×3 and 2 × 2 blocks, 12{THIN}×."
    body = documents.document("h200-batched").body
    assert f"{THIN}×" in body
    assert not re.search(r"\d×", body)
