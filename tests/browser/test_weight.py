"""What pages fetch and when: figures near the view, tables that are opened, changes; and that no choice is lost."""

import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Request, Route, expect

from tests.browser.conftest import LIMIT_MS, Open, drawn, settle
from tests.samples.formats import study_of, timed
from tests.web.conftest import Lab, add_measurement
from web.studies import page_of

SIZE = "document.querySelector('#formats-chart .plot')._fullLayout._size"

REFRESH = """() => import(document.querySelector('script[type=module]').src.replace('app.js', 'navigation.js'))
    .then((navigation) => navigation.refresh())"""
"""What an event of the stream does."""


class Held:
    """Requests to a pattern wait until they are let go."""

    def __init__(self, page: Page, pattern: str) -> None:
        self._waiting: list[Route] = []
        self._is_open = False
        page.route(pattern, lambda route: self._take(route))

    def _take(self, route: Route) -> None:
        if self._is_open:
            route.continue_()
        else:
            self._waiting.append(route)

    def let_go(self) -> None:
        """Answers those that wait, and all that come."""
        self._is_open = True
        for route in self._waiting:
            route.continue_()


def test_rows_that_come_later_get_their_room(lab: Lab, open_page: Open) -> None:
    page = open_page(f"/jobs/{lab.running}")
    for number in range(6):
        later = timed(f"kernel-{number}/of-a-long-name", 1e-4 * (1 + number), matrix=lab.matrix, roofline_s=5e-5)
        add_measurement(lab.database, lab.running, later)
    page.locator("#job-counts", has_text="9 of 16 cases").wait_for()
    drawn(page.locator("#formats-chart"), "kernel-5/of-a-long-name")
    live = page.evaluate(SIZE)
    page.reload()
    settle(page)
    assert live == page.evaluate(SIZE)


def test_figures_are_fetched_when_they_come_near_the_view(lab: Lab, open_page: Open, browser: Any) -> None:
    page = open_page("/jobs")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto("/formats?job=j1")
    last = page.locator("figure[data-figure]:not([hidden])").last
    own = last.get_attribute("data-figure")
    first = page.locator("figure[data-figure]:not([hidden])").first
    drawn(first)
    assert not [url for url in asked if own and url.endswith(own)]
    drawn(last)
    assert [url for url in asked if own and url.endswith(own)]


def test_a_table_is_fetched_when_it_is_opened_and_stays_open(lab: Lab, open_page: Open) -> None:
    page = open_page("/formats?job=j1")
    numbers = page.locator("#roofline-numbers")
    assert numbers.locator("tbody tr").count() == 0
    numbers.locator("summary").first.click()
    expect(numbers.locator("tbody tr").first).to_be_visible()
    expect(numbers.get_by_role("link", name="LaTeX")).to_be_visible()
    before = numbers.locator("tbody").inner_text()
    page.get_by_role("link", name="cold").click()
    page.wait_for_url("**cache=cold")
    expect(numbers.locator("tbody")).not_to_have_text(before, use_inner_text=True)
    assert numbers.get_attribute("open") is not None


def test_a_page_is_fetched_again_only_when_something_happened(lab: Lab, open_page: Open) -> None:
    page = open_page("/jobs")
    events = Held(page, "**/api/v1/events?*")
    fetched: list[Request] = []
    page.on("request", lambda request: fetched.append(request) if request.resource_type == "fetch" else None)
    with page.expect_request("**/api/v1/events?*"):
        page.goto(f"/jobs/{lab.running}")
    # Between the page and its stream: told all the same.
    add_measurement(lab.database, lab.running, study_of(lab.matrix)[3])
    events.let_go()
    page.locator("#job-counts", has_text="3 of 16 cases measured, 1 skipped").wait_for()
    assert sum(request.url.endswith(lab.running) for request in fetched) == 1


def test_a_choice_outlives_a_refresh_that_begins_after_it(lab: Lab, open_page: Open) -> None:
    page = open_page("/jobs")
    choice = Held(page, "**/jobs?state=queued")
    with page.expect_request("**/jobs?state=queued"):
        page.get_by_role("link", name="queued", exact=True).click()
    page.evaluate(REFRESH)
    choice.let_go()
    page.wait_for_url("**/jobs?state=queued")
    expect(page.locator("#jobs tbody tr")).to_have_count(1)


def test_a_choice_outlives_a_refresh_that_is_answered_after_it(lab: Lab, open_page: Open) -> None:
    page = open_page("/jobs")
    refresh = Held(page, "**/jobs")
    with page.expect_request("**/jobs"):
        add_measurement(lab.database, lab.running, study_of(lab.matrix)[3])
    page.get_by_role("link", name="queued", exact=True).click()
    page.wait_for_url("**/jobs?state=queued")
    refresh.let_go()
    expect(page.locator("#jobs tbody tr")).to_have_count(1)


