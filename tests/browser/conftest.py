"""A real browser on a real server: only the server can be reached, and any complaint of the browser fails the test."""

import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest
import uvicorn
from fastapi import FastAPI
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, Route, expect, sync_playwright

from tests.programs import missing
from tests.web.conftest import lab as lab

LIMIT_MS = 120_000

Open = Callable[..., Page]

ANSWERS = ("status of 404", "status of 422", "status of 502", "ERR_INTERNET_DISCONNECTED")
"""What Chromium logs of a refused upload, and of servers that tests take away: answers like any other."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/browser/" in str(item.path):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium; on a build machine (CI=true) a missing one is a failure."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    path = path or missing("chromium")
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def address(app: FastAPI) -> Iterator[str]:
    """Where the application answers while the test runs."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        # Connections wait in the listener's queue until the application has started.
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join(30)


@contextmanager
def watched(browser: Browser, address: str, **options: Any) -> Iterator[Page]:
    """A page in a new context; complaints of the browser and requests to elsewhere fail the test."""
    complaints: list[str] = []

    def guard(route: Route) -> None:
        if urlsplit(route.request.url).netloc == urlsplit(address).netloc:
            route.continue_()
        else:
            complaints.append(f"request to {route.request.url}")
            route.abort()

    def heard(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not any(each in message.text for each in ANSWERS):
            complaints.append(f"{message.type}: {message.text} {message.location.get('url', '')}")

    context = browser.new_context(base_url=address, **options)
    context.route("**/*", guard)
    page = context.new_page()
    page.on("console", heard)
    page.on("pageerror", lambda error: complaints.append(f"script: {error}"))
    yield page
    context.close()
    assert complaints == []


@pytest.fixture
def open_page(browser: Browser, address: str) -> Iterator[Open]:
    """`open_page("/jobs", width=390, scheme="dark")`: the page of that path, drawn to the end."""
    with ExitStack() as contexts:

        def open_(path: str, width: int = 1280, scheme: str = "light") -> Page:
            screen = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
            page = contexts.enter_context(watched(browser, address, **screen))
            page.goto(path)
            settle(page)
            return page

        yield open_


def settle(page: Page) -> None:
    """Goes down the page until every chart is drawn; the policy of the pages forbids to wait for an expression."""
    for figure in page.locator("figure[data-figure]:not([hidden])").all():
        # What is folded is not drawn.
        if figure.is_visible():
            drawn(figure)
    page.evaluate("scrollTo(0, 0)")


def drawn(figure: Locator, says: str = "") -> Locator:
    """The figure, scrolled to, as the server draws it, with that text in its drawing."""
    figure.scroll_into_view_if_needed()
    expect(figure).not_to_have_attribute("aria-busy", "true", timeout=LIMIT_MS)
    image = figure.locator("img")
    expect(image).to_have_js_property("complete", value=True, timeout=LIMIT_MS)
    # A browser decodes an image after it has come.
    image.evaluate("(image) => image.decode()")
    assert says in words_of(figure)
    return figure


def words_of(figure: Locator) -> str:
    """The text in the drawing of a figure."""
    answer = figure.page.request.get(figure.locator("img").evaluate("(image) => image.currentSrc"))
    return " ".join(element.text for element in ElementTree.fromstring(answer.text()).iter() if element.text)


def interactive(figure: Locator, says: str = "") -> Locator:
    """The figure drawn by Plotly, with that text in its drawing."""
    figure.get_by_role("button", name="Interactive").click()
    expect(figure.locator(".main-svg").first).to_be_attached(timeout=LIMIT_MS)
    expect(figure).to_have_attribute("aria-busy", "false", timeout=LIMIT_MS)
    expect(figure.locator(".plot")).to_contain_text(says, timeout=LIMIT_MS)
    return figure
