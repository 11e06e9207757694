"""What somebody reads of a page that changes, that is narrow, or that runs no scripts."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.battery import with_row_lengths
from tests.browser.conftest import Open, drawn
from tests.browser.test_weight import REFRESH, Held
from tests.conftest import AddMatrix
from tests.samples.formats import timed
from tests.web.conftest import Lab, add_measurement, add_study

ANNOUNCE = """(sentences) => import(document.querySelector('script[type=module]').src.replace('app.js', 'announce.js'))
    .then(({ announce }) => sentences.forEach(announce))"""

TITLES = """[...document.querySelectorAll('.plot')].filter((plot) => plot.checkVisibility()).flatMap((plot) => {
    const frame = plot.getBoundingClientRect();
    const box = (e) => e.getBoundingClientRect();
    const labels = [...plot.querySelectorAll('[class^=y][class$=tick] > text')].map(box);
    const titles = [...plot.querySelectorAll('.infolayer text')].filter((e) => /^[xy]\\d*title$/.test(e.classList[0]));
    return titles.map((title) => {
        const { left, right, top, bottom } = box(title);
        const over = /^y/.test(title.classList[0]) &&
            labels.some((l) => l.left < right + 2 && left < l.right + 2 && l.top < bottom && top < l.bottom);
        const beside = left < frame.left - 1 || right > frame.right + 1;
        const cut = beside || top < frame.top - 1 || bottom > frame.bottom + 1;
        return { text: title.textContent, figure: plot.closest('figure').id, over, cut };
    });
})"""
"""The titles of all axes: whether one is cut by its drawing, and whether it lies over labels or touches them."""


def test_what_a_choice_has_made_of_the_page_is_said(lab: Lab, open_page: Open) -> None:
    page = open_page("/formats?job=j1")
    said = page.locator("#announced")
    expect(said).to_be_empty()
    page.get_by_role("link", name="cold").click()
    expect(said).to_have_text("Figures show 3 kernels, 2 matrices on cpu, cold.")
    page.locator("#matrices > summary").click()
    page.locator("#matrices").get_by_text("cnr-2000").click()
    expect(said).to_have_text("Figures show 3 kernels, 1 matrix on cpu, cold.")
    page.locator("#options > summary").click()
    page.locator("#options").get_by_label("Baseline").select_option("coo/segmented")
    expect(said).to_contain_text("Changed: Verdicts by matrix, ")


def test_what_arrives_is_said_and_nothing_else_is(lab: Lab, open_page: Open) -> None:
    page = open_page(f"/jobs/{lab.running}")
    page.evaluate(REFRESH)
    expect(page.locator("#announced")).to_be_empty()
    add_measurement(lab.database, lab.running, timed("split/tile", 1e-4, matrix=lab.matrix, roofline_s=5e-5))
    expect(page.locator("#announced")).to_have_text("Changed: Results.")


def test_sentences_wait_for_their_second_and_the_newest_is_said(open_page: Open) -> None:
    page = open_page("/papers")
    said = page.locator("#announced")
    page.clock.install(time=datetime(2026, 1, 1, tzinfo=UTC))
    page.reload()
    page.clock.pause_at(datetime(2026, 1, 2, tzinfo=UTC))
    page.evaluate(ANNOUNCE, ["one", "two"])
    page.clock.run_for(1)
    expect(said).to_have_text("two")
    page.evaluate(ANNOUNCE, ["three", "four"])
    page.clock.run_for(900)
    assert said.text_content() == "two"
    page.clock.run_for(101)
    expect(said).to_have_text("four")


def test_a_figure_is_pale_while_another_is_fetched_for_it(lab: Lab, open_page: Open) -> None:
    page = open_page("/formats?job=j1&matrix=m1")
    figure = page.locator("#formats-chart")
    drawn(figure, "warm")
    plot = figure.locator(".plot")
    expect(plot).to_have_css("opacity", "1")
    new = Held(page, "**/api/v1/figures/formats?*")
    page.get_by_role("link", name="cold").click()
    page.wait_for_url("**cache=cold")
    figure.scroll_into_view_if_needed()
    expect(plot).to_have_css("opacity", "0.45")
    new.let_go()
    drawn(figure, "cold")
    expect(plot).to_have_css("opacity", "1")


@pytest.mark.parametrize("width", [1280, 390])
def test_titles_of_axes_are_whole_and_stand_off_their_labels(lab: Lab, open_page: Open, width: int) -> None:
    for study, job in (("scaling", "j7"), ("pagerank", "j8")):
        add_study(lab.database, study, job, (lab.matrix, lab.hostile))
    found: list[dict[str, Any]] = []
    for path in ("/scaling?job=j7", "/pagerank?job=j8", "/formats?job=j1"):
        found += open_page(path, width).evaluate(TITLES)
    assert len(found) > 20
    assert [title for title in found if title["cut"] or title["over"]] == []


@pytest.fixture
def without_scripts(browser: Browser, address: str) -> Any:
    context = browser.new_context(base_url=address, java_script_enabled=False)
    yield context.new_page()
    context.close()


def test_without_scripts_a_figure_says_where_its_numbers_are(lab: Lab, without_scripts: Page) -> None:
    without_scripts.goto("/formats?job=j1&matrix=m1")
    figures = without_scripts.locator("figure[data-figure]:not([hidden])")
    assert figures.count() > 0
    for figure in figures.all():
        # Playwright finds no text in a noscript.
        words = figure.locator("noscript p")
        expect(words).to_be_visible()
        assert "JavaScript" in (words.text_content() or "")


def test_a_batch_of_a_matrix_with_too_many_rows_is_refused_before_it_is_asked_for(
    lab: Lab, add_matrix: AddMatrix, open_page: Open
) -> None:
    matrix = add_matrix(with_row_lengths([1] * 20_000, 10, 1), "long", "m9")
    page = open_page(f"/matrices/{matrix}")
    page.locator("#study").select_option("batched")
    refusal = re.compile("16,?384")
    expect(page.locator("[data-duration][data-for-option=batched]")).to_have_text(refusal)
    page.get_by_role("button", name="Measure", exact=True).click()
    expect(page.locator("form.measure [role=alert]").first).to_have_text(refusal)


def test_none_takes_all_ticks_away_and_the_next_one_is_shown_alone(lab: Lab, open_page: Open) -> None:
    page = open_page("/formats?job=j1")
    menu = page.locator("#matrices")
    menu.locator("summary").click()
    expect(menu.locator("input:checked")).to_have_count(2)
    menu.get_by_role("button", name="none").click()
    expect(menu.locator("input:checked")).to_have_count(0)
    assert page.url.endswith("/formats?job=j1")
    menu.get_by_text("cnr-2000").click()
    page.wait_for_url("**/formats?job=j1&matrix=m1*")
    expect(menu.locator("input:checked")).to_have_count(1)


def test_chosen_matrices_are_saved_as_a_set_that_its_address_names(lab: Lab, open_page: Open) -> None:
    page = open_page("/formats?job=j1")
    page.locator("#matrices > summary").click()
    page.get_by_role("button", name="Save selection").click()
    page.get_by_label("Name of the selection").fill("both of mine")
    page.get_by_role("button", name="Rename").click()
    expect(page.locator("#set-title")).to_have_text("both of mine")
    expect(page.locator("#chosen [data-count]")).to_have_text("2 matrices selected")
    page.get_by_label("both of mine").get_by_role("link", name="Formats").click()
    expect(page.locator("#matrices > summary")).to_have_text("Matrices: both of mine")
    expect(page).to_have_url(re.compile(r"/formats\?set=[0-9a-f]{12}$"))