def test_a_link_under_the_pointer_is_not_replaced(lab: Lab, open_page: Open) -> None:
    page = open_page("/jobs")
    link = page.locator(f"a[href='/jobs/{lab.running}']").first
    link.scroll_into_view_if_needed()
    link.hover()
    page.mouse.down()
    with page.expect_response("**/jobs"):
        add_measurement(lab.database, lab.running, study_of(lab.matrix)[3])
    page.mouse.up()
    page.wait_for_url(f"**/jobs/{lab.running}")


def test_what_is_chosen_while_the_server_is_away_is_shown_when_it_is_back(lab: Lab, open_page: Open) -> None:
    page = open_page("/formats?job=j1")
    page.context.set_offline(True)
    page.get_by_role("link", name="cold").click()
    expect(page.locator("#connection")).to_contain_text("The server does not respond")
    expect(page.get_by_role("heading", level=1)).to_have_text(page_of("formats").title)
    page.context.set_offline(False)
    page.wait_for_url("**cache=cold")
    expect(page.locator("#connection")).to_be_empty()


def test_caption_and_chart_change_together(lab: Lab, open_page: Open) -> None:
    page = open_page("/formats?job=j1&matrix=m1")
    figure = page.locator("#formats-chart")
    drawn(figure, "warm")
    new = Held(page, "**/api/v1/figures/formats?*")
    with page.expect_request("**/api/v1/figures/formats?*"):
        page.get_by_role("link", name="cold").click()
        page.wait_for_url("**cache=cold")
        figure.scroll_into_view_if_needed()
    expect(figure).to_have_attribute("aria-busy", "true")
    expect(figure.locator("figcaption")).to_contain_text("warm")
    new.let_go()
    drawn(figure, "cold")
    expect(figure.locator("figcaption")).to_contain_text("cold")


@pytest.mark.parametrize(
    ("status", "body", "says"),
    [
        (502, "<html>", "The server responded with status 502."),
        (422, '{"detail": "No such kernel."}', "No such kernel."),
    ],
)
def test_a_figure_that_cannot_be_had_says_why_in_words(
    lab: Lab, open_page: Open, status: int, body: str, says: str
) -> None:
    page = open_page("/jobs")
    page.route("**/api/v1/figures/**", lambda route: route.fulfill(status=status, body=body))
    page.goto("/formats?job=j1")
    plot = page.locator("#formats-chart .plot")
    plot.scroll_into_view_if_needed()
    expect(plot).to_have_text(f"Chart not available: {says}", timeout=LIMIT_MS)


def test_a_saved_picture_is_light_and_says_what_it_is(lab: Lab, open_page: Open) -> None:
    page = open_page("/formats?job=j1&matrix=m1", scheme="dark")
    figure = drawn(page.locator("#formats-chart"))
    with page.expect_download() as saved:
        figure.get_by_role("button", name="Save SVG").click()
    picture = saved.value.path().read_text(encoding="utf-8")
    assert saved.value.suggested_filename == "formats-chart.svg"
    background = picture.partition("<rect")[2].partition("/>")[0]
    assert "rgb(255, 255, 255)" in background
    inks = set(re.findall(r"<text[^>]*fill: rgb\((\d+)", picture))
    assert max(map(int, inks)) < 128, "no light text on white"
    address = page.url.replace("&", "&amp;")
    for said in ("Throughput per kernel and roofline", "A laptop's processor (cpu), measured 20", address):
        assert said in picture.replace("&#39;", "'")
    with page.expect_download() as saved:
        figure.get_by_role("button", name="Save PNG").click()
    assert saved.value.path().read_bytes()[:4] == b"\x89PNG"


def test_a_report_is_drawn_without_a_server(lab: Lab, open_page: Open, browser: Browser, tmp_path: Path) -> None:
    answer = open_page("/jobs").request.get("/formats.html?job=j1")
    (tmp_path / "report.html").write_bytes(answer.body())
    with closing(browser.new_context(offline=True, color_scheme="dark")) as context:
        page = context.new_page()
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: complaints.append(request.url))
        page.goto((tmp_path / "report.html").as_uri())
        figures = page.locator("figure")
        expect(figures.locator(".main-svg").first).to_be_attached(timeout=LIMIT_MS)
        expect(page.locator("figure:not(:has(.main-svg))")).to_have_count(0, timeout=LIMIT_MS)
        assert complaints == [page.url]
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(251, 251, 249)"
