"""What somebody reads of a page that changes, that is narrow, or that runs no scripts."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.battery import with_row_lengths
from tests.browser.conftest import Open, drawn
from tests.browser.test_measure import choose
from tests.browser.test_weight import REFRESH, choose_cold
from tests.conftest import AddMatrix
from tests.samples.formats import timed
from tests.web.conftest import Lab, add_measurement, add_study
from web.figure_sources import SOURCES

ANNOUNCE = """(sentences) => import(document.querySelector('script[type=module]').src)
    .then(({ modules }) => sentences.forEach(modules["announce.js"].announce))"""

CUT = """() => [...document.querySelectorAll('text')].filter((text) => {
    const { left, right, top, bottom } = text.getBoundingClientRect();
    const { width, height } = document.documentElement.viewBox.baseVal;
    return left < -1 || right > width + 1 || top < -1 || bottom > height + 1;
}).map((text) => text.textContent)"""
"""The texts of a drawing that reach past its edge."""


def test_what_a_choice_has_made_of_the_page_is_said(lab: Lab, open_page: Open) -> None:
    page = open_page("/formats?job=j1")
    said = page.locator("#announced")
    expect(said).to_be_empty()
    choose_cold(page)
    expect(said).to_have_text("Figures show 3 kernels, 2 matrices on CPU, cold.")
    page.locator("#matrices > summary").click()
    page.locator("#matrices").get_by_text("cnr-2000").click()
    expect(said).to_have_text("Figures show 3 kernels, 1 matrix on CPU, cold.")
    page.locator("#options > summary").click()
    page.locator("#options").get_by_label("Baseline").select_option("coo/segmented")
    expect(said).to_contain_text("Changed: Study and selection, ")


def test_what_arrives_is_said_and_nothing_else_is(lab: Lab, open_page: Open) -> None:
    page = open_page(f"/jobs/{lab.running}")
    page.evaluate(REFRESH)
    expect(page.locator("#announced")).to_be_empty()
    add_measurement(lab.database, lab.running, timed("split/tile", 1e-4, matrix=lab.matrix, roofline_s=5e-5))
    expect(page.locator("#announced")).to_have_text("Changed: Race.")


def test_sentences_wait_for_their_second_and_the_newest_is_said(open_page: Open) -> None:
    page = open_page("/library")
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


@pytest.mark.parametrize("width", [1200, 360])
def test_no_text_of_a_drawing_is_cut(lab: Lab, open_page: Open, width: int) -> None:
    for study, job in (("scaling", "j7"), ("pagerank", "j8"), ("batched", "j6")):
        add_study(lab.database, study, job, (lab.matrix, lab.hostile))
    jobs = {"scaling": "j7", "pagerank": "j8", "batched": "j6", "formats": "j1"}
    page = open_page("/jobs")
    cut = {}
    for name, source in SOURCES.items():
        if source.needs in jobs:
            page.goto(f"/figures/{name}.svg?job={jobs[source.needs]}&width={width}")
            cut[name] = page.evaluate(CUT)
    assert len(cut) > 20
    assert {name: texts for name, texts in cut.items() if texts} == {}


@pytest.fixture
def without_scripts(browser: Browser, address: str) -> Any:
    context = browser.new_context(base_url=address, java_script_enabled=False)
    yield context.new_page()
    context.close()


def test_without_scripts_a_figure_is_drawn_and_saved(lab: Lab, without_scripts: Page) -> None:
    without_scripts.goto("/formats?job=j1&view=roofline")
    figure = drawn(without_scripts.locator("#roofline-chart"), "GFLOP/s")
    expect(figure.get_by_role("link", name="Save SVG")).to_be_visible()
    expect(figure.locator(".tools").get_by_role("button")).to_have_count(0)
    without_scripts.locator("#share summary").click()
    expect(without_scripts.locator("#share").get_by_role("link", name="Report")).to_be_visible()


def test_a_batch_of_a_matrix_with_too_many_rows_is_refused_before_it_is_asked_for(
    lab: Lab, add_matrix: AddMatrix, open_page: Open
) -> None:
    matrix = add_matrix(with_row_lengths([1] * 20_000, 10, 1), "long", "m9")
    page = open_page(f"/measure?matrix_ids={matrix}")
    choose(page, "study", "batched")
    refusal = re.compile("16,?384")
    expect(page.locator("form.measure")).to_contain_text(refusal)
    page.locator("#measure-button").click()
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
