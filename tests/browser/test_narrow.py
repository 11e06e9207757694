"""Pages on a phone: no remains of hidden columns, targets that a thumb hits, and the tabs of a long page."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Open
from tests.web.conftest import Lab

TARGET_PX = 32
SMALL = """(least) => [...document.querySelectorAll(`.switch a, .segments label, .segments button, ul.entries a,
  .actions > a, .job-list a, thead th a, .document nav :is(a, summary), .documents a`)]
  .filter((each) => each.checkVisibility())
  .map((each) => [each.getBoundingClientRect(), each.textContent])
  .filter(([box]) => box.width > 1 && (box.height < least || box.width < least)).map(([, text]) => text)"""


@pytest.mark.parametrize(
    "path", ["/jobs", "/matrices", "/matrices/m1", "/measure?matrix=m1", "/library", "/docs/formats"]
)
def test_targets_are_large_enough(lab: Lab, open_page: Open, path: str) -> None:
    assert open_page(path, 390).evaluate(SMALL, TARGET_PX) == []


@pytest.mark.parametrize("path", ["/", "/formats", "/service"])
def test_the_header_leads_to_the_form_of_a_job(lab: Lab, open_page: Open, path: str) -> None:
    page = open_page(path, 390)
    link = page.locator('header.bar a[href="/measure"]')
    expect(link).to_be_in_viewport(ratio=1)
    link.click()
    page.wait_for_url("**/measure")


def test_a_heat_table_without_strips_has_no_key_and_matrices_have_labels(lab: Lab, open_page: Open) -> None:
    page = open_page("/formats?job=j1", 390)
    for key in page.locator(".picture.heat .key").all():
        expect(key).to_be_hidden()
    row = page.locator(".matrix-table tbody tr").first
    expect(row.locator(".time")).to_be_visible()
    assert row.locator("td[data-label]").count() == 3


def test_a_document_begins_with_its_heading(lab: Lab, open_page: Open) -> None:
    page = open_page("/docs/formats", 390)
    assert page.locator("h1").bounding_box()["y"] < 300  # type: ignore[index]
    page.locator(".document .only-narrow > summary").click()
    expect(page.locator(".document .only-narrow a").first).to_be_visible()


def test_the_tab_of_the_part_in_view_is_the_current_one(lab: Lab, open_page: Open) -> None:
    page = open_page("/matrices/m1", 390)
    expect(page.locator('nav.tabs a[href="#kernels"]')).to_have_attribute("aria-current", "location")
    page.locator('nav.tabs a[href="#structure"]').click()
    expect(page.locator('nav.tabs a[href="#structure"]')).to_have_attribute("aria-current", "location")
    assert page.locator('nav.tabs a[href^="#"][aria-current]').count() == 1


def test_the_current_tab_is_in_view_and_the_bar_shows_that_it_scrolls(lab: Lab, open_page: Open) -> None:
    page = open_page("/papers/msrep", 390)
    bar = page.locator("nav.tabs")
    expect(bar.locator("[aria-current]")).to_be_in_viewport(ratio=1)
    expect(bar).to_have_class("tabs more-left more-right")
    bar.evaluate("bar => { bar.scrollLeft = 0; }")
    expect(bar).to_have_class("tabs more-right")
    assert "more" not in (open_page("/papers/msrep", 1280).locator("nav.tabs").get_attribute("class") or "")
