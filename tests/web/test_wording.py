"""The words of every page of the sample service, in golden/: a review sees each change of wording.

`UPDATE_GOLDEN=1 pytest tests/web/test_wording.py` writes the files again.
"""

import html
import os
import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from tests.web.conftest import Lab, get
from tests.web.test_pages import PAGES

GOLDEN = Path(__file__).parent / "golden"

HIDDEN = re.compile(r"<(script|style|svg)\b.*?</\1>|<datalist.*?</datalist>", re.S)
INLINE = re.compile(r'<button type="button" class="term"[^>]*>(.*?)</button>')
BREAKS = re.compile(
    r"</?(?:p|h\d|li|tr|div|section|summary|details|option|legend|label|button|dt|dd|th|td|form)\b[^>]*>"
)
NUMBER = re.compile(r"\d[\d\u202f.,:]*")


MACHINE = ("/service",)
"""Pages whose words depend on the machine: its disks, and how long the process has run."""


@pytest.mark.parametrize("url", [url for url in PAGES if url not in MACHINE])
def test_the_words_of_a_page_are_those_of_its_file(client: TestClient, lab: Lab, url: str) -> None:
    path = GOLDEN / f"{re.sub(r'[^a-z0-9_]+', '-', url.lower()).strip('-') or 'home'}.txt"
    words = visible(get(client, url).text)
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(words, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == words, "UPDATE_GOLDEN=1 writes the new words"


def visible(page: str) -> str:
    """Return the lines that a reader sees between header and footer, each once, with # for numbers."""
    main = page.partition('<main id="content"')[2].partition("</main>")[0].partition(">")[2]
    blocks = BREAKS.sub("\n", INLINE.sub(r"\1", HIDDEN.sub("", main)).replace("</a><a", "</a> | <a"))
    text = html.unescape(re.sub(r"<[^>]+>", "", blocks))
    lines = (re.sub(r"\s+", " ", NUMBER.sub("#", line)).strip() for line in text.split("\n"))
    return "\n".join(dict.fromkeys(line for line in lines if re.search(r"[A-Za-z]{2}", line))) + "\n"
