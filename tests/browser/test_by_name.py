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
    page = open_page("/matrices")
    assert Axe().run(page).response["violations"] == []
    field = page.get_by_label("Matrix of the SuiteSparse Matrix Collection")
    field.press_sequentially("bcsstk1")
    options = page.locator("#collection-names option")
    expect(options).to_have_count(1, timeout=LIMIT_MS)
    expect(options).to_have_attribute("value", "HB/bcsstk16")
    expect(options).to_have_text("290\u202f378 nonzeros")
    alert = page.locator("[data-suggest] [role=alert]")
    field.press("Enter")
    expect(alert).to_contain_text("Invalid matrix name 'bcsstk1': expected GROUP/NAME", timeout=LIMIT_MS)
    field.fill("HB/bcsstk61")
    field.press("Enter")
    expect(alert).to_contain_text("Did you mean HB/bcsstk16", timeout=LIMIT_MS)
    field.fill("HB/bcsstk16")
    field.press("Enter")
    page.wait_for_url("**/matrices/*", timeout=LIMIT_MS)
    expect(page.locator("#matrix-head .ready")).to_be_visible(timeout=LIMIT_MS)
    expect(page.locator("#matrix-head")).to_contain_text("Fetched from https://sparse.tamu.edu/MM/HB/bcsstk16.tar.gz")
    assert site.paths == ["/files/ssstats.csv", "/MM/HB/bcsstk16.tar.gz"]


def test_without_scripts_a_name_is_fetched(site: Site, browser: Browser, address: str) -> None:
    with watched(browser, address, java_script_enabled=False) as page:
        page.goto("/matrices")
        page.get_by_label("Matrix of the SuiteSparse Matrix Collection").fill("Toy/two")
        page.get_by_role("button", name="Fetch").click()
        page.wait_for_url("**/matrices/*", timeout=LIMIT_MS)
        expect(page.get_by_role("heading", name="two", exact=True)).to_be_visible()
