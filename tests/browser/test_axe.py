"""axe-core finds nothing to complain of, on any page, in either theme, on either screen, with everything unfolded."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.conftest import LIMIT_MS, Open, settle
from tests.browser.test_pages import LOOKS, PATHS, READ
from tests.browser.test_pages import batches as batches
from tests.browser.test_pages import runs as runs
from tests.browser.test_pages import works as works
from tests.web.conftest import Lab

OTHERS = {
    "table": "/formats/tables/pivot?job=j1",
    "sign in": "/sign-in?next=/jobs",
    "not found": "/nowhere",
    "no such job": "/jobs/none",
    "no such state": "/formats?cache=hot",
    "no jobs": "/jobs?state=cancelled",
}


@pytest.mark.usefixtures("runs", "batches", "works")
@LOOKS
def test_no_page_keeps_anybody_out(lab: Lab, open_page: Open, width: int, scheme: str) -> None:
    found = {}
    for name, path in {**PATHS, **READ, **OTHERS}.items():
        page = open_page(path, width, scheme)
        page.evaluate("document.querySelectorAll('details').forEach((details) => (details.open = true))")
        expect(page.locator("details > [data-table]:not([data-filled])")).to_have_count(0, timeout=LIMIT_MS)
        settle(page)
        found[name] = [
            (violation["id"], node["html"])
            for violation in Axe().run(page).response["violations"]
            for node in violation["nodes"]
        ]
    assert {name: nodes for name, nodes in found.items() if nodes} == {}
