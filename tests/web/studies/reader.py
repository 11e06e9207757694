"""What tests of the pages of all studies share: each page, and what a test wants to know of its HTML."""

from collections import Counter
from html.parser import HTMLParser
from urllib.parse import parse_qsl

import pytest

from web.studies import PAGES

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


class Reader(HTMLParser):
    """What a test wants to know of a page: its ids, its forms, and its tables of cases with their rows."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.forms: list[list[tuple[str, str, bool]]] = []
        self.tables: list[int] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = {name: value or "" for name, value in attrs}
        if "id" in own:
            self.ids.append(own["id"])
        if tag == "form":
            self.forms.append([])
        if tag in ("input", "select") and "name" in own:
            self.forms[-1].append((own["name"], own.get("value", ""), own.get("type") == "hidden"))
        if tag == "table":
            self.tables.append(-1)
        if tag == "tr" and self.tables:
            self.tables[-1] += 1


def query_of(url: str) -> Counter[tuple[str, str]]:
    return Counter(parse_qsl(url.partition("?")[2]))
