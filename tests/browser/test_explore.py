"""The pages of Explore: chips, columns of the heat table, the drawer, and parts that open one at a time."""

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import LIMIT_MS, Open
from tests.samples.formats import timed
from tests.web.conftest import Lab, add_measurement

FORMATS = "/formats?job=j1"
TITLE = "#drawer .drawer > h2"


@pytest.fixture
def answered(lab: Lab) -> Lab:
    """The lab with times of another kernel on both matrices, so that columns have different families."""
    for matrix, time in ((lab.matrix, 0.5e-3), (lab.hostile, 4e-3)):
        add_measurement(lab.database, "j1", timed("split/tile", time, matrix=matrix))
    return lab


def test_arrow_keys_move_over_the_columns_and_the_drawer_returns_the_focus(answered: Lab, open_page: Open) -> None:
    page = open_page(FORMATS)
    columns = page.locator("[data-columns] a")
    expect(columns).to_have_count(2)
    assert [column.get_attribute("tabindex") for column in columns.all()] == ["0", "-1"]
    columns.first.focus()
    page.keyboard.press("ArrowRight")
    expect(columns.last).to_be_focused()
    page.keyboard.press("Home")
    expect(columns.first).to_be_focused()
    name = columns.first.get_attribute("aria-label") or ""
    page.keyboard.press("Enter")
    page.wait_for_url("**open=m*")
    expect(page.locator(TITLE)).to_be_focused(timeout=LIMIT_MS)
    title = page.locator(TITLE).text_content() or ""
    assert name.startswith(title)
    expect(page.locator("[data-columns] a[aria-current]")).to_have_attribute("aria-label", name)
    page.keyboard.press("Escape")
    page.wait_for_url(re.compile(r"job=j1$"))
    expect(page.locator("#drawer > *")).to_have_count(0)
    expect(page.locator("[data-columns] a").first).to_be_focused()


def test_the_drawer_has_an_address_and_back_closes_it(answered: Lab, open_page: Open) -> None:
    page = open_page(FORMATS)
    page.locator(".matrix-table a", has_text="cnr-2000").click()
    expect(page.locator(TITLE)).to_have_text("cnr-2000", timeout=LIMIT_MS)
    expect(page.locator("#drawer")).to_contain_text("split/tile")
    page.reload()
    expect(page.locator(TITLE)).to_have_text("cnr-2000")
    page.go_back()
    expect(page.locator("#drawer > *")).to_have_count(0, timeout=LIMIT_MS)
    assert page.url.endswith(FORMATS)


def test_n_changes_the_kernels_without_a_reload_and_stays_in_the_address(answered: Lab, open_page: Open) -> None:
    page = open_page(FORMATS)
    page.evaluate("window.same = true")
    page.locator("#chip-n > summary").click()
    page.get_by_label("SpMVs", exact=True).fill("1")
    page.keyboard.press("Enter")
    page.wait_for_url("**n=1")
    row = page.locator(".matrix-table tbody tr", has_text="cnr-2000")
    expect(row.locator(".chosen")).to_have_text("csr/vector", timeout=LIMIT_MS)
    page.get_by_label("SpMVs", exact=True).fill("1000000")
    page.keyboard.press("Enter")
    expect(row.locator(".chosen")).to_have_text("split/tile", timeout=LIMIT_MS)
    assert page.evaluate("window.same")
    page.reload()
    expect(row.locator(".chosen")).to_have_text("split/tile")


def test_a_pressed_chip_shows_its_value_before_the_answer(answered: Lab, open_page: Open) -> None:
    page = open_page(FORMATS)
    page.route("**/formats?*cache=cold*", lambda route: None)
    page.locator("#chip-cache > summary").click()
    page.locator("#chip-cache").get_by_role("link", name="cold").click()
    expect(page.locator("#chip-cache .value")).to_have_text("cold", timeout=1000)
    assert "cache=cold" in page.url
    expect(page.locator("#chip-cache")).not_to_have_attribute("open", "")


def test_a_figure_is_loaded_when_it_is_opened(answered: Lab, open_page: Open) -> None:
    page = open_page(FORMATS)
    assert page.locator("figure[data-figure]").count() == 0
    page.get_by_role("link", name="Performance profile").click()
    page.wait_for_url("**view=performance-profile")
    expect(page.locator("figure[data-figure]")).to_have_count(1, timeout=LIMIT_MS)
    page.get_by_role("link", name="Performance profile").click()
    expect(page.locator("figure[data-figure]")).to_have_count(0, timeout=LIMIT_MS)


def test_without_javascript_every_control_is_a_link_or_a_field(answered: Lab, browser: Browser, address: str) -> None:
    context = browser.new_context(base_url=address, java_script_enabled=False)
    page = context.new_page()
    page.goto(FORMATS)
    page.locator("[data-columns] a").first.click()
    expect(page.locator(TITLE)).to_be_visible()
    page.locator("#drawer .close").click()
    expect(page.locator("#drawer > *")).to_have_count(0)
    page.locator("#chip-n > summary").click()
    page.get_by_label("SpMVs", exact=True).fill("7")
    page.keyboard.press("Enter")
    page.wait_for_url("**n=7**")
    context.close()


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_is_short_and_nothing_is_cut(answered: Lab, open_page: Open, width: int) -> None:
    page = open_page(FORMATS, width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    bar = page.locator(".explore").bounding_box()
    heading = page.locator("h1").bounding_box()
    assert bar
    assert heading
    assert bar["height"] <= (48 if width == 1280 else 100)
    assert heading["y"] + heading["height"] <= (260 if width == 1280 else 420)
    assert page.evaluate("document.documentElement.scrollHeight") <= 3000


def test_filters_are_a_sheet_on_a_phone(answered: Lab, open_page: Open) -> None:
    page = open_page(FORMATS, 390)
    expect(page.locator("#chip-cache")).to_be_hidden()
    page.get_by_role("button", name="Filters").click()
    page.locator("#chip-cache > summary").click()
    page.locator("#chip-cache").get_by_role("link", name="cold").click()
    page.wait_for_url("**cache=cold")
    expect(page.locator("#answer .eyebrow")).to_contain_text("cold", timeout=LIMIT_MS)
