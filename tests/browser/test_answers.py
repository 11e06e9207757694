"""What the pages answer first: in view, without Plotly, without movement, by keyboard, and from the address alone."""

import os
import time
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from server import former_addresses
from tests.browser.conftest import Open, watched
from tests.browser.test_upload import CIRCLE, drag, file
from tests.web.conftest import Lab, add_study
from tools.service import Service

ANSWER_S = 3.0

SHIFT_MAX = 0.05

REQUESTS_MAX = 6

SETTLED_MS = 700

VIEWS = ((1280, 700), (390, 844))

PAGES = {
    "home": "/",
    "matrices": "/matrices",
    "matrix": "/matrices/m1",
    "formats": "/formats",
    "pagerank": "/pagerank?job=j8",
    "batched": "/batched?job=j6",
    "scaling": "/scaling?job=j7",
    "job": "/jobs/j1",
    "service": "/service",
    "library": "/library",
    "paper": "/papers/pellr",
    "measure": "/measure",
}

SHIFTS = """() => {
    window.shifted = 0;
    new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifted += entry.value;
    }).observe({ type: "layout-shift", buffered: true });
}"""


def urls_of(page: Page) -> list[str]:
    """Returns the list to which the addresses of all requests of a page are added."""
    urls: list[str] = []
    page.on("request", lambda request: urls.append(request.url))
    return urls


@pytest.fixture
def measured(lab: Lab) -> Lab:
    for study, job in (("pagerank", "j8"), ("batched", "j6"), ("scaling", "j7")):
        add_study(lab.database, study, job, (lab.matrix, lab.hostile))
    return lab


@pytest.mark.parametrize(("width", "height"), VIEWS)
def test_every_page_answers_in_view_and_stands_still(
    measured: Lab, browser: Browser, address: str, width: int, height: int
) -> None:
    faults: dict[str, dict[str, Any]] = {}
    for name, path in PAGES.items():
        with watched(browser, address, viewport={"width": width, "height": height}) as page:
            asked = urls_of(page)
            page.add_init_script(f"({SHIFTS})()")
            page.goto(path)
            page.wait_for_timeout(SETTLED_MS)
            heads = page.locator("h1")
            bottom = heads.first.evaluate("(h) => h.getBoundingClientRect().bottom") if heads.count() else height
            shift = page.evaluate("window.shifted")
            shell = [url for url in asked if "/static/" in url]
            broken = {
                "heads": heads.count() if heads.count() != 1 else None,
                "bottom": bottom if bottom > height else None,
                "shift": shift if shift > SHIFT_MAX else None,
                "requests": len(shell) if len(shell) > REQUESTS_MAX else None,
                "plotly": any("plotly" in url for url in asked) or None,
            }
            faults[name] = {fault: value for fault, value in broken.items() if value is not None}
    assert {name: of for name, of in faults.items() if of} == {}


def test_the_first_file_of_a_new_service_is_answered_on_its_own_page(browser: Browser, tmp_path: Path) -> None:
    """In a new data directory, while the reference results are imported and the samples are generated."""
    with Service(tmp_path, "--no-worker") as service, watched(browser, service.url) as page:
        page.goto("/")
        began = time.monotonic()
        drag(page, [file(tmp_path, "circle.mtx", CIRCLE)])
        page.wait_for_url("**/matrices/*")
        expect(page.locator("h1.answer")).to_be_visible()
        expect(page.locator(".state").first).to_have_class("state predicted")
        taken_s = time.monotonic() - began
        # Other tests run at the same time, on as few as two cores.
        assert taken_s < ANSWER_S * max(1.0, os.getloadavg()[0] / len(os.sched_getaffinity(0)))


def test_former_addresses_lead_to_pages(lab: Lab, open_page: Open) -> None:
    page = open_page("/")
    for former, present in former_addresses.PAGES.items():
        page.goto(former)
        assert page.url.endswith(present)
        expect(page.locator("h1")).to_have_count(1)


def test_the_address_restores_the_number_of_spmvs(lab: Lab, open_page: Open) -> None:
    page = open_page("/matrices/m1")
    field = page.locator("input[name='n']")
    field.fill("12345")
    field.press("Enter")
    page.wait_for_url("**n=12345**")
    answer = page.locator("h1.answer")
    expect(page.locator("main")).to_contain_text("12,345")
    sentence = answer.inner_text()
    again = open_page(page.url.partition("127.0.0.1")[2].partition("/")[2].join(["/", ""]))
    expect(again.locator("input[name='n']")).to_have_value("12345")
    expect(again.locator("h1.answer")).to_have_text(sentence, use_inner_text=True)


def test_keys_alone_lead_from_home_to_an_answer_and_a_link_to_share(lab: Lab, open_page: Open) -> None:
    page = open_page("/")
    tab_to(page, "nav a[href='/matrices']")
    page.keyboard.press("Enter")
    page.wait_for_url("**/matrices")
    tab_to(page, "a[href^='/matrices/m1']")
    page.keyboard.press("Enter")
    page.wait_for_url("**/matrices/m1**")
    expect(page.locator("h1.answer")).to_be_visible()
    tab_to(page, "#share > summary")
    page.keyboard.press("Enter")
    expect(page.locator("#share [data-copy-link]")).to_be_visible()
    tab_to(page, "#share [data-copy-link]")


def tab_to(page: Page, selector: str) -> None:
    """Presses Tab until the element has the focus; a page on which it never does fails the test."""
    for _ in range(150):
        page.keyboard.press("Tab")
        if page.evaluate("(selector) => document.activeElement?.matches(selector) ?? false", selector):
            return
    raise AssertionError(f"No Tab reaches {selector}.")
