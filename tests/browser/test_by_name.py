"""A matrix by its name in a browser: suggested, fetched by keyboard, refused with a sentence, without scripts too."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from fastapi import FastAPI
from playwright.sync_api import Browser, expect

from tests.browser.conftest import LIMIT_MS, Open, watched
from tests.collection_site import Site, packed, serve_from


@pytest.fixture
def site(app: FastAPI) -> Site:
    """What the service fetches from."""
    site = Site()
    site.files["/MM/Toy/two.tar.gz"] = packed("two")
    serve_from(app, site)
    return site


def test_a_name_is_suggested_and_fetched_by_keyboard(site: Site, open_page: Open) -> None:
    page = open_page("/?n=40")
    assert Axe().run(page).response["violations"] == []
    field = page.locator("#name")
    field.press_sequentially("bcsstk1")
    options = page.locator("#names option")
    expect(options).to_have_count(1, timeout=LIMIT_MS)
    expect(options).to_have_attribute("value", "HB/bcsstk16")
    expect(options).to_have_text("290,378 nonzeros")
    alert = page.locator("[data-ask] [role=alert]")
    field.fill("HB/bcsstk61")
    field.press("Enter")
    expect(alert).to_contain_text("HB/bcsstk16", timeout=LIMIT_MS)
    field.fill("HB/bcsstk16")
    field.press("Enter")
    page.wait_for_url("**/matrices/*?*n=40*", timeout=LIMIT_MS)
    expect(page.locator(".state.predicted").first).to_be_visible(timeout=LIMIT_MS)
    assert site.paths == ["/files/ssstats.csv", "/MM/HB/bcsstk16.tar.gz"]
    # It is here now: the same name leads to it at once.
    matrix = page.url.partition("?")[0]
    page.goto("/")
    page.locator("#name").fill("HB/bcsstk16")
    page.locator("#name").press("Enter")
    page.wait_for_url(f"{matrix}?*", timeout=LIMIT_MS)
    assert len(site.paths) == 2


def test_a_name_that_is_nowhere_is_answered_on_the_page(site: Site, open_page: Open) -> None:
    page = open_page("/")
    page.locator("#name").fill("bcsstk16")
    page.locator("#name").press("Enter")
    page.wait_for_url("**/?name=bcsstk16*")
    expect(page.locator("#name")).to_have_value("bcsstk16")
    page.get_by_role("button", name="HB/bcsstk16").click()
    page.wait_for_url("**/matrices/*", timeout=LIMIT_MS)


def test_without_scripts_a_name_is_fetched(site: Site, browser: Browser, address: str) -> None:
    with watched(browser, address, java_script_enabled=False) as page:
        page.goto("/matrices")
        page.locator("#name").fill("Toy/two")
        page.locator("#name").press("Enter")
        page.get_by_role("button", name="Toy/two").click()
        page.wait_for_url("**/matrices/*", timeout=LIMIT_MS)
        expect(page.locator("main")).to_contain_text("two")
