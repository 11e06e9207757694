"""The page of a paper: its filter by keyboard and without scripts, and its rows on a phone."""

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from server import import_recordings
from tests.browser.conftest import LIMIT_MS, Open
from tests.web.paper_samples import measured as measured
from web.papers import PAPERS

HEIGHTS = {1280: 3000, 390: 4500}
"""Width of the screen → largest height of a folded page, in pixels."""

ROWS = "#statements .summary tbody tr"


def words(page: Page) -> set[str]:
    """Return the verdicts of the visible rows."""
    return {text.strip() for text in page.locator(f"{ROWS} td.word").all_text_contents()}


def test_a_verdict_is_chosen_with_the_keyboard_and_stays_in_the_address(measured: Any, open_page: Open) -> None:
    page = open_page("/papers/pellr")
    whole = page.locator(ROWS).count()
    page.locator("#by-agrees").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/papers/pellr?verdict=agrees")
    expect(page.locator("#by-agrees")).to_have_attribute("aria-current", "true", timeout=LIMIT_MS)
    assert words(page) == {"agrees"}
    assert 0 < page.locator(ROWS).count() < whole
    assert page.evaluate("document.activeElement.id") == "by-agrees"
    assert page.locator("#scoreboard .board a[aria-current]").count() == 1
    page.go_back()
    page.wait_for_url("**/papers/pellr")
    expect(page.locator(ROWS)).to_have_count(whole, timeout=LIMIT_MS)


def test_the_filter_needs_no_script(measured: Any, browser: Browser, address: str) -> None:
    context = browser.new_context(base_url=address, java_script_enabled=False)
    page = context.new_page()
    page.goto("/papers/pellr")
    page.locator("#scoreboard .board tbody tr").first.get_by_role("link").first.click()
    assert "verdict=" in page.url
    assert len(words(page)) == 1
    page.locator("#by-all").click()
    assert "verdict=" not in page.url
    context.close()


@pytest.mark.parametrize("width", HEIGHTS)
def test_a_folded_page_is_short_with_all_reference_results(database: Any, open_page: Open, width: int) -> None:
    import_recordings.run(database)
    heights = {}
    for paper in PAPERS:
        page = open_page(paper.href, width)
        assert page.locator(ROWS).count() > 0
        heights[paper.name] = page.evaluate("document.documentElement.scrollHeight")
    assert {name: height for name, height in heights.items() if height > HEIGHTS[width]} == {}
    # A phone shows the reason of a verdict when it is opened, a wide screen always; it is the name of the fold.
    row = page.locator(ROWS).filter(has=page.locator("details.why")).first
    reason = row.locator("summary span")
    expect(row.locator("summary")).to_have_accessible_name(re.compile(re.escape(reason.inner_text())))
    is_wide = reason.evaluate("element => element.getBoundingClientRect().width > 1")
    assert is_wide == (width > min(HEIGHTS))
    row.locator("summary").click()
    assert reason.evaluate("element => element.getBoundingClientRect().width > 1")
