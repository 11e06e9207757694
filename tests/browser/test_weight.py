"""What pages fetch and when: figures near the view, tables that are opened, changes; and that no choice is lost."""

import re
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Request, Route, expect

from gpu_engine.text.units import THIN
from tests.browser.conftest import LIMIT_MS, Open, drawn, interactive
from tests.samples.formats import study_of
from tests.web.conftest import Lab, add_measurement
from web.studies import page_of

REFRESH = """() => import(document.querySelector('script[type=module]').src)
    .then(({ modules }) => modules["navigation.js"].refresh())"""
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


def choose_cold(page: Page) -> None:
    page.locator("#chip-cache > summary").click()
    page.locator("#chip-cache").get_by_role("link", name="cold").click()


def test_a_page_asks_for_plotly_only_when_a_figure_is_made_interactive(lab: Lab, open_page: Open) -> None:
    page = open_page("/jobs")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto("/formats?job=j1&view=roofline")
    figure = drawn(page.locator("#roofline-chart"))
    # The page, its style, its two scripts, its icon, and the drawing.
    assert len([url for url in asked if "/static/" in url]) <= 4
    assert len(asked) <= 6
    assert not any("plotly" in url or "/api/v1/figures/" in url for url in asked)
    button = figure.get_by_role("button", name="Interactive")
    interactive(figure)
    expect(button).to_have_attribute("aria-pressed", "true")
    assert sum("plotly" in url for url in asked) == 1


def test_a_drawing_has_the_theme_of_the_page(lab: Lab, open_page: Open) -> None:
    page = open_page("/formats?job=j1&view=roofline", scheme="light")
    image = drawn(page.locator("#roofline-chart")).locator("img")
    light = image.screenshot()
    toggle = page.get_by_role("button", name="Theme")
    toggle.click()
    toggle.click()
    expect(toggle).to_have_text("Theme: dark")
    assert image.screenshot() != light
    dark = image.screenshot()
    page.emulate_media(color_scheme="dark")
    toggle.click()
    expect(toggle).to_have_text("Theme: system")
    assert image.screenshot() == dark


def test_a_table_is_fetched_when_it_is_opened_and_stays_open(lab: Lab, open_page: Open) -> None:
    page = open_page("/formats?job=j1&view=roofline")
    numbers = page.locator("#roofline-numbers")
    assert numbers.locator("tbody tr").count() == 0
    numbers.locator("summary").first.click()
    expect(numbers.locator("tbody tr").first).to_be_visible()
    expect(numbers.get_by_role("link", name="LaTeX")).to_be_visible()
    before = numbers.locator("tbody").inner_text()
    choose_cold(page)
    page.wait_for_url("**cache=cold**")
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
    page.locator("#job-time", has_text=f"About 1{THIN}min 0{THIN}s left").wait_for()
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
    before = page.get_by_role("heading", level=1).inner_text()
    page.context.set_offline(True)
    choose_cold(page)
    expect(page.locator("#connection")).to_contain_text("The server does not respond")
    assert page.get_by_role("heading", level=1).inner_text() == before
    page.context.set_offline(False)
    page.wait_for_url("**cache=cold")
    expect(page.locator("#connection")).to_be_empty()


def test_a_drawing_stays_until_the_new_one_has_come(lab: Lab, open_page: Open) -> None:
    page = open_page("/history?matrix=m1&device=cpu")
    figure = drawn(page.locator("#case-history-chart"))
    image, plot = figure.locator("img"), figure.locator(".plot")
    new = Held(page, "**/figures/case-history.svg?*")
    with page.expect_request("**/figures/case-history.svg?*"):
        page.locator("#kernels > summary").click()
        page.get_by_label("csr/scalar").check()
    expect(figure).to_have_attribute("aria-busy", "true")
    expect(plot).to_have_css("opacity", "0.45")
    assert image.evaluate("(image) => image.naturalWidth") > 0
    new.let_go()
    expect(plot).to_have_css("opacity", "1")
    drawn(figure, "csr/scalar")


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
    page.goto("/formats?job=j1&view=roofline")
    figure = page.locator("#roofline-chart")
    figure.get_by_role("button", name="Interactive").click()
    expect(figure.locator(".plot")).to_have_text(f"Chart not available: {says}", timeout=LIMIT_MS)


def test_a_saved_picture_is_light_and_says_what_it_is(lab: Lab, open_page: Open) -> None:
    page = open_page("/formats?job=j1&view=roofline", scheme="dark")
    figure = drawn(page.locator("#roofline-chart"))
    with page.expect_download() as saved:
        figure.get_by_role("link", name="Save SVG").click()
    picture = saved.value.path().read_text(encoding="utf-8")
    assert saved.value.suggested_filename == "roofline-chart.svg"
    ground = re.search(r'<rect width="[^"]+" height="[^"]+" fill="#ffffff"/>', picture)
    assert ground
    assert "var(" not in picture
    address = page.url.replace("&", "&amp;")
    for text in (page_of("formats").figure("roofline").title, "A laptop's processor (cpu), measured 20", address):
        assert text in picture.replace("&#39;", "'").replace("&#x27;", "'")
    with page.expect_download() as saved:
        figure.get_by_role("button", name="Save PNG").click()
    assert saved.value.suggested_filename == "roofline-chart.png"
    image = saved.value.path().read_bytes()
    assert image[:4] == b"\x89PNG"
    width, height = (int.from_bytes(image[start : start + 4]) for start in (16, 20))
    assert (width, height) == tuple(2 * int(size) for size in re.findall(r'(?:width|height)="(\d+)"', picture)[:2])


def test_a_report_is_drawn_without_a_server(lab: Lab, open_page: Open, browser: Browser, tmp_path: Path) -> None:
    answer = open_page("/jobs").request.get("/formats.html?job=j1")
    (tmp_path / "report.html").write_bytes(answer.body())
    with closing(browser.new_context(offline=True, color_scheme="dark", java_script_enabled=False)) as context:
        page = context.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto((tmp_path / "report.html").as_uri())
        drawings = page.locator("figure .plot > svg")
        assert drawings.count() > 3
        for drawing in drawings.all():
            expect(drawing.locator("text").first).to_be_visible()
        assert asked == [page.url]


def test_what_is_shared_is_reached_by_keyboard(lab: Lab, open_page: Open) -> None:
    page = open_page("/formats?job=j1")
    share = page.locator("#share")
    share.locator("summary").press("Enter")
    page.keyboard.press("Tab")
    expect(share.get_by_role("button", name="Copy link")).to_be_focused()
    for link in share.get_by_role("link").all():
        page.keyboard.press("Tab")
        expect(link).to_be_focused()
        box = link.bounding_box()
        assert box
        assert box["height"] >= 32
    page.keyboard.press("Escape")
    expect(share).not_to_have_attribute("open", "")
    expect(share.locator("summary")).to_be_focused()
