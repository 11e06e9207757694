"""Home, the list of matrices, and the form of a job: by keyboard, on a phone, and with large targets."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import LIMIT_MS, Open
from tests.web.conftest import Lab

PHONE = 390
TARGET_PX = 31.5
"""Least height of a target, less half a pixel for rounding."""

SMALL = """(least) => [...document.querySelectorAll("main :is(button, select, summary, input, label, td a, th a)")]
    .filter((element) => !element.matches("label:not(:has(input))"))
    .filter((element) => !element.matches("label input"))
    .map((element) => [element.outerHTML.slice(0, 80), element.getBoundingClientRect()])
    .filter(([, box]) => box.width > 1 && box.height > 2 && box.height < least)
    .map(([html, box]) => `${Math.round(box.height)} ${html}`)"""


@pytest.mark.parametrize("path", ["/", "/?name=nowhere", "/matrices?source=all", "/measure?matrix_ids=m1"])
def test_a_phone_shows_all_of_it_with_large_targets(lab: Lab, open_page: Open, path: str) -> None:
    page = open_page(path, PHONE)
    for details in page.locator("main details").all():
        details.evaluate("(details) => { details.open = true; }")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE
    assert page.evaluate(SMALL, TARGET_PX) == []


def test_the_question_is_asked_by_keyboard(lab: Lab, open_page: Open) -> None:
    page = open_page("/")
    page.locator("#name").focus()
    page.keyboard.type("cnr-2000")
    # The files, then the chosen device: an arrow chooses the next one.
    page.locator("input[name=device]:checked").focus()
    page.keyboard.press("ArrowRight")
    device = page.locator("input[name=device]:checked").input_value()
    page.keyboard.press("Tab")
    expect(page.locator("#n")).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_url("**/matrices/m1?*", timeout=LIMIT_MS)
    assert "n=501" in page.url
    assert f"device={device.replace(':', '%3A')}" in page.url


def test_a_new_matrix_appears_while_the_home_page_is_open(lab: Lab, open_page: Open) -> None:
    page = open_page("/")
    page.locator("#name").fill("half typed")
    body = {"generator": "stencil", "nx": 20, "ny": 20, "name": "just made"}
    made = page.request.post("/api/v1/matrices/generate", data=body).json()
    answer = page.locator("#answers a", has_text="just made")
    expect(answer.locator(".state")).to_have_class("state predicted", timeout=LIMIT_MS)
    expect(page.locator("#name")).to_have_value("half typed")
    assert made["id"] in (answer.get_attribute("href") or "")
