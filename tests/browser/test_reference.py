"""Swagger UI and ReDoc in a browser: they draw every call, and nothing leaves the server."""

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import watched


@pytest.mark.parametrize(
    ("path", "shown"), [("/docs", "#operations-jobs-create_job"), ("/redoc", "h2:has-text('Job')")]
)
def test_the_reference_is_drawn_without_any_other_server(browser: Browser, address: str, path: str, shown: str) -> None:
    with watched(browser, address) as page:
        page.goto(path)
        page.wait_for_selector(shown)
